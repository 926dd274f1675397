"""The laws that samplers have by their public constants, as exact integers, and the ideal laws to compare with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
import numpy.typing as npt

from cofit.sampling.sums import TableSum
from cofit.sampling.tables import Table

GUARD = 420  # bits of the ideal laws


def rational(number: mpmath.mpf) -> Fraction:
    """The exact value of an mpmath number."""
    mantissa, exponent = number.man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@dataclass(frozen=True)
class Law:
    """P(first + i) = weights[i] / 2^bits, as whole numbers of any size."""

    first: int
    weights: npt.NDArray[np.object_]
    bits: int

    @property
    def points(self) -> range:
        return range(self.first, self.first + len(self.weights))

    def moved(self, offset: int) -> Law:
        return Law(self.first + offset, self.weights, self.bits)

    def plus(self, other: Law, place: int) -> Law:
        """The law of A + 2^place B for independent A and B."""
        step = 1 << place
        weights = np.zeros((len(other.weights) - 1) * step + len(self.weights), dtype=object)
        for i, weight in enumerate(other.weights):
            if weight:
                weights[i * step : i * step + len(self.weights)] += self.weights * weight
        return Law(self.first + step * other.first, weights, self.bits + other.bits)


def of_table(table: Table, width: int | None = None) -> Law:
    """What a uniform slot and a coin of the slot's bias give: every slot adds what it holds to its own and its alias.

    ``width``: of the number its lowest bits only.
    """
    full = 1 << table.precision
    weights: list[int] = [0] * (1 << (table.index_bits if width is None else width))
    for slot, (own, alias) in enumerate(zip(table.own, table.alias, strict=True)):
        weights[slot % len(weights)] += own
        weights[alias % len(weights)] += full - own
    return Law(0, np.array(weights, dtype=object), table.precision + table.index_bits)


def of_sum(law: TableSum) -> Law:
    """The law of a sum of independent table draws."""
    parts = zip(law.tables, law.places, law.widths, strict=True)
    laws = [(of_table(table, width), place) for table, place, width in parts]
    total = functools.reduce(lambda a, b: a.plus(*b), laws, Law(0, np.array([1], dtype=object), 0))
    return total.moved(law.offset)


def ideal(weight: Callable[[int], mpmath.mpf], total: mpmath.mpf, points: range) -> Law:
    """P(x) = weight(x) / total at some points, rounded to units of 2^-GUARD."""
    with mpmath.workprec(GUARD + 40):
        units = [int(mpmath.nint(mpmath.ldexp(weight(x) / total, GUARD))) for x in points]
    return Law(points[0], np.array(units, dtype=object), GUARD)


def gaussian(variance: Fraction, reach: int) -> Law:
    """The discrete Gaussian from -reach to reach, normalised over all that matters."""
    with mpmath.workprec(GUARD + 40):
        scale = 2 * mpmath.mpf(variance.numerator) / variance.denominator
        enough = max(reach, int(mpmath.sqrt(scale * (GUARD + 60)))) + 2
        weights = [mpmath.exp(-mpmath.mpf(x * x) / scale) for x in range(enough)]
        total = 2 * mpmath.fsum(weights) - weights[0]
    return ideal(lambda x: weights[abs(x)], total, range(-reach, reach + 1))


def geometric(t: Fraction, count: int) -> Law:
    """P(g) = (1 - q) q^g for g < count, q = exp(-1 / t)."""
    with mpmath.workprec(GUARD + 40):
        q = mpmath.exp(-mpmath.mpf(t.denominator) / t.numerator)
        return ideal(lambda g: (1 - q) * q**g, mpmath.mpf(1), range(count))


def laplace(t: Fraction, reach: int) -> Law:
    """P(x) = (1 - q) / (1 + q) q^|x| for |x| <= reach, q = exp(-1 / t)."""
    with mpmath.workprec(GUARD + 40):
        q = mpmath.exp(-mpmath.mpf(t.denominator) / t.numerator)
        return ideal(lambda x: q ** abs(x), (1 + q) / (1 - q), range(-reach, reach + 1))


def distance(law: Law, wanted: Law) -> Fraction:
    """The total-variation distance of two laws; what one of them does not list is counted in full."""
    bits = max(law.bits, wanted.bits)
    first, end = min(law.first, wanted.first), max(law.points.stop, wanted.points.stop)
    a, b = (np.zeros(end - first, dtype=object) for _ in range(2))
    for target, one in ((a, law), (b, wanted)):
        target[one.first - first : one.points.stop - first] = one.weights * (1 << (bits - one.bits))
    beyond = sum(abs((1 << bits) - int(part.sum())) for part in (a, b))
    return Fraction(int(np.abs(a - b).sum()) + beyond, 2 << bits)
