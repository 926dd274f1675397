"""Coins by the first one of a random word, against brute force; and circuits that run side by side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Party, SecretBits
from cofit.sampling.first_one import FirstOnes
from cofit.secret.circuits import beside, run
from unit.sampling.draws import SCHEMES, all_words, binary, cost, known_bits, opened

LENGTHS = [1, 2, 3, 4, 5, 7, 16, 17, 20, 63, 64, 65, 100]
ROUNDS = {1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 7: 3, 16: 5, 17: 6, 20: 6, 63: 7, 64: 7, 65: 8, 100: 8}
RNG = np.random.default_rng(11)


def tossed_public(words: SecretBits, biases: list[int]) -> SecretBits:
    ones = FirstOnes(words, len(biases))
    coins: SecretBits = run(beside(ones.circuit(), ones.public(biases)))[1]
    return coins


def tossed_secret(words: SecretBits, biases: SecretBits, count: int) -> SecretBits:
    ones = FirstOnes(words, count)
    coins: SecretBits = run(beside(ones.circuit(), ones.secret(biases)))[1]
    return coins


def highest_first(numbers: list[int], length: int) -> npt.NDArray[np.uint8]:
    return binary(numbers, length)[::-1]


def big(length: int) -> int:
    return int.from_bytes(RNG.bytes(16), "big") % (1 << length)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 7])
def test_every_bias_comes_up_for_exactly_its_share_of_all_words(length: int) -> None:
    biases = list(range(1 << length))
    found = opened(
        lambda party: tossed_public(
            all_words(party, length).join(*[all_words(party, length)] * (len(biases) - 1)), biases
        )
    )
    assert found.sum(axis=1).tolist() == biases


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 7])
def test_every_secret_bias_comes_up_for_exactly_its_share_of_all_words(length: int) -> None:
    """Element (bias, word), for all of both."""
    size = 1 << length
    words = binary(np.tile(np.arange(size), size), length)
    biases = highest_first(np.repeat(np.arange(size), size).tolist(), length)
    found = opened(lambda party: tossed_secret(known_bits(party, words), known_bits(party, biases), 1))
    assert found.reshape(size, size).sum(axis=1).tolist() == list(range(size))


def with_first_one_at_every_place(length: int) -> npt.NDArray[np.uint8]:
    """Words whose first one, from row 0, is at place 0, 1, ..., and one without; what follows it is random.

    The samplers look for the first zero: NOT of a uniform word is as uniform.
    """
    words = RNG.integers(0, 2, (length, length + 1), dtype=np.uint8)
    for place in range(length + 1):
        words[:place, place] = 1
        words[place : place + 1, place] = 0
    return words


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", LENGTHS)
def test_the_coin_is_the_bit_of_the_bias_at_the_place_of_the_first_one(length: int, scheme: str) -> None:
    """Three words for each element, each with a bias of its own: public, and the same ones secret."""
    words = np.concatenate([np.roll(with_first_one_at_every_place(length), shift, axis=1) for shift in range(3)])
    biases = [big(length), (1 << length) - 1, big(length)]
    secret = np.concatenate([np.repeat(highest_first([bias], length), length + 1, axis=1) for bias in biases])
    expected = [
        [
            bias >> (length - 1 - place) & 1 if place < length else 0
            for place in np.roll(np.arange(length + 1), shift).tolist()
        ]
        for shift, bias in enumerate(biases)
    ]
    assert opened(lambda party: tossed_public(known_bits(party, words), biases), scheme).tolist() == expected
    found = opened(lambda party: tossed_secret(known_bits(party, words), known_bits(party, secret), 3), scheme)
    assert found.tolist() == expected


def ands(length: int, *, secret: bool) -> int:
    """Prefix products of groups of 4 (4 ANDs; of 3 places 2, of 2 places 1), level by level, and a result a group."""
    count, left, leaf = 0, length, True
    while leaf or left > 1:
        size = min(left, 4)
        groups = -(-left // size)
        top = groups == 1
        prefix = [0, 0, 1, 2, 4][size if leaf or not top else size - 1]
        count += groups * prefix + (groups if secret or not leaf else 0)
        left, leaf = groups, False
    return count


@pytest.mark.parametrize("length", LENGTHS)
def test_cost_with_rep3(length: int) -> None:
    """A public bias needs no product in the leaves; a secret one takes a round there, which long words wait anyway."""

    def public(party: Party) -> SecretBits:
        return tossed_public(party.random_secret_bits((64,), 2 * length), [(1 << length) - 1] * 2)

    def secret(party: Party) -> SecretBits:
        return tossed_secret(
            party.random_secret_bits((64,), 2 * length), party.random_secret_bits((64,), 2 * length), 2
        )

    assert cost(public) == (ROUNDS[length], 2 * 3 * 8 * ands(length, secret=False))
    assert cost(secret) == (ROUNDS[length] + (length <= 8), 2 * 3 * 8 * ands(length, secret=True))


def test_the_documented_numbers_of_ands() -> None:
    assert (ands(64, secret=False), ands(64, secret=True)) == (87, 103)
