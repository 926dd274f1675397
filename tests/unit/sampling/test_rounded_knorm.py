"""K-norm noise in whole steps: shapes, bounds, refusals, stated distances, and the rounding of the very unit draw."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, Party, run_local
from cofit.arithmetic import IntegerRing
from cofit.errors import RangeError
from cofit.sampling import knorm
from cofit.sampling.rounded_knorm import largest_draw, rounded_knorms, tv_distance
from unit.sampling.draws import SCHEMES, refusal

SAMPLE = FixedPoint(52, Z128)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize(("d", "scale"), [(1, Fraction(900)), (6, Fraction(4097, 4)), (30, Fraction(1 << 23))])
def test_whole_steps_within_the_stated_bound(scheme: str, ring: IntegerRing, d: int, scale: Fraction) -> None:
    def program(party: Party) -> tuple[FixedPoint, int, Any]:
        draws = rounded_knorms(party, 3, d, scale, ring)
        return draws.format, draws.integer_limit, party.open(draws, reason="test")

    for kept, limit, values in run_local(program, scheme=scheme).results.values():
        assert kept == FixedPoint(0, ring)
        assert values.shape == (3, d)
        assert limit <= largest_draw(d, scale)
        assert np.linalg.norm(values.astype(np.float64), axis=1).max() < float(scale) * (d + 20 * d**0.5 + 20)


@pytest.mark.parametrize("scheme", ["clear", "rep3"])
def test_a_draw_is_the_unit_draw_times_the_scale_rounded(scheme: str) -> None:
    scale = Fraction(4097, 4)

    def program(party: Party) -> tuple[Any, Any]:
        draws = rounded_knorms(party, 40, 5, scale, Z64)
        return party.open(units[id(party)], reason="test"), party.open(draws, reason="test")

    def spied(party: Party, *given: Any) -> Any:
        units[id(party)] = drawn(party, *given)
        return units[id(party)]

    units: dict[int, Any] = {}
    drawn = knorm.knorms
    with mock.patch.object(knorm, "knorms", spied):
        results = run_local(program, scheme=scheme).results
    for unit, draws in results.values():
        off = draws - unit * float(scale)
        assert off.min() > -1.000001
        assert off.max() < 1.000001


def test_noise_that_does_not_fit_is_refused() -> None:
    for scale in (Fraction(1 << 60), Fraction(1 << 56)):
        asked = partial(rounded_knorms, count=1, d=5, scale=scale, ring=Z64)
        assert isinstance(refusal(asked), RangeError)
    with pytest.raises(RangeError, match="does not fit"):
        largest_draw(5, Fraction(1 << 70))
    with pytest.raises(ValueError, match="power of two"):
        largest_draw(5, Fraction(1, 3))


def test_stated_distances_recomputed() -> None:
    for d, scale, cells in ((1, Fraction(900), 0), (6, Fraction(4097, 4), 3), (129, Fraction(1 << 20), 14)):
        error = float(scale * knorm.coupling_error(d, SAMPLE))
        borders = d * (2 * error / 2**cells + error / float(scale))
        exact = float(knorm.tv_distance(d, SAMPLE) + knorm.exception(d, Z128)) + borders
        assert float(tv_distance(d, scale, cells)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 6, 25, 129])
def test_many_draws_at_once_are_no_further_off_than_each_by_itself(d: int) -> None:
    assert knorm.tv_distance(d, SAMPLE, count=10) <= 10 * knorm.tv_distance(d, SAMPLE)
