"""130 oblivious transfers of seeds between two parties who have nothing in common yet, from ML-KEM-768.

For every transfer the receiver sends two encapsulation keys. The one at its choice bit is a real key, of which it has
the secret part; the other was drawn without one: coefficients uniform below q = 3329 and fresh 32 bytes rho. The
sender encapsulates to both and keeps both secrets; the receiver opens the one that it can. Each secret, hashed
(HKDF-SHA256, RFC 5869) with the number of the transfer and the label of the session, is a seed.

Who learns what: the sender learns both seeds of every pair, and nothing of the choice: a real key is (t = A s + e,
rho) with A expanded from rho, which nobody tells from uniform t under the assumption of ML-KEM itself (module LWE,
and rho as if random). The receiver learns one seed of every pair: for the other key there is no secret part, and what
is encapsulated to a key that is as good as a real one is hidden, again under module LWE.

Passive security only. A receiver that deviates makes two real keys, and has both seeds; that the other key was drawn
obliviously is not checked here. (Masny and Rindal tie the two keys together by a random oracle for that.)

Costs: 2 rounds; ``OFFER_BYTES`` one way, ``REPLY_BYTES`` back. Nothing branches on a choice bit or uses one as an
index.

Sources: Gertner, Kannan, Malkin, Reingold, Viswanathan, "The relationship between public key encryption and oblivious
transfer", FOCS 2000 (transfer from keys that can be drawn obliviously); Masny and Rindal, "Endemic oblivious
transfer", CCS 2019 (from Kyber, of which ML-KEM is the standard: appendix D.3 of ePrint 2019/706); NIST,
"Module-lattice-based key-encapsulation mechanism standard", FIPS 203, 2024 (algorithms 5 and 13: the form of a key).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from cofit.errors import ProtocolError, parameter_error

Bytes = npt.NDArray[np.uint8]

COUNT = 130
"""As many as the levels of all trees (``trees``)."""
SEED_BYTES = 16
_KEY_BYTES = 1184
_CIPHERTEXT_BYTES = 1088
_RHO_BYTES = 32
_COEFFICIENTS = 768
_MODULUS = 3329
OFFER_BYTES = COUNT * 2 * _KEY_BYTES
REPLY_BYTES = COUNT * 2 * _CIPHERTEXT_BYTES
_PURPOSE = b"cofit base OT 1"


@dataclass(frozen=True, eq=False, repr=False)
class Offer:
    """What the receiver keeps until the reply comes: its choices, and the secret part of every real key."""

    choices: Bytes
    keys: tuple[MLKEM768PrivateKey, ...]

    def __repr__(self) -> str:
        return "<Offer>"


def offered(choices: Bytes) -> tuple[Offer, Bytes]:
    """Return the receiver's secrets for choice bits of shape (130,), and the message of ``OFFER_BYTES`` bytes."""
    if choices.shape != (COUNT,) or choices.dtype != np.uint8 or (choices > 1).any():
        raise parameter_error("choices", "offered", f"{COUNT} bytes of 0 or 1", f"shape {choices.shape}")
    keys = tuple(MLKEM768PrivateKey.generate() for _ in range(COUNT))
    real = np.frombuffer(b"".join(key.public_key().public_bytes_raw() for key in keys), np.uint8)
    pairs = _in_order(choices, real.reshape(COUNT, _KEY_BYTES), _keys_without_secrets())
    return Offer(choices.copy(), keys), pairs.reshape(-1)


def replied(message: Bytes, label: bytes) -> tuple[Bytes, Bytes]:
    """Return the sender's pairs of seeds, (130, 2, 16), and the reply of ``REPLY_BYTES`` bytes."""
    keys = _parts(message, OFFER_BYTES, _KEY_BYTES, "keys")
    made = []
    for place, key in enumerate(keys.reshape(-1, _KEY_BYTES)):
        try:
            made.append(MLKEM768PublicKey.from_public_bytes(key.tobytes()).encapsulate())
        except ValueError:
            raise ProtocolError(
                f"Key {place % 2} of base transfer {place // 2} is no key of ML-KEM-768: a coefficient is {_MODULUS} or"
                " more. The other party's program differs, or the message was damaged."
            ) from None
    seeds = _hashed([secret for secret, _ in made], np.repeat(np.arange(COUNT), 2), label)
    reply = np.frombuffer(b"".join(ciphertext for _, ciphertext in made), np.uint8)
    return seeds.reshape(COUNT, 2, SEED_BYTES), reply


def received(offer: Offer, reply: Bytes, label: bytes) -> Bytes:
    """Return the receiver's seeds, (130, 16): of every pair the one that it chose."""
    ciphertexts = _parts(reply, REPLY_BYTES, _CIPHERTEXT_BYTES, "ciphertexts")
    mask = _mask(offer.choices)
    chosen = ciphertexts[:, 0] ^ (mask & (ciphertexts[:, 0] ^ ciphertexts[:, 1]))
    opened = [key.decapsulate(chosen[place].tobytes()) for place, key in enumerate(offer.keys)]
    return _hashed(opened, np.arange(COUNT), label)


def _mask(bits: Bytes) -> Bytes:
    """Return a column of bytes of which all bits are the given ones."""
    return (np.uint8(0) - bits)[:, None]


def _in_order(choices: Bytes, chosen: Bytes, others: Bytes) -> Bytes:
    """Return pairs of rows, with those chosen at the choice bits."""
    differing = chosen ^ others
    second = _mask(choices) & differing
    return np.stack([chosen ^ second, others ^ second], axis=1)


def _keys_without_secrets() -> Bytes:
    """Return keys drawn without their secret parts, (130, 1184): uniform coefficients in 12 bits each, and rho."""
    coefficients = _below_modulus(COUNT * _COEFFICIENTS)
    low, high = coefficients[0::2], coefficients[1::2]
    encoded = np.stack([low & 0xFF, low >> 8 | (high & 0xF) << 4, high >> 4], axis=1).astype(np.uint8)
    rho = np.frombuffer(secrets.token_bytes(COUNT * _RHO_BYTES), np.uint8)
    return np.concatenate([encoded.reshape(COUNT, -1), rho.reshape(COUNT, -1)], axis=1)


def _below_modulus(count: int) -> npt.NDArray[np.uint16]:
    """Return uniform numbers below q: those of 12 random bits that are."""
    found: list[npt.NDArray[np.uint16]] = []
    missing = count
    while missing > 0:
        drawn = np.frombuffer(secrets.token_bytes(4 * missing), np.uint16) & np.uint16(0xFFF)
        found.append(drawn[drawn < _MODULUS][:missing])
        missing -= len(found[-1])
    return np.concatenate(found)


def _hashed(given: Sequence[bytes], numbers: npt.NDArray[np.int64], label: bytes) -> Bytes:
    """Return a seed of each secret, bound to the number of its transfer and to the session."""
    infos = [_PURPOSE + int(number).to_bytes(2, "little") + label for number in numbers]
    seeds = [
        HKDF(algorithm=hashes.SHA256(), length=SEED_BYTES, salt=None, info=info).derive(secret)
        for secret, info in zip(given, infos, strict=True)
    ]
    return np.frombuffer(b"".join(seeds), np.uint8).reshape(-1, SEED_BYTES)


def _parts(message: Bytes, size: int, part: int, what: str) -> Bytes:
    """Return a message of the other party as (130, 2, part)."""
    if message.dtype != np.uint8 or message.shape != (size,):
        raise ProtocolError(
            f"The {what} of {COUNT} base transfers have {size} bytes. Got {message.dtype} of shape {message.shape}"
            " instead: the other party's program differs."
        )
    return message.reshape(COUNT, 2, part)
