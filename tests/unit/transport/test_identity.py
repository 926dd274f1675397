from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from cofit.errors import InvalidInputError
from cofit.transport import Identity, fingerprint, generate_identity
from cofit.transport.identity import load_identity
from unit.transport.cluster import identity


def test_the_certificate_names_its_owner_and_lasts() -> None:
    certificate = x509.load_pem_x509_certificate(identity("P0").certificate_pem.encode())
    assert certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "P0"
    assert certificate.not_valid_after_utc > datetime.now(UTC) + timedelta(days=3650)
    assert certificate.not_valid_before_utc < datetime.now(UTC)


def test_two_identities_of_one_name_differ() -> None:
    first, second = generate_identity("P0"), generate_identity("P0")
    assert fingerprint(first.certificate_pem) != fingerprint(second.certificate_pem)
    assert first.private_key_pem != second.private_key_pem


def test_the_fingerprint_is_the_hash_of_the_der_form() -> None:
    pem = identity("P0").certificate_pem
    assert fingerprint(pem) == fingerprint("\n\n" + pem + "\n")
    assert len(fingerprint(pem)) == 64


def test_the_repr_shows_no_key() -> None:
    shown = repr(identity("P0"))
    assert "PRIVATE" not in shown
    assert identity("P0").private_key_pem.splitlines()[1] not in shown


@pytest.mark.parametrize("name", ["", "x" * 65, "a\x00b"])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="name"):
        generate_identity(name)


@pytest.mark.parametrize("pem", ["", "nonsense"])
def test_a_fingerprint_needs_a_certificate(pem: str) -> None:
    with pytest.raises(InvalidInputError, match="certificate"):
        fingerprint(pem)


def test_a_key_that_does_not_fit_is_refused_without_showing_it() -> None:
    mixed = Identity("P0", identity("P0").certificate_pem, identity("P1").private_key_pem)
    with pytest.raises(InvalidInputError, match="belong") as caught:
        load_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), mixed)
    assert "PRIVATE" not in str(caught.value)


def test_the_key_never_touches_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    targets: list[str] = []

    class Context(ssl.SSLContext):
        def load_cert_chain(self, certfile: object, keyfile: object = None, password: object = None) -> None:
            targets.append(str(Path(str(certfile)).readlink()))

    load_identity(Context(ssl.PROTOCOL_TLS_CLIENT), identity("P0"))
    assert len(targets) == 1
    assert targets[0].startswith("/memfd:")
    assert list(tmp_path.iterdir()) == []
