"""Base transfers give the chosen seed and no other, and a message that is not one is refused."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey

from cofit.errors import InvalidInputError, ProtocolError
from cofit.sharing.pair import base_ot
from cofit.sharing.pair.base_ot import COUNT, OFFER_BYTES, REPLY_BYTES, offered, received, replied

Bytes = npt.NDArray[np.uint8]
LABEL = b"session 7, left to right"
PLACES = np.arange(COUNT)


def transfer(choices: Bytes, label: bytes = LABEL, other: bytes = LABEL) -> tuple[Bytes, Bytes]:
    offer, message = offered(choices)
    pairs, reply = replied(message, label)
    assert message.shape == (OFFER_BYTES,)
    assert reply.shape == (REPLY_BYTES,)
    return pairs, received(offer, reply, other)


@pytest.mark.parametrize("kind", ["zeros", "ones", "mixed"])
def test_the_receiver_has_the_seed_of_its_choice(kind: str, rng: np.random.Generator) -> None:
    mixed = rng.integers(0, 2, COUNT, dtype=np.uint8)
    choices = {"zeros": np.zeros_like(mixed), "ones": np.ones_like(mixed), "mixed": mixed}[kind]
    pairs, seeds = transfer(choices)
    assert pairs.shape == (COUNT, 2, 16)
    assert (seeds == pairs[PLACES, choices]).all()
    assert (seeds != pairs[PLACES, 1 - choices]).any(axis=1).all()
    assert len({seed.tobytes() for seed in pairs.reshape(-1, 16)}) == 2 * COUNT


def test_seeds_belong_to_their_session_and_number(monkeypatch: pytest.MonkeyPatch) -> None:
    choices = np.zeros(COUNT, np.uint8)
    pairs, seeds = transfer(choices, other=b"another session")
    assert (seeds != pairs[PLACES, choices]).any(axis=1).all()
    same = base_ot._hashed([bytes(32)] * 3, np.array([0, 1, 256]), LABEL)
    assert len({seed.tobytes() for seed in same}) == 3


def test_keys_at_both_places_are_valid_and_their_coefficients_uniform(rng: np.random.Generator) -> None:
    """Real keys and drawn ones alike: mean and spread of the coefficients, and of the bytes of rho."""
    choices = rng.integers(0, 2, COUNT, dtype=np.uint8)
    _, message = offered(choices)
    keys = message.reshape(COUNT, 2, -1)
    for taken in (keys[PLACES, choices], keys[PLACES, 1 - choices]):
        for key in taken:
            MLKEM768PublicKey.from_public_bytes(key.tobytes())
        three = taken[:, :1152].reshape(-1, 3).astype(int)
        coefficients = np.concatenate([three[:, 0] | (three[:, 1] & 15) << 8, three[:, 1] >> 4 | three[:, 2] << 4])
        assert coefficients.max() < 3329
        counts = np.bincount(coefficients % 13, minlength=13)  # 3329 = 13 * 256 + 1
        assert abs(counts / len(coefficients) - 1 / 13).max() < 0.005
        assert abs(coefficients.mean() - 1664) < 20
        assert abs(taken[:, 1152:].mean() - 127.5) < 10


def test_two_offers_have_nothing_in_common() -> None:
    choices = np.zeros(COUNT, np.uint8)
    one, other = (offered(choices)[1].reshape(2 * COUNT, -1) for _ in range(2))
    rhos = {key[1152:].tobytes() for key in np.concatenate([one, other])}
    assert len(rhos) == 4 * COUNT


@pytest.mark.parametrize("bad", [np.zeros(128, np.uint8), np.full(130, 2, np.uint8), np.zeros(130, np.int64)])
def test_choices_are_bits(bad: Bytes) -> None:
    with pytest.raises(InvalidInputError, match="'choices' parameter of offered must be 130 bytes of 0 or 1"):
        offered(bad)


@pytest.mark.parametrize("size", [0, OFFER_BYTES - 1, OFFER_BYTES + 1])
def test_an_offer_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"have {OFFER_BYTES} bytes"):
        replied(np.zeros(size, np.uint8), LABEL)


def test_a_reply_of_another_length_is_refused() -> None:
    offer, _ = offered(np.zeros(COUNT, np.uint8))
    with pytest.raises(ProtocolError, match=f"have {REPLY_BYTES} bytes"):
        received(offer, np.zeros(REPLY_BYTES - 1, np.uint8), LABEL)


def test_a_string_that_is_no_key_is_refused() -> None:
    _, message = offered(np.zeros(COUNT, np.uint8))
    damaged = message.copy()
    damaged.reshape(COUNT, 2, -1)[5, 1, :3] = 0xFF  # two coefficients of 4095
    with pytest.raises(ProtocolError, match=re.escape("Key 1 of base transfer 5 is no key")):
        replied(damaged, LABEL)


def test_an_offer_shows_nothing() -> None:
    offer, _ = offered(np.ones(COUNT, np.uint8))
    assert repr(offer) == "<Offer>"
