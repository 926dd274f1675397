"""First-order methods for J, as public recurrences, with what each proves of its iterates.

All three are one recurrence with public numbers (g the gradient of the mean loss, evaluated at the point p):

    p_t     = w_t + theta (w_t - w_{t-1})
    w_{t+1} = (1 - alpha Lambda) p_t - alpha g(p_t) + C (w_t - w_{t-1})

gradient descent   theta = C = 0, alpha = 2 / (2 Lambda + L)
accelerated        C = 0, alpha = 1 / (Lambda + L), theta = (1 - sqrt q) / (1 + sqrt q) with q = alpha Lambda
momentum           theta = 0: the paper's pi_LR, C and alpha given

J is Lambda-strongly convex and (Lambda + L)-smooth. E bounds the Euclidean norm of everything that one computed step is
off by (``errors``), w* is the minimiser, D_0 >= ||w_0 - w*||.

**Distance after T steps.**
gradient descent: a step contracts by rho = max(|1 - alpha Lambda|, |1 - alpha (Lambda + L)|), so
||w_T - w*|| <= rho^T D_0 + E / (1 - rho).
accelerated (Schmidt, Le Roux, Bach, "Convergence rates of inexact proximal-gradient methods for convex optimization",
NIPS 2011, proposition 4, without a proximal term, gradient errors e_i = E / alpha, mu = Lambda): with r = 1 - sqrt q,
sqrt(J(w_T) - J*) <= r^(T/2) sqrt(2 (J(w_0) - J*)) + (E / alpha) sqrt(2 / Lambda) / (1 - sqrt r), and strong convexity
gives ||w_T - w*|| <= sqrt(2 / Lambda) times that. J(0) - J* <= min((Lambda + L) D_0^2, G^2 / Lambda) / 2.
momentum with C > 0: no bound is claimed.

**Range of the iterates.** ||g|| <= G throughout, so w_t is the output of a linear filter with inputs of norm at most
G + E / alpha, and its norm is at most that times alpha sum_k |h_k| (h the impulse response), plus what remains of w_0.
gradient descent: h_k = (1 - alpha Lambda)^k, the sum is 1 / (1 - |1 - alpha Lambda|).
accelerated: theta makes the characteristic polynomial a square with root r = 1 - sqrt q, so h_k = (k + 1) r^k for w and
(k + 2) r^k / (2 - r) for p: both positive, and both sums are 1 / (alpha Lambda). So ||w_t||, ||p_t|| <= (G + E/alpha) /
Lambda, as for gradient descent.
momentum: the sum of |h_k| is computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from cofit.arithmetic import reals
from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.losses.loss import STEP_BITS

_SLACK = 1 + 2.0**-20  # covers the rounding of the float arithmetic of the bounds, upwards
_MOST_EPOCHS = 1_000_000


@dataclass(frozen=True)
class Solver:
    """The public numbers of a method for n rows: alpha = factor n / 2^exponent, exactly."""

    name: str
    l2: Fraction
    smoothness: Fraction
    rows: int
    factor: Fraction
    exponent: int
    extrapolation: Fraction = Fraction(0)
    momentum: Fraction = Fraction(0)
    initial_radius: Fraction = Fraction(0)

    @cached_property
    def step(self) -> Fraction:
        """The step size alpha."""
        return self.factor * self.rows / Fraction(2) ** self.exponent

    @cached_property
    def shrink(self) -> Fraction:
        """1 - alpha Lambda."""
        return 1 - self.step * self.l2

    @property
    def rate(self) -> float | None:
        """The factor by which the bound of the distance shrinks in an epoch; None where none is proven."""
        if self.momentum:
            return None
        if self.extrapolation:
            return math.sqrt(1 - math.sqrt(self.step * self.l2)) * _SLACK
        rho = max(abs(self.shrink), abs(1 - self.step * (self.l2 + self.smoothness)))
        return float(rho) * _SLACK if rho < 1 else None

    def remaining(self, epochs: int, distance: float, gradient_bound: float) -> float | None:
        """Return the bound of what exact steps leave of ||w_0 - w*|| <= distance; None where none is proven."""
        if self.rate is None or self.rate >= 1:
            return None
        shrunk = reals.exp(epochs * reals.log(self.rate)) * _SLACK if self.rate else 0.0
        if not self.extrapolation:
            return shrunk * distance
        by_distance = float(self.l2 + self.smoothness) * (distance * distance)
        gap = min(by_distance, gradient_bound * gradient_bound / float(self.l2))  # 2 (J(0) - J*)
        return shrunk * math.sqrt(2 / float(self.l2)) * math.sqrt(gap) * _SLACK

    def amplified(self, error: float) -> float | None:
        """Return the bound of ||w_T - w*|| due to an error of norm ``error`` in every step."""
        if self.rate is None or self.rate >= 1:
            return None
        if not self.extrapolation:
            return error / (1 - self.rate) * _SLACK
        return 2 / float(self.l2) * error / float(self.step) / (1 - self.rate) * _SLACK

    def epochs_for(self, tolerance: float, distance: float, gradient_bound: float) -> int:
        """Return the fewest epochs that leave at most ``tolerance``."""
        if self.rate is None:
            raise InvalidInputError(
                f"epochs='auto' needs a method with a proven rate; {self.name} with learning rate "
                f"{float(self.step):g} has none. Give a number of epochs, or leave learning_rate and momentum out."
            )
        low, high = 0, 1
        while self.rate >= 1 or (self.remaining(high, distance, gradient_bound) or 0.0) > tolerance:
            low, high = high, 2 * high
            if high > _MOST_EPOCHS:
                raise InvalidInputError(
                    f"More than {_MOST_EPOCHS:,} epochs would be needed for l2 = {float(self.l2):g}. Use a larger l2."
                )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (low, middle)
                if (self.remaining(middle, distance, gradient_bound) or 0.0) <= tolerance
                else (middle, high)
            )
        return max(high, 1)

    def radius(self, gradient: float) -> float:
        """Return the bound of ||w_t|| and ||p_t|| when the computed gradients have norm at most ``gradient``."""
        start = float(self.initial_radius)
        self._refuse_divergence()
        if self.momentum:
            gain, kept = self._filter
            return (gradient * float(self.step) * gain + start * kept) * _SLACK
        if self.extrapolation:
            return gradient / float(self.l2) * _SLACK
        return max(gradient * float(self.step / (1 - abs(self.shrink))) * _SLACK, start)

    def _refuse_divergence(self) -> None:
        """Both roots of x^2 - (1 - alpha Lambda + C) x + C are inside the unit circle, or the iterates may diverge."""
        if abs(self.shrink + self.momentum) >= 1 + self.momentum:
            raise parameter_error(
                "learning_rate",
                "a plan",
                f"below {2 * (1 + float(self.momentum)) / float(self.l2):g} for this l2 and momentum, or the iterates "
                f"diverge",
                float(self.step),
            )

    @cached_property
    def _filter(self) -> tuple[float, float]:
        """sum |h_k| of w_{t+1} = (1 - alpha Lambda + C) w_t - C w_{t-1} + input, and the largest response to w_0."""
        first, second = float(self.shrink + self.momentum), -float(self.momentum)
        gain, before, now = 0.0, 0.0, 1.0
        start_before, start_now, kept = 1.0, 1.0, 1.0
        for _ in range(_MOST_EPOCHS):
            gain += abs(now)
            before, now = now, first * now + second * before
            start_before, start_now = start_now, first * start_now + second * start_before
            kept = max(kept, abs(start_now))
            if abs(now) + abs(before) < 1e-12 * gain and abs(start_now) + abs(start_before) < 1e-12:
                break
        else:
            raise InvalidInputError("The momentum is too close to 1: the iterates are not known to stay bounded.")
        return gain * (1 + 1e-6), kept * (1 + 1e-6)


def gradient_descent(l2: Fraction, smoothness: Fraction, rows: int) -> Solver:
    """The best fixed step, 2 / (2 Lambda + L), rounded down."""
    factor, exponent = _down(2 / (2 * l2 + smoothness), rows)
    return Solver("gradient descent", l2, smoothness, rows, factor, exponent)


def accelerated(l2: Fraction, smoothness: Fraction, rows: int) -> Solver:
    """Nesterov's method for strongly convex functions, with constant extrapolation (off by less than 2^-48)."""
    factor, exponent = _down(1 / (l2 + smoothness), rows)
    step = factor * rows / Fraction(2) ** exponent
    root = math.sqrt(step * l2)
    theta = Fraction((1 - root) / (1 + root))
    return Solver("accelerated gradient descent", l2, smoothness, rows, factor, exponent, theta)


def with_learning_rate(
    l2: Fraction,
    smoothness: Fraction,
    rows: int,
    learning_rate: Fraction,
    momentum: Fraction = Fraction(0),
    initial_radius: Fraction = Fraction(0),
) -> Solver:
    """The paper's pi_LR: a given learning rate (rounded to one part in 2^12) and momentum."""
    factor, exponent = _down(learning_rate, rows)
    name = "gradient descent with momentum" if momentum else "gradient descent with a given learning rate"
    return Solver(name, l2, smoothness, rows, factor, exponent, momentum=momentum, initial_radius=initial_radius)


def _down(step: Fraction, rows: int) -> tuple[Fraction, int]:
    """Return (c, m) with c n / 2^m <= step, c in (1/2, 1] a multiple of 2^-STEP_BITS, as close as that allows."""
    exponent = reals.floor_log2(rows / step)
    factor = Fraction(math.floor(step * Fraction(2) ** exponent / rows * (1 << STEP_BITS)), 1 << STEP_BITS)
    return factor, exponent
