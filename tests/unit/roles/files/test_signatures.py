"""What a party signs of a release: everything, after a tag of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from cofit.errors import InvalidInputError, VerificationError
from cofit.roles.files.published import Release
from cofit.roles.files.signatures import (
    TAG,
    PartySignature,
    bytes_to_sign,
    canonical_pem,
    check_signature,
    check_signatures,
    sign,
    signed_bytes,
    signing_key,
)
from cofit.study.encoding import study_encoding
from cofit.study.plan import study_plan
from cofit.study.statement import expected_certificate
from cofit.transport import Identity
from unit.study.studies import IDENTITIES, study_of

STUDY = study_of()
ENCODING = study_encoding(STUDY)
PARTIES = ("party-a", "party-b", "party-c")


@cache
def release() -> Release:
    plan = study_plan(STUDY)
    return Release(plan.opened.blank(), expected_certificate(STUDY, plan))


def signature_of(identity: Identity, given: Release | None = None) -> PartySignature:
    mine = given or release()
    certificate = mine.certificate
    signature = sign(identity, bytes_to_sign(identity, mine, ENCODING))
    return PartySignature(
        identity.name, identity.certificate_pem, certificate.cofit_version, certificate.software, signature
    )


@cache
def signatures() -> tuple[PartySignature, ...]:
    return tuple(signature_of(IDENTITIES[name]) for name in PARTIES)


def test_every_party_signs_and_each_may_run_other_software() -> None:
    check_signatures(signatures(), release(), ENCODING)
    certificate = replace(release().certificate, software={"python": "4.0"}, cofit_version="0.1.1")
    other = signature_of(IDENTITIES["party-c"], replace(release(), certificate=certificate))
    check_signatures((*signatures()[:2], other), release(), ENCODING)
    with pytest.raises(VerificationError, match="software of 'party-c'"):
        parties = ("party-c", "party-a", "party-b")
        turned = replace(release(), certificate=replace(release().certificate, parties=parties))
        signed = [signature_of(IDENTITIES[name], turned) for name in parties[1:]]
        certificate = replace(certificate, parties=parties)
        first = signature_of(IDENTITIES["party-c"], replace(release(), certificate=certificate))
        check_signatures((first, *signed), turned, ENCODING)


def test_the_signed_bytes_have_a_tag_and_everything_by_name() -> None:
    content = signed_bytes(release(), ENCODING, "party-a", IDENTITIES["party-a"].certificate_pem)
    assert content.startswith(TAG) and TAG.endswith(b"\0")
    document = json.loads(content[len(TAG) :])
    assert document["study"] == STUDY.hash
    assert document["plan"] == study_plan(STUDY).hash
    assert document["party"] == "party-a"
    assert document["key"] == STUDY.parties[0].fingerprint
    assert tuple(float.fromhex(number) for number in document["released"]) == release().weights
    assert document["certificate"] == json.loads(release().certificate.to_json())
    assert document["encoding"] == json.loads(json.dumps(ENCODING))


def changed_encoding(**change: Any) -> dict[str, Any]:
    return {**ENCODING, **change}


@pytest.mark.parametrize(
    ("release_change", "certificate_change", "encoding"),
    [
        ({"weights": (2.0**-1074, *study_plan(STUDY).opened.blank()[1:])}, {}, ENCODING),
        ({}, {"created": "2026-03-02"}, ENCODING),
        ({}, {"study": "00" * 32}, ENCODING),
        ({}, {"plan_hash": "00" * 32}, ENCODING),
        ({}, {"delta_total": Fraction(1, 1000)}, ENCODING),
        ({}, {"warnings": ("none",)}, ENCODING),
        ({}, {}, changed_encoding(classes=["yes", "no"])),
        ({}, {}, changed_encoding(label="well")),
        ({}, {}, changed_encoding(row_key=None)),
        ({}, {}, changed_encoding(study="trials")),
        ({}, {}, changed_encoding(weights=list(reversed(ENCODING["weights"])))),
        ({}, {}, changed_encoding(features=[{**ENCODING["features"][0], "upper": 101}, *ENCODING["features"][1:]])),
    ],
)
def test_whatever_is_changed_no_signature_fits(
    release_change: dict[str, Any], certificate_change: dict[str, Any], encoding: dict[str, Any]
) -> None:
    certificate = replace(release().certificate, **certificate_change)
    other = replace(release(), certificate=certificate, **release_change)
    for one in signatures():
        with pytest.raises(VerificationError, match=f"signature of '{one.party}' does not fit"):
            check_signature(one, other, encoding)


def test_the_sign_of_zero_counts() -> None:
    """Equal numbers that are not the same bits were not signed."""
    assert release().weights[0] == 0.0
    with pytest.raises(VerificationError, match="does not fit"):
        check_signature(signatures()[0], replace(release(), weights=(-0.0, *release().weights[1:])), ENCODING)


def test_a_signature_is_of_one_party_one_key_and_one_software() -> None:
    first, second, _ = signatures()
    for forged in (
        replace(first, party="party-b"),
        replace(first, certificate_pem=second.certificate_pem),
        replace(first, signature=second.signature),
        replace(first, cofit_version="0.1.1"),
        replace(first, software={**first.software, "numpy": "9"}),
        replace(first, signature=first.signature.upper()),
        replace(first, signature=""),
        replace(first, signature="zz"),
        replace(first, signature=first.signature[:-2]),
        replace(first, signature="00" * 5000),
    ):
        with pytest.raises(VerificationError, match="does not fit"):
            check_signature(forged, release(), ENCODING)


def test_a_signature_without_the_tag_does_not_count() -> None:
    identity = IDENTITIES["party-a"]
    key = serialization.load_pem_private_key(identity.private_key_pem.encode(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    content = signed_bytes(release(), ENCODING, identity.name, identity.certificate_pem)
    for other in (content[len(TAG) :], b" " * 64 + content, TAG.replace(b"v1", b"v2") + content[len(TAG) :]):
        untagged = key.sign(other, ec.ECDSA(hashes.SHA256())).hex()
        with pytest.raises(VerificationError, match="does not fit"):
            check_signature(replace(signatures()[0], signature=untagged), release(), ENCODING)


def test_a_party_that_is_missing_is_named() -> None:
    first, second, third = signatures()
    with pytest.raises(VerificationError, match="signature of 'party-b' is missing"):
        check_signatures((first, third), release(), ENCODING)
    with pytest.raises(VerificationError, match="signature of 'party-a' is missing"):
        check_signatures((), release(), ENCODING)
    with pytest.raises(VerificationError, match="in order"):
        check_signatures((second, first, third), release(), ENCODING)
    stranger = signature_of(IDENTITIES["stranger"])
    with pytest.raises(VerificationError, match="in order"):
        check_signatures((first, second, third, stranger), release(), ENCODING)


def with_key(key: Any, algorithm: Any) -> Identity:
    """A participant with a key of another kind."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "party-a")])
    known = x509.load_pem_x509_certificate(IDENTITIES["party-a"].certificate_pem.encode())
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(known.not_valid_before_utc)
        .not_valid_after(known.not_valid_after_utc)
        .sign(key, algorithm)
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return Identity("party-a", certificate.public_bytes(serialization.Encoding.PEM).decode(), pem)


@pytest.mark.parametrize("kind", ["P-384", "Ed25519", "RSA"])
def test_keys_of_other_kinds_sign_too(kind: str) -> None:
    kinds: dict[str, Callable[[], Any]] = {
        "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
        "Ed25519": ed25519.Ed25519PrivateKey.generate,
        "RSA": lambda: rsa.generate_private_key(65537, 2048),
    }
    one = signature_of(with_key(kinds[kind](), None if kind == "Ed25519" else hashes.SHA256()))
    check_signature(one, release(), ENCODING)
    with pytest.raises(VerificationError):
        check_signature(one, replace(release(), weights=(*release().weights[1:], 7.0)), ENCODING)


def test_a_key_that_cannot_sign_is_refused_before_anything_is_computed() -> None:
    with pytest.raises(InvalidInputError, match=r"The key of 'party-a' .* `cofit keygen`"):
        signing_key(with_key(ed448.Ed448PrivateKey.generate(), None))


def test_a_certificate_has_one_spelling() -> None:
    pem = IDENTITIES["party-a"].certificate_pem
    assert canonical_pem(pem) == canonical_pem("a comment\n" + pem + "\n\n") == pem
    assert canonical_pem("nonsense") is None
    stated = {
        "party": "party-a",
        "certificate_pem": pem,
        "cofit_version": "1",
        "software": {},
        "signature": "00",
    }
    assert PartySignature.from_stated("signatures[0]", stated).certificate_pem == pem
    for name, value in (
        ("certificate_pem", pem + "\n"),
        ("certificate_pem", None),
        ("party", 1),
        ("software", "python"),
        ("signature", None),
    ):
        with pytest.raises(InvalidInputError, match=rf"'signatures\[0\]\.{name}'"):
            PartySignature.from_stated("signatures[0]", {**stated, name: value})
    with pytest.raises(InvalidInputError, match=r"'signatures\[0\]\.more'"):
        PartySignature.from_stated("signatures[0]", {**stated, "more": 1})
    with pytest.raises(InvalidInputError, match=r"'signatures\[0\]'"):
        PartySignature.from_stated("signatures[0]", [])
