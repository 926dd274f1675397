"""c (sigmoid(z) - 1/2) for a secret z in a small public range: an odd polynomial of degree 7, in three products.

    u = z^2,   (t, b) = (u^2, z u) in one product,   p = c_1 z + b (c_3 + c_5 u + c_7 t)

Only three levels of products, and four products an element: in training with a strong penalty |z| stays below 1, where
degree 7 is within 1.3e-7 of the function (5e-9 at |z| <= 0.66). The last product carries c_1 z along (``plus``), so it
costs no truncation of its own. For larger ranges see ``scaled_sigmoid``.

Formats, in a ring of k bits, with B = k - 3 + floor(-log2 max|p|) bits below the point under the last truncation:
z has F = k/2 - 4 fractional bits, u, t and b have G, the coefficients K, where 2 G + K = B.

Error, for the given z: with the errors e_u, e_t <= 2^-G + 2 R^2 e_u + e_u^2 and e_b <= 2^-G + R e_u of u, t and b, and
those of the rounded coefficients, r <= 2^-(K+1) for each of the three and 2^-(B-F+1) for c_1,

    distance + |D| e_b + |b| (|c_5| e_u + |c_7| e_t + r (1 + u + t)) + e_b (the same) + R 2^-(B-F+1) + 2^-f

where D = c_3 + c_5 u + c_7 t. The polynomial is farthest from the function at z = R: sigmoid(z) - 1/2 is the sum of
2 z / (z^2 + a^2) over a = pi, 3 pi, 5 pi ..., and of each of these the polynomial through the roots of T_8(z / R) is
off by 2 z w(z^2) / (w(-a^2) (z^2 + a^2)), where |w(z^2)| = R^8 |T_8(z / R)| / 2^7 is largest at R, and the rest grows
up to z = a. All have one sign. (What is stated has a margin for a grid of points with the spacing h besides, M h^2 / 8
where |e''| <= M for the error e; |sigmoid''| < 0.0963: plans had it before, and are hashed.)

**With verdicts** v, 0 or 1 for every element, the result is exactly 0 where v is 0, whatever the ring holds for z, in
the same rounds: (u, x) = (z^2, v z) in one product, b = x u, and p = v c_1 z + b (...), a sum of two products in one
truncation. Where v is 0, so are x, b and p, exactly: a truncation of 0 is 0. x has only G + 5 fractional bits, which
the ring has room for beside u, so e_b grows by (R^2 + e_u) 2^-(G+5). The bound above holds all the same where
``takes_verdicts`` says so: with the true rounding of the coefficients in place of r, which leaves more than that.

Rounds with ``rep3``: 6. Elements: 6 for each of the 4 products; 5 products with verdicts. Nobody learns anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from cofit.arithmetic import IntegerRing, reals
from cofit.errors import parameter_error
from cofit.protocols.working import GUARD_BITS, tighten, working_bits
from cofit.secret import SecretArray, concatenate

LARGEST_RADIUS = Fraction(1)
_NODES = 8
_POWERS = (1, 3, 5, 7)
_FINER = 5  # bits of v z beyond those of the powers: |z| 2^(2 F + 5) is within the capacity of the ring
_GRID = 20_001
_LARGEST_SECOND_DERIVATIVE = 0.0963
_FLOAT_ERROR = 1e-14


@dataclass(frozen=True)
class OddSigmoid:
    """The polynomial for |z| <= radius: coefficients of z, z^3, z^5, z^7 (floats, exact as such) and its distance."""

    radius: Fraction
    coefficients: tuple[float, float, float, float]
    distance: float

    @property
    def largest(self) -> float:
        """A bound of |p|."""
        r = float(self.radius)
        return reals.total(abs(c) * reals.power(r, n) for c, n in zip(self.coefficients, _POWERS, strict=True))


@cache
def odd_sigmoid_polynomial(radius: Fraction, scale: Fraction) -> OddSigmoid:
    """Interpolate scale (sigmoid - 1/2) on |z| <= radius, a radius rounded up to a multiple of 1/64."""
    if not 0 < radius <= LARGEST_RADIUS:
        raise parameter_error("radius", "odd_sigmoid", f"above 0 and at most {LARGEST_RADIUS}", radius)
    r, c = float(radius), float(scale)
    angles = (math.pi * (j + 0.5) / _NODES for j in range(_NODES // 2))
    nodes = [r * reals.cos(angle) for angle in angles]
    scaled = _solved(
        [[reals.power(node / r, n) for n in _POWERS] for node in nodes],
        [c * 0.5 * reals.tanh(node / 2) for node in nodes],
    )
    r_1, r_3, r_5, r_7 = (reals.power(r, n) for n in _POWERS)
    c_1, c_3, c_5, c_7 = (x / y for x, y in zip(scaled, (r_1, r_3, r_5, r_7), strict=True))
    off = abs((c_1 * r_1 + c_5 * r_5) + (c_3 * r_3 + c_7 * r_7) - c * (reals.sigmoid(r) - 0.5))
    curvature = c * _LARGEST_SECOND_DERIVATIVE
    curvature += abs(c_3) * 6 * r + abs(c_5) * 20 * r_3 + abs(c_7) * 42 * r_5
    spacing = r / (_GRID - 1)
    distance = off + curvature * (spacing * spacing) / 8 * (1 + 1e-9) + _FLOAT_ERROR
    return OddSigmoid(radius, (c_1, c_3, c_5, c_7), distance)


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve equations by elimination, column by column, in one order for all machines.

    Sums are of fused products, and columns are divided by a pivot through its inverse: the rounding of LAPACK, which
    solved them before, on the processors where plans were first recorded.
    """
    a, x, size = [list(row) for row in matrix], list(right), len(right)
    for j in range(size):
        for i in range(1, size):
            done = 0.0
            for k in range(min(i, j)):
                done = reals.multiply_add(a[i][k], a[k][j], done)
            a[i][j] -= done
        pivot = max(range(j, size), key=lambda i: abs(a[i][j]))
        a[j], a[pivot], x[j], x[pivot] = a[pivot], a[j], x[pivot], x[j]
        for i in range(j + 1, size):
            a[i][j] *= 1 / a[j][j]
    for j in range(size):
        for i in range(j + 1, size):
            x[i] = reals.multiply_add(-x[j], a[i][j], x[i])
    for j in reversed(range(size)):
        x[j] /= a[j][j]
        for i in range(j):
            x[i] = reals.multiply_add(-x[j], a[i][j], x[i])
    return x


@dataclass(frozen=True)
class _Bits:
    argument: int
    powers: int
    coefficients: int

    @property
    def total(self) -> int:
        return 2 * self.powers + self.coefficients


def argument_bits(ring: IntegerRing) -> int:
    """Return F: how many fractional bits z must have."""
    return working_bits(ring) - GUARD_BITS


def _bits(ring: IntegerRing, polynomial: OddSigmoid) -> _Bits:
    total = ring.value_bits - 1 + -reals.ceil_log2(polynomial.largest * 1.01)
    total = min(total, ring.value_bits)  # as many fractional bits as a format has
    coefficients = total // 3 + 2
    powers = (total - coefficients) // 2
    return _Bits(argument_bits(ring), powers, total - 2 * powers)


def rounded_radius(radius: Fraction) -> Fraction:
    """Return the next multiple of 1/64: few polynomials serve all."""
    return Fraction(-(-radius * 64 // 1), 64)


def odd_sigmoid(
    z: SecretArray, radius: Fraction, scale: Fraction, fraction_bits: int, verdicts: SecretArray | None = None
) -> SecretArray:
    """Return scale (sigmoid(z) - 1/2) for |z| <= radius with F fractional bits, ``fraction_bits`` in the result.

    verdicts: integers 0 and 1, as many as z has elements; the result is exactly 0 where they are.
    """
    bits, (c_1, c_3, c_5, c_7), largest = _numbers(z.format.ring, radius, scale)
    if z.format.fraction_bits != bits.argument:
        raise parameter_error("z", "odd_sigmoid", f"with {bits.argument} fractional bits", str(z.format))
    z = z.reshape(1, -1)
    if verdicts is None:
        factor = z
        u = z.multiply(z, bits.powers)
    else:
        kept = verdicts.reshape(1, -1).widen(bits.argument + _FINER).ldexp(_FINER)
        first = concatenate([z, kept]).multiply(concatenate([z, z]), bits.powers)
        factor, u = first[1:].ldexp(-_FINER), tighten(first[:1], Fraction(2))
    both = concatenate([factor, u.widen(factor.format.fraction_bits)]).multiply(concatenate([u, u]), bits.powers)
    b, t = both[0], both[1]
    inner = (u[0] * c_5 + t * c_7).ldexp(-bits.coefficients) + Fraction(c_3, 1 << bits.coefficients)
    linear = (z[0] * c_1).ldexp(bits.argument - bits.total)
    if verdicts is None:
        return b.multiply(inner, fraction_bits, plus=linear, proven_bound=largest)
    left = concatenate([b.reshape(1, -1), verdicts.reshape(1, -1).ldexp(-bits.powers)])
    right = concatenate([inner.reshape(1, -1), linear.reshape(1, -1).ldexp(bits.powers)])
    return left.T.inner(right.T, fraction_bits, proven_bound=largest)


@cache
def _numbers(ring: IntegerRing, radius: Fraction, scale: Fraction) -> tuple[_Bits, tuple[int, ...], Fraction]:
    """Return the formats, the coefficients as integers in them, and the bound: the same in every step of training."""
    polynomial = odd_sigmoid_polynomial(rounded_radius(radius), scale)
    bits = _bits(ring, polynomial)
    c_1, *rest = polynomial.coefficients
    linear = round(Fraction(c_1) * (1 << (bits.total - bits.argument)))
    return bits, (linear, *(round(c * (1 << bits.coefficients)) for c in rest)), Fraction(polynomial.largest * 1.01)


def odd_sigmoid_error(ring: IntegerRing, radius: Fraction, scale: Fraction, fraction_bits: int) -> Fraction:
    """Return a bound of |odd_sigmoid(z) - scale (sigmoid(z) - 1/2)|; with verdicts where ``takes_verdicts``."""
    polynomial = odd_sigmoid_polynomial(rounded_radius(radius), scale)
    bits = _bits(ring, polynomial)
    of_product = _error_of_product(polynomial, bits, (_worst_rounding(bits),) * 3, 0.0)
    of_linear = float(polynomial.radius) * 2.0 ** -(bits.total - bits.argument + 1)
    return Fraction((polynomial.distance + of_product + of_linear) * (1 + 1e-9)) + Fraction(1, 1 << fraction_bits)


@cache
def takes_verdicts(ring: IntegerRing, radius: Fraction, scale: Fraction) -> bool:
    """Whether ``odd_sigmoid_error`` holds with verdicts: false only if the coefficients are all rounded badly."""
    polynomial = odd_sigmoid_polynomial(rounded_radius(radius), scale)
    bits, (_, *integers), _ = _numbers(ring, radius, scale)
    units = 1 << bits.coefficients
    pairs = zip(polynomial.coefficients[1:], integers, strict=True)
    rounding = [float(abs(Fraction(c) * units - integer) / units) for c, integer in pairs]
    needed = _error_of_product(polynomial, bits, rounding, 2.0 ** -(bits.powers + _FINER))
    return needed <= _error_of_product(polynomial, bits, (_worst_rounding(bits),) * 3, 0.0)


def _worst_rounding(bits: _Bits) -> float:
    return 2.0 ** -(bits.coefficients + 1)


def _error_of_product(polynomial: OddSigmoid, bits: _Bits, rounding: Sequence[float], of_factor: float) -> float:
    """Return the error of b (c_3 + c_5 u + c_7 t); rounding: of the coefficients; of_factor: of z in b = z u."""
    r = float(polynomial.radius)
    _, c_3, c_5, c_7 = (abs(c) for c in polynomial.coefficients)
    e_u = 2.0**-bits.powers
    r_2, r_3, r_4 = r * r, reals.power(r, 3), reals.power(r, 4)
    e_t = 2.0**-bits.powers + 2 * r_2 * e_u + e_u * e_u
    e_b = 2.0**-bits.powers + r * e_u + (r_2 + e_u) * of_factor
    of_3, of_5, of_7 = rounding
    e_inner = c_5 * e_u + c_7 * e_t + (of_3 + of_5 * (r_2 + e_u) + of_7 * (r_4 + e_t))
    inner = c_3 + c_5 * r_2 + c_7 * r_4
    return inner * e_b + (r_3 + e_b) * e_inner
