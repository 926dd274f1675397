"""How much normal noise inside an objective makes its minimiser private: proven in ``proofs.md``, one record replaced.

The noise b ~ N(0, sigma^2 I) is in units of one record's largest gradient. ``bend`` is c / (n Lambda), where a residual
r(m) = sigmoid(c (t - m)) has the derivative c r (1 - r) in size, at most c / 4. With H(mu, epsilon) the delta at
epsilon of two unit normals mu apart (Balle and Wang 2018, theorem 8), the smaller of these is a valid delta:

    apart       sum over l = 0, 1, 1, 2 of H(l / sigma, epsilon - ln(1 + bend / 4))
    together    sum over l = 0, 1 and slopes s of H((l + s) / sigma, epsilon - what(s))

where either s = 0 with what = bend and s = 1 with 0; or s = 0 and 1 with 0, and for j = 0 ... J - 1
s = (2 j + 1) / (2 J) with bend (s (1 - s) + 1 / (4 J^2)). The first bound pays for the determinant in full. The second
uses that a record with the largest gradient has no curvature: while bend is below 0.4 epsilon or so, the noise is that
of a plain normal mechanism with sensitivity 2, and the determinant is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from cofit.baselines.noise import gaussian_delta

_PIECES = (0, 1, 2, 4, 8, 16)
_SLACK = 1 + 1e-7  # of the bisection and of floating point: more noise, never less
_MOST = 1e9


def objective_delta(sigma: float, bend: float, epsilon: float) -> float:
    """Return a delta at which the minimiser is (epsilon, delta)-private; it falls in sigma and grows with bend."""
    apart = epsilon - math.log1p(bend / 4)
    bounds = [sum(_hockey_stick(length / sigma, apart) for length in (0, 1, 1, 2))]
    bounds += [_together(sigma, bend, epsilon, pieces) for pieces in _PIECES]
    return min(bounds)


def objective_sigma(bend: Callable[[float], float], epsilon: float, delta: float) -> float | None:
    """Return the smallest sigma, rounded up; None where no noise is enough. ``bend``, of sigma, must not grow."""
    low, high = 1.0, 1.0
    while objective_delta(high, bend(high), epsilon) > delta:
        high *= 2
        if high > _MOST:
            return None
    while objective_delta(low, bend(low), epsilon) <= delta:
        low /= 2
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if objective_delta(middle, bend(middle), epsilon) > delta else (low, middle)
    return high * _SLACK


def _together(sigma: float, bend: float, epsilon: float, pieces: int) -> float:
    slopes = {0.0: 0.0 if pieces else bend, 1.0: 0.0}
    for j in range(pieces):
        slope = (2 * j + 1) / (2 * pieces)
        slopes[slope] = bend * (slope * (1 - slope) + 1 / (4 * pieces**2))
    return sum(
        _hockey_stick((other + slope) / sigma, epsilon - what) for other in (0, 1) for slope, what in slopes.items()
    )


def _hockey_stick(mu: float, epsilon: float) -> float:
    """Return H: of N(mu, 1) and N(0, 1). At mu = 0 there is one law, and what is left is 1 - e^epsilon, if positive."""
    if mu > 0:
        return gaussian_delta(1 / mu, epsilon)
    return -math.expm1(epsilon) if epsilon < 0 else 0.0
