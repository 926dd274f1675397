"""Standard normal variables, in pairs by the method of Box and Muller: pi_GSS of the paper.

(sqrt(2 E) cos(2 pi T), sqrt(2 E) sin(2 pi T)) with E ~ Exp(1) and T uniform in [0, 1). E comes from its binary digits,
so no logarithm is needed; T is drawn as bits, of which two are the quadrant, so nothing is decomposed. Of an odd number
of draws the last half pair is dropped.

Domain: 1 to W - 6 fractional bits: f <= 56 in Z_2^128, f <= 24 in Z_2^64. |draw| <= 2^((K+1)/2) + 2^-8, 11.4 at B = 64.
Distance: total variation at most ``tv_distance(count, format)`` from the law of the same functions of the floor of E
and of T to their grids.
Coupling: outside that event, and outside another of probability 2^-41 for all draws of a call together (some
E < 2^-41 / pairs, where the root is steep), every draw is within ``coupling_error(format)`` of its own exactly normal
variable, and those are independent: less than 2^-50 in Z_2^128 with f = 52 (2^-50.8), 2^-53 with f = 56, and 2^-21 in
Z_2^64 with f = 24.
Who learns what: nobody anything.
Cost with ``rep3``, B = 64: 65 rounds and 9.4 kB a draw in Z_2^128 with f = 52; 59 and 3.1 kB in Z_2^64 with f = 24.

Proof: ``gaussian_proof.md``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cofit.arithmetic import FixedPoint, IntegerRing, Shape
from cofit.errors import RangeError, parameter_error
from cofit.protocols.roots import domain_exponent, square_root, square_root_error
from cofit.protocols.trigonometry import sine_cosine_error, sine_cosine_in_quadrant
from cofit.protocols.working import GUARD_BITS, tighten, working_bits
from cofit.sampling import exponential, uniform
from cofit.sampling.parameters import PRECISION, check_count, check_precision, check_shape
from cofit.secret import Party, SecretArray, bits_to_array, concatenate

EXCEPTION = Fraction(1, 1 << 41)
_STEEP_BITS = 21  # sqrt(2 * 2^-41) = 2^-20, and one bit for the factor 2 of the proof
_RESULT_GUARD_BITS = 6
_ANGLE_EXTRA_BITS = 3  # T has W + 3 bits


def gaussian(party: Party, shape: Shape, format: FixedPoint, *, precision: int = PRECISION) -> SecretArray:
    """Return independent standard normal draws in ``format``."""
    shape = check_shape(shape, "gaussian")
    precision = check_precision(precision, "gaussian")
    check_fraction_bits(format, "gaussian")
    count = int(np.prod(shape, dtype=np.int64))
    pairs = (count + 1) // 2
    with party.label("gaussian"):
        energy = exponential.exponential(party, (pairs,), energy_format(count, format), precision=precision)
        radius = square_root(energy.ldexp(1), radius_format(format.ring, precision).fraction_bits)
        both = circle(party, pairs, format.ring).multiply(radius, format.fraction_bits)
        return tighten(both, largest(precision)).reshape(2 * pairs)[:count].reshape(shape)


def circle(party: Party, count: int, ring: IntegerRing) -> SecretArray:
    """Return ``count`` uniform points on the unit circle, shape (2, count), with W - 2 fractional bits."""
    bits = working_bits(ring) + _ANGLE_EXTRA_BITS
    digits = bits_to_array(uniform.uniform_words(party, (count,), bits), ring)
    weights = np.array([1 << j for j in range(bits - 2)], dtype=object)
    within = digits[: bits - 2].weighted_by(weights).ldexp(-bits)
    sine, cosine = sine_cosine_in_quadrant(
        within, digits[bits - 2], digits[bits - 1], circle_format(ring).fraction_bits
    )
    return concatenate([cosine.reshape(1, count), sine.reshape(1, count)])


def check_fraction_bits(format: FixedPoint, sampler: str) -> None:
    """Refuse formats with more fractional bits than the draws are accurate to."""
    most = most_fraction_bits(format.ring)
    if not 1 <= format.fraction_bits <= most:
        must_be = f"a format with 1 to {most} fractional bits in {format.ring.name}"
        raise parameter_error("format", sampler, must_be, str(format), RangeError)


def most_fraction_bits(ring: IntegerRing) -> int:
    """Return W - 6."""
    return working_bits(ring) - _RESULT_GUARD_BITS


def circle_format(ring: IntegerRing) -> FixedPoint:
    """Return the format of ``circle``."""
    return FixedPoint(working_bits(ring) - GUARD_BITS, ring)


def radius_format(ring: IntegerRing, precision: int = PRECISION) -> FixedPoint:
    """Return the format of sqrt(2 E): the most fractional bits with 2 E <= 2^(K+1) in the domain of the root."""
    exponent = (exponential.integer_digits(precision) + 2) // 2  # 2^(K+1) <= 4^exponent
    return FixedPoint(domain_exponent(FixedPoint(0, ring)) - exponent, ring)


def energy_format(count: int, format: FixedPoint) -> FixedPoint:
    """Return the format of E: f + 21 + ceil(log2(pairs) / 2) fractional bits."""
    pairs = (check_count(count, "count", "energy_format") + 1) // 2
    bits = format.fraction_bits + _STEEP_BITS + ((pairs - 1).bit_length() + 1) // 2
    most = format.ring.value_bits
    if bits > most:
        must_be = f"so small that E fits {format.ring.name} (this one needs {bits} fractional bits of it)"
        raise parameter_error("format", "gaussian", must_be, str(format), RangeError)
    return FixedPoint(bits, format.ring)


def largest(precision: int = PRECISION) -> Fraction:
    """Return a bound of the magnitude of all draws: sqrt(2^(K+1)), rounded up, and 2^-8 for all errors."""
    root = Fraction(2) ** ((exponential.integer_digits(precision) + 1) // 2)
    root *= Fraction(1) if exponential.integer_digits(precision) % 2 else Fraction(1415, 1000)
    return root + Fraction(1, 1 << 8)


def tv_distance(count: int, format: FixedPoint, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the total-variation distance of ``count`` draws from those with ideal E on its grid."""
    pairs = (check_count(count, "count", "tv_distance") + 1) // 2
    return exponential.tv_distance(energy_format(count, format), pairs, precision=precision)


def coupling_error(format: FixedPoint, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of |draw - exactly normal variable|, except with probability ``EXCEPTION`` for all of a call.

    Floor of E, root, sine or cosine of the rounded-down angle times the radius, truncation of the product.
    """
    check_fraction_bits(format, "coupling_error")
    precision = check_precision(precision, "coupling_error")
    unit = Fraction(1, 1 << format.fraction_bits)
    root = square_root_error(radius_format(format.ring, precision))
    angle = sine_cosine_error(circle_format(format.ring))
    return unit + root * (1 + angle) + largest(precision) * angle + unit
