"""Polynomials in the Chebyshev basis, evaluated on secrets in logarithmic depth, with a computed error bound.

p(y) = sum_n c_n T_n(y) on [-1, 1]. The basis comes from T_{a+b} = 2 T_a T_b - T_{a-b} with a - b in {0, 1}, so one
level doubles the degree; then one public linear combination, truncated once. Why this basis: |T_n| <= 1, so every
intermediate value fits the working format whatever the interval, and no cancellation between large terms occurs (the
monomial basis loses all bits for a sigmoid on [-8, 8]).

Rounds: those of ceil(log2 D) products with truncation, and of one truncation. Products: D - 1 for each element.

Distance of the polynomial from the function: for f analytic in the ellipse with foci -1, 1 and semi-axes
(rho +- 1/rho)/2 and |f| <= M there, the interpolant of degree D in Chebyshev points is within
4 M rho^-D / (rho - 1) of f on [-1, 1] (Trefethen, "Approximation Theory and Approximation Practice",
theorem 8.2). Each function states its rho and M.

Error of the evaluation, in units u = 2^-W of the last working place: with e_1 the error of y, and every
truncation off by less than one unit,

    e_{a+b} <= 2 (e_a + e_b + e_a e_b u) + 1 + e_{a-b}       (the factor 2 is inside the truncation)
    total   <= sum_n |c_n| e_n + (D + 1)/2                   (coefficients are rounded to W bits)

and the last truncation adds less than one unit of the result format.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import mpmath
import numpy as np

from cofit.errors import InvalidInputError
from cofit.protocols.working import working_bits
from cofit.secret import SecretArray, concatenate

_DIGITS = 50
_SLACK = Fraction(1, 1 << 16)  # |T_n| <= 1, computed with an error far below this


@dataclass(frozen=True)
class Approximation:
    """A polynomial near a function on [-1, 1]: integer coefficients c_n 2^bits, and |polynomial - function|."""

    coefficients: tuple[int, ...]
    bits: int
    distance: Fraction

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return len(self.coefficients) - 1

    @cached_property
    def working_error(self) -> Fraction:
        """The error of the value before its last truncation, for an exact argument."""
        return self.error_for(Fraction(0))

    def error_for(self, argument_error: Fraction) -> Fraction:
        """Return the error before the last truncation when y itself is off by at most ``argument_error``."""
        unit = Fraction(1, 1 << self.bits)
        errors = [0, -(-argument_error // unit)]
        for n in range(2, self.degree + 1):
            high, low = (n + 1) // 2, n // 2
            product = errors[high] + errors[low] + errors[high] * errors[low] * unit
            errors.append(-(-(2 * product + 1 + errors[high - low]) // 1))
        weighted = sum(abs(c) * e for c, e in zip(self.coefficients, errors, strict=False)) * unit
        return self.distance + (weighted + Fraction(self.degree + 1, 2)) * unit

    def evaluate(self, y: SecretArray, fraction_bits: int) -> SecretArray:
        """Return p(y) with ``fraction_bits`` fractional bits, for secret y in [-1, 1] with ``bits`` fractional bits."""
        if y.format.fraction_bits != self.bits:
            raise InvalidInputError(f"The argument must have {self.bits} fractional bits; got {y.format}.")
        basis = _chebyshev_basis(y.reshape(1, y.size), self.degree)
        weights = np.array(self.coefficients[1:], dtype=object)
        combined = basis.ldexp(self.bits).weighted_by(weights) + (self.coefficients[0] << self.bits)
        return combined.ldexp(-2 * self.bits).truncate(fraction_bits).reshape(y.shape)


def approximate(
    function: Callable[[mpmath.mpf], mpmath.mpf], rho: float, magnitude: float, tolerance: Fraction, bits: int
) -> Approximation:
    """Interpolate ``function`` on [-1, 1] so closely that the distance is at most ``tolerance``.

    ``rho``, ``magnitude``: the function is analytic and bounded by ``magnitude`` in the ellipse of ``rho`` (see above).
    """
    with mpmath.workdps(_DIGITS):
        scale = 4 * mpmath.mpf(magnitude) / (mpmath.mpf(rho) - 1)
        degree = max(1, int(mpmath.ceil(mpmath.log(scale / _real(tolerance), rho))))
        distance = scale / mpmath.mpf(rho) ** degree
        angles = [mpmath.pi * (j + mpmath.mpf(1) / 2) / (degree + 1) for j in range(degree + 1)]
        values = [function(mpmath.cos(angle)) for angle in angles]
        coefficients = []
        for n in range(degree + 1):
            mean = mpmath.fsum(v * mpmath.cos(n * a) for v, a in zip(values, angles, strict=True)) / (degree + 1)
            coefficients.append(int(mpmath.nint((mean if n == 0 else 2 * mean) * mpmath.mpf(2) ** bits)))
        rounded_up = Fraction(int(mpmath.ceil(distance * mpmath.mpf(2) ** 120)), 1 << 120)
    return Approximation(tuple(coefficients), bits, rounded_up)


def _real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _chebyshev_basis(y: SecretArray, degree: int) -> SecretArray:
    """Return T_1(y) ... T_degree(y) as rows, from y as one row."""
    bits = working_bits(y.format.ring)
    y = y.with_bound(min(1 + _SLACK, Fraction(y.bound)))
    rows = y
    while len(rows) < degree:
        new = range(len(rows) + 1, min(2 * len(rows), degree) + 1)
        high, low = rows[[(n + 1) // 2 - 1 for n in new]], rows[[n // 2 - 1 for n in new]]
        doubled = high.multiply(low, fraction_bits=bits + 1, proven_bound=1 + 4 * _SLACK).ldexp(1)
        odd = np.array([[n % 2] for n in new])
        following = doubled - y * odd - (1 - odd)
        rows = concatenate([rows, following.with_bound(1 + _SLACK)])
    return rows
