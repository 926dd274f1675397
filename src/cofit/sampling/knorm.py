"""Noise with density proportional to exp(-||x||) in d dimensions: pi_DP of the paper, lines 1 to 13, without the scale.

A uniform point of the unit sphere times an independent Gamma(d, 1) variable: the norm of such noise has density
proportional to r^(d-1) exp(-r). d = 1 is the Laplace distribution.

Domain: d from 1 to 100,000; 1 to W - 6 fractional bits (56 in Z_2^128, 24 in Z_2^64). |x_i| <= d 2^K (1 + 2^-12).
Distance and coupling: outside an event of probability ``tv_distance(d, format) + exception(d, ring)``, every coordinate
is within ``coupling_error(d, format)`` of that of an exact draw: 2^-43 for d = 1874 in Z_2^128 with f = 52, where the
norm is about 1874. In Z_2^64 it is 2^-11 for d = 1874 with f = 24: use Z_2^128 where the distance matters.
Who learns what: nobody anything.
Cost with ``rep3``: those of ``unit_vector`` and ``gamma``, and one product: 125 rounds and 20 MB for d = 1874, f = 52.

Proof: ``knorm_proof.md``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.sampling import exponential, gamma, gaussian, sphere
from cofit.sampling.parameters import PRECISION, check_precision, constants
from cofit.secret import Party, SecretArray

_RARE_BITS = 42
_STEPS = 64  # the upper bound of the Gamma variable is d times a multiple of 1/64


def knorm(party: Party, d: int, format: FixedPoint, *, precision: int = PRECISION) -> SecretArray:
    """Return one draw of the density proportional to exp(-||x||), shape (d,), in ``format``."""
    return knorms(party, 1, d, format, precision=precision)[0]


def knorms(party: Party, count: int, d: int, format: FixedPoint, *, precision: int = PRECISION) -> SecretArray:
    """Return ``count`` independent draws, shape (count, d), in the rounds of one.

    ``exception`` is for one of them (for all, multiply by ``count``); ``tv_distance`` takes the count.
    """
    d = sphere.check_dimension(d, "knorm")
    precision = check_precision(precision, "knorm")
    gaussian.check_fraction_bits(format, "knorm")
    format.limit((d << exponential.integer_digits(precision)) * 2)  # refuses what could overflow before any draw
    with party.label("knorm"):
        direction = sphere.unit_vectors(party, count, d, direction_format(format.ring), precision=precision)
        length = gamma.gamma(party, (count, 1), d, draw_format(d, format, precision), precision=precision)
        kept = length.truncate(length_format(d, format, precision).fraction_bits)
        return direction.multiply(kept, format.fraction_bits)


def direction_format(ring: IntegerRing) -> FixedPoint:
    """Return the format of the point on the sphere: the finest there is."""
    return FixedPoint(gaussian.most_fraction_bits(ring), ring)


def draw_format(d: int, format: FixedPoint, precision: int = PRECISION) -> FixedPoint:
    """Return the format in which the Gamma variable is summed: d 2^-bits is below a unit of the result, if it fits."""
    wanted = format.fraction_bits + d.bit_length()
    return FixedPoint(min(wanted, format.ring.value_bits - 1 - _length_digits(d, precision)), format.ring)


def length_format(d: int, format: FixedPoint, precision: int = PRECISION) -> FixedPoint:
    """Return the format in which it is multiplied: as fine as the product leaves room for."""
    room = format.ring.value_bits - 1 - direction_format(format.ring).fraction_bits - _length_digits(d, precision)
    return FixedPoint(min(draw_format(d, format, precision).fraction_bits, room), format.ring)


def _length_digits(d: int, precision: int) -> int:
    return exponential.integer_digits(precision) + d.bit_length()


@cache
def length_ceiling(d: int) -> Fraction:
    """Return a number that Gamma(d, 1) exceeds with probability at most 2^-42.

    d a with the smallest a = 1 + j / 64 such that (a exp(1 - a))^d <= 2^-42 (Chernoff).
    """
    context = constants(PRECISION)
    steps = 1
    while d * (context.log(1 + context.mpf(steps) / _STEPS) - context.mpf(steps) / _STEPS) > -_RARE_BITS * context.ln2:
        steps += 1
    return d * (1 + Fraction(steps, _STEPS))


def tv_distance(d: int, format: FixedPoint, *, count: int = 1, precision: int = PRECISION) -> Fraction:
    """Return the total-variation part of a call for ``count`` draws: of the points on the sphere and of the lengths."""
    d = sphere.check_dimension(d, "tv_distance")
    of_lengths = gamma.tv_distance(d, draw_format(d, format, precision), count, precision=precision)
    return sphere.tv_distance(d, format.ring, count=count, precision=precision) + of_lengths


def exception(d: int, ring: IntegerRing, *, precision: int = PRECISION) -> Fraction:
    """Return the probability with which ``coupling_error`` may be exceeded, besides ``tv_distance``."""
    return sphere.exception(d, ring, precision=precision) + Fraction(1, 1 << _RARE_BITS)


def coupling_error(d: int, format: FixedPoint, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of |coordinate - exact coordinate|, outside the exceptions."""
    d = sphere.check_dimension(d, "coupling_error")
    drawn, kept = draw_format(d, format, precision), length_format(d, format, precision)
    of_direction = sphere.coupling_error(d, direction_format(format.ring), precision=precision)
    coordinate = sphere.largest_coordinate(d, format.ring, precision=precision) + of_direction
    of_length = gamma.coupling_error(d, drawn)
    if kept != drawn:
        of_length += Fraction(1, 1 << kept.fraction_bits)
    return length_ceiling(d) * of_direction + coordinate * of_length + Fraction(1, 1 << format.fraction_bits)
