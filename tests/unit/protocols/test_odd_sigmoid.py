"""The sigmoid of training on small ranges, for every scheme and ring: within its stated error, in six rounds."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import FixedPoint, Party, run_local
from cofit.arithmetic import Z64, Z128, PowerOfTwoRing
from cofit.arithmetic.narrow import narrow_bytes
from cofit.errors import InvalidInputError
from cofit.protocols import odd_sigmoid as odd_sigmoid_module
from cofit.protocols.odd_sigmoid import (
    argument_bits,
    odd_sigmoid,
    odd_sigmoid_error,
    odd_sigmoid_polynomial,
    rounded_radius,
    takes_verdicts,
)
from cofit.secret import SecretArray
from cofit.sharing import SCHEMES
from support.schemes import also_slow

COUNT = 2001
OF_SCHEMES = also_slow(sorted(set(SCHEMES) - {"pair"}), "pair")


def program(
    party: Party, radius: Fraction, scale: Fraction, bits: int, ring: PowerOfTwoRing, verdicts: Any = None
) -> npt.NDArray[np.float64]:
    z = party.constant(np.linspace(-float(radius), float(radius), COUNT), FixedPoint(argument_bits(ring), ring))
    passed = None if verdicts is None else party.constant(verdicts, FixedPoint(0, ring))
    with party.label("odd"):
        p = odd_sigmoid(z, radius, scale, bits, passed)
    return party.open(p, reason="test")


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("scheme", OF_SCHEMES)
@pytest.mark.parametrize("radius", [Fraction(1, 20), Fraction(1, 3), Fraction(662, 1000), Fraction(1)])
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_it_is_within_its_stated_error(scheme: str, radius: Fraction, ring: PowerOfTwoRing) -> None:
    for scale in (Fraction(2049, 4096), Fraction(1)):
        run = run_local(partial(program, radius=radius, scale=scale, bits=26, ring=ring), scheme=scheme)
        unit = 2.0 ** argument_bits(ring)
        z = np.round(np.linspace(-float(radius), float(radius), COUNT) * unit) / unit
        exact = float(scale) / 2 * np.tanh(z / 2)
        proven = float(odd_sigmoid_error(ring, radius, scale, 26))
        for opened in run.results.values():
            assert np.abs(opened - exact).max() <= proven


@pytest.mark.parametrize("scheme", OF_SCHEMES)
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_with_verdicts_it_is_within_the_same_error(scheme: str, ring: PowerOfTwoRing) -> None:
    verdicts = np.arange(COUNT) % 3 > 0
    unit = 2.0 ** argument_bits(ring)
    for radius, scale in ((Fraction(662, 1000), Fraction(1)), (Fraction(1), Fraction(2049, 4096))):
        assert takes_verdicts(ring, radius, scale)
        called = partial(program, radius=radius, scale=scale, bits=26, ring=ring, verdicts=verdicts.astype(np.int64))
        opened = run_local(called, scheme=scheme).results["party-a"]
        z = np.round(np.linspace(-float(radius), float(radius), COUNT) * unit) / unit
        exact = float(scale) / 2 * np.tanh(z / 2)
        assert np.abs(opened - exact)[verdicts].max() <= float(odd_sigmoid_error(ring, radius, scale, 26))
        assert (opened[~verdicts] == 0).all()


@pytest.mark.parametrize("scheme", OF_SCHEMES)
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_a_record_that_failed_gives_zero_whatever_its_score_is(scheme: str, ring: PowerOfTwoRing) -> None:
    """2^(k-1), multiples of 2^m, all ones, and anything: products wrap, and 0 stays 0."""
    half = ring.bits - 1
    planted = [1 << half, (1 << half) - 1, *(1 << m for m in range(half)), *(3 << m for m in range(half - 1))]
    rng = np.random.default_rng(4)
    planted += [int.from_bytes(rng.bytes(ring.element_bytes), "little") for _ in range(200)]
    signed = np.array([x - (1 << ring.bits) if x >> half else x for x in planted], dtype=object)

    def called(party: Party) -> npt.NDArray[np.float64]:
        format = FixedPoint(argument_bits(ring), ring)
        share = party._scheme.constant(ring, ring.from_int(signed))
        z = SecretArray(party._scheme, share, format, format.limit(1))
        failed = party.constant(np.zeros(len(planted), dtype=np.int64), FixedPoint(0, ring))
        return party.open(odd_sigmoid(z, Fraction(1), Fraction(1), 26, failed), reason="test")

    assert (run_local(called, scheme=scheme).results["party-a"] == 0).all()


def test_verdicts_are_refused_where_the_error_would_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """With coefficients rounded as badly as can be there is nothing to spare."""
    exact = odd_sigmoid_module._numbers

    def badly(ring: PowerOfTwoRing, radius: Fraction, scale: Fraction) -> Any:
        bits, (first, *_), largest = exact(ring, radius, scale)
        polynomial = odd_sigmoid_polynomial(rounded_radius(radius), scale)
        units = 1 << bits.coefficients
        half = [Fraction(c) * units + Fraction(1, 2) for c in polynomial.coefficients[1:]]
        return bits, (first, *half), largest

    assert takes_verdicts(Z64, Fraction(3, 7), Fraction(1))
    monkeypatch.setattr(odd_sigmoid_module, "_numbers", badly)
    assert not takes_verdicts.__wrapped__(Z64, Fraction(3, 7), Fraction(1))


def test_verdicts_are_taken_in_all_but_rare_cases() -> None:
    cases = [(Fraction(r, 64), Fraction(c, 4096)) for r in range(1, 65, 9) for c in range(2049, 4097, 97)]
    assert np.mean([takes_verdicts(Z64, radius, scale) for radius, scale in cases]) > 0.98


def test_the_error_has_teeth() -> None:
    """The proven error is small, and nearly attained: a coarser evaluation would be noticed."""
    run = run_local(partial(program, radius=Fraction(662, 1000), scale=Fraction(1), bits=24, ring=Z64), scheme="rep3")
    unit = 2.0 ** argument_bits(Z64)
    z = np.round(np.linspace(-0.662, 0.662, COUNT) * unit) / unit
    seen = np.abs(run.results["party-a"] - np.tanh(z / 2) / 2).max()
    proven = float(odd_sigmoid_error(Z64, Fraction(662, 1000), Fraction(1), 24))
    assert proven <= 3 * 2.0**-24
    assert seen >= 0.25 * proven


@pytest.mark.parametrize("radius", [Fraction(i, 16) for i in range(1, 17)])
def test_the_stated_distance_holds_everywhere_and_is_that_at_the_end(radius: Fraction) -> None:
    polynomial = odd_sigmoid_polynomial(rounded_radius(radius), Fraction(1))
    z = np.append(np.random.default_rng(1).uniform(-float(radius), float(radius), 200_000), float(radius))
    value = sum(c * z**n for c, n in zip(polynomial.coefficients, (1, 3, 5, 7), strict=True))
    off = np.abs(value - np.tanh(z / 2) / 2)
    assert off.max() <= polynomial.distance
    assert off.max() <= off[-1] + 1e-15
    assert np.abs(value).max() <= polynomial.largest


def half() -> odd_sigmoid_module._Bits:
    return odd_sigmoid_module._bits(Z64, odd_sigmoid_polynomial(Fraction(1, 2), Fraction(1)))


def sent(*truncations: tuple[int, int]) -> int:
    """The bytes of truncated products: how many at once of every element, and by how many bits."""
    return sum(3 * (times * COUNT * 8 + narrow_bytes(times * COUNT, shift)) for times, shift in truncations)


def test_it_takes_six_rounds_and_four_products() -> None:
    run = run_local(partial(program, radius=Fraction(1, 2), scale=Fraction(1), bits=24, ring=Z64), scheme="rep3")
    counts = [counts["odd/mul"] for counts in run.traffic.values()]
    assert max(c.rounds for c in counts) == 6
    bits = half()
    assert sum(c.bytes_sent for c in counts) == sent((1, 56 - bits.powers), (2, 28), (1, bits.total - 24))


def test_with_verdicts_it_takes_as_many_rounds_and_one_product_more() -> None:
    called = partial(
        program, radius=Fraction(1, 2), scale=Fraction(1), bits=24, ring=Z64, verdicts=np.ones(COUNT, np.int64)
    )
    traffic = run_local(called, scheme="rep3").traffic.values()
    labels = ("odd/mul", "odd/inner")
    assert max(sum(counts[label].rounds for label in labels) for counts in traffic) == 6
    bits = half()
    finer = bits.powers + odd_sigmoid_module._FINER
    expected = sent((2, 56 - bits.powers), (2, finer), (1, bits.total - 24))
    assert sum(counts[label].bytes_sent for counts in traffic for label in labels) == expected


def test_other_formats_and_ranges_are_refused() -> None:
    for radius in (Fraction(0), Fraction(65, 64)):
        with pytest.raises(InvalidInputError, match="'radius' parameter of odd_sigmoid"):
            odd_sigmoid_polynomial(radius, Fraction(1))

    def wrong(party: Party) -> None:
        odd_sigmoid(party.constant([0.5], FixedPoint(24)), Fraction(1, 2), Fraction(1), 20)

    with pytest.raises(Exception, match="with 28 fractional bits"):
        run_local(wrong, scheme="clear")
