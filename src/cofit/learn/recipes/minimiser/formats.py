"""Fixed-point formats of a training run, with proven ranges and a proven bound of everything that is rounded.

One step computes, on secrets (integers with the stated number of fractional bits; the vectors v only where the parties
normalise, "lazily": the normalised matrix is never formed):

    s = X p            exact, then truncated to ``product``  (without v: straight to ``argument``)
    z = v s            truncated to ``argument``
    e = c l'(y, z)     ``residual``, by the loss's evaluation
    q = v e            truncated to ``scaled``                (without v: q = e)
    w = 2^-m (2^m shrink p - X^T q)   one truncation, to ``weights``

**Ranges.** ||p||, ||w|| <= R (``Solver.radius``), ||x|| <= N as encoded (N = 1 + eta for rows normalised by their
owner, sqrt(d) else), so |s| <= N R, |z| <= R_z = (1 + eta) R, and |X^T q| is never looked at alone: the total under the
last truncation is 2^m w, bounded by 2^m R. Sums may wrap on the way; what is truncated never does.

**Errors** of one step, as a vector of norm
E = alpha (1 + eta) e_e / c + alpha N e_q / c + sqrt(d) 2^-weights + R a, where

    e_z = v_max 2^-product + 2^-argument       (the first term only with v)
    e_e = c L e_z + the evaluation's error     for each residual; the mean of n vectors of norm at most 1 + eta keeps it
    e_q = 2^-scaled                            (only with v; it meets raw rows, so N in front)
    a   = the rounding of the public factor ``shrink``

and, for the accelerated method, sqrt(d) 2^-weights + 2 R 2^-extrapolation more (the bits of theta): an error of p
counts at most once, because I - alpha grad^2 J has norm at most 1. Truncations count with their worst case, one unit
each: nothing rests on their being random (parties know part of that randomness).

**Encoding.** The parties train on rows within eta of the exact normalised ones: eta = sqrt(d) 2^-(data+1) / rho for
rounding (x -> x / max(||x||, rho) is a projection divided by rho, hence 1/rho-Lipschitz; rho = 1 when the owners
normalise; where the parties do, rho itself is encoded, and off by half a unit of the data or of its square), plus N
times the error of v. That moves the minimiser by at most (G + L R) eta / Lambda: the gradient at w*
changes by the mean of l'(z') x' - l'(z) x, of norm at most G eta + L ||w*|| eta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from cofit.arithmetic import FixedPoint, IntegerRing, reals
from cofit.learn.losses import Evaluation, Loss
from cofit.learn.recipes.minimiser.solvers import Solver
from cofit.learn.ring_choice import SmallRingError
from cofit.protocols.roots import inverse_square_root_error
from cofit.protocols.working import GUARD_BITS, working_bits

_SLACK = 1 + 2.0**-20
_FLOAT_NORMALISATION = 2.0**-45
_FEWEST_BITS, _MOST_WEIGHT_BITS = 12, 44
_MOST_EXTRAPOLATION_BITS = 47
_CLOSE = 1 - 1e-6  # every iterate is a valid bound: no need to reach the fixed point
_LARGEST_ETA = 2.0**-8
_LARGEST_FLOOR_ERROR = 2.0**-12  # 1 / rho as encoded is above 1 / rho by little more than this


@dataclass(frozen=True)
class Geometry:
    """The public shape of the data: rows, columns (the intercept included), and how rows are normalised.

    ``floor``: where the parties normalise, rho: a row shorter than it is divided by rho; None where the owners do it.
    Raw values are at most 1 in magnitude (scaled by the public bound of the study).
    """

    rows: int
    cols: int
    floor: Fraction | None = None
    needs_comparison: bool = False

    @property
    def longest_row(self) -> float:
        """N without the rounding."""
        return 1.0 if self.floor is None else math.sqrt(self.cols) * _SLACK


@dataclass(frozen=True)
class Formats:
    """The fractional bits of every quantity, all in one ring, and the evaluation of the loss."""

    ring: IntegerRing
    data: int
    weights: int
    scaled: int
    evaluation: Evaluation
    inverse_norm: int | None
    product: int | None
    extrapolation: int
    radius: Fraction
    argument_radius: Fraction
    eta: float
    step_error: float

    @property
    def argument(self) -> int:
        """The fractional bits of z."""
        return self.evaluation.argument_bits

    @property
    def rounded(self) -> float:
        """eta."""
        return self.eta

    def of(self, fraction_bits: int) -> FixedPoint:
        """Return the format with that many fractional bits."""
        return FixedPoint(fraction_bits, self.ring)


def choose_formats(ring: IntegerRing, geometry: Geometry, solver: Solver, loss: Loss) -> Formats:
    """Return the formats with the smallest error bound; refuse (RangeError) where nothing fits the ring.

    Candidates are compared with a usual evaluation error of two units; only the chosen one pays for the proven bound.
    """
    usual = []
    for data in range(_FEWEST_BITS, working_bits(ring) + 1):
        candidate = _with_data_bits(ring, geometry, solver, loss, data, proven=False)
        if candidate is not None:
            usual.append(candidate)
    usual.sort(key=lambda candidate: _cost(candidate, solver))
    proven = (_with_data_bits(ring, geometry, solver, loss, candidate.data, proven=True) for candidate in usual)
    best = next((candidate for candidate in proven if candidate is not None), None)
    if best is None:
        raise SmallRingError(
            f"{geometry.rows} rows and {geometry.cols} columns with l2 = {float(solver.l2):g} need more than "
            f"{ring.bits} bits: a sum over the rows could overflow. Use a larger ring, a larger l2, or fewer rows.",
            f"a sum over {geometry.rows} rows could overflow in {ring.name}, in any format; a larger l2 or fewer rows "
            f"would fit",
        )
    return best


def encoding_error(formats: Formats, gradient_bound: Fraction, solver: Solver) -> float:
    """Return the bound of how far rounded rows move the minimiser."""
    moved = float(gradient_bound + solver.smoothness * gradient_bound / solver.l2) * formats.eta
    return moved / float(solver.l2) * _SLACK


def _cost(formats: Formats, solver: Solver) -> float:
    """What the choice minimises: the part of tau that rounding causes, up to a common factor."""
    amplified = solver.amplified(formats.step_error)
    of_steps = formats.step_error if amplified is None else amplified
    return of_steps + encoding_error(formats, Fraction(1), solver)


def _with_data_bits(
    ring: IntegerRing, geometry: Geometry, solver: Solver, loss: Loss, data: int, *, proven: bool
) -> Formats | None:
    """Return the formats that follow from the fractional bits of the data, or None where they do not fit."""
    capacity = ring.value_bits - 1  # one bit below what a SecretArray admits, for rounded bounds
    root_d = math.sqrt(geometry.cols) * _SLACK
    floor = 1.0 if geometry.floor is None else float(geometry.floor)
    half_unit = 2.0 ** -(data + 1)
    eta = root_d * half_unit / floor + _FLOAT_NORMALISATION
    inverse_norm = None
    if geometry.floor is not None:
        if (geometry.cols + 1) << 2 * data > 1 << capacity or half_unit > floor * floor * _LARGEST_FLOOR_ERROR:
            return None
        # rho as encoded (of the constant column, or its square), and values divided by the bound in floating point
        relative = half_unit / floor
        eta = root_d * (half_unit + 2.0**-53) / (floor - half_unit) + relative * relative + _FLOAT_NORMALISATION
        inverse_norm = working_bits(ring) - max(GUARD_BITS, 1 - reals.floor_log2(floor))
        if inverse_norm < _FEWEST_BITS:
            return None
        eta += geometry.longest_row * float(inverse_square_root_error(FixedPoint(inverse_norm, ring)))
    if eta > _LARGEST_ETA:
        return None
    radius = _radius(solver, loss, eta)
    argument_radius = radius * (1 + Fraction(eta)) * Fraction(_SLACK)
    log_radius = _ceil_log2(float(radius))
    gain = max(1.0, abs(float(solver.shrink)) + 2 * float(solver.momentum))  # of shrink p + C (w - w_before)
    log_sum = max(solver.exponent + _ceil_log2(float(radius) * gain), 0)
    scaled = min(capacity - log_sum - data, working_bits(ring) - GUARD_BITS)
    longest = geometry.longest_row + eta
    weights = min(
        capacity - data - _ceil_log2(float(radius) * longest),
        data + scaled + solver.exponent,
        _MOST_WEIGHT_BITS * ring.words,
    )
    residual = scaled if inverse_norm is None else working_bits(ring) - GUARD_BITS
    if scaled < _FEWEST_BITS or weights < max(solver.exponent, _FEWEST_BITS):
        return None
    if inverse_norm is not None:
        residual = min(residual, capacity - inverse_norm - _ceil_log2(1 / floor + 1))
    product = None
    if inverse_norm is not None:
        product = min(capacity - inverse_norm - max(log_radius, 0) - 1, data + weights)
        if product < _FEWEST_BITS:
            return None
        argument_radius += Fraction(1 / floor + 1e-3) / (1 << product)  # s is rounded before it meets v
    evaluation = loss.evaluation(ring, argument_radius, solver.factor, residual, Fraction(1, 2 << residual))
    extrapolation = min(_MOST_EXTRAPOLATION_BITS, capacity - weights - max(_ceil_log2(3 * float(radius)), 0))
    if solver.extrapolation and extrapolation < 1:
        return None
    formats = Formats(
        ring, data, weights, scaled, evaluation, inverse_norm, product, extrapolation, radius, argument_radius, eta, 0.0
    )
    if not _fits(formats, geometry, capacity):
        return None
    of_evaluation = float(evaluation.error) * _SLACK if proven else 2.0 ** (1 - residual)
    error = _step_error(formats, geometry, solver, loss, of_evaluation)
    if not _radius_holds(formats, solver, loss, error):
        return None
    return replace(formats, step_error=error)


def _radius(solver: Solver, loss: Loss, eta: float) -> Fraction:
    """R with a margin of 1/256: every computed iterate stays within it (``_radius_holds`` checks the margin).

    The fixed point R = radius(g(R)), from above, for |l'| <= g.
    """
    radius = solver.radius(float(loss.derivative_bound(None)) * (1 + eta))
    for _ in range(200):
        better = solver.radius(float(loss.derivative_bound(Fraction(radius * (1 + eta)))) * (1 + eta))
        if better >= radius * _CLOSE:
            break
        radius = better
    return Fraction(radius) * Fraction(257, 256)


def _radius_holds(formats: Formats, solver: Solver, loss: Loss, error: float) -> bool:
    """Within R the computed gradients are so short that the next iterate is within R again.

    The error counts twice: in the step, and in the point p itself, which is rounded too.
    """
    gradient = float(loss.derivative_bound(formats.argument_radius)) * (1 + formats.eta)
    return solver.radius(gradient + 2 * error / float(solver.step)) <= float(formats.radius)


def _fits(formats: Formats, geometry: Geometry, capacity: int) -> bool:
    argument = _ceil_log2(float(formats.argument_radius)) + formats.argument
    return formats.argument >= 1 and argument <= capacity and formats.data + formats.weights >= formats.argument


def _step_error(formats: Formats, geometry: Geometry, solver: Solver, loss: Loss, of_evaluation: float) -> float:
    """E, as in the module's note."""
    lazily = formats.inverse_norm is not None
    of_argument = 2.0**-formats.argument
    if formats.product is not None:
        of_argument += (1 / float(geometry.floor or 1) + 1e-3) * 2.0**-formats.product
    of_residual = float(solver.factor * loss.smoothness) * of_argument + of_evaluation
    ratio = float(solver.step / solver.factor)
    gradient = ratio * (1 + formats.eta) * of_residual
    if lazily:
        gradient += ratio * geometry.longest_row * 2.0**-formats.scaled
    rounding = math.sqrt(geometry.cols) * 2.0**-formats.weights
    shrink_bits = formats.data + formats.scaled + solver.exponent - formats.weights
    total = gradient + rounding + float(formats.radius) * 2.0 ** -(shrink_bits + 1)
    if solver.extrapolation:
        total += rounding + 2 * float(formats.radius) * 2.0**-formats.extrapolation
    return total * _SLACK


def _ceil_log2(value: float) -> int:
    return reals.ceil_log2(value * _SLACK)
