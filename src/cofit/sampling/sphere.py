"""Uniform points on the unit sphere: a Gaussian vector divided by its norm (pi_NORM of the paper, on the noise).

d = 1: a random sign, exact. d = 2: a uniform angle, no division. d >= 3: g / ||g|| for a Gaussian vector g. For small d
the norm may be small and the errors of g would grow; but the direction of g is independent of its norm, so several
vectors are drawn (``attempts(d)``: 22 for d = 3, 1 from d = 25 on) and the first with ||g||^2 >= 1 is taken, unseen.

Domain: d from 1 to 100,000; 1 to W - 6 fractional bits (56 in Z_2^128, 24 in Z_2^64).
Distance and coupling: outside an event of probability ``tv_distance(d, ring) + exception(d, ring)``, every
coordinate is within ``coupling_error(d, format)`` of that of an exactly uniform point: less than 2^-50 for every d in
Z_2^128 with f >= 52, with ``exception`` below 2^-40. In Z_2^64 with f = 24 less than 2^-18, with an exception of 2^-40
from d = 25 on, and below 2^-15 for d = 3 .. 24.
Who learns what: nobody anything, not even how many attempts it took.
Cost with ``rep3``: that of ``gaussian`` for attempts(d) d draws, one inverse root and two products: 103 rounds, 18 MB
for d = 1874 in Z_2^128.

Proof: ``sphere_proof.md``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import isqrt

from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.errors import RangeError, parameter_error
from cofit.protocols.roots import inverse_square_root, inverse_square_root_error
from cofit.protocols.trigonometry import sine_cosine_error
from cofit.protocols.working import tighten
from cofit.sampling import gaussian
from cofit.sampling.parameters import PRECISION, check_count, check_precision, constants
from cofit.secret import Party, SecretArray, bits_to_array, concatenate

LARGEST_DIMENSION = 100_000
_RARE_BITS = 42  # what may happen with probability 2^-42 is an exception
_STEPS = 64  # the lower bound of ||g||^2 / d is a multiple of 1/64


def unit_vector(party: Party, d: int, format: FixedPoint, *, precision: int = PRECISION) -> SecretArray:
    """Return a uniform point of the unit sphere in d dimensions, shape (d,), in ``format``."""
    return unit_vectors(party, 1, d, format, precision=precision)[0]


def unit_vectors(party: Party, count: int, d: int, format: FixedPoint, *, precision: int = PRECISION) -> SecretArray:
    """Return ``count`` independent points of the unit sphere, shape (count, d), in the rounds of one.

    ``exception`` is for one of them (for all, multiply by ``count``); ``tv_distance`` takes the count.
    """
    count = check_count(count, "count", "unit_vectors")
    d = check_dimension(d, "unit_vector")
    precision = check_precision(precision, "unit_vector")
    gaussian.check_fraction_bits(format, "unit_vector")
    with party.label("unit_vector"):
        if d == 1:
            signs = 1 - party.random_bits((count, 1), format.ring) * 2
            return tighten(signs.widen(format.fraction_bits), Fraction(1))
        if d == 2:
            points = gaussian.circle(party, count, format.ring).reshape(2, count).T
            return _within_the_sphere(points.truncate(format.fraction_bits))
        return _normalised(party, count, d, format, precision)


def _normalised(party: Party, count: int, d: int, format: FixedPoint, precision: int) -> SecretArray:
    ring, exponent = format.ring, scale_exponent(d)
    vectors = gaussian.gaussian(party, (attempts(d), count, d), gaussian_format(ring), precision=precision)
    squares = vectors.multiply(vectors, square_bits(d, ring, precision)).sum(axis=2)
    vector, square = _first_of_ample_norm(vectors, squares)
    inverse = inverse_square_root(square.ldexp(-2 * exponent), inverse_format(ring).fraction_bits)
    return _within_the_sphere(vector.ldexp(-exponent).multiply(inverse, format.fraction_bits).reshape(count, d))


def _first_of_ample_norm(vectors: SecretArray, squares: SecretArray) -> tuple[SecretArray, SecretArray]:
    """Return the first of m vectors with ||g||^2 >= 1 (or the last of all), and its square.

    Shapes (m, count, d) and (m, count) become (1, count, d) and (1, count, 1). Pairs of neighbours are reduced to the
    first of them if that is ample, to the second if not, until one is left.
    """
    squares = squares.reshape(*squares.shape, 1)
    if len(vectors) == 1:
        return vectors, squares
    small = bits_to_array((squares - 1).sign_bits(), squares.format.ring)[0]
    ample = 1 - small
    while len(vectors) > 1:
        keep = ample[: len(vectors) // 2 * 2 : 2]
        vectors, squares, ample = (_reduced(x, keep) for x in (vectors, squares, ample))
    return vectors, squares


def _reduced(rows: SecretArray, keep: SecretArray) -> SecretArray:
    """Return the even rows where ``keep`` is 1 and their successors where it is 0; a last row without one stays."""
    end = len(rows) // 2 * 2
    even, odd = rows[:end:2], rows[1:end:2]
    chosen = (odd + keep * (even - odd)).with_integer_limit(rows.integer_limit)
    return concatenate([chosen, rows[end:]])


def _within_the_sphere(x: SecretArray) -> SecretArray:
    return tighten(x, 1 + Fraction(1, 1 << 12))


def check_dimension(d: object, sampler: str) -> int:
    """Return d, or raise InvalidInputError unless it is an integer from 1 to 100,000."""
    d = check_count(d, "d", sampler)
    if d > LARGEST_DIMENSION:
        raise parameter_error("d", sampler, f"at most {LARGEST_DIMENSION}", d, RangeError)
    return d


def gaussian_format(ring: IntegerRing) -> FixedPoint:
    """Return the format of the Gaussian vector: the finest there is, whatever the result's."""
    return FixedPoint(gaussian.most_fraction_bits(ring), ring)


def inverse_format(ring: IntegerRing) -> FixedPoint:
    """Return the format of 1 / ||g||: W - 2 fractional bits, for values up to 2."""
    return gaussian.circle_format(ring)


def square_bits(d: int, ring: IntegerRing, precision: int = PRECISION) -> int:
    """Return the fractional bits of the squares: as many as let four times the sum of d of them fit the ring."""
    total = d * (gaussian.largest(precision) + 1) ** 2
    room = ring.value_bits - 2 - int(total).bit_length()
    return min(2 * gaussian.most_fraction_bits(ring), room)


@cache
def attempts(d: int) -> int:
    """Return m: the smallest number with P(||g||^2 < 1)^m <= 2^-42, by P < 1 / (2^(d/2) Gamma(d/2 + 1))."""
    context = constants(PRECISION)
    log2 = context.mpf(d) / 2 + context.log(context.gamma(context.mpf(d) / 2 + 1), 2)
    return int(context.ceil(_RARE_BITS / log2))


@cache
def square_floor(d: int) -> Fraction:
    """Return a number that ||g||^2 of the vector taken exceeds, except with probability 2^-42, for d >= 3.

    1, or d a with the largest a = j / 64 < 1 such that (a exp(1 - a))^(d/2) <= 2^-42 (Chernoff).
    """
    context = constants(PRECISION)
    ceiling = context.mpf(2) ** (-context.mpf(2 * _RARE_BITS) / d)
    fitting = [
        j for j in range(1, _STEPS) if context.mpf(j) / _STEPS * context.exp(1 - context.mpf(j) / _STEPS) <= ceiling
    ]
    return max(Fraction(1), Fraction(d * max(fitting, default=0), _STEPS))


def scale_exponent(d: int) -> int:
    """Return h with 4^h <= square_floor(d) < 4^(h+1)."""
    return (int(square_floor(d)).bit_length() - 1) // 2


def largest_coordinate(d: int, ring: IntegerRing, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the coordinates in magnitude before the last truncation, outside the exceptions."""
    if d <= 2:
        return Fraction(1)
    return min(Fraction(1), gaussian.largest(precision) / _computed_norm_floor(d, ring, precision))


def tv_distance(d: int, ring: IntegerRing, *, count: int = 1, precision: int = PRECISION) -> Fraction:
    """Return the total-variation part of a call for ``count`` points: that of all Gaussian draws; 0 for d = 1 and 2."""
    d = check_dimension(d, "tv_distance")
    count = check_count(count, "count", "tv_distance")
    if d <= 2:
        return Fraction(0)
    return gaussian.tv_distance(attempts(d) * d * count, gaussian_format(ring), precision=precision)


def exception(d: int, ring: IntegerRing, *, precision: int = PRECISION) -> Fraction:
    """Return the probability with which ``coupling_error`` may be exceeded, besides ``tv_distance``.

    A root too steep, a norm too small, or (for several attempts) a norm so close to 1 that another one is taken.
    """
    d = check_dimension(d, "exception")
    if d <= 2:
        return Fraction(0)
    rare = gaussian.EXCEPTION + Fraction(1, 1 << _RARE_BITS)
    if attempts(d) == 1:
        return rare
    error = _square_error(d, ring, precision) + 4 * _root_above(d) * _gaussian_error(ring, precision)
    return rare + attempts(d) * error / 2


def coupling_error(d: int, format: FixedPoint, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of |coordinate - exact coordinate|, outside the exceptions."""
    d = check_dimension(d, "coupling_error")
    gaussian.check_fraction_bits(format, "coupling_error")
    ring, unit = format.ring, Fraction(1, 1 << format.fraction_bits)
    if d == 1:
        return Fraction(0)
    if d == 2:
        return sine_cosine_error(gaussian.circle_format(ring)) + unit
    coordinate = largest_coordinate(d, ring, precision=precision)
    of_gaussian = (1 + coordinate * _root_above(d)) * _gaussian_error(ring, precision) / _norm_floor(d)
    lost = _square_error(d, ring, precision)
    of_square = coordinate * lost / (_computed_norm_floor(d, ring, precision) ** 2 - lost)
    of_inverse = (
        gaussian.largest(precision) / (1 << scale_exponent(d)) * inverse_square_root_error(inverse_format(ring))
    )
    return of_gaussian + of_square + of_inverse + unit


def _gaussian_error(ring: IntegerRing, precision: int) -> Fraction:
    return gaussian.coupling_error(gaussian_format(ring), precision=precision)


def _square_error(d: int, ring: IntegerRing, precision: int) -> Fraction:
    return Fraction(d, 1 << square_bits(d, ring, precision))


def _root_above(d: int) -> int:
    """Return ceil(sqrt d)."""
    return isqrt(d - 1) + 1


def _norm_floor(d: int) -> Fraction:
    """Return sqrt(square_floor(d)), rounded down to a multiple of 2^-20."""
    return Fraction(isqrt(int(square_floor(d) * (1 << 40))), 1 << 20)


def _computed_norm_floor(d: int, ring: IntegerRing, precision: int) -> Fraction:
    return _norm_floor(d) - _root_above(d) * _gaussian_error(ring, precision)
