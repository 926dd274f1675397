"""Discrete Gaussian noise: P(X = x) proportional to exp(-x^2 / (2 sigma^2)), for every integer x.

Small sigma: a table of the numbers -n .. n (``tables.py``), where P(|X| > n) is at most 2^-(B+2).

Large sigma: a convolution, X = A_0 + c_1 (A_1 + c_2 (A_2 + ...)) with independent A_i from tables and powers of two
c_i, so that the product with c is a shift. The variances are rational numbers that add up to sigma^2 exactly, and every
step is within 2^-(B+16) of the discrete Gaussian of exactly the wanted sigma (``discrete_gaussian_proof.md``:
completing the square and Poisson summation). Draws of all laws with equally placed tables are one circuit
(``sums.py``).

Domain: sigma > 0 rational, up to ``LARGEST_SIGMA`` = 2^40.
Distance: total variation at most 2^-B for each table and 2^-(B+16) for each convolution, a draw (``tv_distance``; the
certificate adds it): at sigma = 2^20 and B = 64 below 2^-62.
Range: |X| <= sum of C_i n_i, C_i = c_1 ... c_i, always (the public bound of the result).
Who learns what: nobody anything.
Cost with ``rep3`` at sigma = 2^20, B = 64: three tables of 2^12 slots, 915 ANDs (``sums.py``), and the addition of 27
digits: 17 rounds, 435 bytes a draw (for few, 10 rounds and 1.2 kB).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from cofit.arithmetic import Z64, IntegerRing, Shape
from cofit.errors import RangeError, parameter_error
from cofit.sampling.parameters import (
    CONSTANT_GUARD_BITS,
    PRECISION,
    TAIL_GUARD_BITS,
    check_count,
    check_positive,
    check_precision,
    check_shape,
    constants,
)
from cofit.sampling.sums import TableSum, draw_sums
from cofit.sampling.tables import FEWEST_INDEX_BITS, MOST_INDEX_BITS, Table, alias_table, rounded_weights, table_cost
from cofit.secret import Party, SecretArray

LARGEST_SIGMA = 1 << 40
_LN2_BY_2PI2_ABOVE = Fraction(3512, 100_000)  # ln 2 / (2 pi^2) = 0.035115...


@dataclass(frozen=True)
class Part:
    """One A_i: its variance, the exponent of its multiplier C_i, and n: |A_i| <= n."""

    variance: Fraction
    place: int
    largest: int


@dataclass(frozen=True)
class Plan:
    """How X is made: tables of 2^index_bits slots, one for each part."""

    index_bits: int
    parts: tuple[Part, ...]

    @property
    def largest(self) -> int:
        """No draw is larger in magnitude."""
        return sum(part.largest << part.place for part in self.parts)


def discrete_gaussian(
    party: Party, shape: Shape, sigma: Fraction | int, ring: IntegerRing = Z64, *, precision: int = PRECISION
) -> SecretArray:
    """Return independent integers with P(x) proportional to exp(-x^2 / (2 sigma^2))."""
    shape = check_shape(shape, "discrete_gaussian")
    count = int(np.prod(shape, dtype=np.int64))
    (drawn,) = discrete_gaussians(party, [(sigma, count)], ring, precision=precision)
    return drawn.reshape(shape)


def discrete_gaussians(
    party: Party,
    laws: Sequence[tuple[Fraction | int, int]],
    ring: IntegerRing = Z64,
    *,
    precision: int = PRECISION,
) -> list[SecretArray]:
    """Return, for every sigma, so many independent integers: in as few rounds as the laws have kinds of sums."""
    precision = check_precision(precision, "discrete_gaussian")
    sums = []
    for sigma, count in laws:
        law = _table_sum(_checked_sigma(sigma), precision)
        if law.digits > ring.value_bits:
            must_be = f"small enough for {ring.name}"
            raise parameter_error("sigma", "discrete_gaussian", must_be, sigma, RangeError)
        sums.append((law, check_count(count, "count", "discrete_gaussian")))
    drawn: dict[int, SecretArray] = {}
    with party.label("discrete_gaussian"):
        for shape in dict.fromkeys(law.shape for law, _ in sums):
            alike = [n for n, (law, _) in enumerate(sums) if law.shape == shape]
            drawn |= zip(alike, draw_sums(party, [sums[n] for n in alike], ring), strict=True)
    return [drawn[n] for n in range(len(sums))]


# --- public constants ------------------------------------------------------------------------------------


def largest_draw(sigma: Fraction | int, *, precision: int = PRECISION) -> int:
    """Return the public bound of every draw's magnitude."""
    return plan(_checked_sigma(sigma), check_precision(precision, "largest_draw")).largest


def tv_distance(sigma: Fraction | int, count: int = 1, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the total-variation distance of ``count`` draws from independent ideal ones."""
    precision = check_precision(precision, "tv_distance")
    tables = len(plan(_checked_sigma(sigma), precision).parts)
    convolving = Fraction(tables - 1, 1 << (precision + TAIL_GUARD_BITS))
    return check_count(count, "count", "tv_distance") * (Fraction(tables, 1 << precision) + convolving)


@cache
def plan(variance: Fraction, precision: int) -> Plan:
    """Return the tables whose weighted sum has exactly this variance, each step of it proven close: of all sizes of
    tables, those that cost the fewest ANDs."""
    found = {bits: _parts(variance, bits, precision) for bits in range(FEWEST_INDEX_BITS, MOST_INDEX_BITS + 1)}
    costs = {bits: len(parts) * table_cost(bits, precision) for bits, parts in found.items() if parts}
    best = min(costs, key=lambda bits: costs[bits])
    return Plan(best, tuple(Part(v, place, reach(v, precision)) for v, place in found[best]))


def _parts(variance: Fraction, index_bits: int, precision: int) -> list[tuple[Fraction, int]]:
    """Return the variances and places of tables of 2^index_bits slots; none where such tables do not do.

    X = A + c B with A ~ N_Z(a^2), B ~ N_Z(b^2) and a^2 + c^2 b^2 = sigma^2 needs tau^2 = a^2 b^2 / sigma^2 to be at
    least (B + 18) ln 2 / (2 pi^2). a^2 is the largest variance of a table, or sigma^2 / 2 where that is less; c is the
    largest power of two that fits.
    """
    most = _largest_variance(index_bits, precision)
    least = (precision + TAIL_GUARD_BITS + 2) * _LN2_BY_2PI2_ABOVE
    parts = []
    place = 0
    while variance > most:
        own = min(most, variance / 2)
        square = own * (variance - own) / (variance * least)  # c^2 may be as large
        exponent = (int(square).bit_length() - 1) // 2
        if square < 1 or (not exponent and variance > 4 * own):  # small tables would be too many
            return []
        parts.append((own, place))
        place += exponent
        variance = (variance - own) / (1 << (2 * exponent))
    return [*parts, (variance, place)]


@cache
def reach(variance: Fraction, precision: int) -> int:
    """Return n, the smallest found with P(|X| > n) <= 2^-(B+2), for X ~ N_Z(variance)."""
    low, high = 0, 1
    while not _is_tail(high, variance, precision):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_tail(middle, variance, precision) else (middle, high)
    return max(high - 1, 1)


def _is_tail(m: int, variance: Fraction, precision: int) -> bool:
    """Return whether it is proven that P(|X| >= m) <= 2^-(B+2), for m >= 1.

    The probability is below 2 exp(-m^2 / (2 s^2)) / (1 - exp(-m / s^2)), a geometric series above the tail, divided by
    the sum of all weights, which is at least 1 and at least s sqrt(2 pi). Half of it: room for the rounding of this.
    """
    context = constants(precision)
    s2 = context.mpf(variance.numerator) / variance.denominator
    total = max(context.mpf(1), context.sqrt(2 * context.pi * s2))
    tail = 2 * context.exp(-context.mpf(m * m) / (2 * s2)) / (1 - context.exp(-m / s2))
    return bool(tail <= context.ldexp(total, -(precision + 3)))


@cache
def _largest_variance(index_bits: int, precision: int) -> Fraction:
    """Return the largest variance of a table of 2^index_bits slots, in steps of 1/16."""
    beyond = 1 << (index_bits - 1)
    low, high = 0, 16 * beyond * beyond
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_tail(beyond, Fraction(middle, 16), precision) else (low, middle)
    return Fraction(low, 16)


@cache
def _table_sum(variance: Fraction, precision: int) -> TableSum:
    made = plan(variance, precision)
    half = 1 << (made.index_bits - 1)  # slot v stands for v - half
    return TableSum(
        tuple(gaussian_table(part.variance, made.index_bits, precision) for part in made.parts),
        tuple(part.place for part in made.parts),
        (made.index_bits,) * len(made.parts),
        -sum(half << part.place for part in made.parts),
        made.largest,
    )


@cache
def gaussian_table(variance: Fraction, index_bits: int, precision: int) -> Table:
    """Return the table of N_Z(variance), cut off beyond its ``reach``."""
    n, half, bits = reach(variance, precision), 1 << (index_bits - 1), precision + index_bits
    weights = _weights(variance, n, bits + CONSTANT_GUARD_BITS)
    shares = [0] * (2 * half)
    for x, weight in enumerate(weights):
        shares[half - x] = shares[half + x] = weight
    return alias_table(rounded_weights(shares, bits), precision)


def _weights(variance: Fraction, largest: int, bits: int) -> list[int]:
    """Return exp(-x^2 / (2 s^2)) for x = 0 .. largest in units of 2^-bits, each off by less than 4 largest^2 units.

    From one to the next by the factor exp(-(2 x + 1) / (2 s^2)), itself multiplied by exp(-1 / s^2) each time; a
    product of numbers up to 1 is off by what they are, and a unit.
    """
    context = constants(bits)
    s2 = context.mpf(variance.numerator) / variance.denominator
    factor, step = (int(context.floor(context.ldexp(context.exp(-1 / (k * s2)), bits))) for k in (2, 1))
    weights = [1 << bits]
    for _ in range(largest):
        weights.append(weights[-1] * factor >> bits)
        factor = factor * step >> bits
    return weights


def _checked_sigma(sigma: object) -> Fraction:
    """Return the variance."""
    checked = check_positive(sigma, "sigma", "discrete_gaussian")
    if checked > LARGEST_SIGMA:
        raise parameter_error("sigma", "discrete_gaussian", f"at most 2^{LARGEST_SIGMA.bit_length() - 1}", sigma)
    return checked * checked
