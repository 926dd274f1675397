"""Gamma variables of whole shape: Gamma(k, 1) as the sum of k independent Exp(1), each rounded down to the grid.

Domain: k >= 1 public; a format in which k 2^K fits, k 2^(K+f) < 2^(bits-2), with 2^K the bound of one summand (K = 6 at
B = 64).
Coupling: outside an event of probability ``tv_distance``, k times that of an exponential draw, the sum lies below a
true Gamma(k, 1) variable by at least 0 and less than k 2^-f (``coupling_error``): each summand is below its own by less
than 2^-f. The mean is low by k (1 - h / (exp(h) - 1)) with h = 2^-f, which is less than k 2^-(f+1).
Who learns what: nobody anything.
Cost: that of k exponential draws; the sum is local.
Memory: some 40 bytes for every one of k (K + f) digits a draw: draw many Gamma variables of large k in several calls.

A caller who rounds the result to a coarser grid must allow for the coupling error: choose f so that k 2^-f is far below
that grid, or count the probability that the rounding differs.
"""

from __future__ import annotations

from fractions import Fraction

from cofit.arithmetic import FixedPoint, Shape
from cofit.sampling import exponential
from cofit.sampling.parameters import PRECISION, check_count, check_precision, check_shape
from cofit.secret import Party, SecretArray


def gamma(party: Party, shape: Shape, k: int, format: FixedPoint, *, precision: int = PRECISION) -> SecretArray:
    """Return independent draws of Gamma(k, 1) in ``format``, non-negative and below k 2^K."""
    shape = check_shape(shape, "gamma")
    k = check_count(k, "k", "gamma")
    precision = check_precision(precision, "gamma")
    format.limit(k << exponential.integer_digits(precision))  # refuses what could overflow before any draw
    with party.label("gamma"):
        return exponential.exponential(party, (k, *shape), format, precision=precision).sum(axis=0)


def coupling_error(k: int, format: FixedPoint) -> Fraction:
    """Return k 2^-f: how far below the true variable a draw can be."""
    return Fraction(check_count(k, "k", "coupling_error"), 1 << format.fraction_bits)


def tv_distance(k: int, format: FixedPoint, count: int = 1, *, precision: int = PRECISION) -> Fraction:
    """Return a bound of the distance of ``count`` draws from sums of k ideal exponentials on the grid."""
    count = check_count(count, "count", "tv_distance")
    return exponential.tv_distance(format, check_count(k, "k", "tv_distance") * count, precision=precision)
