"""Polynomials in the Chebyshev basis, evaluated on secrets in logarithmic depth, with a computed error bound.

p(y) = sum_n c_n T_n(y) on [-1, 1]. The basis comes from T_{a+b} = 2 T_a T_b - T_{a-b} with a - b in {0, 1}, so one
level doubles the degree; then one public linear combination, truncated once. Why this basis: |T_n| <= 1, so every
intermediate value fits the working format whatever the interval, and no cancellation between large terms occurs (the
monomial basis loses all bits for a sigmoid on [-8, 8]).

Rounds: those of ceil(log2 D) products with truncation, and of one truncation. Products: D - 1 for each element.

Distance of the polynomial from the function: for f analytic in the ellipse with foci -1, 1 and semi-axes
(rho +- 1/rho)/2 and |f| <= M there, the interpolant of degree D in Chebyshev points is within
4 M rho^-D / (rho - 1) of f on [-1, 1] (Trefethen, "Approximation Theory and Approximation Practice",
theorem 8.2; it takes the extrema of T_D, but its proof, by aliasing, is the same for the roots of T_(D+1) used here).
Each function states its rho and M.

Error of the evaluation at a given argument, in units u = 2^-W of the last working place, with e_1 = 0 and every
truncation off by less than one unit (an error of the argument itself counts through the function's derivative):

    e_{a+b} <= 2 ((e_a + e_b)(1 + 2^-12) + e_a e_b u) + 1 + e_{a-b}       (the factor 2 is inside the truncation)
    total   <= sum_n |c_n| e_n

to which come the rounding of the coefficients, known exactly, that of c_0 to the result format, which is added last,
and less than one unit of the result format for the last truncation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import mpmath
import numpy as np

from cofit.errors import InvalidInputError
from cofit.protocols.working import tighten, working_bits
from cofit.secret import SecretArray, concatenate

REALS = mpmath.MPContext()
"""Real numbers of 60 digits, for coefficients. Parties may be threads, so it is ours alone and used under a lock."""
REALS.dps = 60
_ONE_AT_A_TIME = threading.RLock()
_SLACK = Fraction(1, 1 << 12)
"""|T_n| <= 1 + _SLACK as computed: for an argument up to 2 units beyond 1, T_n grows by 2 n^2 units, and e_n is below
n^2 / 2 units; with n <= 256 and W >= 30 both together are below 2^-12."""


@dataclass(frozen=True)
class Approximation:
    """A polynomial near a function on [-1, 1].

    ``constant``: c_0; ``coefficients``: the integers c_n 2^coefficient_bits for n >= 1, which get as many bits as their
    sum of products leaves room for; ``bits``: W; ``distance``: |polynomial - function| with exact coefficients;
    ``rounding``: the sum of what was lost by making the coefficients integers.
    """

    constant: Fraction
    coefficients: tuple[int, ...]
    coefficient_bits: int
    bits: int
    distance: Fraction
    rounding: Fraction

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return len(self.coefficients)

    def error(self, fraction_bits: int) -> Fraction:
        """Return a bound of |evaluate(y, fraction_bits) - function(y)|."""
        result_unit = Fraction(1, 1 << fraction_bits)
        of_constant = abs(round(self.constant / result_unit) * result_unit - self.constant)
        return self._error_of_basis + of_constant + result_unit

    @cached_property
    def _error_of_basis(self) -> Fraction:
        """What is lost before the result is rounded."""
        unit = Fraction(1, 1 << self.bits)
        errors = [Fraction(0), Fraction(0)]
        for n in range(2, self.degree + 1):
            high, low = (n + 1) // 2, n // 2
            product = (errors[high] + errors[low]) * (1 + _SLACK) + errors[high] * errors[low] * unit
            errors.append(Fraction(-(-(2 * product + 1 + errors[high - low]) // 1)))
        weighted = sum(abs(c) * e for c, e in zip(self.coefficients, errors[1:], strict=True)) * unit
        return self.distance + weighted / (1 << self.coefficient_bits) + self.rounding

    def evaluate(self, y: SecretArray, fraction_bits: int) -> SecretArray:
        """Return p(y) with ``fraction_bits`` fractional bits, for secret y in [-1, 1] with ``bits`` fractional bits."""
        return evaluate_all([self], y, fraction_bits)[0]


def evaluate_all(polynomials: Sequence[Approximation], y: SecretArray, fraction_bits: int) -> list[SecretArray]:
    """Evaluate several polynomials at the same argument, with one basis for all; 2 rounds more for each further one."""
    bits = polynomials[0].bits
    if any(p.bits != y.format.fraction_bits for p in polynomials):
        raise InvalidInputError(f"The argument must have {bits} fractional bits; got {y.format}.")
    basis = _chebyshev_basis(y.reshape(1, y.size), max(p.degree for p in polynomials)).ldexp(bits)
    results = []
    for p in polynomials:
        combined = basis[: p.degree].weighted_by(np.array(p.coefficients, dtype=object))
        scaled = combined.ldexp(fraction_bits - bits - p.coefficient_bits).truncate(0).ldexp(-fraction_bits)
        results.append((scaled + p.constant).reshape(y.shape))
    return results


def required_degree(rho: float, magnitude: float, tolerance: Fraction) -> int:
    """Return the degree that ``approximate`` takes."""
    with _ONE_AT_A_TIME:
        scale = 4 * REALS.mpf(magnitude) / (REALS.mpf(rho) - 1)
        return max(1, int(REALS.ceil(REALS.log(scale / _real(tolerance), rho))))


def approximate(
    function: Callable[[mpmath.mpf], mpmath.mpf], rho: float, magnitude: float, tolerance: Fraction, bits: int
) -> Approximation:
    """Interpolate ``function`` on [-1, 1] so closely that the distance is at most ``tolerance``.

    ``rho``, ``magnitude``: the function is analytic and bounded by ``magnitude`` in the ellipse of ``rho`` (see above).
    """
    with _ONE_AT_A_TIME:
        scale = 4 * REALS.mpf(magnitude) / (REALS.mpf(rho) - 1)
        degree = required_degree(rho, magnitude, tolerance)
        angles = [REALS.pi * (j + REALS.mpf(1) / 2) / (degree + 1) for j in range(degree + 1)]
        points = [REALS.cos(angle) for angle in angles]
        values = [function(point) for point in points]
        # T_n at the points by its recurrence: 60 digits leave room for what it loses, and cosines would be slow.
        before, now = [REALS.mpf(1)] * len(points), points
        means = [REALS.fsum(values) / (degree + 1)]
        for _ in range(degree):
            means.append(REALS.fdot(values, now) / (degree + 1))
            before, now = now, [2 * p * t - b for p, t, b in zip(points, now, before, strict=True)]
        constant, *rest = (_exact(mean if n == 0 else 2 * mean) for n, mean in enumerate(means))
        distance = _exact(scale / REALS.mpf(rho) ** degree) + Fraction(1, 1 << 150)
    # |sum of products| < 2^(2 W + 2) = 2^(k-2), the capacity of the ring.
    total = sum(abs(c) for c in rest) * (1 + 2 * _SLACK)
    coefficient_bits = bits + 2
    while total * (1 << (coefficient_bits - bits)) < 2:
        coefficient_bits += 1
    while total * Fraction(2) ** (coefficient_bits - bits) >= 4:
        coefficient_bits -= 1
    integers = tuple(round(c * (1 << coefficient_bits)) for c in rest)
    rounding = sum(
        (abs(Fraction(i, 1 << coefficient_bits) - c) for i, c in zip(integers, rest, strict=True)), Fraction(0)
    )
    return Approximation(constant, integers, coefficient_bits, bits, distance, rounding)


def _exact(value: mpmath.mpf) -> Fraction:
    """Return a number of many digits as a Fraction, off by less than 2^-150."""
    return Fraction(int(REALS.nint(value * REALS.mpf(2) ** 150)), 1 << 150)


def rounded_integer(value: Callable[[], mpmath.mpf], bits: int) -> int:
    """Return round(value 2^bits), for a value computed in ``REALS``."""
    with _ONE_AT_A_TIME:
        return int(REALS.nint(value() * REALS.mpf(2) ** bits))


def _real(value: Fraction) -> mpmath.mpf:
    return REALS.mpf(value.numerator) / value.denominator


def _chebyshev_basis(y: SecretArray, degree: int) -> SecretArray:
    """Return T_1(y) ... T_degree(y) as rows, from y as one row."""
    bits = working_bits(y.format.ring)
    y = tighten(y, 1 + _SLACK)
    rows = y
    while len(rows) < degree:
        new = range(len(rows) + 1, min(2 * len(rows), degree) + 1)
        high, low = rows[[(n + 1) // 2 - 1 for n in new]], rows[[n // 2 - 1 for n in new]]
        doubled = high.multiply(low, fraction_bits=bits + 1, proven_bound=1 + 4 * _SLACK).ldexp(1)
        odd = np.array([[n % 2] for n in new])
        following = doubled - y * odd - (1 - odd)
        rows = concatenate([rows, tighten(following, 1 + _SLACK)])
    return rows
