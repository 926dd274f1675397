"""The laws that samplers have by their public constants, as exact fractions, and the ideal laws to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import mpmath

Law: TypeAlias = dict[int, Fraction]
GUARD = 400  # bits of the ideal laws


def rational(number: mpmath.mpf) -> Fraction:
    """The exact value of an mpmath number."""
    mantissa, exponent = number.man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def of_digits(thresholds: Sequence[int], precision: int) -> Law:
    """The law of sum_j 2^j digit_j with independent digits, P(digit_j = 1) = thresholds[j] / 2^precision."""
    law = {0: Fraction(1)}
    for j, t in enumerate(thresholds):
        one = Fraction(t, 1 << precision)
        law = {x + (b << j): p * (one if b else 1 - one) for x, p in law.items() for b in (0, 1)}
    return law


def of_thresholds(thresholds: Sequence[int], precision: int) -> Law:
    """The law of a number with P(|X| >= m) = thresholds[m - 1] / 2^precision and a fair sign."""
    steps = [1 << precision, *thresholds, 0]
    law = {0: Fraction(steps[0] - steps[1], 1 << precision)}
    for m in range(1, len(thresholds) + 1):
        law[m] = law[-m] = Fraction(steps[m] - steps[m + 1], 2 << precision)
    return law


def of_sum(a: Law, b: Law, factor: int) -> Law:
    """The law of A + factor * B."""
    law: Law = {}
    for x, p in a.items():
        for y, q in b.items():
            z = x + factor * y
            law[z] = law.get(z, Fraction(0)) + p * q
    return law


def ideal(weight: Callable[[int], mpmath.mpf], total: mpmath.mpf, points: range) -> Law:
    """P(x) = weight(x) / total at some points, with 400 bits."""
    with mpmath.workprec(GUARD):
        return {x: rational(weight(x) / total) for x in points}


def gaussian(variance: Fraction, reach: int) -> Law:
    """The discrete Gaussian from -reach to reach, normalised over more than it matters."""
    with mpmath.workprec(GUARD):
        scale = 2 * mpmath.mpf(variance.numerator) / variance.denominator
        weights = {x: mpmath.exp(-mpmath.mpf(x * x) / scale) for x in range(2 * reach + 40)}
        total = weights[0] + 2 * mpmath.fsum(w for x, w in weights.items() if x)
        return {x: rational(weights[abs(x)] / total) for x in range(-reach, reach + 1)}


def distance(law: Mapping[int, Fraction], wanted: Mapping[int, Fraction]) -> Fraction:
    """The total-variation distance; what ``wanted`` does not list is counted in full."""
    apart = sum((abs(p - wanted.get(x, Fraction(0))) for x, p in law.items()), Fraction(0))
    missed = 1 - sum((wanted.get(x, Fraction(0)) for x in law), Fraction(0))
    return (apart + missed) / 2
