"""Geometric variables: P(G >= g) = exp(-g / t) for g = 0, 1, 2, ...

The binary digits of G are independent coins: P(digit 2^j set) = 1 / (1 + exp(2^j / t)). The digits j = 0 .. D-1 give
G mod 2^D exactly; D is the smallest number with P(G >= 2^D) = exp(-2^D / t) <= 2^-(B+16). About ten digits at a time
are drawn from one table (``tables.py``): that is four times cheaper than a coin for each.

Domain: t > 0 rational, with D <= k - 3 in a ring of k bits.
Distance: total variation at most 2^-B for each table and 2^-(B+16) a draw (``tv_distance``). Who learns what: nobody
anything.
Cost with ``rep3`` at t = 2^20, B = 64: 26 digits, three tables of 2^9 slots, 666 ANDs (``sums.py``), and the addition
of 27 digits: 16 rounds, about 350 bytes a draw.

Argument: ``geometric_proof.md``. The exponential distribution on a grid and the discrete Laplace are made of these.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath

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
    nearest,
)
from cofit.sampling.sums import TableSum, draw_sums
from cofit.sampling.tables import FEWEST_INDEX_BITS, MOST_INDEX_BITS, Table, alias_table, rounded_weights, table_cost
from cofit.secret import Party, SecretArray

_LN2_ABOVE = Fraction(6931471806, 10**10)  # ln 2 = 0.69314718055994...


def geometric(
    party: Party, shape: Shape, t: Fraction | int, ring: IntegerRing = Z64, *, precision: int = PRECISION
) -> SecretArray:
    """Return independent geometric integers with P(G >= g) = exp(-g / t)."""
    t = check_positive(t, "t", "geometric")
    precision = check_precision(precision, "geometric")
    shape = check_shape(shape, "geometric")
    check_room(t, ring, precision, "geometric")
    with party.label("geometric"):
        (drawn,) = draw_sums(party, [(_table_sum(t, precision), math.prod(shape))], ring)
        return drawn.reshape(shape)


def check_room(t: Fraction, ring: IntegerRing, precision: int, sampler: str) -> None:
    """Refuse a t with too many digits for a ring."""
    digits = digit_count(t, precision)
    if digits > ring.value_bits - 1:
        must_be = f"small enough for {ring.value_bits - 1} binary digits in {ring.name} (this one needs {digits})"
        raise parameter_error("t", sampler, must_be, str(t), RangeError)


@cache
def _table_sum(t: Fraction, precision: int) -> TableSum:
    digits = digit_count(t, precision)
    tables = digit_tables(t, precision)
    places, widths = digit_places(digits, len(tables))
    return TableSum(tables, places, widths, 0, (1 << digits) - 1)


def digit_places(digits: int, tables: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return where the digits of each table begin, and how many it has: about equally many, fewer in the last."""
    most = -(-digits // tables)
    places = tuple(range(0, most * tables, most))
    return places, tuple(max(0, min(most, digits - place)) for place in places)


@cache
def digit_tables(t: Fraction, precision: int, *, inverted: bool = False) -> tuple[Table, ...]:
    """Return tables of about equally many digits each, from the lowest; ``inverted``: each digit is 1 minus that of G.

    All tables have as many slots; digits beyond the highest are 0 always.
    """
    probabilities = digit_probabilities(t, precision)
    count = table_count(len(probabilities), precision)
    bits = max(-(-len(probabilities) // count), FEWEST_INDEX_BITS)
    unit = precision + bits + CONSTANT_GUARD_BITS
    tables = []
    for place, width in zip(*digit_places(len(probabilities), count), strict=True):
        ones = [nearest(p, unit) for p in probabilities[place : place + width]]
        ones += [(1 << unit) if inverted else 0] * (bits - width)
        shares = [1]
        for one in ones:  # the products of the digits' probabilities, as large whole numbers
            pair = (one, (1 << unit) - one) if inverted else ((1 << unit) - one, one)
            shares = [share * p >> (unit if shares != [1] else 0) for p in pair for share in shares]
        tables.append(alias_table(rounded_weights(shares, precision + bits), precision))
    return tuple(tables)


@cache
def table_count(digits: int, precision: int) -> int:
    """Return how many tables take the fewest ANDs."""
    counts = range(-(-digits // MOST_INDEX_BITS), digits + 1)
    return min(counts, key=lambda count: count * table_cost(max(-(-digits // count), FEWEST_INDEX_BITS), precision))


@cache
def digit_count(t: Fraction, precision: int = PRECISION) -> int:
    """Return J, at least 1: the smallest number of digits with exp(-2^J / t) <= 2^-(B+16)."""
    needed = t * (precision + TAIL_GUARD_BITS) * _LN2_ABOVE
    return max((-(-needed.numerator // needed.denominator) - 1).bit_length(), 1)


@cache
def digit_probabilities(t: Fraction, precision: int = PRECISION) -> tuple[mpmath.mpf, ...]:
    """Return P(digit 2^j set) for j = 0 .. J-1, off by less than 2^-(B+32)."""
    context = constants(precision)
    scale = context.mpf(t.numerator) / t.denominator
    return tuple(1 / (1 + context.exp(context.ldexp(1, j) / scale)) for j in range(digit_count(t, precision)))


def tv_distance(t: Fraction | int, count: int = 1, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the total-variation distance of ``count`` draws from independent ideal ones."""
    t = check_positive(t, "t", "tv_distance")
    precision = check_precision(precision, "tv_distance")
    count = check_count(count, "count", "tv_distance")
    tables = table_count(digit_count(t, precision), precision)
    return count * (Fraction(tables, 1 << precision) + Fraction(1, 1 << (precision + TAIL_GUARD_BITS)))
