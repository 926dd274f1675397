"""Discrete Laplace noise: P(X = x) = (1 - q) / (1 + q) q^|x| with q = exp(-1/t), for every integer x.

X = G - G' for two independent geometric variables of scale t. The digits of both come from tables of one circuit; those
of G' are drawn inverted, so that both are added: X = G + (2^D - 1 - G') - (2^D - 1) for D digits.

Domain: t > 0 rational, D <= k - 3 digits in a ring of k bits (D = 26 at t = 2^20 and B = 64).
Distance: total variation at most twice that of a geometric variable (``tv_distance``; the certificate adds it).
Range: |X| < 2^D, always. Who learns what: nobody anything.
Cost with ``rep3`` at t = 2^20, B = 64: 17 rounds; six tables of 2^9 slots, 1332 ANDs (``sums.py``), and the addition of
29 digits: about 600 bytes a draw.

Argument: ``discrete_laplace_proof.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from cofit.arithmetic import Z64, IntegerRing, Shape
from cofit.sampling import geometric
from cofit.sampling.parameters import PRECISION, check_count, check_positive, check_precision, check_shape
from cofit.sampling.sums import TableSum, draw_sums
from cofit.secret import Party, SecretArray


def discrete_laplace(
    party: Party, shape: Shape, t: Fraction | int, ring: IntegerRing = Z64, *, precision: int = PRECISION
) -> SecretArray:
    """Return independent integers with P(x) proportional to exp(-|x| / t)."""
    shape = check_shape(shape, "discrete_laplace")
    t = check_positive(t, "t", "discrete_laplace")
    precision = check_precision(precision, "discrete_laplace")
    geometric.check_room(t, ring, precision, "discrete_laplace")
    with party.label("discrete_laplace"):
        (drawn,) = draw_sums(party, [(_table_sum(t, precision), math.prod(shape))], ring)
        return drawn.reshape(shape)


@cache
def _table_sum(t: Fraction, precision: int) -> TableSum:
    """Each of G and G' lies in [0, 2^D), so the difference keeps the bound of one."""
    tables = geometric.digit_tables(t, precision)
    inverted = geometric.digit_tables(t, precision, inverted=True)
    digits = geometric.digit_count(t, precision)
    places, widths = geometric.digit_places(digits, len(tables))
    largest = (1 << digits) - 1
    return TableSum(tables + inverted, places * 2, widths * 2, -largest, largest)


def tv_distance(t: Fraction | int, count: int = 1, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the total-variation distance of ``count`` draws from independent ideal ones."""
    return geometric.tv_distance(t, 2 * check_count(count, "count", "tv_distance"), precision=precision)


def largest_draw(t: Fraction | int, *, precision: int = PRECISION) -> int:
    """Return the public bound of every draw's magnitude."""
    return 1 << geometric.digit_count(check_positive(t, "t", "largest_draw"), precision)
