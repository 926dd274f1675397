"""How a plan of noisy descent is made: formats, ranges, and the noise of every release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from cofit.arithmetic import IntegerRing, reals
from cofit.errors import InvalidInputError, RangeError, parameter_error
from cofit.learn.base_plan import large_delta
from cofit.learn.facts import Facts
from cofit.learn.losses import LOSSES, loss_named
from cofit.learn.losses.clipped_residual import ClippedResidual
from cofit.learn.recipes.descent.budget import (
    LONGEST_CENTRE,
    LONGEST_MEAN,
    WIDEST_LEVEL,
    WIDEST_SPREAD,
    Budget,
    ClipBudget,
    PureBudget,
    spend,
)
from cofit.learn.recipes.descent.clip_formats import (
    RADIUS_WIDTH,
    mean_sensitivity,
    shift_sensitivity,
    spread_sensitivity,
    with_mean,
    with_spread,
)
from cofit.learn.recipes.descent.formats import (
    MEAN_BITS,
    DescentFormats,
    Layout,
    base_formats,
    joint_residual,
    reach,
    with_centre,
)
from cofit.learn.recipes.descent.map_formats import with_map
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.pure import PLAIN_COLUMNS, KNormBudget, cell_bits
from cofit.learn.recipes.descent.ranges import with_radius
from cofit.learn.ring_choice import RINGS, reason_of
from cofit.learn.row_check import check_of
from cofit.learn.usefulness import few_rows
from cofit.learn.weights import WEIGHT_BITS
from cofit.privacy.accountant import sigma_for
from cofit.privacy.events import Event, GaussianEvent, KNormEvent, LaplaceEvent
from cofit.privacy.mechanisms.mechanism import rounded_up
from cofit.privacy.release_names import CENTRE, INTERCEPT, LEVEL, MEAN, RADIUS, SHIFT, SPREAD, STEP, numbered
from cofit.privacy.safe_rounding import ROOT_BITS, root_up, significant_up
from cofit.sampling import discrete_gaussian, discrete_laplace, rounded_knorm

_DRAWS = ((64, 0), (96, 0), (96, 6), (128, 12), (192, 12), (256, 12))
"""Bits of the samplers, and of a finer grid: where epsilon is large, e^epsilon multiplies both distances."""
_MEAN_SLACK = Fraction(1, 1 << (MEAN_BITS - 2))  # the mean of a row as computed may be off by this
_INVERSE_SLACK = 1 + Fraction(1, 1 << 16)  # 1 / n as the parties round it (``noisy``) is at most so much larger
_SCALE_BITS = 30


def plan_descent(facts: Facts) -> DescentPlan:
    """Return the plan for these public facts, or raise InvalidInputError with the reason and the remedy."""
    refusals: list[RangeError] = []
    for ring in RINGS:
        try:
            plan = _in_ring(facts, ring)
        except RangeError as refusal:
            refusals.append(refusal)
        else:
            return replace(plan, ring_reason=reason_of(refusals[0]) if refusals else None)
    raise refusals[-1]


def _in_ring(facts: Facts, ring: IntegerRing) -> DescentPlan:
    for precision, finer in _DRAWS:
        plan = _drawn_with(facts, ring, precision, finer)
        delta = plan.account.delta + plan.check_delta
        if delta <= (facts.delta or Fraction(1, 1 << 20)):
            return plan
    raise InvalidInputError(
        f"The noise cannot be sampled closely enough for epsilon = {float(facts.epsilon):g} and delta = "
        f"{float(facts.delta):g}. Use a smaller epsilon or a larger delta."
    )


def _drawn_with(facts: Facts, ring: IntegerRing, precision: int, finer: int) -> DescentPlan:
    events: list[Event] = []
    if facts.delta:
        by_columns = facts.reference_inputs is not None
        budget = spend(
            facts.rows,
            facts.cols,
            facts.epsilon,
            facts.delta,
            ranges=facts.normalised_by == "parties" and not by_columns,
            clip=facts.row_limit is not None,
            calibrate=facts.calibrate_intercept,
            chosen=facts.budget_shares,
            difference=_residual(facts).clip,
            outputs=_outputs(facts),
            referenced=facts.reference is not None,
            centring=not by_columns,
        )
        gaussian = _Gaussian(precision, events)
        layout = _layout(facts, Fraction(1))
        if budget.level is not None:
            noise = gaussian.release(LEVEL, _level_sensitivity(facts), budget.level, 1)
            layout = _layout(facts, _largest_level(facts, noise))
        formats = base_formats(ring, layout, budget.pace, budget.constant, finer, _residual(facts))
        if layout.inputs is not None:
            formats = with_map(formats, layout)
        if facts.weight_bound is not None or facts.class_weights:
            formats = replace(formats, importance=WEIGHT_BITS)
        if budget.clip is not None:
            formats = _clipped(layout, formats, budget.clip, gaussian, finer)
        if budget.centre is not None:
            noise = gaussian.release(CENTRE, _centre_sensitivity(layout, formats), budget.centre, layout.features)
            formats = with_centre(formats, layout, _largest_centre(layout, formats, noise))
        sensitivity = _step_sensitivity(layout, formats)
        largest = [
            gaussian.release(numbered(STEP, t), sensitivity, mu_squared, layout.weights)
            for t, mu_squared in enumerate(budget.steps)
        ]
        if budget.calibration:
            formats = _calibrated(layout, formats, budget, gaussian)
    elif facts.pure_steps:
        layout = replace(_layout(facts, Fraction(1)), own_mean=facts.cols > PLAIN_COLUMNS)
        knorm = KNormBudget(facts.epsilon, facts.rows, facts.cols, layout.weights)
        formats = base_formats(ring, layout, knorm.pace, knorm.constant, finer, _residual(facts))
        formats, largest = _knorm_steps(knorm, layout, formats, events)
    else:
        layout = _layout(facts, Fraction(1))
        pure = PureBudget(facts.epsilon, facts.rows, facts.row_nonzeros or 1)
        formats = base_formats(ring, layout, pure.pace, pure.constant, finer, _residual(facts))
        largest = _pure_steps(pure, layout, formats, precision, events)
    formats = with_radius(formats, layout, _radius(layout, formats, largest))
    check_of(facts, ring.bits, formats.data, None, layout.shared)
    plan = DescentPlan(facts, layout, formats, tuple(events), precision, _warnings(facts, events))
    few = few_rows(facts.rows, facts.cols, plan.strength, plan.target.chance)
    return replace(plan, warnings=(*few, *plan.warnings))


def _residual(facts: Facts) -> ClippedResidual:
    """Return the clipped residual of the loss; refuse a loss that has none."""
    residual = loss_named(facts.loss, facts.largest_count).clipped_residual
    if residual is None:
        named = [name for name, loss in LOSSES.items() if loss.clipped_residual is not None]
        must_be = f"one with a clipped residual for noisy descent, of {sorted(named)}; or use recipe='paper'"
        raise parameter_error("loss", "a plan", must_be, facts.loss)
    return residual


def _layout(facts: Facts, largest_offset: Fraction) -> Layout:
    clipped = facts.row_limit is not None
    floor = facts.norm_floor if facts.normalised_by == "parties" and not clipped else None
    return Layout(
        facts.rows,
        facts.cols,
        facts.fit_intercept,
        facts.norm,
        floor,
        1 + largest_offset,
        clipped,
        _outputs(facts),
        facts.reference_inputs,
    )


def _outputs(facts: Facts) -> int:
    return loss_named(facts.loss).target.among(facts.classes).outputs


# --- the releases ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Gaussian:
    """Adds releases to a list, and says how large their noise can be."""

    precision: int
    events: list[Event]

    def release(self, name: str, sensitivity: Fraction, mu_squared: Fraction, dimension: int) -> int:
        """Calibrate a release; return the largest magnitude of its noise, in steps of the grid."""
        sigma = sigma_for(sensitivity, mu_squared)
        if sigma > discrete_gaussian.LARGEST_SIGMA:
            raise InvalidInputError(
                "This epsilon and delta need more noise than can be drawn. Use a larger epsilon or delta."
            )
        distance = discrete_gaussian.tv_distance(sigma, dimension, precision=self.precision)
        self.events.append(GaussianEvent(name, sensitivity, sigma, dimension, distance))
        return discrete_gaussian.largest_draw(sigma, precision=self.precision)


def _level_sensitivity(facts: Facts) -> Fraction:
    """A row's mean, computed from the row alone, lies in an interval of this length, in steps of 2^-MEAN_BITS."""
    width = (facts.feature_bound - facts.feature_lower) / facts.feature_bound
    return (width + 2 * _MEAN_SLACK) * (1 << MEAN_BITS)


def _largest_level(facts: Facts, largest_noise: int) -> Fraction:
    """No offset (three parts of a row's mean and five of the level) is larger in magnitude."""
    noise = _INVERSE_SLACK * Fraction(largest_noise, facts.rows << MEAN_BITS)
    level = 1 + _MEAN_SLACK + noise + _MEAN_SLACK
    return (3 * (1 + _MEAN_SLACK) + 5 * level) / 8 + _MEAN_SLACK


def _clipped(
    layout: Layout, formats: DescentFormats, budget: ClipBudget, gaussian: _Gaussian, finer: int
) -> DescentFormats:
    """Calibrate what prepares clipped rows; return the formats with their ranges."""
    cols = layout.features
    noise = gaussian.release(MEAN, mean_sensitivity(formats, cols), budget.mean, cols)
    formats = with_mean(formats, _largest_mean(layout, formats, noise, Fraction(1)), finer)
    if formats.clip is None:
        raise ValueError("with_mean returns the formats of clipped rows.")
    gaussian.release(RADIUS, RADIUS_WIDTH * (1 << formats.clip.radius_grid), budget.radius, 1)
    noise = gaussian.release(SHIFT, shift_sensitivity(formats, formats.clip, cols), budget.shift, cols)
    shift = _largest_mean(layout, formats, noise, formats.clip.first_reach)
    gaussian.release(SPREAD, spread_sensitivity(formats, formats.clip, cols), budget.spread, cols)
    deviation = gaussian.events[-1].scale / (layout.rows << formats.grid)
    return with_spread(formats, layout, shift, deviation)


def _largest_mean(layout: Layout, formats: DescentFormats, largest_noise: int, length: Fraction) -> Fraction:
    """The length of a noisy mean of rows of this length, with roundings."""
    root = root_up(Fraction(layout.features), ROOT_BITS)
    noise = _INVERSE_SLACK * root * Fraction(largest_noise + 2, layout.rows << formats.grid)
    return _INVERSE_SLACK * length + noise + root / (1 << formats.data)


def _centre_sensitivity(layout: Layout, formats: DescentFormats) -> Fraction:
    """A record moves the sum of rows by two lengths, and its truncation by two units a coordinate."""
    length = 1 + formats.eta
    if layout.floor is not None:
        length += formats.longest / (1 << formats.scaled)
    return 2 * length * (1 << formats.grid) + 2 * root_up(Fraction(layout.features), ROOT_BITS)


def _largest_centre(layout: Layout, formats: DescentFormats, largest_noise: int) -> Fraction:
    """||M||: the mean of rows of length 1, noise, and roundings."""
    root = root_up(Fraction(layout.features), ROOT_BITS)
    noise = _INVERSE_SLACK * root * Fraction(largest_noise + 2, layout.rows << formats.grid)
    return 1 + formats.eta + Fraction(1, 8) + noise + root / (1 << formats.data)


def _step_sensitivity(layout: Layout, formats: DescentFormats) -> Fraction:
    """A record moves the sum by two contributions, and its truncation by two units a coordinate."""
    ones = Fraction(layout.weights) if layout.norm == "l1" else root_up(Fraction(layout.weights), ROOT_BITS)
    return 2 * reach(formats, layout) * (1 << formats.grid) + 2 * ones


def _pure_steps(
    pure: PureBudget, layout: Layout, formats: DescentFormats, precision: int, events: list[Event]
) -> list[int]:
    """Discrete Laplace noise in every step, of equal epsilons; return the largest magnitude of each."""
    sensitivity = _step_sensitivity(layout, formats)
    scale = significant_up(sensitivity * pure.steps / pure.epsilon, _SCALE_BITS)
    for t in range(pure.steps):
        distance = discrete_laplace.tv_distance(scale, layout.cols, precision=precision)
        events.append(LaplaceEvent(numbered(STEP, t), sensitivity, scale, layout.cols, distance))
    return [discrete_laplace.largest_draw(scale, precision=precision)] * pure.steps


def _knorm_steps(
    budget: KNormBudget, layout: Layout, formats: DescentFormats, events: list[Event]
) -> tuple[DescentFormats, list[int]]:
    """K-norm noise in every step, of equal epsilons; return the formats with cells, and the largest magnitudes."""
    sensitivity, dimension = _step_sensitivity(layout, formats), layout.weights
    scale = rounded_up(sensitivity * budget.steps / budget.epsilon)
    cells = cell_bits(scale, dimension)
    distance = rounded_up(rounded_knorm.tv_distance(dimension, scale, cells))
    events += [KNormEvent(numbered(STEP, t), sensitivity, scale, dimension, distance) for t in range(budget.steps)]
    largest = rounded_knorm.largest_draw(dimension, scale)
    return replace(formats, cells=cells), [largest] * budget.steps


def _calibrated(layout: Layout, formats: DescentFormats, budget: Budget, gaussian: _Gaussian) -> DescentFormats:
    """Calibrate the releases for the intercept: the sum of residuals, truncated to the grid."""
    exponent = -reals.floor_log2(budget.calibration_pace / formats.factor)
    sensitivity = 2 * joint_residual(formats, layout) * (1 << formats.grid)
    sensitivity += 2 * (root_up(Fraction(layout.outputs), ROOT_BITS) if layout.outputs > 1 else 1)
    radius = Fraction(0)
    for k, mu_squared in enumerate(budget.calibration):
        noise = gaussian.release(numbered(INTERCEPT, k), sensitivity, mu_squared, layout.outputs)
        radius += layout.rows * formats.largest_residual + Fraction(noise + 1, 1 << formats.grid)
    return replace(formats, offset_exponent=exponent, offset_radius=radius * Fraction(2) ** -exponent)


# --- ranges ----------------------------------------------------------------------------------------------


def _radius(layout: Layout, formats: DescentFormats, largest_noise: list[int]) -> Fraction:
    """R: what the contributions and the largest noise of all steps add up to, in the Euclidean norm."""
    root = root_up(Fraction(layout.weights), ROOT_BITS)
    rounded = Fraction(1 + (1 << formats.cells if formats.cells else 0), 1 << formats.grid)
    signal = len(largest_noise) * (layout.rows * reach(formats, layout) + root * rounded)
    noise = root * Fraction(sum(largest_noise), 1 << formats.grid)
    return (signal + noise) * Fraction(2) ** -formats.exponent


def _warnings(facts: Facts, events: list[Event]) -> tuple[str, ...]:
    warnings = large_delta(facts)
    noise = {event.name: event.scale / event.sensitivity / facts.rows for event in events}
    if noise.get(LEVEL, 0) > WIDEST_LEVEL:
        warnings += (
            f"the level has noise of {float(noise[LEVEL]):.0%} of the range, because its share of the budget is so "
            f"small: rows that are centred by it are centred by chance; give it more, or 0",
        )
    if 4 * facts.cols * noise.get(CENTRE, Fraction(0)) ** 2 > 2 * LONGEST_CENTRE:
        warnings += (
            f"the centre has noise of {2 * math.sqrt(facts.cols) * float(noise[CENTRE]):.2g} times the length of a "
            f"row, because its share of the budget is so small: rows that are centred by it are centred by chance; "
            f"give it more, or 0",
        )
    noisy_mean = 4 * facts.cols * noise.get(MEAN, Fraction(0)) ** 2
    noisy_spread = 2 * (facts.cols * noise.get(SPREAD, Fraction(0))) ** 2
    if noisy_mean > (2 * LONGEST_MEAN) ** 2 or noisy_spread > (2 * WIDEST_SPREAD) ** 2:
        warnings += (
            "rows are to be clipped, and the noise hides where they are and how far they spread: there are too few "
            "rows for so many columns; leave clip_rows to the plan",
        )
    if facts.cols == 1 and facts.row_limit is None:
        warnings += (
            "There is one column, and rows are scaled to length 1: the model sees of a value on which side of a centre "
            "it lies, and no more. Bring more columns, or use recipe='paper'.",
        )
    return warnings
