"""Noisy descent on secret data: the party program of recipe "best". What it releases, and why: ``proof.md``.

Nothing is opened here: what prepares the rows and all iterates stay secret; the result may be opened, once.

Rows may be in several places (``secret.shards``): what is given to ``each`` treats them one by one, or sums them up;
everything else here is about sums of all rows, the noise, and the weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from cofit.errors import InvalidInputError
from cofit.learn.checked_rows import checked
from cofit.learn.inputs import Holders, gathered, gathered_weights
from cofit.learn.recipes.descent import noisy
from cofit.learn.recipes.descent.budget import CONSTANT_BITS, LEVEL_PARTS, OWN_PARTS
from cofit.learn.recipes.descent.clipped import clipped_rows
from cofit.learn.recipes.descent.formats import MEAN_BITS, reach
from cofit.learn.recipes.descent.kept import Descent, begun, level_bound, resumed
from cofit.learn.recipes.descent.mapped_rows import checked_map, mapped_rows
from cofit.learn.recipes.descent.rows import Rows, centred_rows, means, repeated, scaled_rows, unit_rows, with_bits
from cofit.learn.targets import SeveralClasses
from cofit.learn.weights import by_class
from cofit.privacy.release_names import CENTRE, INTERCEPT, LEVEL
from cofit.protocols.working import tighten
from cofit.secret import Party, SecretArray, concatenate
from cofit.secret.checkpoints import Checkpoints
from cofit.secret.shards import added, divided, each, joined, total, with_rows
from cofit.secret.sums import Sum, by_element, by_rows, matrix, sums

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

_INVERSE_BITS = 16


def descend(
    party: Party, plan: DescentPlan, holders: Holders, coin: bytes, checkpoints: Checkpoints | None = None
) -> SecretArray:
    """Return what is released, as whole steps of each grid: the sum of the last iterates, and the parts of ``opened``.

    coin: for the check of rows (``checked_rows``). Records that fail it count as 0 in all that follows: their verdict
    multiplies their sign (2 label - 1; of a real target 1), their target, and their part in every sum that prepares the
    rows.
    checkpoints: where the descent goes on after an interruption. The shares of the data are dropped at the end: nothing
    needs them any more.
    """
    descent = resumed(party, plan, checkpoints)
    noise = noisy.Noise(party, plan) if descent is None else descent.noise
    done = 0 if descent is None else min(descent.done, plan.epochs)
    party.progress("train", done, plan.epochs)
    public = None if plan.formats.mapped is None else checked_map(plan, holders.reference)
    here = with_rows(party)
    data = each(partial(gathered, held=public is None), here, plan, holders)
    x, labels = each(itemgetter(0), data), each(itemgetter(1), data)
    squares = None
    if descent is None:
        passed, squares = _checked(here, plan, holders, x, labels, coin)
    else:
        passed = divided(descent.passed, labels)
    party.progress("train", done, plan.epochs)
    with party.label("norm"):
        importance = each(_importance, here, plan, holders, labels)
        prepared = {} if descent is None else descent.prepared
        if public is None:
            rows, extras = _prepared(x, passed, squares, plan, noise, prepared)
        else:
            rows, extras = each(partial(mapped_rows, public=public), here, x, passed, plan), {}
        rows = each(_with_labels, rows, labels, passed, importance, plan)
        squares = None
    if descent is None:
        descent = begun(party, plan, noise, joined(passed), extras)
        descent.keep(party, checkpoints)
    for step in range(descent.done, plan.epochs):
        with party.label("epoch"):
            descent.weights = _step(rows, plan, descent.weights, noise.of_step(step))
        if step >= plan.epochs - plan.averaged:
            descent.total = tighten(descent.total + descent.weights, plan.averaged * plan.formats.radius)
        descent.done = step + 1
        descent.keep(party, checkpoints)
        party.progress("train", step + 1, plan.epochs)
    if plan.calibration:
        _calibrate(party, rows, plan, descent, checkpoints)
    del rows, x, data
    party.forget_inputs()
    released = plan.opened.joined(descent.total.reshape(plan.layout.weights), descent.prepared)
    return concatenate([value.ldexp(value.format.fraction_bits) for value in released])


def _checked(
    here: Party, plan: DescentPlan, holders: Holders, x: SecretArray, labels: SecretArray, coin: bytes
) -> tuple[SecretArray, SecretArray | None]:
    """Return the verdicts, and the squared lengths of rows where the check needs them, too."""
    found = each(checked, here, plan, holders, x, labels, coin)
    return each(itemgetter(0), found), each(itemgetter(1), found)


def _with_labels(
    rows: Rows, labels: SecretArray, passed: SecretArray, importance: SecretArray | None, plan: DescentPlan
) -> Rows:
    """Return the rows as the steps see them, with labels and weights of records in their factors."""
    if plan.layout.outputs > 1:
        indicators = SeveralClasses(plan.layout.outputs).indicators(labels, passed)
        return rows.by_class(indicators, passed, importance)
    signs, targets = plan.formats.residual.prepared(labels, passed)
    rows = replace(rows.signed(signs), targets=targets)
    return rows if importance is None else rows.weighted(importance)


def _importance(party: Party, plan: DescentPlan, holders: Holders, labels: SecretArray) -> SecretArray | None:
    """Return how much every record counts, from 0 to 1 where it passed the check; None where all count alike."""
    if plan.facts.class_weights:
        return by_class(labels, plan.facts.class_weights)
    return gathered_weights(party, plan, holders)


def _calibrate(party: Party, rows: Rows, plan: DescentPlan, descent: Descent, checkpoints: Checkpoints | None) -> None:
    """Find one number to add to all scores: steps as those before, for it alone, with the released weights fixed."""
    formats = plan.formats
    with party.label("intercept"):
        inverse = round(Fraction(1 << _INVERSE_BITS, plan.averaged))
        weights = (descent.total * inverse).ldexp(-_INVERSE_BITS).truncate(formats.weights)
        margins = each(_margins, rows, plan, tighten(weights, formats.radius))
    for event in plan.calibration[descent.done - plan.epochs :]:
        with party.label("intercept"):
            offset = descent.prepared[INTERCEPT]
            offset = _intercept_step(rows, plan, margins, offset, descent.noise.of(event.name))
            descent.prepared[INTERCEPT] = offset
        descent.done += 1
        descent.keep(party, checkpoints)


def _margins(rows: Rows, plan: DescentPlan, weights: SecretArray) -> SecretArray:
    return rows.margins(*_parts(plan, weights)).value().reshape(rows.sign.shape)


def _intercept_step(
    rows: Rows, plan: DescentPlan, margins: SecretArray, offset: SecretArray, noise: SecretArray
) -> SecretArray:
    """offset + 2^-m (the sum of residuals + noise)."""
    formats = plan.formats
    moving = with_bits(offset, formats.argument)
    (gradient,) = sums(*added(each(_moved_residuals, rows, plan, margins, moving)))
    gradient = with_bits(gradient, formats.grid).reshape(plan.layout.outputs)
    return tighten(offset + (gradient + noise).ldexp(-formats.offset_exponent), formats.offset_radius)


def _moved_residuals(rows: Rows, plan: DescentPlan, margins: SecretArray, moving: SecretArray) -> list[Sum]:
    """Return the sum of residuals, one for every output, when all scores are moved."""
    formats = plan.formats
    if plan.layout.outputs > 1:
        moving = repeated(moving, len(margins)).reshape(-1)
    by_sign = by_element(rows.sign.reshape(-1), moving)
    moved = Sum([by_sign], formats.argument, plus=margins.reshape(-1), proven_bound=formats.argument_radius)
    return [_sum_of_residuals(rows, plan, _residuals(rows, plan, moved))]


def _step(rows: Rows, plan: DescentPlan, weights: SecretArray, noise: SecretArray) -> SecretArray:
    """w + kappa (the sum of residuals times rows + noise), the noisy sum rounded to its cells where there are some."""
    formats = plan.formats
    wanted = added(each(_gradient, rows, plan, weights))
    gradient = concatenate([with_bits(part, formats.grid).reshape(-1) for part in sums(*wanted)])
    released = gradient + noise
    if formats.cells:
        cells = released.ldexp(formats.grid - formats.cells).truncate(0)
        released = (cells * (1 << formats.cells)).ldexp(-formats.grid)
    moved = released.ldexp(-formats.exponent).reshape(plan.layout.shape)
    return tighten(weights + moved, formats.radius)


def _gradient(rows: Rows, plan: DescentPlan, weights: SecretArray) -> list[Sum]:
    """Return the sums of a step: of residuals times rows, and of residuals alone for the intercept."""
    formats, layout = plan.formats, plan.layout
    residuals = _residuals(rows, plan, rows.margins(*_parts(plan, weights)))
    wanted = [rows.weighted_sum(residuals, formats.grid, len(rows.x) * reach(formats, layout))]
    if layout.intercept:
        wanted.append(_sum_of_residuals(rows, plan, residuals, formats.constant))
    return wanted


def _parts(plan: DescentPlan, weights: SecretArray) -> tuple[SecretArray, SecretArray | None]:
    """Return the weights of the features, and what the intercept adds to every score."""
    features = plan.layout.features
    if not plan.layout.intercept:
        return weights, None
    offset = (weights[features:] * _beta(plan)).ldexp(-CONSTANT_BITS)
    return weights[:features], offset.reshape(plan.layout.outputs)


def _beta(plan: DescentPlan) -> int:
    return int(plan.formats.constant * (1 << CONSTANT_BITS))


def _residuals(rows: Rows, plan: DescentPlan, margins: Sum) -> SecretArray:
    """Return e = a r(m) for every row, exactly: how far its signed row moves the weights. |e| <= a. For several classes
    r(m), a column for each: a is in the factors of the rows.

    The margins have a proven range whatever an owner put in: that of a record that failed the check is 0, and so is its
    target.
    """
    formats, evaluation = plan.formats, plan.formats.evaluation
    if rows.counts is not None:
        return evaluation.clipped_sum(margins, rows.x.size).reshape(rows.counts.shape)
    if rows.targets is None:
        return evaluation.scaled(evaluation.clipped_sum(margins, rows.x.size))
    return evaluation.scaled(evaluation.of_targets(margins, rows.targets, formats.argument_radius, rows.x.size))


def _sum_of_residuals(rows: Rows, plan: DescentPlan, residuals: SecretArray, factor: Fraction = Fraction(1)) -> Sum:
    """Return the sum of s e, for every class, times a public factor of few bits, truncated to the grid if it is finer;
    exact before that, and still to be computed."""
    bits = factor.denominator.bit_length() - 1
    weighted = (residuals * factor.numerator).ldexp(-bits)
    kept = min(plan.formats.grid, weighted.format.fraction_bits)
    most = len(rows.x) * factor * plan.formats.largest_residual
    if rows.counts is not None:
        kept = min(plan.formats.grid, weighted.format.fraction_bits + rows.counts.format.fraction_bits)
        return Sum([by_rows(rows.counts.T, weighted.T)], kept, proven_bound=most)
    return Sum([by_rows(rows.sum_sign, weighted)], kept, proven_bound=most)


def _prepared(
    x: SecretArray,
    passed: SecretArray,
    squares: SecretArray | None,
    plan: DescentPlan,
    noise: noisy.Noise,
    known: Mapping[str, SecretArray],
) -> tuple[Rows, dict[str, SecretArray]]:
    """Return the rows as the steps see them, and what is opened of their preparation, by name.

    squares: the squared lengths of rows, where the check has computed them. known: the releases that prepare them,
    where they were made before: all, or none.
    """
    if plan.clipped:
        return clipped_rows(x, passed, squares, plan, noise, known)
    extras = {}
    rows = each(Rows, x, plan.formats)
    if plan.floor is not None and not plan.layout.own_mean:
        rows = each(unit_rows, x, passed, plan)
    elif plan.floor is not None:
        offset = each(means, x)
        if plan.level is not None:
            level = known[LEVEL] if known else _level(offset, passed, plan, noise)
            extras[LEVEL] = level
            offset = each(_levelled, offset, level)
        rows = each(_scaled, x, offset, passed, squares, plan)
    if plan.centre is not None:
        centre = known[CENTRE] if known else _centre(rows, passed, plan, noise)
        extras[CENTRE] = centre
        rows = each(centred_rows, rows, centre, passed, plan)
    return rows, extras


def _levelled(means: SecretArray, level: SecretArray) -> SecretArray:
    return (means * OWN_PARTS + repeated(level * LEVEL_PARTS, len(means))).ldexp(-2)


def _scaled(
    x: SecretArray, offset: SecretArray, passed: SecretArray, squares: SecretArray | None, plan: DescentPlan
) -> Rows:
    return scaled_rows(x, offset.ldexp(-1), passed, plan, squares)


def _level(means: SecretArray, passed: SecretArray, plan: DescentPlan, noise: noisy.Noise) -> SecretArray:
    summed = total(each(_sum_of_means, means, passed, plan))
    level = noisy.divided(summed + noise.of(LEVEL), plan.layout.rows, MEAN_BITS)
    return tighten(level.reshape(1), level_bound(plan))


def _centre(rows: Rows, passed: SecretArray, plan: DescentPlan, noise: noisy.Noise) -> SecretArray:
    centre = noisy.divided(_sum(rows, passed, plan) + noise.of(CENTRE), plan.layout.rows, plan.formats.data)
    return tighten(centre, plan.formats.centre)


def _sum_of_means(means: SecretArray, passed: SecretArray, plan: DescentPlan) -> SecretArray:
    """Return the sum of the rows' means; that of a record that did not pass counts as the least."""
    facts, format = plan.facts, means.format
    lower = math.floor(facts.feature_lower / facts.feature_bound * (1 << format.fraction_bits))
    least = Fraction(lower, 1 << format.fraction_bits)
    return (passed * (means - least)).sum() + least * len(means)


def _sum(rows: Rows, passed: SecretArray, plan: DescentPlan) -> SecretArray:
    """Return the sum of all rows that passed, truncated to the grid."""
    (summed,) = sums(*added(each(_sum_of_rows, rows, passed, plan)))
    return summed.widen(max(plan.formats.grid, summed.format.fraction_bits))


def _sum_of_rows(rows: Rows, passed: SecretArray, plan: DescentPlan) -> list[Sum]:
    formats = plan.formats
    if rows.scale is not None and rows.offset is None:
        raise InvalidInputError("Rows that are scaled and not shifted have no noisy centre: their sum is not bounded.")
    if rows.scale is None or rows.offset is None:
        kept = min(formats.grid, formats.data)
        return [Sum([matrix(rows.x.T, passed)], kept, proven_bound=len(rows.x))]
    scale = with_bits(rows.scale, formats.scaled) * passed
    exact = formats.data + formats.scaled
    plus = -repeated(rows.offset.inner(scale, exact), rows.x.shape[1])
    most = len(rows.x) * (1 + formats.eta + formats.longest / (1 << formats.scaled))
    return [Sum([matrix(rows.x.T, scale)], formats.grid, plus=plus, proven_bound=most)]
