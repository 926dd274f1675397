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

where D = c_3 + c_5 u + c_7 t. The distance of the polynomial from the function is bounded on a grid of points z_i with
spacing h: an error function e with |e''| <= M is below max |e(z_i)| + M h^2 / 8 everywhere (linear interpolation).
|sigmoid''| < 0.0963, and the polynomial's second derivative is bounded by its coefficients.

Rounds with ``rep3``: 6. Elements: 8 for each of the 4 products. Nobody learns anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from cofit.arithmetic import IntegerRing
from cofit.errors import parameter_error
from cofit.protocols.working import GUARD_BITS, working_bits
from cofit.secret import SecretArray, concatenate

LARGEST_RADIUS = Fraction(1)
_NODES = 8
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
        return sum(abs(c) * float(self.radius) ** n for c, n in zip(self.coefficients, (1, 3, 5, 7), strict=True))


@cache
def odd_sigmoid_polynomial(radius: Fraction, scale: Fraction) -> OddSigmoid:
    """Interpolate scale (sigmoid - 1/2) on |z| <= radius, a radius rounded up to a multiple of 1/64."""
    if not 0 < radius <= LARGEST_RADIUS:
        raise parameter_error("radius", "odd_sigmoid", f"above 0 and at most {LARGEST_RADIUS}", radius)
    r, c = float(radius), float(scale)
    nodes = r * np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)[: _NODES // 2]
    powers = np.array([1, 3, 5, 7])
    coefficients = np.linalg.solve((nodes[:, None] / r) ** powers, c * 0.5 * np.tanh(nodes / 2)) / r**powers
    points = np.linspace(0, r, _GRID)
    off = np.abs((points[:, None] ** powers) @ coefficients - c * 0.5 * np.tanh(points / 2)).max()
    curvature = c * _LARGEST_SECOND_DERIVATIVE + float(
        np.abs(coefficients) @ (powers * (powers - 1) * r ** (powers - 2.0))
    )
    spacing = r / (_GRID - 1)
    return OddSigmoid(
        radius,
        tuple(float(x) for x in coefficients),  # type: ignore[arg-type]
        float(off) + curvature * spacing**2 / 8 * (1 + 1e-9) + _FLOAT_ERROR,
    )


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
    total = ring.value_bits - 1 + math.floor(-math.log2(polynomial.largest * 1.01))
    total = min(total, ring.value_bits)  # as many fractional bits as a format has
    coefficients = total // 3 + 2
    powers = (total - coefficients) // 2
    return _Bits(argument_bits(ring), powers, total - 2 * powers)


def rounded_radius(radius: Fraction) -> Fraction:
    """Return the next multiple of 1/64: few polynomials serve all."""
    return Fraction(-(-radius * 64 // 1), 64)


def odd_sigmoid(z: SecretArray, radius: Fraction, scale: Fraction, fraction_bits: int) -> SecretArray:
    """Return scale (sigmoid(z) - 1/2) for |z| <= radius with F fractional bits, ``fraction_bits`` in the result."""
    bits, (c_1, c_3, c_5, c_7), largest = _numbers(z.format.ring, radius, scale)
    if z.format.fraction_bits != bits.argument:
        raise parameter_error("z", "odd_sigmoid", f"with {bits.argument} fractional bits", str(z.format))
    z = z.reshape(1, -1)
    u = z.multiply(z, bits.powers)
    both = concatenate([z, u.widen(bits.argument)]).multiply(concatenate([u, u]), bits.powers)
    b, t = both[0], both[1]
    inner = (u[0] * c_5 + t * c_7).ldexp(-bits.coefficients) + Fraction(c_3, 1 << bits.coefficients)
    linear = (z[0] * c_1).ldexp(bits.argument - bits.total)
    return b.multiply(inner, fraction_bits, plus=linear, proven_bound=largest)


@cache
def _numbers(ring: IntegerRing, radius: Fraction, scale: Fraction) -> tuple[_Bits, tuple[int, ...], Fraction]:
    """Return the formats, the coefficients as integers in them, and the bound: the same in every step of training."""
    polynomial = odd_sigmoid_polynomial(rounded_radius(radius), scale)
    bits = _bits(ring, polynomial)
    c_1, *rest = polynomial.coefficients
    linear = round(Fraction(c_1) * (1 << (bits.total - bits.argument)))
    return bits, (linear, *(round(c * (1 << bits.coefficients)) for c in rest)), Fraction(polynomial.largest * 1.01)


def odd_sigmoid_error(ring: IntegerRing, radius: Fraction, scale: Fraction, fraction_bits: int) -> Fraction:
    """Return a bound of |odd_sigmoid(z) - scale (sigmoid(z) - 1/2)|."""
    polynomial = odd_sigmoid_polynomial(rounded_radius(radius), scale)
    bits = _bits(ring, polynomial)
    r = float(polynomial.radius)
    _, c_3, c_5, c_7 = (abs(c) for c in polynomial.coefficients)
    e_u = 2.0**-bits.powers
    e_t = 2.0**-bits.powers + 2 * r**2 * e_u + e_u**2
    e_b = 2.0**-bits.powers + r * e_u
    rounding = 2.0 ** -(bits.coefficients + 1)
    e_inner = c_5 * e_u + c_7 * e_t + rounding * (1 + (r**2 + e_u) + (r**4 + e_t))
    inner = c_3 + c_5 * r**2 + c_7 * r**4
    of_product = inner * e_b + (r**3 + e_b) * e_inner
    of_linear = r * 2.0 ** -(bits.total - bits.argument + 1)
    return Fraction((polynomial.distance + of_product + of_linear) * (1 + 1e-9)) + Fraction(1, 1 << fraction_bits)
