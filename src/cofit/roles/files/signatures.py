"""What a computing party signs of a release, with the key that the study has of it, and how anybody checks that.

The signed bytes begin with a tag of their own, so that nothing else that the key signs (it is also the party's key in
TLS, whose signed messages begin with 64 spaces) can pass for them, nor they for anything else. After the tag comes
canonical JSON, which binds the study's hash, the plan's hash, the party's name and X.509 certificate, every released
number exactly, what the columns mean, and the certificate of the release. Parties may run different versions of the
software: each signs the certificate with its own, and the versions are kept beside the signature, so that no digit of
them is left unsigned.

A signature says: this party took part in a run of this study that opened these numbers, and its software stated this
certificate. It cannot say that no party deviated from the protocol.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from cofit.errors import InvalidInputError, VerificationError, parameter_error
from cofit.privacy.certificate import Certificate
from cofit.privacy.strict_fields import check_names, decode
from cofit.roles.files.published import Release
from cofit.transport import Identity, fingerprint

TAG = b"cofit release signature v1\0"
SigningKey: TypeAlias = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
"""`cofit keygen` makes P-256 keys; participants may bring others that TLS takes."""
_LONGEST = 2048  # hexadecimal digits of a signature
_PSS = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)
_NO_CERTIFICATE = (ValueError, UnsupportedAlgorithm, x509.InvalidVersion)


@dataclass(frozen=True)
class PartySignature:
    """The signature of one party (in hexadecimal), its X.509 certificate, and the software that it ran."""

    party: str
    certificate_pem: str
    cofit_version: str
    software: Mapping[str, str]
    signature: str

    @classmethod
    def from_stated(cls, path: str, stated: Any) -> PartySignature:
        """Return what a file states, or raise InvalidInputError with the field."""
        if not isinstance(stated, dict):
            raise parameter_error(path, "a study model", "a mapping", stated)
        check_names(stated, {"party", "certificate_pem", "cofit_version", "software", "signature"}, f"{path}.")
        pem = stated["certificate_pem"]
        if not isinstance(pem, str) or canonical_pem(pem) != pem:
            raise parameter_error(f"{path}.certificate_pem", "a study model", "a certificate in PEM form", pem)
        kinds = {"party": str, "cofit_version": str, "software": Mapping[str, str], "signature": str}
        named = {name: decode(kind, stated[name], f"{path}.{name}") for name, kind in kinds.items()}
        return cls(certificate_pem=pem, **named)


def canonical_pem(pem: str) -> str | None:
    """Return a certificate in the one spelling that a model's file has, or None if it is none."""
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
    except _NO_CERTIFICATE:
        return None
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


@dataclass(frozen=True)
class SignedRelease:
    """A release, and the signatures of all parties in their order."""

    release: Release
    signatures: tuple[PartySignature, ...]


def signed_bytes(release: Release, encoding: Mapping[str, Any], party: str, certificate_pem: str) -> bytes:
    """Return what a party signs. ``release``: with the software of that party in its certificate."""
    certificate = release.certificate
    content = {
        "study": certificate.study,
        "plan": certificate.plan_hash,
        "party": party,
        "key": fingerprint(certificate_pem),
        "released": [number.hex() for number in release.weights],
        "encoding": encoding,
        "certificate": json.loads(certificate.to_json()),
    }
    return TAG + json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def signing_key(identity: Identity) -> SigningKey:
    """Return the key of a party, or raise InvalidInputError if it is of a kind that signs no release."""
    key = serialization.load_pem_private_key(identity.private_key_pem.encode(), password=None)
    if not isinstance(key, SigningKey):
        raise InvalidInputError(
            f"The key of '{identity.name}' is of a kind that cannot sign a release. Make one with `cofit keygen`, and "
            f"agree on a study with its certificate."
        )
    return key


def bytes_to_sign(identity: Identity, release: Release, encoding: Mapping[str, Any]) -> bytes:
    """Return what this party signs."""
    return signed_bytes(release, encoding, identity.name, identity.certificate_pem)


def sign(identity: Identity, content: bytes, tag: bytes = TAG) -> str:
    """Return this party's signature, in hexadecimal, of content that begins with the tag of its kind."""
    if not content.startswith(tag):
        raise parameter_error("content", "sign", f"bytes that begin with {tag!r}", content[: len(tag)])
    key = signing_key(identity)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(content, ec.ECDSA(hashes.SHA256())).hex()
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(content, _PSS, hashes.SHA256()).hex()
    return key.sign(content).hex()


def check_signature(one: PartySignature, release: Release, encoding: Mapping[str, Any]) -> None:
    """Raise VerificationError, which names the party, unless the key in ``one`` has signed this release."""
    certificate = replace(release.certificate, cofit_version=one.cofit_version, software=one.software)
    try:
        content = signed_bytes(replace(release, certificate=certificate), encoding, one.party, one.certificate_pem)
    except _NO_CERTIFICATE:
        content = b""
    if not check_bytes(one.certificate_pem, one.signature, content):
        raise VerificationError(
            f"The signature of '{one.party}' does not fit: '{one.party}' has not signed these numbers with this "
            f"certificate. Something was changed after it signed, or this is not its key. Do not use the model."
        )


def check_signatures(signatures: Sequence[PartySignature], release: Release, encoding: Mapping[str, Any]) -> None:
    """Raise VerificationError, which names the party, unless every party of the certificate has signed, in order."""
    certificate: Certificate = release.certificate
    signed = [one.party for one in signatures]
    for party in certificate.parties:
        if party not in signed:
            raise VerificationError(f"The signature of '{party}' is missing. Fetch the model again with `cofit model`.")
    if signed != list(certificate.parties):
        raise VerificationError(f"Signatures must be those of {list(certificate.parties)}, in order. Got {signed}.")
    for one in signatures:
        check_signature(one, release, encoding)
    first = signatures[0]
    if (first.cofit_version, dict(first.software)) != (certificate.cofit_version, dict(certificate.software)):
        raise VerificationError(f"The certificate must state the software of '{first.party}', as it signed it.")


def check_bytes(certificate_pem: str, signature: str, content: bytes) -> bool:
    """Whether the key of this certificate has signed the content; ``signature``: in hexadecimal."""
    try:
        if len(signature) > _LONGEST or bytes.fromhex(signature).hex() != signature:
            return False
        _verify(certificate_pem, bytes.fromhex(signature), content)
    except (InvalidSignature, *_NO_CERTIFICATE):
        return False
    return True


def _verify(pem: str, signature: bytes, content: bytes) -> None:
    key = x509.load_pem_x509_certificate(pem.encode()).public_key()
    if isinstance(key, ec.EllipticCurvePublicKey):
        key.verify(signature, content, ec.ECDSA(hashes.SHA256()))
    elif isinstance(key, rsa.RSAPublicKey):
        key.verify(signature, content, _PSS, hashes.SHA256())
    elif isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signature, content)
    else:
        raise ValueError("a kind of key that signs no release")
