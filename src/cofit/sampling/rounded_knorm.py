r"""K-norm noise in whole steps of a grid: a draw of density proportional to exp(-||x|| / t), rounded to integers.

For sums that lie on the same grid: G + round(x) = round(G + x) for every integer vector G, so that adding the rounded
draw is the same as rounding G plus an exact one, which is post-processing. The rounding is a truncation, whose dither
depends on nothing secret; for every value of it the result is a function of x.

Domain: d from 1 to 100,000; t a multiple of a power of two, with few bits (``knorm`` draws in Z_2^128 with 52
fractional bits, and t times that must fit it).
Coarser cells: what becomes of G plus a draw may be rounded once more, to cells of 2^k steps, by a truncation. Floors
of floors are floors, and a dither of whole steps moves borders alone: the result is G + x, rounded to these cells.
Distance: outside an event of probability ``knorm.tv_distance + knorm.exception`` every coordinate of the unit noise is
within c = ``knorm.coupling_error`` of an exact draw, hence within e = t c of one in steps (the product with t is
exact). Both fall into the same cell unless the exact one lies within e of a border. Borders are 2^k steps apart, and
the density of a coordinate is unimodal and at most 1 / (2 t), so that this has probability at most 2 e 2^-k + e / t for
one coordinate, and d times that for all (``tv_distance``).
Largest: |x_i| <= t d 2^K (1 + 2^-12) + 1 (``largest_draw``), whatever was drawn.
Who learns what: nobody anything.
Cost: that of ``knorm`` for ``count`` draws at once, one truncation, and a change of the ring where it is smaller.
"""

from __future__ import annotations

from fractions import Fraction

from cofit.arithmetic import Z128, FixedPoint, IntegerRing
from cofit.errors import RangeError
from cofit.sampling import exponential, knorm
from cofit.sampling.parameters import PRECISION, check_positive
from cofit.secret import Party, SecretArray

_SAMPLE = FixedPoint(52, Z128)
_COORDINATE = 1 + Fraction(1, 1 << 12)


def rounded_knorms(party: Party, count: int, d: int, scale: Fraction, ring: IntegerRing) -> SecretArray:
    """Return ``count`` independent draws in whole steps, shape (count, d)."""
    largest = largest_draw(d, scale)
    bits = scale.denominator.bit_length() - 1
    FixedPoint(0, ring).limit(largest)  # refuses what could overflow before any draw
    unit = knorm.knorms(party, count, d, _SAMPLE)
    steps = (unit * scale.numerator).ldexp(-bits).truncate(0)
    if ring is not steps.format.ring:
        steps = steps.with_integer_limit(min(largest, steps.integer_limit)).narrow(ring)
    return steps.with_integer_limit(min(largest, steps.integer_limit))


def largest_draw(d: int, scale: Fraction) -> int:
    """Return what no coordinate exceeds in magnitude."""
    scale = check_positive(scale, "scale", "rounded_knorms")
    if scale.denominator & (scale.denominator - 1):
        raise ValueError("The scale of rounded K-norm noise has a power of two below its line.")
    unit = (d << exponential.integer_digits(PRECISION)) * _COORDINATE
    if unit * scale.numerator * (1 << _SAMPLE.fraction_bits) >= 1 << (_SAMPLE.ring.value_bits - 1):
        raise RangeError(
            f"K-norm noise of scale {float(scale):.3g} in {d} dimensions does not fit {_SAMPLE.ring.name}. Use a "
            f"larger epsilon, or fewer columns."
        )
    return int(unit * scale) + 2


def tv_distance(d: int, scale: Fraction, cell_bits: int = 0) -> Fraction:
    """Return a bound of the distance of one draw, rounded to cells of 2^cell_bits steps with whatever it was added to,
    from the rounding of an exact one."""
    error = scale * knorm.coupling_error(d, _SAMPLE)
    borders = d * (2 * error / (1 << cell_bits) + error / scale)
    return knorm.tv_distance(d, _SAMPLE) + knorm.exception(d, Z128) + borders
