"""Gaussian differential privacy (GDP): what Gaussian noise gives exactly, and discrete Gaussian noise nearly.

A mechanism is mu-GDP if its output laws at two neighbours are a randomised function of one draw from N(0, 1) and from
N(mu, 1). It is then (epsilon, delta)-DP, and no smaller delta is true of all such mechanisms, with

    delta = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)

(Balle and Wang, ICML 2018, theorem 8; Dong, Roth and Su, "Gaussian Differential Privacy", 2022). Vectors of L2
sensitivity D with independent N(0, s^2) noise on every coordinate are D / s-GDP, and mechanisms that are mu_1-, mu_2-,
...-GDP, each chosen with the results of those before, are together sqrt(mu_1^2 + mu_2^2 + ...)-GDP.

**On a grid.** Integer vectors plus *rounded* N(0, s^2) noise are the rounding of integers plus N(0, s^2): as private.
Discrete Gaussian noise of parameter sigma is within total variation ``rounded_distance(sigma)``, at most
1 / (128 (sigma^2 - 1/12)^2), of rounded N(0, sigma^2 - 1/12) noise, a coordinate. So whoever adds it to integers of
sensitivity D has D / sqrt(sigma^2 - 1/12)-GDP, up to that distance: at sigma = 2^12 below 2^-54.

**Rounding.** All results are rounded to the safe side: delta up, the mu that a delta allows down, the mu that an
epsilon costs up. The two terms of delta nearly cancel for small mu; they are computed with as many bits as leave 72
true ones.

The argument is in ``gaussian_dp_proof.md``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import mpmath

from cofit.arithmetic import reals
from cofit.errors import parameter_error
from cofit.privacy.safe_rounding import above, largest, number, significant_up
from cofit.privacy.zcdp import DELTA_BITS, SMALLEST_DELTA, checked_delta, checked_epsilon
from cofit.sampling.parameters import CONSTANT_GUARD_BITS, check_positive, constants

LEAST_SIGMA = 2  # of a discrete Gaussian that is counted as a rounded one
_CELL_VARIANCE = Fraction(1, 12)
_MU_BITS = 48
_DISTANCE_BITS = 24
_ERROR_BITS = 20  # what mpmath's terms may be wrong by, in units of their last place: 2^20
_TRUE_BITS = 72
_TINY_MU = Fraction(1, 1 << 255)  # delta <= mu / sqrt(2 pi) <= 2^-256
_FAR = 20  # Phi(-20) < 2^-256
_NEAR = -64  # Phi(-64) < 2^-66


def delta_of_mu(mu: Fraction | int, epsilon: Fraction | int) -> Fraction:
    """Return a delta such that mu-GDP implies (epsilon, delta)-DP: at least ``SMALLEST_DELTA`` and at most 1."""
    return _delta_of_mu(check_positive(mu, "mu", "delta_of_mu"), checked_epsilon(epsilon, "delta_of_mu"))


@lru_cache(maxsize=4096)
def _delta_of_mu(mu: Fraction, epsilon: Fraction) -> Fraction:
    nearer, farther = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if mu <= _TINY_MU or nearer >= _FAR:
        return SMALLEST_DELTA
    if nearer <= _NEAR:
        return Fraction(1)
    precision = 128
    while True:
        context, bits = constants(precision), precision + CONSTANT_GUARD_BITS
        first = _tail(nearer, context)
        second = context.exp(number(epsilon, context)) * _tail(farther, context)
        error = context.ldexp(first + second, _ERROR_BITS - bits)
        if error <= context.ldexp(first - second, -_TRUE_BITS):
            break
        precision *= 2
    bound = significant_up(above(first - second + error, bits - 4), DELTA_BITS)
    return max(SMALLEST_DELTA, min(Fraction(1), bound))


def largest_mu(epsilon: Fraction | int, delta: Fraction) -> Fraction:
    """Return the largest mu with ``delta_of_mu(mu, epsilon) <= delta``, rounded down to 48 significant bits."""
    return _largest_mu(checked_epsilon(epsilon, "largest_mu"), checked_delta(delta, "largest_mu"))


@lru_cache(maxsize=1024)
def _largest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    return largest(lambda mu: delta_of_mu(mu, epsilon) <= delta, _MU_BITS)


def mu_of_pure(epsilon: Fraction | int) -> Fraction:
    """Return a mu such that epsilon-DP implies mu-GDP: 2 Phi^-1(e^epsilon / (1 + e^epsilon)), rounded up to 48 bits."""
    return _mu_of_pure(checked_epsilon(epsilon, "mu_of_pure"))


@lru_cache(maxsize=1024)
def _mu_of_pure(epsilon: Fraction) -> Fraction:
    lost = max(0, -reals.floor_log2(epsilon))  # digits of 1 / (1 + e^epsilon) that are those of 1/2
    precision = 128 + (1 << lost.bit_length())
    context, bits = constants(precision), precision + CONSTANT_GUARD_BITS
    allowed = 1 / (1 + context.exp(number(epsilon, context)))
    allowed -= context.ldexp(allowed, _ERROR_BITS - bits)

    def enough(mu: Fraction) -> bool:
        tail = _tail(mu / 2, context)
        return bool(tail + context.ldexp(tail, _ERROR_BITS - bits) <= allowed)

    mu = Fraction(256)  # Phi(-128) < e^-1025 / 2
    while enough(mu / 2):
        mu /= 2
    step = mu / 2
    for _ in range(_MU_BITS - 1):
        step /= 2
        if enough(mu - step):
            mu -= step
    return mu


def _tail(x: Fraction, context: mpmath.MPContext) -> mpmath.mpf:
    """Return Phi(-x). Not by mpmath's ncdf, which changes the precision of the context for a while."""
    return context.erfc(number(x, context) / context.sqrt(2)) / 2


# --- discrete Gaussian noise as rounded Gaussian noise ---------------------------------------------------


def rounded_variance(sigma: Fraction | int) -> Fraction:
    """Return sigma^2 - 1/12: rounded to integers, Gaussian noise of this variance is like a discrete Gaussian."""
    return _checked_sigma(sigma, "rounded_variance") ** 2 - _CELL_VARIANCE


def rounded_distance(sigma: Fraction | int) -> Fraction:
    """Return a bound of the total variation between one discrete Gaussian draw of parameter sigma, in steps, and a
    draw of N(0, ``rounded_variance(sigma)``) that is rounded to the nearest integer: 1 / (128 variance^2)."""
    variance = _checked_sigma(sigma, "rounded_distance") ** 2 - _CELL_VARIANCE
    return significant_up(1 / (128 * variance * variance), _DISTANCE_BITS)


def _checked_sigma(sigma: object, owner: str) -> Fraction:
    checked = check_positive(sigma, "sigma", owner)
    if checked < LEAST_SIGMA:
        must_be = f"at least {LEAST_SIGMA} steps of the grid (take a finer grid, or count the noise as zCDP)"
        raise parameter_error("sigma", owner, must_be, sigma)
    return checked
