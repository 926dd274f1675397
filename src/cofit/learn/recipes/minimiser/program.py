"""pi_LR: full-batch gradient descent with L2 penalty on secret data; the party program of a training run.

The steps, their ranges and their errors are those of ``formats``; the recurrence is that of ``solvers``. Control flow
depends on the plan alone. Nothing is opened here: the result is a secret.

Rounds of an epoch with ``rep3``: 2 for X p, those of the loss's evaluation, 2 for X^T q with the update, 1 for the
product with the verdicts of the check, unless the evaluation takes them in (the odd polynomial of small ranges);
where the parties normalise, 4 for the two products with v, and none for verdicts; for the accelerated method 2 more.
The loss goes in batches of rows where it would hold too much at once (``batches``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cofit.arithmetic import FixedPoint
from cofit.learn.batches import in_batches
from cofit.learn.checked_rows import verdicts
from cofit.learn.inputs import Holders, gathered
from cofit.learn.recipes.minimiser.norm import inverse_norms, largest_inverse
from cofit.sampling.uniform import uniform
from cofit.secret import Party, SecretArray
from cofit.secret.checkpoints import Checkpoints

if TYPE_CHECKING:
    from cofit.learn.recipes.minimiser.plan import MinimiserPlan

WEIGHTS, BEFORE = "weights", "weights before"
"""What a checkpoint holds: those after an epoch, and before it."""


@dataclass(frozen=True)
class _Data:
    """v: inverse lengths, 0 for records that failed the check; where there are none, the labels of those are 0."""

    x: SecretArray
    y: SecretArray
    v: SecretArray | None
    passed: SecretArray


def train(
    party: Party, plan: MinimiserPlan, holders: Holders, coin: bytes, checkpoints: Checkpoints | None = None
) -> SecretArray:
    """Return the secret weights, shape (d,), within tau of the minimiser. The intercept's weight is the last one.

    ``coin``: for the check of rows (``checked_rows``); the residuals of records that fail it are 0.
    ``checkpoints``: where training goes on after an interruption. The shares of the data are dropped at the end:
    nothing needs them any more.
    """
    found = None if checkpoints is None else checkpoints.resume(party)
    if found is None:
        done, weights = 0, initial(party, plan)
        before = weights
    else:
        done, kept = found
        weights, before = kept[WEIGHTS], kept[BEFORE]
    party.progress("train", done, plan.epochs)
    data = gather(party, plan, holders, coin)
    party.progress("train", done, plan.epochs)
    for epoch in range(done, plan.epochs):
        with party.label("epoch"):
            weights, before = step(data, plan, weights, before), weights
        if checkpoints is not None:
            checkpoints.reached(party, epoch + 1, {WEIGHTS: weights, BEFORE: before})
        party.progress("train", epoch + 1, plan.epochs)
    del data
    party.forget_inputs()
    return weights


def gather(party: Party, plan: MinimiserPlan, holders: Holders, coin: bytes) -> _Data:
    """Return the joint data, with the verdicts of the check, and the inverse lengths where the parties normalise."""
    x, y = gathered(party, plan, holders, plan.constant)
    passed = verdicts(party, plan, holders, x, y, coin)
    if plan.geometry.floor is not None:
        with party.label("norm"):
            return _Data(x, y, inverse_norms(x, plan.geometry, plan.formats) * passed, passed)
    with party.label("check"):
        return _Data(x, y * passed, None, passed)


def initial(party: Party, plan: MinimiserPlan) -> SecretArray:
    """Zeros, or Glorot's uniform initialiser on (-sqrt(6 / (d + 1)), sqrt(6 / (d + 1))], as in the paper."""
    cols, format = plan.geometry.cols, plan.formats.of(plan.formats.weights)
    if plan.facts.initial == "zeros":
        return party.constant(np.zeros(cols), format)
    half_width = math.sqrt(6 / (cols + 1))
    with party.label("initial"):
        coarse = FixedPoint(min(plan.formats.weights, 20), format.ring)
        signed = uniform(party, (cols,), coarse) * 2 - 1
        scaled = signed.multiply(half_width - 2.0**-18, coarse.fraction_bits)  # room for its rounding, by 2^-20 units
        return scaled.with_bound(min(scaled.bound, 1.0 * half_width)).widen(plan.formats.weights)


def step(data: _Data, plan: MinimiserPlan, weights: SecretArray, before: SecretArray) -> SecretArray:
    """One epoch: forward pass, residuals, backward pass with the update."""
    point = _point(plan, weights, before)
    residuals = _residuals(data, plan, point)
    return _update(data, plan, residuals, point, weights, before)


def _point(plan: MinimiserPlan, weights: SecretArray, before: SecretArray) -> SecretArray:
    """Where the gradient is taken: w, or w + theta (w - w_before)."""
    if not plan.solver.extrapolation:
        return weights
    bits = plan.formats.extrapolation
    theta = round(plan.solver.extrapolation * (1 << bits))
    ahead = ((weights - before) * theta).ldexp(-bits) + weights.widen(weights.format.fraction_bits + bits)
    return _within(ahead.truncate(plan.formats.weights), plan.formats.radius)


def _residuals(data: _Data, plan: MinimiserPlan, point: SecretArray) -> SecretArray:
    """q = c l'(y, z) for z = <p, x>, times v where the parties normalise."""
    formats, geometry = plan.formats, plan.geometry
    if data.v is None or formats.product is None:
        z = data.x.matmul(point, formats.argument, proven_bound=formats.argument_radius)
        return _evaluated(plan, plan.formats.evaluation.of_checked, [z, data.y, data.passed])
    longest = Fraction(geometry.longest_row) * formats.radius
    s = data.x.matmul(point, formats.product, proven_bound=longest)
    z = data.v.multiply(s, formats.argument, proven_bound=formats.argument_radius)
    e = _evaluated(plan, formats.evaluation, [z, data.y])
    return data.v.multiply(e, formats.scaled, proven_bound=largest_inverse(geometry) * Fraction(e.bound))


def _evaluated(
    plan: MinimiserPlan, evaluate: Callable[..., SecretArray], columns: Sequence[SecretArray]
) -> SecretArray:
    return in_batches(evaluate, columns, plan.formats.evaluation.temporaries, plan.geometry.rows * plan.geometry.cols)


def _update(
    data: _Data,
    plan: MinimiserPlan,
    residuals: SecretArray,
    point: SecretArray,
    weights: SecretArray,
    before: SecretArray,
) -> SecretArray:
    """w = 2^-m (2^m (shrink p + C (w - w_before)) - X^T q), in one truncation."""
    formats, solver = plan.formats, plan.solver
    plus = _times(point, solver.shrink, plan)
    if solver.momentum:
        plus = plus + _times(weights - before, solver.momentum, plan)
    scaled = data.x.T.matmul(
        -residuals,
        formats.weights - solver.exponent,
        plus=plus,
        proven_bound=_scaled_radius(formats.radius, solver.exponent),
    )
    return _within(scaled.ldexp(-solver.exponent), formats.radius)


def _times(value: SecretArray, factor: Fraction, plan: MinimiserPlan) -> SecretArray:
    """Return 2^m factor value with the fractional bits of X^T q, exactly, for the rounded public factor."""
    formats = plan.formats
    bits = formats.data + formats.scaled
    numerator = _numerator(factor, bits + plan.solver.exponent - formats.weights)
    return (value.ldexp(formats.weights) * numerator).ldexp(-bits)


@lru_cache(maxsize=64)
def _numerator(factor: Fraction, exponent: int) -> int:
    """The same in every epoch."""
    return round(factor * Fraction(2) ** exponent)


@lru_cache(maxsize=64)
def _scaled_radius(radius: Fraction, exponent: int) -> Fraction:
    return radius * Fraction(2) ** exponent


def _within(value: SecretArray, bound: Fraction) -> SecretArray:
    return value.with_integer_limit(min(value.integer_limit, value.format.limit(bound)))
