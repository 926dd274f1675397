"""Gaussian draws: formats, refusals, cost, and the stated errors against the same draw computed in many digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, Party, SecretArray, SecretBits, run_local
from cofit.arithmetic import IntegerRing
from cofit.errors import RangeError
from cofit.protocols.roots import square_root, square_root_error
from cofit.protocols.trigonometry import sine_cosine_error
from cofit.sampling import exponential, uniform
from cofit.sampling import gaussian as module
from cofit.sampling.gaussian import gaussian
from unit.sampling.draws import SCHEMES, cost, opened, refusal

FORMATS = [FixedPoint(1), FixedPoint(24, Z64), FixedPoint(52, Z128), FixedPoint(56, Z128)]
WORKING: dict[IntegerRing, int] = {Z64: 30, Z128: 62}


def integers(party: Party, x: SecretArray) -> list[int]:
    """Open the encoded integers, exactly."""
    return [int(v) for v in np.asarray(party.open(x.ldexp(x.format.fraction_bits), reason="test")).flat]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("format", FORMATS, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 2, 4)], ids=str)
def test_shapes_formats_and_bounds(scheme: str, format: FixedPoint, shape: tuple[int, ...]) -> None:
    def program(party: Party) -> tuple[FixedPoint, float, Any]:
        draw = gaussian(party, shape, format)
        return draw.format, draw.bound, party.open(draw, reason="test")

    for kept, bound, values in run_local(program, scheme=scheme).results.values():
        assert kept == format
        assert bound <= 11.5
        assert values.shape == shape
        assert (np.abs(values) < 7).all()


@pytest.mark.parametrize(("format", "most"), [(FixedPoint(25), 24), (FixedPoint(0), 24), (FixedPoint(57, Z128), 56)])
def test_formats_without_accuracy_are_refused(format: FixedPoint, most: int) -> None:
    error = refusal(lambda party: gaussian(party, (3,), format))
    assert isinstance(error, RangeError)
    assert f"The 'format' parameter of gaussian must be a format with 1 to {most} fractional bits" in str(error)


def test_other_parameters_are_checked() -> None:
    shape: Any = (0,)
    assert "The 'shape' parameter of gaussian" in str(refusal(lambda p: gaussian(p, shape, FORMATS[2])))
    assert "The 'precision' parameter of gaussian" in str(refusal(lambda p: gaussian(p, (1,), FORMATS[2], precision=0)))


def test_precisions_with_more_digits_fit() -> None:
    for precision in (16, 77, 256):
        values = opened(lambda party, b=precision: gaussian(party, (9,), FORMATS[3], precision=b))  # type: ignore[misc]
        assert (np.abs(values) < 8).all()
        assert module.coupling_error(FORMATS[3], precision=precision) < Fraction(1, 1 << 52)


def test_cost_with_rep3() -> None:
    """Rounds of E, the root and the angle; an odd size costs what the next even one does."""
    odd, even = (cost(lambda party, n=n: gaussian(party, (n,), FORMATS[2])) for n in (127, 128))  # type: ignore[misc]
    assert odd == even
    assert odd[0] == 65
    assert odd[1] < 128 * 9_600
    assert cost(lambda party: gaussian(party, (128,), FORMATS[1]))[0] == 59


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_stated_errors_are_the_sum_of_the_parts(format: FixedPoint) -> None:
    w = WORKING[format.ring]
    unit = Fraction(1, 1 << format.fraction_bits)
    root = square_root_error(FixedPoint(w - 5, format.ring))
    angle = sine_cosine_error(FixedPoint(w - 2, format.ring))
    stated = module.coupling_error(format)
    least = 2 * unit + root + Fraction(11313, 1000) * angle
    assert least < stated < least * Fraction(101, 100)
    for count, extra in ((1, 0), (2, 0), (3, 1), (8, 1), (9, 2), (1874, 5)):
        e = FixedPoint(format.fraction_bits + 21 + extra, format.ring)
        assert module.energy_format(count, format) == e
        assert module.tv_distance(count, format) == exponential.tv_distance(e, (count + 1) // 2)
        # At the smallest E that is no exception, its floor costs at most one unit of the result.
        with mpmath.workprec(200):
            least_energy = mpmath.mpf(2) ** -41 / ((count + 1) // 2)
            assert mpmath.mpf(2) ** (1 - e.fraction_bits) / mpmath.sqrt(2 * least_energy) <= mpmath.mpf(2) ** (
                -format.fraction_bits
            )


def test_stated_errors_in_numbers() -> None:
    assert module.coupling_error(FORMATS[2]) < Fraction(1, 1 << 50)
    assert module.coupling_error(FORMATS[3]) < Fraction(1, 1 << 53)
    assert module.coupling_error(FORMATS[1]) < Fraction(1, 1 << 21)
    assert Fraction(1, 1 << 41) == module.EXCEPTION
    assert module.tv_distance(1874, FORMATS[2]) < Fraction(1, 1 << 47)


class Recorder:
    """What E and which angles every party drew, as secrets that the test opens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.energies: dict[int, list[SecretArray]] = {}
        self.angles: dict[int, list[SecretBits]] = {}
        draw_exponential, draw_words = exponential.exponential, uniform.uniform_words

        def energies(party: Party, *args: Any, **kwargs: Any) -> SecretArray:
            drawn = draw_exponential(party, *args, **kwargs)
            self.energies.setdefault(party.rank, []).append(drawn)
            return drawn

        def angles(party: Party, *args: Any) -> SecretBits:
            drawn = draw_words(party, *args)
            self.angles.setdefault(party.rank, []).append(drawn)
            return drawn

        monkeypatch.setattr(exponential, "exponential", energies)
        monkeypatch.setattr(uniform, "uniform_words", angles)

    def open(self, party: Party) -> tuple[list[int], int, list[int]]:
        """The integers of the first E drawn, their fractional bits, and the integers of the angles."""
        energy = self.energies[party.rank][0]
        digits = party.open(self.angles[party.rank][0], reason="test").astype(object)
        turns = sum(digits[j] << j for j in range(len(digits)))
        return integers(party, energy), energy.format.fraction_bits, [int(t) for t in turns]


def exact_draws(context: Any, energy: list[int], e: int, turns: list[int], angle_bits: int, more: Any) -> list[Any]:
    """The normal variables that belong to E and T, which lie above their floors by ``more()`` of a cell."""
    cosines, sines = [], []
    for i, t in zip(energy, turns, strict=True):
        radius = context.sqrt(2 * context.ldexp(context.mpf(i) + more(), -e))
        angle = 2 * context.pi * context.ldexp(context.mpf(t) + more(), -angle_bits)
        cosines.append(radius * context.cos(angle))
        sines.append(radius * context.sin(angle))
    return cosines + sines


def many_digits() -> Any:
    context = mpmath.MPContext()
    context.prec = 240
    return context


def as_real(context: Any, number: Fraction) -> Any:
    return context.mpf(number.numerator) / number.denominator


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("format", FORMATS[1:], ids=str)
def test_draws_are_close_to_the_same_draw_in_many_digits(
    scheme: str, format: FixedPoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact E and T lie anywhere in the cells of their floors: both ends are compared."""
    pairs = 400 if scheme == "clear" else 60
    recorder = Recorder(monkeypatch)

    def program(party: Party) -> tuple[tuple[list[int], int, list[int]], list[int]]:
        values = integers(party, gaussian(party, (2 * pairs,), format))
        return recorder.open(party), values

    run = run_local(program, scheme=scheme, parties=1 if scheme == "clear" else None)
    (energy, e, turns), values = next(iter(run.results.values()))
    context = many_digits()
    worst = context.mpf(0)
    for more in (0, 1):
        exact = exact_draws(context, energy, e, turns, WORKING[format.ring] + 3, lambda more=more: more)
        for value, wanted in zip(values, exact, strict=True):
            worst = max(worst, abs(context.ldexp(value, -format.fraction_bits) - wanted))
    assert worst < as_real(context, module.coupling_error(format))
    assert worst > context.ldexp(1, -format.fraction_bits - 3)  # the comparison is no empty one
    if format.ring is Z128:
        assert worst < context.ldexp(1, -50)


def root_of(ring: Any, energies: list[int], bits: int, result_bits: int) -> list[int]:
    def program(party: Party) -> list[int]:
        x = party.constant(np.array(energies, dtype=object), FixedPoint(0, ring)).ldexp(-bits)
        return integers(party, square_root(x, result_bits))

    return run_local(program, scheme="clear", parties=1).results["party-a"]


@pytest.mark.parametrize(
    ("ring", "bits", "result_bits"), [(Z128, 72, 57), (Z128, 110, 56), (Z128, 110, 60), (Z64, 46, 25)]
)
def test_square_root_of_finer_formats(ring: Any, bits: int, result_bits: int) -> None:
    """From the smallest number there is to the largest in the domain."""
    domain = 2 * (WORKING[ring] - result_bits - 1) + bits
    powers = [1 << j for j in range(min(domain, ring.bits - 3) + 1)]
    energies = sorted({max(p + shift, 1) for p in powers[:-1] for shift in (-1, 0, 1)} | {powers[-1]})
    results = root_of(ring, energies, bits, result_bits)
    stated = square_root_error(FixedPoint(result_bits, ring))
    assert stated < 4 * Fraction(1, 1 << result_bits)
    with mpmath.workprec(250):
        for x, r in zip(energies, results, strict=True):
            error = abs(mpmath.ldexp(r, -result_bits) - mpmath.sqrt(mpmath.ldexp(x, -bits)))
            assert error <= mpmath.mpf(stated.numerator) / stated.denominator


def test_square_root_refuses_what_it_cannot_return() -> None:
    def root(bits: int, bound: int) -> Any:
        return refusal(
            lambda party: square_root(party.constant(np.array([bound], dtype=object), FixedPoint(72, Z128)), bits)
        )

    assert "The 'fraction_bits' parameter of square_root must be from 0 to 60 in Z_2^128" in str(root(61, 1))
    error = root(57, 257)
    assert isinstance(error, RangeError)
    assert "takes values up to 4^4" in str(error)
