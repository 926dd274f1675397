"""Every sampler draws arrays of any shape, also a single value, and counts its traffic under its own name."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cofit import FixedPoint, Party, SecretArray, run_local
from cofit.arithmetic import INTEGER_RINGS, IntegerRing
from cofit.sampling.discrete_gaussian import discrete_gaussian
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.sampling.exponential import exponential
from cofit.sampling.gamma import gamma
from cofit.sampling.geometric import geometric
from cofit.sampling.uniform import uniform

F = FixedPoint(20)
SAMPLERS: dict[str, Callable[[Party, tuple[int, ...]], SecretArray]] = {
    "uniform": lambda party, shape: uniform(party, shape, F),
    "geometric": lambda party, shape: geometric(party, shape, 3),
    "exponential": lambda party, shape: exponential(party, shape, F),
    "gamma": lambda party, shape: gamma(party, shape, 3, F),
    "discrete_laplace": lambda party, shape: discrete_laplace(party, shape, Fraction(7, 2)),
    "discrete_gaussian": lambda party, shape: discrete_gaussian(party, shape, 40),
}


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("shape", [(), (1,), (65,), (2, 3, 4)], ids=str)
def test_shapes(sampler: str, shape: tuple[int, ...]) -> None:
    def program(party: Party) -> list[float]:
        draw = SAMPLERS[sampler](party, shape)
        values = party.open(draw, reason="test")
        assert draw.shape == values.shape == shape
        assert (np.abs(values.astype(np.float64)) <= draw.bound).all()
        return [float(v) for v in values.flat]

    run = run_local(program)
    first, *others = run.results.values()
    assert all(other == first for other in others)
    labels = {label for counts in run.traffic.values() for label in counts} - {"setup", "open", "receipt"}
    assert {label.split("/")[0] for label in labels} == {sampler}


def test_numpy_integers_are_integers() -> None:
    three: Any = np.int64(3)
    precision: Any = np.int64(16)

    def program(party: Party) -> list[tuple[int, ...]]:
        return [
            discrete_gaussian(party, (three,), three, precision=precision).shape,
            discrete_laplace(party, (three,), three, precision=precision).shape,
            gamma(party, (three,), three, F, precision=precision).shape,
        ]

    assert run_local(program, scheme="clear", parties=1).results["party-a"] == [(3,)] * 3


IN_A_RING: dict[str, Callable[[Party, IntegerRing], SecretArray]] = {
    "uniform": lambda party, ring: uniform(party, (70,), FixedPoint(20, ring)),
    "geometric": lambda party, ring: geometric(party, (70,), 3, ring),
    "exponential": lambda party, ring: exponential(party, (70,), FixedPoint(20, ring)),
    "discrete_laplace": lambda party, ring: discrete_laplace(party, (70,), Fraction(7, 2), ring),
    "discrete_gaussian": lambda party, ring: discrete_gaussian(party, (70,), 40, ring),
}


@pytest.mark.parametrize("sampler", IN_A_RING)
def test_the_same_bits_give_the_same_draw_in_any_ring(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A law is one of bits; the ring only holds what was drawn."""
    monkeypatch.setattr("cofit.sharing.clear.party.fresh_seed", lambda: bytes(range(32)))

    def draw(party: Party, ring: IntegerRing) -> list[float]:
        return [float(v) for v in party.open(IN_A_RING[sampler](party, ring), reason="test")]

    drawn = [
        run_local(lambda party, ring=ring: draw(party, ring), scheme="clear", parties=1).results["party-a"]  # type: ignore[misc]
        for ring in INTEGER_RINGS.values()
    ]
    assert all(values == drawn[0] for values in drawn)
    assert len(set(drawn[0])) > 3
