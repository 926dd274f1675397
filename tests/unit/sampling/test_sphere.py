"""Points on the sphere: formats, refusals, cost, stated errors, and the same draw computed in many digits."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from cofit import Z64, Z128, FixedPoint, Party, run_local
from cofit.errors import RangeError
from cofit.sampling import gaussian
from cofit.sampling import sphere as module
from cofit.sampling.sphere import unit_vector
from unit.sampling.draws import SCHEMES, cost, opened, refusal
from unit.sampling.test_gaussian import WORKING, Recorder, as_real, exact_draws, integers, many_digits

FORMATS = [FixedPoint(24, Z64), FixedPoint(52, Z128), FixedPoint(56, Z128)]
DIMENSIONS = [1, 2, 3, 4, 5, 10, 24, 25, 27, 30, 60, 100, 101, 1874, 100_000]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("format", FORMATS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3, 8, 25, 301])
def test_draws_have_length_1(scheme: str, format: FixedPoint, d: int) -> None:
    def program(party: Party) -> tuple[FixedPoint, float, Any]:
        draw = unit_vector(party, d, format)
        return draw.format, draw.bound, party.open(draw, reason="test")

    allowed = 3 * d * float(module.coupling_error(d, format)) + 1e-15
    for kept, bound, values in run_local(program, scheme=scheme).results.values():
        assert kept == format
        assert values.shape == (d,)
        assert (np.abs(values) <= bound).all()
        assert bound < 1.001
        assert abs(float((values**2).sum()) - 1) <= allowed


@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_dimension_is_a_sign(scheme: str) -> None:
    signs = {float(opened(lambda party: unit_vector(party, 1, FORMATS[1]), scheme)[0]) for _ in range(40)}
    assert signs == {-1.0, 1.0}


def test_wrong_parameters_are_refused() -> None:
    for d in (0, -1, 2.0, True, None):
        error = refusal(lambda party, d=d: unit_vector(party, d, FORMATS[1]))  # type: ignore[misc]
        assert "The 'd' parameter of unit_vector must be a positive integer." in str(error)
    error = refusal(lambda party: unit_vector(party, 100_001, FORMATS[1]))
    assert isinstance(error, RangeError)
    assert "The 'd' parameter of unit_vector must be at most 100000." in str(error)
    error = refusal(lambda party: unit_vector(party, 3, FixedPoint(57, Z128)))
    assert "The 'format' parameter of unit_vector must be a format with 1 to 56 fractional bits" in str(error)


@pytest.mark.parametrize(("d", "rounds"), [(1, 2), (2, 21), (3, 128), (25, 102), (1874, 103)])
def test_rounds_with_rep3(d: int, rounds: int) -> None:
    assert cost(lambda party: unit_vector(party, d, FORMATS[1]))[0] == rounds


@pytest.mark.parametrize("d", DIMENSIONS[2:])
def test_the_norm_is_small_as_seldom_as_stated(d: int) -> None:
    m, floor = module.attempts(d), module.square_floor(d)
    if floor == 1:
        assert stats.chi2.cdf(1, d) ** m <= 2.0**-42
    else:
        assert m == 1
        assert stats.chi2.cdf(float(floor), d) <= 2.0**-42
    assert 4 ** module.scale_exponent(d) <= floor < 4 ** (module.scale_exponent(d) + 1)
    assert (m > 1) == (d < 25)


@pytest.mark.parametrize("format", FORMATS, ids=str)
@pytest.mark.parametrize("d", DIMENSIONS[2:])
def test_stated_errors_recomputed(d: int, format: FixedPoint) -> None:
    """The leading terms, in floating point; the stated bound is above, and not by much."""
    finest = gaussian.most_fraction_bits(format.ring)
    c = float(gaussian.coupling_error(FixedPoint(finest, format.ring)))
    n = float(module.square_floor(d)) ** 0.5
    least = (1 + min(1, 11.314 / n) * d**0.5) * c / n + 2.0**-format.fraction_bits
    stated = module.coupling_error(d, format)
    assert least <= stated <= 1.6 * least
    assert module.tv_distance(d, format.ring) == gaussian.tv_distance(
        module.attempts(d) * d, FixedPoint(finest, format.ring)
    )


def test_stated_errors_in_numbers() -> None:
    for d in [*range(1, 100), 300, 1000, 1874, 10_000, 100_000]:
        assert module.coupling_error(d, FORMATS[1]) < Fraction(1, 1 << 50)
        assert module.coupling_error(d, FORMATS[0]) < Fraction(1, 1 << 18)
        assert module.exception(d, Z128) < Fraction(1, 1 << 40)
        assert module.exception(d, Z64) < Fraction(1, 1 << (40 if d < 3 or d >= 25 else 15))
    assert module.coupling_error(1, FORMATS[0]) == module.tv_distance(1, Z64) == module.tv_distance(2, Z128) == 0


def test_density_of_the_square_near_1() -> None:
    assert max(float(stats.chi2.pdf(np.linspace(0.01, 40, 4000), d).max()) for d in range(3, 25)) < 0.25


@pytest.mark.parametrize(
    ("scheme", "format", "d"),
    [("clear", f, d) for f in FORMATS for d in (2, 3, 4, 9, 25, 200)] + [("rep3", FORMATS[1], 5)],
)
def test_draws_are_close_to_the_same_draw_in_many_digits(
    scheme: str, format: FixedPoint, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(monkeypatch)
    context = many_digits()

    def program(party: Party) -> tuple[tuple[list[int], int, list[int]], list[int]]:
        values = integers(party, unit_vector(party, d, format))
        if d == 2:
            recorder.energies[party.rank] = [party.constant(np.array([1]), FixedPoint(0, format.ring))]
        return recorder.open(party), values

    parts = run_local(program, scheme=scheme, parties=1 if scheme == "clear" else None)
    (energy, e, turns), values = next(iter(parts.results.values()))
    exact = exact_draws(context, energy, e, turns, WORKING[format.ring] + 3, random.Random(7).random)
    vector = first_ample(context, exact, d) if d > 2 else exact
    norm = context.sqrt(sum(x * x for x in vector))
    worst = max(abs(context.ldexp(v, -format.fraction_bits) - x / norm) for v, x in zip(values, vector, strict=True))
    assert worst < as_real(context, module.coupling_error(d, format))


def first_ample(context: Any, exact: list[mpmath.mpf], d: int) -> list[mpmath.mpf]:
    vectors = [exact[start : start + d] for start in range(0, module.attempts(d) * d, d)]
    return next(v for v in vectors if sum(x * x for x in v) >= 1)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ample", [[3], [0, 1, 2], [1, 4], [], [2, 3]])
def test_the_first_ample_vector_is_taken(scheme: str, ample: list[int]) -> None:
    count = 5

    def program(party: Party) -> tuple[list[float], float]:
        rows = np.arange(count * 3).reshape(count, 3) / 16
        squares = np.array([1 + i / 16 if i in ample else 1 - (i + 1) / 16 for i in range(count)])
        vectors = party.constant(rows, FORMATS[1])
        vector, square = module._first_of_ample_norm(vectors, party.constant(squares, FixedPoint(100, Z128)))
        assert vector.shape == (1, 3)
        return list(party.open(vector, reason="test")[0]), float(party.open(square, reason="test")[0, 0])

    wanted = min(ample, default=count - 1)
    for vector, square in run_local(program, scheme=scheme).results.values():
        assert vector == [(3 * wanted + i) / 16 for i in range(3)]
        assert square == (1 + wanted / 16 if ample else 1 - count / 16)
