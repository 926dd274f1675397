"""How much discrete Gaussian noise an (epsilon, delta) needs, by zero-concentrated differential privacy (zCDP).

Integers with L2 sensitivity D, plus independent discrete Gaussian noise of parameter sigma on every coordinate, are
rho-zCDP with rho = D^2 / (2 sigma^2), in any number of dimensions; and rho-zCDP implies (epsilon, delta)-DP with

    delta = exp((alpha - 1) (alpha rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha)^alpha    for every alpha > 1

(Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020, corollary 13).

Integers, because the noise is an integer: whoever adds it to weights on a grid counts D and sigma in steps of the
grid, and D after the weights were rounded to it.

Rounding: every alpha gives a true bound, so a good one is searched in floating point, and the bound is evaluated at
exactly that alpha, with 128 bits and more slack than their error. All results are rounded to the safe side: delta and
sigma up, rho down.
Tightness: for epsilon from 0.1 to 10 and delta from 1e-12 to 1e-5, sigma is 3 to 11 % above the smallest possible one
of the continuous Gaussian in one dimension, where delta is 3.7 to 7.4 times too large.

The argument is in ``zcdp_proof.md``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import mpmath

from cofit.arithmetic import reals
from cofit.errors import parameter_error
from cofit.privacy.safe_rounding import SIGMA_BITS, above, largest, number, root_up, significant_up
from cofit.sampling.parameters import check_positive, constants

LARGEST_EPSILON = 1 << 10  # beyond it nothing is private, and e^epsilon is not worth its digits
SMALLEST_DELTA = Fraction(1, 1 << 256)
DELTA_BITS = 64
_RHO_BITS = 48
_LARGEST_RHO = 1 << 16  # its delta is 1, whatever epsilon is
_CONTEXT = constants(64)  # 128 bits
_SLACK_BITS = 120
_LARGEST_LOG_T = 700.0
_LARGEST_T = 2.0**1009


def delta_of(rho: Fraction | int, epsilon: Fraction | int) -> Fraction:
    """Return a delta such that rho-zCDP implies (epsilon, delta)-DP: at least ``SMALLEST_DELTA`` and at most 1."""
    return _delta_of(check_positive(rho, "rho", "delta_of"), checked_epsilon(epsilon, "delta_of"))


@lru_cache(maxsize=4096)
def _delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    if rho > _LARGEST_RHO:
        return Fraction(1)
    exponent = _log_delta(rho, epsilon, _best_t(float(rho), float(epsilon)))
    if exponent >= 0:
        return Fraction(1)
    if exponent <= -256 * _CONTEXT.ln2:
        return SMALLEST_DELTA
    return min(Fraction(1), significant_up(above(_CONTEXT.exp(exponent), _SLACK_BITS), DELTA_BITS))


def largest_rho(epsilon: Fraction | int, delta: Fraction) -> Fraction:
    """Return the largest rho with ``delta_of(rho, epsilon) <= delta``, rounded down to 48 significant bits."""
    return _largest_rho(checked_epsilon(epsilon, "largest_rho"), checked_delta(delta, "largest_rho"))


@lru_cache(maxsize=1024)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    return largest(lambda rho: _delta_of(rho, epsilon) <= delta, _RHO_BITS)


def gaussian_sigma(sensitivity: Fraction | int, epsilon: Fraction | int, delta: Fraction) -> Fraction:
    """Return the sigma of discrete Gaussian noise that makes integers of this L2 sensitivity (epsilon, delta)-DP.

    The smallest that ``largest_rho`` allows, D / sqrt(2 rho), rounded up to m 2^k with m of ``SIGMA_BITS`` bits.
    """
    sensitivity = check_positive(sensitivity, "sensitivity", "gaussian_sigma")
    return root_up(sensitivity * sensitivity / (2 * largest_rho(epsilon, delta)), SIGMA_BITS)


def total_delta(delta: Fraction | int, sampler_distance: Fraction | int, epsilon: Fraction | int) -> Fraction:
    """Return delta + (1 + e^epsilon) s, rounded up, and at most 1; delta itself for s = 0.

    A mechanism within total variation s of an (epsilon, delta)-DP mechanism, for every input, is (epsilon, this)-DP.
    """
    delta = _checked_probability(delta, "delta")
    sampler_distance = _checked_probability(sampler_distance, "sampler_distance")
    epsilon = checked_epsilon(epsilon, "total_delta")
    if sampler_distance == 0:
        return delta
    factor = above(_CONTEXT.exp(number(epsilon, _CONTEXT)), _SLACK_BITS)
    return min(Fraction(1), significant_up(delta + (1 + factor) * sampler_distance, DELTA_BITS))


# --- the bound -------------------------------------------------------------------------------------------


def _log_delta(rho: Fraction, epsilon: Fraction, t: float) -> mpmath.mpf:
    """Return at least ln delta at alpha = 1 + t: t (1 + t) rho - t epsilon - ln t - (1 + t) ln(1 + 1 / t)."""
    order = _CONTEXT.mpf(t)
    gain, loss = order * (1 + order) * number(rho, _CONTEXT), order * number(epsilon, _CONTEXT)
    log, power = _CONTEXT.log(order), (1 + order) * _CONTEXT.log(_CONTEXT.fadd(1, 1 / order, exact=True))
    return gain - loss - log - power + _CONTEXT.ldexp(gain + loss + abs(log) + power, -_SLACK_BITS)


def _best_t(rho: float, epsilon: float) -> float:
    """Return the t where the derivative of ln delta, (1 + 2 t) rho - epsilon - ln(1 + 1 / t), changes its sign.

    By Newton's method: the derivative grows with t, ever slower, so that steps from below stay below, until rounding
    ends them. They begin where it is below 0: ln(1 + 1 / t) is positive, and above -ln t.
    """
    if epsilon >= rho * _LARGEST_T:
        return _LARGEST_T
    t = (epsilon - rho) / (2 * rho) if epsilon >= 3 * rho else reals.exp(max(epsilon - 3 * rho, -_LARGEST_LOG_T))
    while True:
        slope = (1 + 2 * t) * rho - epsilon - reals.log1p(1 / t)
        better = t - slope / (2 * rho + 1 / (t * (t + 1)))
        if not t < better <= _LARGEST_T:
            return t
        t = better


# --- arguments -------------------------------------------------------------------------------------------


def checked_epsilon(epsilon: object, owner: str) -> Fraction:
    """Return epsilon, or raise InvalidInputError unless it is exact, above 0 and at most ``LARGEST_EPSILON``."""
    checked = check_positive(epsilon, "epsilon", owner)
    if checked > LARGEST_EPSILON:
        raise parameter_error("epsilon", owner, f"at most {LARGEST_EPSILON}", epsilon)
    return checked


def checked_delta(delta: object, owner: str) -> Fraction:
    """Return delta, or raise InvalidInputError unless it is exact, at least ``SMALLEST_DELTA`` and below 1."""
    checked = check_positive(delta, "delta", owner)
    if not SMALLEST_DELTA <= checked < 1:
        raise parameter_error("delta", owner, "at least 2^-256 and less than 1", delta)
    return checked


def _checked_probability(value: object, parameter: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or not 0 <= value <= 1:
        raise parameter_error(parameter, "total_delta", "a Fraction or an integer from 0 to 1", value)
    return Fraction(value)
