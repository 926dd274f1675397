"""Discrete Laplace noise: P(X = x) = (1 - q) / (1 + q) q^|x| with q = exp(-1/t), for every integer x.

X = G - G' for two independent geometric variables of scale t. The digits of both are coins of one circuit.

Domain: t > 0 rational, J <= k - 3 digits in a ring of k bits (J = 26 at t = 2^20 and B = 64).
Distance: total variation at most 2 J 2^-B + 2 * 2^-(B+16) a draw (``tv_distance``; the certificate adds it).
Range: |X| < 2^J, always. Who learns what: nobody anything.
Cost with ``rep3``: ceil(log2 B) + 2 rounds; 6 J (2 B - 3) bits and 6 J elements a draw.

Argument: ``discrete_laplace_proof.md``.
"""

from __future__ import annotations

from fractions import Fraction

from cofit.arithmetic import Z64, PowerOfTwoRing, Shape
from cofit.sampling import geometric
from cofit.sampling.parameters import PRECISION, check_count, check_positive, check_shape
from cofit.secret import Party, SecretArray


def discrete_laplace(
    party: Party, shape: Shape, t: Fraction | int, ring: PowerOfTwoRing = Z64, *, precision: int = PRECISION
) -> SecretArray:
    """Return independent integers with P(x) proportional to exp(-|x| / t)."""
    shape = check_shape(shape, "discrete_laplace")
    t = check_positive(t, "t", "discrete_laplace")
    with party.label("discrete_laplace"):
        both = geometric.geometric(party, (2, *shape), t, ring, precision=precision)
        # Each lies in [0, 2^J), so the difference keeps the bound of one.
        return (both[0] - both[1]).with_integer_limit(both.integer_limit)


def tv_distance(t: Fraction | int, count: int = 1, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the total-variation distance of ``count`` draws from independent ideal ones."""
    return geometric.tv_distance(t, 2 * check_count(count, "count", "tv_distance"), precision=precision)


def largest_draw(t: Fraction | int, *, precision: int = PRECISION) -> int:
    """Return the public bound of every draw's magnitude."""
    return 1 << geometric.digit_count(check_positive(t, "t", "largest_draw"), precision)
