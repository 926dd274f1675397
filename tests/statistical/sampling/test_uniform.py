"""Uniform draws: every bit balanced, no bit related to another, the fixed-point value uniform on (0, 1]."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cofit import FixedPoint, Party, SecretArray, SecretBits
from cofit.sampling.uniform import uniform
from statistical.sampling.checks import AMOUNTS, Values, count_of, draws, mean_of, neighbours, unrelated
from support.chance import PValues, accept, reject

F = 48


def integers(party: Party, count: int) -> SecretArray:
    return uniform(party, (count,), FixedPoint(F)).ldexp(F)


def battery(values: Values) -> PValues:
    """``values``: integers from 1 to 2^48."""
    low = (values - 1).astype(np.int64)
    real = values / 2.0**F
    bits = {f"bit {j}": count_of((low >> j & 1).astype(bool), 0.5) for j in range(F)}
    pairs = {f"bits {j}, {j + 1}": count_of((low >> j ^ low >> (j + 1)) & 1 == 1, 0.5) for j in range(F - 1)}
    return {
        "distribution": float(stats.kstest(real, "uniform").pvalue),
        "mean": mean_of(real, 0.5, (1 / 12) ** 0.5),
        "small values": count_of(real <= 1e-3, 1e-3),
        **bits,
        **pairs,
        **neighbours(real),
    }


@pytest.mark.parametrize(("scheme", "count"), AMOUNTS)
def test_uniform(scheme: str, count: int) -> None:
    accept(battery(draws(integers, scheme, count)))


def test_runs_are_unrelated() -> None:
    first, second = (draws(integers, "rep3", 20_000) for _ in range(2))
    accept({"runs": unrelated(first, second)})
    reject({"the same run twice": unrelated(first, first)})


def test_sixteen_bits_are_noticed() -> None:
    def coarse(party: Party, count: int) -> SecretArray:
        return uniform(party, (count,), FixedPoint(16)).ldexp(16) * (1 << (F - 16))

    reject(battery(draws(coarse, "clear", 100_000)))


def test_one_bit_used_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Party.random_secret_bits

    def repeated(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        bits = original(self, shape, width)
        return bits[[*range(width - 1), width - 2]]

    monkeypatch.setattr(Party, "random_secret_bits", repeated)
    reject(battery(draws(integers, "clear", 100_000)))


def test_a_product_of_bits_instead_of_their_xor_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Party.random_secret_bits

    def biased(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        return original(self, shape, width) | (original(self, shape, width) & original(self, shape, width))

    monkeypatch.setattr(Party, "random_secret_bits", biased)
    reject(battery(draws(integers, "clear", 20_000)))
