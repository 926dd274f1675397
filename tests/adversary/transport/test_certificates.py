"""Who may connect: only the pinned certificates, over TLS 1.3."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from adversary.transport.ports import accepting, dialling, listening, peer
from cofit.errors import CertificateError, HandshakeError, InvalidInputError
from cofit.transport import Identity, connect_mesh, generate_identity
from unit.transport.cluster import TERMS, identity, run_all

pytestmark = pytest.mark.timeout(60)


def test_a_server_with_another_certificate_is_refused_and_named() -> None:
    impostor = generate_identity("P0")
    with listening("P0") as listeners:
        accept = accepting(impostor, listeners)
        dial = dialling(identity("P1"), listeners, identity("P0"))
        outcomes = run_all({"P0": accept, "P1": dial})
    assert isinstance(outcomes["P1"], CertificateError)
    assert outcomes["P1"].peer == "P0"
    assert isinstance(outcomes["P0"], HandshakeError)
    assert outcomes["P0"].peer == "P1"
    assert "rejected our certificate" in str(outcomes["P0"])


def test_a_client_with_another_certificate_is_refused_and_named() -> None:
    impostor = generate_identity("P1")
    start = time.monotonic()
    with listening("P0") as listeners:
        accept = accepting(identity("P0"), listeners)
        dial = dialling(impostor, listeners, identity("P0"))
        outcomes = run_all({"P0": accept, "P1": dial})
    assert isinstance(outcomes["P0"], CertificateError)
    assert outcomes["P0"].peer == "P1"
    assert isinstance(outcomes["P1"], HandshakeError)
    assert not isinstance(outcomes["P1"], CertificateError)
    assert outcomes["P1"].peer == "P0"
    assert "rejected our certificate" in str(outcomes["P1"])
    assert time.monotonic() - start < 3.0


def test_a_participant_cannot_listen_in_the_place_of_another() -> None:
    """P2's certificate is pinned, but not for P0: who dials P0 refuses it."""
    with listening("P0") as listeners:
        accept = accepting(Identity("P0", identity("P2").certificate_pem, identity("P2").private_key_pem), listeners)
        dial = dialling(identity("P1"), listeners, identity("P0"))
        outcomes = run_all({"P0": accept, "P1": dial})
    assert isinstance(outcomes["P1"], CertificateError)
    assert outcomes["P1"].peer == "P0"


def test_a_participant_cannot_dial_in_the_name_of_another() -> None:
    """P2 connects with its own, pinned certificate and says that it is P1: its certificate decides who it is."""
    with listening("P0") as listeners:
        accept = accepting(identity("P0"), listeners, ("P1", "P2"), seconds=2.0)
        liar = Identity("P1", identity("P2").certificate_pem, identity("P2").private_key_pem)
        dial = dialling(liar, listeners, identity("P0"), seconds=2.0)
        outcomes = run_all({"P0": accept, "liar": dial})
    assert isinstance(outcomes["P0"], HandshakeError)
    assert outcomes["P0"].peer == "P2"
    assert isinstance(outcomes["liar"], HandshakeError)


def authority_and_child(name: str) -> tuple[Identity, Identity]:
    """Return a self-signed authority called ``name``, and a second certificate of that name which it signed."""
    made: list[Identity] = []
    issuer_key = ec.generate_private_key(ec.SECP256R1())
    for key, is_authority in ((issuer_key, True), (ec.generate_private_key(ec.SECP256R1()), False)):
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        serial = [] if is_authority else [x509.NameAttribute(NameOID.SERIAL_NUMBER, "2")]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([*issuer, *serial]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.now(UTC) - timedelta(days=1))
            .not_valid_after(datetime.now(UTC) + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .sign(issuer_key, hashes.SHA256())
        )
        encoding = serialization.Encoding.PEM
        private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        made.append(Identity(name, certificate.public_bytes(encoding).decode(), private.decode()))
    return made[0], made[1]


def test_a_certificate_that_the_pinned_one_signed_is_not_the_pinned_one() -> None:
    """OpenSSL alone would accept it: only the comparison byte for byte refuses it."""
    authority, child = authority_and_child("P0")
    with listening("P0") as listeners:
        accept = accepting(child, listeners)
        dial = dialling(identity("P1"), listeners, authority)
        outcomes = run_all({"P0": accept, "P1": dial})
    assert isinstance(outcomes["P1"], CertificateError)
    assert outcomes["P1"].peer == "P0"
    assert isinstance(outcomes["P0"], HandshakeError)


def test_two_peers_with_one_certificate_are_refused_before_connecting() -> None:
    with listening("P0") as listeners, pytest.raises(InvalidInputError, match="same certificate"):
        peers = [peer("P1", listeners, identity("P1")), peer("P2", listeners, identity("P1"))]
        connect_mesh(identity("P0"), listeners["P0"], [], peers, TERMS)
