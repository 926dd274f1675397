"""Exponential variables on a grid: Exp(1) rounded down to a multiple of 2^-f.

The binary digits of E ~ Exp(1) are independent coins, P(digit 2^k set) = 1 / (1 + exp(2^k)), and leaving out those
below 2^-f is exactly the floor to the grid. floor(2^f E) is the geometric variable of scale t = 2^f, so the draw is
that one, read with f fractional bits: digits k = K-1 .. -f with K = 6 at B = 64 (exp(-64) < 2^-92).

Domain: f >= 0 with f + K <= k - 3 in a ring of k bits: f <= 119 in Z_2^128, f <= 55 in Z_2^64 (B = 64).
Distance: total variation at most 2^-B for each table of some ten digits and 2^-(B+16) a draw from the law of
2^-f floor(2^f E) (``tv_distance``).
Coupling: outside an event of that probability, 0 <= E - draw < 2^-f.
Who learns what: nobody anything.
Cost: that of ``geometric`` with K + f digits; with ``rep3``, f = 52 in Z_2^128, 10 rounds and 3.4 kB a draw up to 2,200
draws, 17 rounds and 740 bytes for more.

Argument: ``geometric_proof.md``, with t = 2^f; the floor: 2^-f floor(2^f E) has P(>= g 2^-f) = P(E >= g 2^-f) =
exp(-g 2^-f).
"""

from __future__ import annotations

from fractions import Fraction

from cofit.arithmetic import FixedPoint, Shape
from cofit.errors import RangeError, parameter_error
from cofit.sampling import geometric
from cofit.sampling.parameters import PRECISION, check_precision
from cofit.secret import Party, SecretArray


def exponential(party: Party, shape: Shape, format: FixedPoint, *, precision: int = PRECISION) -> SecretArray:
    """Return independent draws of Exp(1), rounded down to ``format``; they are non-negative and below 2^K."""
    precision = check_precision(precision, "exponential")
    scale = _scale(format)
    spare = format.ring.value_bits - 1 - geometric.digit_count(scale, precision)
    if spare < 0:
        most = format.fraction_bits + spare
        raise parameter_error(
            "format", "exponential", f"a format with 0 to {most} fractional bits", str(format), RangeError
        )
    with party.label("exponential"):
        integers = geometric.geometric(party, shape, scale, format.ring, precision=precision)
        return integers.ldexp(-format.fraction_bits)


def integer_digits(precision: int = PRECISION) -> int:
    """Return K: draws are below 2^K."""
    return geometric.digit_count(Fraction(1), check_precision(precision, "integer_digits"))


def tv_distance(format: FixedPoint, count: int = 1, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the total-variation distance of ``count`` draws from independent ideal ones on the grid."""
    return geometric.tv_distance(_scale(format), count, precision=precision)


def _scale(format: FixedPoint) -> Fraction:
    return Fraction(1 << format.fraction_bits)
