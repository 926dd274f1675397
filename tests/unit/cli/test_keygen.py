"""``cofit keygen``: two files, one of them private, and what to do with them."""

from __future__ import annotations

import ssl
import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography import x509

from cofit.cli.main import cli, main
from cofit.transport import Identity, fingerprint
from cofit.transport.identity import load_identity


def test_a_key_and_a_certificate(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["keygen", "hospital-a", "--out", str(tmp_path / "keys")])
    assert result.exit_code == 0, result.output
    key, certificate = tmp_path / "keys" / "hospital-a.key", tmp_path / "keys" / "hospital-a.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    pem = certificate.read_text()
    assert x509.load_pem_x509_certificate(pem.encode()).subject.rfc4514_string() == "CN=hospital-a"
    assert f"Fingerprint: {fingerprint(pem)}\n" in result.output
    assert 'certificate = "hospital-a.pem"' in result.output
    assert key.read_text() not in result.output
    load_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), Identity("hospital-a", pem, key.read_text()))


def test_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["cofit", "keygen", "me"])
    with pytest.raises(SystemExit) as info:
        main()
    assert info.value.code == 0
    before = (tmp_path / "me.key").read_text()
    capsys.readouterr()
    with pytest.raises(SystemExit) as info:
        main()
    assert info.value.code == 2
    assert "never overwritten" in capsys.readouterr().err
    assert (tmp_path / "me.key").read_text() == before


@pytest.mark.parametrize("name", ["../me", "a/b", "", ".me", "a=b", "x" * 65, "a\nb"])
def test_names_that_cannot_be_file_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["cofit", "keygen", name])
    with pytest.raises(SystemExit) as info:
        main()
    assert info.value.code == 2
    assert "'name'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
