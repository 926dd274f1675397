"""Noisy descent on secret data: the party program of recipe "best". What it releases, and why: ``proof.md``.

Nothing is opened here: what prepares the rows and all iterates stay secret; the result may be opened, once.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.learn.batches import in_batches
from cofit.learn.checked_rows import verdicts
from cofit.learn.inputs import Holders, gathered
from cofit.learn.recipes.descent import noisy
from cofit.learn.recipes.descent.budget import CONSTANT_BITS, LEVEL_PARTS, OWN_PARTS
from cofit.learn.recipes.descent.clipped import clipped_rows
from cofit.learn.recipes.descent.formats import MEAN_BITS, reach
from cofit.learn.recipes.descent.rows import Rows, centred_rows, means, repeated, scaled_rows, with_bits
from cofit.learn.targets import TWO_CLASSES
from cofit.privacy.release_names import CENTRE, INTERCEPT, LEVEL
from cofit.protocols.working import tighten
from cofit.secret import Party, SecretArray, concatenate

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

_INVERSE_BITS = 16


def descend(party: Party, plan: DescentPlan, holders: Holders, coin: bytes) -> SecretArray:
    """Return what is released, as whole steps of each grid: the sum of the last iterates, and the parts of ``opened``.

    coin: for the check of rows (``checked_rows``). Records that fail it count as 0 in all that follows: their verdict
    multiplies their sign, 2 label - 1, and their part in every sum that prepares the rows.
    The shares of the data are dropped at the end: nothing needs them any more.
    """
    noise = noisy.Noise(party, plan)
    party.progress("train", 0, plan.epochs)
    x, labels = gathered(party, plan, holders)
    passed = verdicts(party, plan, holders, x, labels, coin)
    party.progress("train", 0, plan.epochs)
    with party.label("norm"):
        signs = (passed * TWO_CLASSES.signs(labels)).with_integer_limit(1)
        rows, extras = _prepared(x, passed, plan, noise)
        rows = rows.signed(signs)
    weights = party.constant([0.0] * plan.cols, plan.formats.of(plan.formats.weights))
    total = weights
    for step in range(plan.epochs):
        with party.label("epoch"):
            weights = _step(rows, plan, weights, noise.of_step(step))
        if step >= plan.epochs - plan.averaged:
            total = total + weights
        party.progress("train", step + 1, plan.epochs)
    if plan.calibration:
        with party.label("intercept"):
            extras[INTERCEPT] = _calibrated(party, rows, plan, total, noise)
    del rows, x
    party.forget_inputs()
    return concatenate([value.ldexp(value.format.fraction_bits) for value in plan.opened.joined(total, extras)])


def _calibrated(party: Party, rows: Rows, plan: DescentPlan, total: SecretArray, noise: noisy.Noise) -> SecretArray:
    """Return one number to add to all scores: steps as those before, for it alone, with the released weights fixed."""
    formats = plan.formats
    inverse = round(Fraction(1 << _INVERSE_BITS, plan.averaged))
    weights = (total * inverse).ldexp(-_INVERSE_BITS).truncate(formats.weights)
    margins = rows.margins(*_parts(plan, tighten(weights, formats.radius)))
    offset = party.constant([0.0], formats.of(formats.grid + formats.offset_exponent))
    for event in plan.calibration:
        offset = _intercept_step(rows, plan, margins, offset, noise.of(event.name))
    return offset


def _intercept_step(
    rows: Rows, plan: DescentPlan, margins: SecretArray, offset: SecretArray, noise: SecretArray
) -> SecretArray:
    """offset + 2^-m (the sum of residuals + noise)."""
    formats = plan.formats
    moved = margins + rows.sign * with_bits(offset, formats.argument)
    residuals = _residuals(rows, plan, tighten(moved, formats.argument_radius))
    gradient = _sum_of_residuals(rows, plan, residuals)
    return tighten(offset + (gradient + noise).ldexp(-formats.offset_exponent), formats.offset_radius)


def _step(rows: Rows, plan: DescentPlan, weights: SecretArray, noise: SecretArray) -> SecretArray:
    """w + kappa (the sum of residuals times rows + noise)."""
    formats, layout = plan.formats, plan.layout
    residuals = _residuals(rows, plan, rows.margins(*_parts(plan, weights)))
    most = layout.rows * reach(formats, layout)
    gradient = rows.weighted_sum(residuals, formats.grid, most)
    if layout.intercept:
        gradient = concatenate([gradient, _sum_of_residuals(rows, plan, residuals, formats.constant)])
    return tighten(weights + (gradient + noise).ldexp(-formats.exponent), formats.radius)


def _parts(plan: DescentPlan, weights: SecretArray) -> tuple[SecretArray, SecretArray | None]:
    """Return the weights of the features, and what the intercept adds to every score."""
    features = plan.layout.features
    offset = (weights[features:] * _beta(plan)).ldexp(-CONSTANT_BITS) if plan.layout.intercept else None
    return weights[:features], offset


def _beta(plan: DescentPlan) -> int:
    return int(plan.formats.constant * (1 << CONSTANT_BITS))


def _residuals(rows: Rows, plan: DescentPlan, margins: SecretArray) -> SecretArray:
    """Return e = a r(m) for every row, exactly: how far its signed row moves the weights.

    The margins have a proven range whatever an owner put in: that of a record that failed the check is 0.
    """
    evaluation = plan.formats.evaluation
    return evaluation.scaled(in_batches(evaluation.clipped, [margins], evaluation.temporaries, rows.x.size))


def _sum_of_residuals(
    rows: Rows, plan: DescentPlan, residuals: SecretArray, factor: Fraction = Fraction(1)
) -> SecretArray:
    """Return the sum of s e times a public factor of few bits, truncated to the grid; exact before that."""
    bits = factor.denominator.bit_length() - 1
    weighted = (residuals * factor.numerator).ldexp(-bits)
    kept = min(plan.formats.grid, weighted.format.fraction_bits)
    most = plan.layout.rows * factor * plan.formats.largest_residual
    return with_bits(rows.sign.inner(weighted, kept, proven_bound=most), plan.formats.grid).reshape(1)


def _prepared(
    x: SecretArray, passed: SecretArray, plan: DescentPlan, noise: noisy.Noise
) -> tuple[Rows, dict[str, SecretArray]]:
    """Return the rows as the steps see them, and what is opened of their preparation, by name."""
    if plan.clipped:
        return clipped_rows(x, passed, plan, noise)
    extras = {}
    rows = Rows(x, plan.formats)
    if plan.floor is not None:
        offset = means(x)
        if plan.level is not None:
            level = noisy.divided(_sum_of_means(offset, passed, plan) + noise.of(LEVEL), plan.layout.rows, MEAN_BITS)
            extras[LEVEL] = level.reshape(1)
            offset = (offset * OWN_PARTS + repeated(level * LEVEL_PARTS, len(x))).ldexp(-2)
        rows = scaled_rows(x, offset.ldexp(-1), passed, plan)
    if plan.centre is not None:
        centre = noisy.divided(_sum(rows, passed, plan) + noise.of(CENTRE), plan.layout.rows, plan.formats.data)
        centre = tighten(centre, plan.formats.centre)
        extras[CENTRE] = centre
        rows = centred_rows(rows, centre, passed, plan)
    return rows, extras


def _sum_of_means(means: SecretArray, passed: SecretArray, plan: DescentPlan) -> SecretArray:
    """Return the sum of the rows' means; that of a record that did not pass counts as the least."""
    facts, format = plan.facts, means.format
    lower = math.floor(facts.feature_lower / facts.feature_bound * (1 << format.fraction_bits))
    least = Fraction(lower, 1 << format.fraction_bits)
    return (passed * (means - least)).sum() + least * plan.layout.rows


def _sum(rows: Rows, passed: SecretArray, plan: DescentPlan) -> SecretArray:
    """Return the sum of all rows that passed, truncated to the grid."""
    formats = plan.formats
    if rows.scale is None or rows.offset is None:
        return rows.x.T.matmul(passed, min(formats.grid, formats.data), proven_bound=plan.layout.rows).widen(
            formats.grid
        )
    scale = with_bits(rows.scale, formats.scaled) * passed
    exact = formats.data + formats.scaled
    plus = -repeated(rows.offset.inner(scale, exact), rows.x.shape[1])
    most = plan.layout.rows * (1 + formats.eta + formats.longest / (1 << formats.scaled))
    return rows.x.T.matmul(scale, formats.grid, plus=plus, proven_bound=most)
