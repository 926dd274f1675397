"""Coins: each comes up as often as its bias says, and none is related to another."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from cofit import Party, SecretBits
from cofit.sampling import coin
from cofit.sampling.coin import coins
from statistical.sampling.checks import AMOUNTS, Values, count_of, draws, neighbours
from support.chance import PValues, accept, reject

BIASES = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 1000), Fraction(999, 1000), 1 / (1 + mpmath.e), Fraction(5, 7)]


def several(party: Party, count: int) -> SecretBits:
    return coins(party, BIASES, (count,))


def battery(bits: Values) -> PValues:
    flips = bits.astype(bool)
    rates = {f"coin {p}": count_of(flip, float(p)) for p, flip in zip(BIASES, flips, strict=True)}
    joint = {
        f"coins {p} and {q}": count_of(a & b, float(p) * float(q))
        for (p, a), (q, b) in pairwise(zip(BIASES, flips, strict=True))
    }
    return {**rates, **joint, **neighbours(bits[1])}


@pytest.mark.parametrize(("scheme", "count"), AMOUNTS)
def test_coins(scheme: str, count: int) -> None:
    accept(battery(draws(several, scheme, count)))


def test_coins_as_integers() -> None:
    values = draws(lambda party, count: party.to_arithmetic(several(party, count)), "rep3", 20_000)
    assert set(np.unique(values)) == {0, 1}
    accept(battery(values))


@pytest.mark.parametrize("scheme", ["clear", "rep3"])
def test_five_bits_of_precision_are_noticed(scheme: str) -> None:
    reject(battery(draws(lambda party, count: coins(party, BIASES, (count,), precision=5), scheme, 20_000)))


def test_one_word_for_all_coins_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Party.random_secret_bits

    def shared(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        return original(self, shape, 64)[list(range(64)) * (width // 64)]

    monkeypatch.setattr(Party, "random_secret_bits", shared)
    reject(battery(draws(several, "clear", 20_000)))


def test_a_threshold_that_counts_itself_in_the_top_bits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coin, "nearest", lambda p, bits: int(float(p) * 256 + 1) << (bits - 8))
    reject(battery(draws(several, "clear", 20_000)))
