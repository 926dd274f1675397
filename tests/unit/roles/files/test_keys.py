"""Keys on disk: the study has all certificates, so a key tells whose it is; what is no key is told as what it is."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from cofit.errors import InvalidInputError
from cofit.roles.files.keys import load_key, write_identity
from cofit.study import Study
from cofit.transport import generate_identity
from unit.roles.loopback import loopback


@pytest.fixture
def study(tmp_path: Path) -> Study:
    with loopback(tmp_path) as site:
        return site.study


def refused(study: Study, key: Path, name: str | None = None) -> str:
    with pytest.raises(InvalidInputError) as info:
        load_key(study, key, name)
    return str(info.value)


@pytest.mark.parametrize("name", ["party-b", "owner-a", "analyst"])
def test_the_key_tells_the_name_whatever_its_file_is_called(study: Study, tmp_path: Path, name: str) -> None:
    moved = (tmp_path / f"{name}.key").rename(tmp_path / "mine.key")
    assert load_key(study, moved).name == name
    assert load_key(study, moved, name) == load_key(study, moved)


def test_a_name_that_contradicts_the_key_is_an_error(study: Study, tmp_path: Path) -> None:
    told = refused(study, tmp_path / "owner-a.key", "owner-b")
    assert "does not belong to the certificate that the study has for 'owner-b': it is that of 'owner-a'" in told
    assert "'nobody' takes no part in study 'trial'" in refused(study, tmp_path / "owner-a.key", "nobody")


def test_a_key_of_nobody_is_an_error_even_if_its_file_is_named_after_somebody(study: Study, tmp_path: Path) -> None:
    key, _ = write_identity(generate_identity("owner-a"), tmp_path / "new")
    assert "belongs to no certificate of study 'trial', whose participants are analyst, owner-a" in refused(study, key)
    assert "does not belong to the certificate that the study has for 'owner-a'." in refused(study, key, "owner-a")


@pytest.mark.parametrize("name", [None, "owner-a"])
def test_a_certificate_is_called_one(study: Study, tmp_path: Path, name: str | None) -> None:
    told = refused(study, tmp_path / "owner-a.pem", name)
    assert "owner-a.pem' is a certificate" in told
    assert f"probably '{tmp_path / 'owner-a.key'}'" in told
    assert "chmod" not in told
    (tmp_path / "owner-a.key").unlink()
    told = refused(study, tmp_path / "owner-a.pem", name)
    assert "is a certificate" in told and "probably" not in told


def test_a_key_and_its_certificate_in_one_file_are_a_key(study: Study, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_text((tmp_path / "owner-a.pem").read_text() + (tmp_path / "owner-a.key").read_text())
    both.chmod(0o600)
    assert load_key(study, both).name == "owner-a"


def test_a_key_that_others_can_read_is_refused(study: Study, tmp_path: Path) -> None:
    (tmp_path / "owner-a.key").chmod(0o640)
    assert "chmod 600" in refused(study, tmp_path / "owner-a.key")


def test_files_that_are_no_keys(study: Study, tmp_path: Path) -> None:
    (tmp_path / "text.key").write_text("nothing of the kind")
    (tmp_path / "text.key").chmod(0o600)
    assert "is no private key without a password" in refused(study, tmp_path / "text.key")
    assert "must be a file that exists, as `cofit keygen` makes it" in refused(study, tmp_path / "absent.key")
    assert "must be a file as `cofit keygen` makes it" in refused(study, tmp_path)


def test_keys_are_private_and_never_replaced(tmp_path: Path) -> None:
    identity = generate_identity("me")
    key, certificate = write_identity(identity, tmp_path / "new")
    assert key.read_text() == identity.private_key_pem
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert certificate.read_text() == identity.certificate_pem
    assert "PRIVATE" not in certificate.read_text()
    for path in (certificate, key):
        path.unlink()
        with pytest.raises(InvalidInputError, match="never overwritten"):
            write_identity(generate_identity("me"), tmp_path / "new")
        assert not path.exists()
        path.touch()
    with pytest.raises(InvalidInputError, match="cannot be written"):
        write_identity(identity, key / "below-a-file")
