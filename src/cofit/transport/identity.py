"""Who a party is on the network: a self-signed certificate that the others pin, and its private key."""

from __future__ import annotations

import hashlib
import os
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cofit.errors import InvalidInputError, parameter_error
from cofit.transport.terms import check_name

_VALID_FOR = timedelta(days=20 * 365)
_CLOCKS_DIFFER_BY = timedelta(days=1)


@dataclass(frozen=True)
class Identity:
    """A party's name, certificate and private key (both PEM). The key stays out of the repr."""

    name: str
    certificate_pem: str
    private_key_pem: str = field(repr=False)

    def __post_init__(self) -> None:
        check_name("name", "Identity", self.name)


def generate_identity(name: str) -> Identity:
    """Make a fresh P-256 key and a self-signed certificate with ``CN = name``, valid for 20 years.

    The others trust the certificate because they pin it byte for byte: neither issuer nor host name matters.
    """
    check_name("name", "generate_identity", name)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER_BY)
        .not_valid_after(now + _VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Identity(
        name,
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
    )


def certificate_der(certificate_pem: str) -> bytes:
    """Return the DER bytes of one PEM certificate; raise InvalidInputError if it is none."""
    try:
        certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
    except (ValueError, AttributeError):
        raise parameter_error(
            "certificate_pem", "certificate_der", "one X.509 certificate in PEM form", "something else"
        ) from None
    return certificate.public_bytes(serialization.Encoding.DER)


def fingerprint(certificate_pem: str) -> str:
    """Return the SHA-256 of the certificate's DER form, in hexadecimal."""
    return hashlib.sha256(certificate_der(certificate_pem)).hexdigest()


def load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    """Give ``context`` our certificate and key.

    OpenSSL's interface wants a file: it lives in memory alone, so that no crash can leave the key on a disk.
    """
    descriptor = os.memfd_create("cofit-identity", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "w") as file:
        file.write(identity.private_key_pem + "\n" + identity.certificate_pem)
        file.flush()
        try:
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        except ssl.SSLError:
            raise InvalidInputError(
                f"The certificate and the private key of {identity.name!r} are unreadable or do not belong "
                "together. Generate a new identity, and give the others its certificate."
            ) from None
