"""Logistic regression: l(y, z) = log(1 + exp(z)) - y z, so l' = sigmoid(z) - y and 0 <= l'' <= 1/4.

Secure evaluation of c l':

- |z| <= 1, in Z_2^64: ``odd_sigmoid``, three levels of products, where its error is small enough.
- |z| <= 8: the polynomial of ``scaled_sigmoid`` on the proven range, with c in its coefficients, minus c y, which is
  local. No comparison. Its range 2^r is the next power of two.
- beyond: ``sigmoid``, which takes any z, minus y, times c (a truncation).

Noisy descent clips the gradient: a record with the margin M counts as min(sigmoid(-M), 1/4), a quarter from log 3 down.
Four times that, of half margins m = M / 2, is min(1, 4 sigmoid(-2 m)), of which clip(3/2 - m, 0, 1) is the line, within
1/5: as accurate, by two comparisons. Evidence, and what it costs not to clip: docs/explanation/recipe.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from cofit.arithmetic import FixedPoint, IntegerRing, reals
from cofit.learn.losses.clipped_residual import HALF_MARGIN, ClippedResidual
from cofit.learn.losses.loss import Evaluation, Loss, Reals, times_scale
from cofit.protocols import sigmoid
from cofit.protocols.odd_sigmoid import (
    LARGEST_RADIUS,
    odd_sigmoid,
    odd_sigmoid_error,
    rounded_radius,
    takes_verdicts,
)
from cofit.protocols.odd_sigmoid import argument_bits as odd_argument_bits
from cofit.protocols.scaled_sigmoid import (
    scaled_sigmoid,
    scaled_sigmoid_degree,
    scaled_sigmoid_error,
    scaled_sigmoid_formed,
)
from cofit.protocols.sigmoid import sigmoid_error
from cofit.protocols.working import GUARD_BITS, working_bits
from cofit.secret import SecretArray

_LARGEST_POLYNOMIAL_EXPONENT = 3
_SMALLEST_EXPONENT = -6
_MOST_UNITS = 6  # of the odd polynomial's error, in units of the result's last place
_FLOAT_SLACK = Fraction(1, 1 << 40)


class Logistic(Loss):
    """The logistic loss."""

    name: ClassVar[str] = "logistic"
    kind: ClassVar[str] = "logistic_regression"
    title: ClassVar[str] = "logistic regression"
    smoothness: ClassVar[Fraction] = Fraction(1, 4)
    clipped_residual: ClippedResidual | None = HALF_MARGIN
    clipped_title: ClassVar[str] = "logistic regression with clipped gradients (its sigmoid piecewise linear)"
    sigmoidal: ClassVar[bool] = True

    def derivative_bound(self, radius: Fraction | None) -> Fraction:
        """|sigmoid(z) - y| <= sigmoid(|z|)."""
        if radius is None or radius > 30:
            return Fraction(1)
        return min(Fraction(1 / (1 + reals.exp(-float(radius)))) + _FLOAT_SLACK, Fraction(1))

    def value(self, y: Reals, z: Reals) -> Reals:
        return np.asarray(np.logaddexp(0, z) - y * z)

    def derivative(self, y: Reals, z: Reals) -> Reals:
        return np.asarray(0.5 * (1 + np.tanh(z / 2)) - y)  # the tanh form does not overflow

    def probabilities(self, margins: Reals) -> Reals:
        half = 0.5 * np.tanh(margins / 2)  # the tanh form does not overflow
        return np.column_stack([0.5 - half, 0.5 + half])

    def evaluation(
        self, ring: IntegerRing, radius: Fraction, scale: Fraction, fraction_bits: int, tolerance: Fraction
    ) -> Evaluation:
        if ring.words == 1 and radius <= LARGEST_RADIUS:
            odd = SmallSigmoid(ring, rounded_radius(radius), scale, fraction_bits)
            if odd.error <= Fraction(_MOST_UNITS, 1 << fraction_bits):
                return odd
        exponent = max(_next_power(radius), _SMALLEST_EXPONENT)
        if exponent <= _LARGEST_POLYNOMIAL_EXPONENT:
            return PolynomialSigmoid(ring, exponent, scale, fraction_bits, tolerance)
        return AnySigmoid(ring, scale, fraction_bits)


@dataclass(frozen=True)
class SmallSigmoid(Evaluation):
    """By an odd polynomial of degree 7 on |z| <= radius <= 1."""

    ring: IntegerRing
    radius: Fraction
    scale: Fraction
    fraction_bits: int

    @property
    def argument_bits(self) -> int:
        """What ``odd_sigmoid`` takes."""
        return odd_argument_bits(self.ring)

    @property
    def error(self) -> Fraction:
        """The polynomial's, and the rounding of c / 2 and of c y."""
        polynomial = odd_sigmoid_error(self.ring, self.radius, self.scale, self.fraction_bits)
        return polynomial + Fraction(1, 1 << self.fraction_bits)

    @property
    def description(self) -> str:
        """One line."""
        return f"odd polynomial of degree 7 on |z| <= {float(self.radius):g}"

    @property
    def temporaries(self) -> int:
        """A few powers, and the masks of one truncation."""
        return 24

    def __call__(self, z: SecretArray, y: SecretArray) -> SecretArray:
        odd = odd_sigmoid(z, self.radius, self.scale, self.fraction_bits)
        return odd + self.scale / 2 - (y * round(self.scale * (1 << self.fraction_bits))).ldexp(-self.fraction_bits)

    def of_checked(self, z: SecretArray, y: SecretArray, passed: SecretArray) -> SecretArray:
        """The verdicts go through the polynomial: a round less than a product after it."""
        if not takes_verdicts(self.ring, self.radius, self.scale):
            return super().of_checked(z, y, passed)
        odd = odd_sigmoid(z, self.radius, self.scale, self.fraction_bits, passed)
        units = 1 << self.fraction_bits
        constant = passed * round(self.scale / 2 * units) - y * round(self.scale * units)
        return odd + constant.ldexp(-self.fraction_bits)


@dataclass(frozen=True)
class PolynomialSigmoid(Evaluation):
    """By a polynomial on |z| <= 2^exponent."""

    ring: IntegerRing
    exponent: int
    scale: Fraction
    fraction_bits: int
    tolerance: Fraction

    @property
    def argument_bits(self) -> int:
        """So that z / 2^exponent has the working format."""
        return working_bits(self.ring) - self.exponent

    @property
    def error(self) -> Fraction:
        """The polynomial's, and the rounding of c y."""
        polynomial = scaled_sigmoid_error(self.ring, self.exponent, self.scale, self.fraction_bits, self.tolerance)
        return polynomial + Fraction(1, 2 << self.fraction_bits)

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return scaled_sigmoid_degree(self.ring, self.exponent, self.scale, self.tolerance)

    @property
    def description(self) -> str:
        """One line."""
        return f"polynomial of degree {self.degree} on |z| <= {2.0**self.exponent:g}"

    @property
    def temporaries(self) -> int:
        """The basis, and the masks of the truncation of half of it."""
        return 16 + 5 * scaled_sigmoid_formed(self.ring, self.exponent, self.scale, self.tolerance)

    def __call__(self, z: SecretArray, y: SecretArray) -> SecretArray:
        scaled = scaled_sigmoid(z.ldexp(-self.exponent), self.exponent, self.scale, self.fraction_bits, self.tolerance)
        return scaled - (y * round(self.scale * (1 << self.fraction_bits))).ldexp(-self.fraction_bits)


@dataclass(frozen=True)
class AnySigmoid(Evaluation):
    """By the range-safe sigmoid, for any z."""

    ring: IntegerRing
    scale: Fraction
    fraction_bits: int

    @property
    def argument_bits(self) -> int:
        """As many as ``sigmoid`` takes."""
        return working_bits(self.ring) - GUARD_BITS

    @property
    def error(self) -> Fraction:
        """The sigmoid's, and the truncation after the factor c."""
        return self.scale * sigmoid_error(FixedPoint(self.argument_bits, self.ring)) + Fraction(
            1, 1 << self.fraction_bits
        )

    @property
    def description(self) -> str:
        """One line."""
        return "range-safe sigmoid for any z"

    @property
    def temporaries(self) -> int:
        """Mostly bits and a polynomial: in the larger ring it has twice the degree, of which half is formed."""
        return 96

    def __call__(self, z: SecretArray, y: SecretArray) -> SecretArray:
        """Rows that were not checked may have brought any z: the comparisons are of all of the ring."""
        likely = sigmoid(z, unbounded=True)
        return times_scale(likely - y.widen(self.argument_bits), self.scale, self.fraction_bits)


def _next_power(radius: Fraction) -> int:
    """The smallest r with radius <= 2^r."""
    return reals.ceil_log2(radius) if radius > 0 else _SMALLEST_EXPONENT
