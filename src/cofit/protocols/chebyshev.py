"""Polynomials in the Chebyshev basis, evaluated on secrets in logarithmic depth, with a computed error bound.

p(y) = sum_n c_n T_n(y) on [-1, 1]. The basis comes from T_{a+b} = 2 T_a T_b - T_{a-b} with a - b in {0, 1}, so one
level doubles the degree; then one public linear combination, truncated once. Why this basis: |T_n| <= 1, so every
intermediate value fits the working format whatever the interval, and no cancellation between large terms occurs (the
monomial basis loses all bits for a sigmoid on [-8, 8]).

Rounds: those of ceil(log2 D) products with truncation, and of one truncation. Products: D - 1 for each element; or, for
the same rounds, h - 1, a truncation and one more, where the last coefficients are small (``Split``).

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

Split at h, a power of two with h < D < 2 h: T_{h+m} = 2 T_h T_m - T_{h-m}, so

    p = c_0 + A + B T_h,   A = sum_{0<n<h} a_n T_n,   B = c_h + sum_{m>0} 2 c_{h+m} T_m,   a_{h-m} = c_{h-m} - c_{h+m}

B is truncated to 2^-C, C the bits of the coefficients, and A joins the product before its truncation. With
|b| = |c_h| + sum |2 c_{h+m}|, the evaluation is off by at most

    sum_n |a_n| e_n + (sum_m |2 c_{h+m}| e_m + 2^(W-C)) (1 + 2^-12) + |b| e_h

and the rounding of a and b. A polynomial is split where all that is no more than without a split, whose error is the
one that is stated: coefficients that decay fast leave so little to B that its truncation costs less than the rounding
of its coefficients did.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
class Split:
    """``half``: h. ``lower``: the integers a_n 2^C, n = 1 ... h - 1. ``upper``: the integers c_h 2^upper_bits and
    2 c_{h+m} 2^upper_bits, m = 1 ... ``error``: of the evaluation, as far as it is not that of the polynomial itself.
    """

    half: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    upper_bits: int
    error: Fraction


@dataclass(frozen=True)
class Approximation:
    """A polynomial near a function on [-1, 1].

    ``constant``: c_0; ``coefficients``: the integers c_n 2^coefficient_bits for n >= 1, which get as many bits as their
    sum of products leaves room for; ``bits``: W; ``distance``: |polynomial - function| with exact coefficients;
    ``rounding``: the sum of what was lost by making the coefficients integers. ``split``: for fewer products, where the
    error stays within ``error``; it follows from the function, and is no part of what a plan states.
    """

    constant: Fraction
    coefficients: tuple[int, ...]
    coefficient_bits: int
    bits: int
    distance: Fraction
    rounding: Fraction
    split: Split | None = field(default=None, compare=False)

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return len(self.coefficients)

    @property
    def formed(self) -> int:
        """How many numbers an evaluation makes of its argument, one after the other or at once."""
        return self.degree if self.split is None else self.split.half + 1

    def error(self, fraction_bits: int) -> Fraction:
        """Return a bound of |evaluate(y, fraction_bits) - function(y)|."""
        result_unit = Fraction(1, 1 << fraction_bits)
        of_constant = abs(round(self.constant / result_unit) * result_unit - self.constant)
        return self.error_of_basis + of_constant + result_unit

    @cached_property
    def error_of_basis(self) -> Fraction:
        """What is lost before the result is rounded."""
        errors = _basis_errors(self.bits, self.degree)
        weighted = sum((abs(c) * e for c, e in zip(self.coefficients, errors[1:], strict=True)), Fraction(0))
        return self.distance + weighted / (1 << (self.bits + self.coefficient_bits)) + self.rounding

    def evaluate(self, y: SecretArray, fraction_bits: int) -> SecretArray:
        """Return p(y) with ``fraction_bits`` fractional bits, for secret y in [-1, 1] with ``bits`` fractional bits."""
        return evaluate_all([self], y, fraction_bits)[0]


def evaluate_all(polynomials: Sequence[Approximation], y: SecretArray, fraction_bits: int) -> list[SecretArray]:
    """Evaluate several polynomials at the same argument, with one basis for all; 2 rounds more for each further one."""
    first = polynomials[0]
    bits = first.bits
    if any(p.bits != y.format.fraction_bits for p in polynomials):
        raise InvalidInputError(f"The argument must have {bits} fractional bits; got {y.format}.")
    if first.split is not None and len(polynomials) == 1:
        return [_evaluate_split(first, first.split, y, fraction_bits)]
    basis = _chebyshev_basis(y.reshape(1, y.size), max(p.degree for p in polynomials)).ldexp(bits)
    results = []
    for p in polynomials:
        combined = basis[: p.degree].weighted_by(np.array(p.coefficients, dtype=object))
        scaled = combined.ldexp(fraction_bits - bits - p.coefficient_bits).truncate(0).ldexp(-fraction_bits)
        results.append((scaled + p.constant).reshape(y.shape))
    return results


def _evaluate_split(p: Approximation, split: Split, y: SecretArray, fraction_bits: int) -> SecretArray:
    """Return p(y) = c_0 + A + B T_h. Integers are in units of 2^-W (T_n), 2^-C (B) and 2^-(W + C) (A, and the sum)."""
    basis = _chebyshev_basis(y.reshape(1, y.size), split.half).ldexp(p.bits)
    constant, *upper = split.upper
    of_upper = basis[: len(upper)].weighted_by(np.array(upper, dtype=object)) + (constant << p.bits)
    factor = of_upper.ldexp(p.coefficient_bits - p.bits - split.upper_bits).truncate(0)
    lower = basis[: split.half - 1].weighted_by(np.array(split.lower, dtype=object))
    places = p.bits + p.coefficient_bits - fraction_bits
    largest = Fraction(lower.integer_limit + factor.integer_limit * basis.integer_limit, 1 << places)
    total = factor.ldexp(-places).multiply(basis[split.half - 1], 0, plus=lower.ldexp(-places), proven_bound=largest)
    return (total.ldexp(-fraction_bits) + p.constant).reshape(y.shape)


def _basis_errors(bits: int, degree: int) -> list[Fraction]:
    """Return e_0 ... e_degree, in units of the last working place, rounded up."""
    errors = [Fraction(0), Fraction(0)]
    for n in range(2, degree + 1):
        high, low = (n + 1) // 2, n // 2
        product = (errors[high] + errors[low]) * (1 + _SLACK) + errors[high] * errors[low] / (1 << bits)
        errors.append(Fraction(-(-(2 * product + 1 + errors[high - low]) // 1)))
    return errors


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
    whole = Approximation(constant, integers, coefficient_bits, bits, distance, rounding)
    split = _split(rest, coefficient_bits, bits)
    fits = split is not None and distance + split.error <= whole.error_of_basis
    return replace(whole, split=split) if fits else whole


def _split(exact: Sequence[Fraction], coefficient_bits: int, bits: int) -> Split | None:
    """Return the split of a polynomial with the coefficients c_1 ...; None where no power of two is within its half, or
    where a bound of |A| + |B T_h| is more than the ring holds."""
    degree = len(exact)
    half = 1 << (degree.bit_length() - 1)
    if degree < 3 or half == degree:
        return None
    c = [Fraction(0), *exact]
    lower = [c[n] - (c[2 * half - n] if 2 * half - n <= degree else 0) for n in range(1, half)]
    upper = [c[half], *(2 * c[half + m] for m in range(1, degree - half + 1))]
    largest = sum(abs(b) for b in upper)
    together = (sum(abs(a) for a in lower) + largest) * (1 + 4 * _SLACK)
    if not largest or together * Fraction(2) ** (coefficient_bits - bits) >= 4:
        return None
    upper_bits = coefficient_bits
    while largest * (1 + 2 * _SLACK) * (1 << (upper_bits + 1)) < 4 << bits:
        upper_bits += 1
    a = [round(v * (1 << coefficient_bits)) for v in lower]
    b = [round(v * (1 << upper_bits)) for v in upper]
    errors = _basis_errors(bits, half)
    unit, slack = Fraction(1, 1 << bits), 1 + _SLACK
    of_lower = sum(abs(v) * e for v, e in zip(lower, errors[1:], strict=False)) * unit
    of_upper = sum(abs(v) * e for v, e in zip(upper[1:], errors[1:], strict=False)) * unit + Fraction(
        1, 1 << coefficient_bits
    )
    rounded_a = sum(abs(Fraction(i, 1 << coefficient_bits) - v) for i, v in zip(a, lower, strict=True))
    rounded_b = sum(abs(Fraction(i, 1 << upper_bits) - v) for i, v in zip(b, upper, strict=True))
    error = (
        of_lower + rounded_a * slack + (of_upper + rounded_b * slack) * slack + largest * slack * errors[half] * unit
    )
    return Split(half, tuple(a), tuple(b), upper_bits, error)


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
