"""Polynomials that are split: as close as is stated, with fewer products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint, run_local
from cofit.arithmetic import IntegerRing
from cofit.protocols.chebyshev import REALS, Approximation, approximate
from cofit.protocols.roots import _inverse_root
from cofit.protocols.working import working_bits
from cofit.secret import Party, SecretArray

POINTS = np.concatenate([np.linspace(-1, 1, 257), 1 - 2.0 ** -np.arange(1, 30)])


def cosine(bits: int) -> Approximation:
    """Even: every other coefficient is 0."""
    return approximate(REALS.cos, 8.0, 30.0, Fraction(1, 1 << (bits + 3)), bits)


def pole(bits: int) -> Approximation:
    """The coefficients decay slowly."""
    return approximate(lambda y: 1 / (y + REALS.mpf("1.5")), 2.4, 11.0, Fraction(1, 1 << (bits + 3)), bits)


CASES: list[tuple[Callable[[int], Approximation], Callable[[float], object]]] = [
    (_inverse_root, lambda y: 1 / REALS.sqrt((REALS.mpf(y) + 3) / 4)),
    (cosine, REALS.cos),
    (pole, lambda y: 1 / (REALS.mpf(y) + REALS.mpf("1.5"))),
]


def evaluated(p: Approximation, ring: IntegerRing, scheme: str) -> tuple[list[Fraction], int, int]:
    """Return p at all points, and rounds and bytes."""

    def program(party: Party) -> tuple[list[Fraction], int, int]:
        y = party.constant(POINTS, FixedPoint(p.bits, ring)) * 1
        before = party._scheme.mesh.counts
        result: SecretArray = p.evaluate(y, p.bits)
        spent = (party._scheme.mesh.counts - before).total
        opened = party.open(result.ldexp(p.bits), reason="a test")
        return [Fraction(int(v), 1 << p.bits) for v in opened], spent.rounds, spent.bytes_sent

    return next(iter(run_local(program, scheme=scheme).results.values()))


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_a_polynomial_is_as_close_as_it_says_split_or_not(
    case: tuple[Callable[[int], Approximation], Callable[[float], object]], ring: IntegerRing
) -> None:
    p = case[0](working_bits(ring))
    exact = [Fraction(str(case[1](float(y)))) for y in POINTS]
    values, _, _ = evaluated(p, ring, "rep3")
    assert max(abs(v - e) for v, e in zip(values, exact, strict=True)) <= p.error(p.bits)
    if p.split is not None:
        assert p.distance + p.split.error <= p.error_of_basis


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_a_split_takes_fewer_bytes_and_no_more_rounds(ring: IntegerRing) -> None:
    p = _inverse_root(working_bits(ring))
    assert p.split is not None
    _, rounds, sent = evaluated(p, ring, "rep3")
    _, rounds_before, sent_before = evaluated(replace(p, split=None), ring, "rep3")
    assert rounds <= rounds_before
    assert sent <= sent_before * (p.split.half + 2) // p.degree
    assert replace(p, split=None) == p, "no part of what a plan states"
