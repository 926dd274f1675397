"""Private keys on disk, for the participants of a study.

The certificate of a participant is in the study; what it needs besides is NAME.key, as ``cofit keygen`` wrote it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from cofit.errors import InvalidInputError
from cofit.study.agreement import Agreement
from cofit.study.document import Participant
from cofit.study.participants import CERTIFICATE_LINE, PRIVATE_LINE
from cofit.transport import Identity

_LARGEST_KEY = 1 << 16


def participants(study: Agreement) -> dict[str, Participant]:
    """Return everybody who takes part, by name; who has several roles has one certificate."""
    dealers = () if study.dealer is None else (study.dealer,)
    everybody: Sequence[Participant] = (*study.parties, *dealers, *study.owners, *study.analysts, *study.clients)
    return {one.name: one for one in everybody}


def load_key(study: Agreement, path: str | Path, name: str | None = None) -> Identity:
    """Return who the key in ``path`` makes us in the study, or raise InvalidInputError with what is wrong.

    The study has everybody's certificate, so the key tells the name. name: what we think it is; another is an error.
    """
    file = Path(path)
    known = participants(study)
    if name is not None and name not in known:
        raise InvalidInputError(
            f"'{name}' takes no part in study '{study.name}'; these do: {', '.join(sorted(known))}."
        )
    text = _private_text(file)
    public = _public_of_key(text, file)
    owner = next((one for one in known.values() if _public_of_certificate(one.certificate_pem) == public), None)
    if owner is not None and name in (None, owner.name):
        return Identity(owner.name, owner.certificate_pem, text)
    remedy = "Use the key that was made with that certificate, or agree on a study with the new one."
    if name is None:
        raise InvalidInputError(
            f"The key '{file}' belongs to no certificate of study '{study.name}', whose participants are "
            f"{', '.join(sorted(known))}. {remedy}"
        )
    whose = "" if owner is None else f": it is that of '{owner.name}'"
    raise InvalidInputError(
        f"The key '{file}' does not belong to the certificate that the study has for '{name}'{whose}. {remedy}"
    )


def _private_text(file: Path) -> str:
    """Return the text of a key that nobody else on this machine can read."""
    try:
        facts = file.stat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST_KEY:
            raise InvalidInputError(f"The key must be a file as `cofit keygen` makes it. Got '{file}' instead.")
        text = file.read_text(encoding="ascii")
    except FileNotFoundError:
        raise InvalidInputError(
            f"The key must be a file that exists, as `cofit keygen` makes it. Got '{file}' instead."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no PEM file"
        raise InvalidInputError(f"The key '{file}' cannot be read: {why}.") from None
    if CERTIFICATE_LINE in text and PRIVATE_LINE not in text:
        likely = file.with_suffix(".key")
        named = (
            f"the key that was made with it is probably '{likely}'" if likely.is_file() else "give the key, NAME.key"
        )
        raise InvalidInputError(f"'{file}' is a certificate, which is for everybody, and no private key: {named}.")
    if facts.st_mode & 0o077:
        raise InvalidInputError(
            f"Others on this machine can use the private key '{file}' (mode {stat.S_IMODE(facts.st_mode):04o}). "
            f"Run: chmod 600 '{file}'. If somebody may have copied it, make a new key and agree on a new study."
        )
    return text


def _public_of_key(text: str, file: Path) -> bytes:
    try:
        key = serialization.load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError):
        raise InvalidInputError(f"'{file}' is no private key without a password, as `cofit keygen` makes it.") from None
    return _der(key.public_key())


def _public_of_certificate(pem: str) -> bytes:
    return _der(x509.load_pem_x509_certificate(pem.encode()).public_key())


def _der(key: object) -> bytes:
    encoded: bytes = key.public_bytes(  # type: ignore[attr-defined]
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def write_identity(identity: Identity, directory: str | Path) -> tuple[Path, Path]:
    """Write NAME.key (mode 0600) and NAME.pem; return both paths. Existing files are never replaced."""
    folder = Path(directory)
    key, certificate = folder / f"{identity.name}.key", folder / f"{identity.name}.pem"
    for path in (key, certificate):
        if path.exists() or path.is_symlink():
            raise InvalidInputError(
                f"'{path}' exists, and a key is never overwritten. Choose another name or directory, or remove it "
                "yourself if no study uses it any more."
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_new(key, identity.private_key_pem, 0o600)
        try:
            _write_new(certificate, identity.certificate_pem, 0o644)
        except OSError:
            key.unlink()
            raise
    except OSError as error:
        raise InvalidInputError(f"The key cannot be written to '{folder}': {error.strerror}.") from None
    return key, certificate


def load_identity_for(study: Agreement, key_path: str | Path, name: str | None = None) -> Identity:
    """Return who the key makes us in the study, as ``load_key`` does; a certificate out of its dates is refused."""
    identity = load_key(study, key_path, name)
    certificate = x509.load_pem_x509_certificate(identity.certificate_pem.encode())
    first, last, now = certificate.not_valid_before_utc, certificate.not_valid_after_utc, datetime.now(UTC)
    if not first <= now <= last:
        raise InvalidInputError(
            f"The certificate of '{identity.name}' is valid from {first:%Y-%m-%d} to {last:%Y-%m-%d}, and here it is "
            f"{now:%Y-%m-%d}. Correct the clock of this machine, or make a new key and agree on a new study."
        )
    return identity


def _write_new(path: Path, text: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
