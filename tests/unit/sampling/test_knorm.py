"""Noise of density exp(-||x||): formats, refusals, cost, stated errors, and the same draw computed in many digits."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cofit import Z64, Z128, FixedPoint, Party, run_local
from cofit.errors import RangeError
from cofit.sampling import gamma, sphere
from cofit.sampling import knorm as module
from cofit.sampling.knorm import knorm
from unit.sampling.draws import SCHEMES, cost, refusal
from unit.sampling.test_gaussian import WORKING, Recorder, as_real, exact_draws, integers, many_digits
from unit.sampling.test_sphere import first_ample

FORMATS = [FixedPoint(24, Z64), FixedPoint(52, Z128), FixedPoint(56, Z128)]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("format", FORMATS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3, 25, 301])
def test_formats_and_bounds(scheme: str, format: FixedPoint, d: int) -> None:
    def program(party: Party) -> tuple[FixedPoint, float, Any]:
        draw = knorm(party, d, format)
        return draw.format, draw.bound, party.open(draw, reason="test")

    for kept, bound, values in run_local(program, scheme=scheme).results.values():
        assert kept == format
        assert values.shape == (d,)
        assert 64 * d <= bound <= 64 * d * 1.001 + 0.1
        assert float((values**2).sum()) ** 0.5 < d + 20 * d**0.5 + 20


def test_wrong_parameters_are_refused() -> None:
    assert "The 'd' parameter of knorm must be a positive integer." in str(refusal(lambda p: knorm(p, 0, FORMATS[1])))
    error = refusal(lambda party: knorm(party, 100_001, FORMATS[1]))
    assert isinstance(error, RangeError)
    error = refusal(lambda party: knorm(party, 3, FixedPoint(25, Z64)))
    assert "The 'format' parameter of knorm must be a format with 1 to 24 fractional bits" in str(error)


@pytest.mark.parametrize(("d", "rounds"), [(1, 14), (2, 33), (3, 140), (25, 114), (1874, 125)])
def test_rounds_with_rep3(d: int, rounds: int) -> None:
    assert cost(lambda party: knorm(party, d, FORMATS[1]))[0] == rounds


@pytest.mark.parametrize("d", [1, 2, 3, 25, 1874, 100_000])
def test_stated_errors_recomputed(d: int) -> None:
    assert stats.gamma.sf(float(module.length_ceiling(d)), d) <= 2.0**-42
    for format in FORMATS:
        finest = FixedPoint(WORKING[format.ring] - 6, format.ring)
        drawn = module.draw_format(d, format)
        unit = Fraction(1, 1 << format.fraction_bits)
        direction = module.length_ceiling(d) * sphere.coupling_error(d, finest)
        kept = Fraction(1, 1 << module.length_format(d, format).fraction_bits)
        stated = module.coupling_error(d, format)
        assert direction + unit <= stated <= direction + unit + gamma.coupling_error(d, drawn) + 2 * kept
        assert module.tv_distance(d, format) == sphere.tv_distance(d, format.ring) + gamma.tv_distance(d, drawn)
        assert module.exception(d, format.ring) == sphere.exception(d, format.ring) + Fraction(1, 1 << 42)


def test_stated_errors_in_numbers() -> None:
    assert module.coupling_error(1, FORMATS[1]) < Fraction(1, 1 << 51)
    assert module.coupling_error(1874, FORMATS[1]) < Fraction(1, 1 << 43)
    assert module.coupling_error(1874, FORMATS[0]) < Fraction(1, 1 << 11)
    assert module.tv_distance(1874, FORMATS[1]) < Fraction(1, 1 << 46)
    assert module.exception(1874, Z128) < Fraction(1, 1 << 39)


@pytest.mark.parametrize(
    ("scheme", "format", "d"), [("clear", f, d) for f in FORMATS for d in (1, 3, 25, 200)] + [("rep3", FORMATS[1], 25)]
)
def test_draws_are_close_to_the_same_draw_in_many_digits(
    scheme: str, format: FixedPoint, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, context, more = Recorder(monkeypatch), many_digits(), random.Random(9).random

    def program(party: Party) -> tuple[Any, list[int], int, list[int]]:
        values = integers(party, knorm(party, d, format))
        parts = recorder.energies[party.rank][-1]
        circle = recorder.open(party) if d > 1 else None
        return circle, integers(party, parts), parts.format.fraction_bits, values

    run = run_local(program, scheme=scheme, parties=1 if scheme == "clear" else None)
    circle, parts, bits, values = next(iter(run.results.values()))
    length = sum(context.ldexp(context.mpf(part) + more(), -bits) for part in parts)
    if d == 1:
        direction = [context.mpf(1 if values[0] >= 0 else -1)]
    else:
        energy, e, turns = circle
        vector = first_ample(context, exact_draws(context, energy, e, turns, WORKING[format.ring] + 3, more), d)
        norm = context.sqrt(sum(x * x for x in vector))
        direction = [x / norm for x in vector]
    worst = max(
        abs(context.ldexp(v, -format.fraction_bits) - length * u) for v, u in zip(values, direction, strict=True)
    )
    assert worst < as_real(context, module.coupling_error(d, format))


def test_traffic_is_counted_under_the_name() -> None:
    run = run_local(lambda party: knorm(party, 3, FORMATS[1]).shape, scheme="rep3")
    labels = {label for counts in run.traffic.values() for label in counts} - {"setup", "open", "receipt"}
    assert {label.split("/")[0] for label in labels} == {"knorm"}
    assert np.all([shape == (3,) for shape in run.results.values()])
