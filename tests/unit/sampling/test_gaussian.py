"""Gaussian draws: formats, refusals, cost, and the stated errors against the same draw computed in many digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, Party, SecretArray, run_local
from cofit.errors import RangeError
from cofit.protocols.roots import square_root, square_root_error
from cofit.protocols.trigonometry import sine_cosine_error
from cofit.sampling import exponential, uniform
from cofit.sampling import gaussian as module
from cofit.sampling.gaussian import gaussian
from unit.sampling.draws import SCHEMES, cost, opened, refusal

FORMATS = [FixedPoint(1), FixedPoint(24, Z64), FixedPoint(52, Z128), FixedPoint(56, Z128)]
WORKING = {Z64: 30, Z128: 62}


def integers(party: Party, x: SecretArray) -> list[int]:
    """Open the encoded integers, exactly."""
    return [int(v) for v in np.asarray(party.open(x.ldexp(x.format.fraction_bits), reason="test")).flat]


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
    assert odd[0] == 64
    assert odd[1] < 128 * 10_900
    assert cost(lambda party: gaussian(party, (128,), FORMATS[1]))[0] == 58


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


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("format", FORMATS[1:], ids=str)
def test_draws_are_close_to_the_same_draw_in_many_digits(
    scheme: str, format: FixedPoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact E and T lie anywhere in the cells of their floors: both ends of both are compared."""
    pairs = 400 if scheme == "clear" else 60
    w = WORKING[format.ring]
    draw_exponential, draw_words = exponential.exponential, uniform.uniform_words

    def program(party: Party) -> tuple[list[int], list[int], list[int], list[int]]:
        recorded: dict[str, Any] = {}

        def energies(*args: Any, **kwargs: Any) -> SecretArray:
            recorded["energy"] = draw_exponential(*args, **kwargs)
            return recorded["energy"]  # type: ignore[no-any-return]

        def words(*args: Any) -> Any:
            recorded["angle"] = draw_words(*args)
            return recorded["angle"]

        patches[party.rank] = (energies, words)
        values = integers(party, gaussian(party, (2 * pairs,), format))
        angle = party.open(recorded["angle"], reason="test").astype(object)
        turns = [int(v) for v in sum(angle[j] << j for j in range(len(angle)))]
        assert len(angle) == w + 3
        energy = recorded["energy"]
        return integers(party, energy), [energy.format.fraction_bits], turns, values

    patches: dict[int, Any] = {}
    monkeypatch.setattr(exponential, "exponential", lambda party, *a, **k: patches[party.rank][0](party, *a, **k))
    monkeypatch.setattr(uniform, "uniform_words", lambda party, *a: patches[party.rank][1](party, *a))
    run = run_local(program, scheme=scheme, parties=1 if scheme == "clear" else None)
    energy, (e,), turns, values = next(iter(run.results.values()))
    context = mpmath.MPContext()
    context.prec = 200
    stated = module.coupling_error(format)
    allowed = context.mpf(stated.numerator) / stated.denominator
    worst = context.mpf(0)
    for i in range(pairs):
        for more_energy in (0, 1):
            for more_angle in (0, 1):
                radius = context.sqrt(2 * context.ldexp(energy[i] + more_energy, -e))
                angle = 2 * context.pi * context.ldexp(turns[i] + more_angle, -(w + 3))
                for value, exact in ((values[i], context.cos(angle)), (values[pairs + i], context.sin(angle))):
                    worst = max(worst, abs(context.ldexp(value, -format.fraction_bits) - radius * exact))
    assert worst < allowed
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
