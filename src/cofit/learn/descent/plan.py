"""The plan of noisy descent: formats, ranges, the noise of every release, and one account of all of them.

Releases, each by a function of the data and of the releases before (``descent/proof.md``): the level, the centre, and
the noisy gradient sum of each step. Only their end is opened: the sum of the last iterates, with level and centre. All
noise is drawn on a grid of whole steps; sensitivities below are in these steps and count every truncation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing
from cofit.errors import InvalidInputError, RangeError
from cofit.learn.base_plan import PLAN_VERSION, Plan, large_delta, plain_formats
from cofit.learn.descent.formats import (
    ROOT_BITS,
    DescentFormats,
    Layout,
    base_formats,
    reach,
    with_centre,
    with_radius,
)
from cofit.learn.descent.recipe import (
    AVERAGED,
    CENTRED_FLOOR,
    LEVEL_PARTS,
    LONGEST_CENTRE,
    OWN_PARTS,
    WIDEST_LEVEL,
    Budget,
    PureBudget,
    spend,
)
from cofit.learn.facts import Facts
from cofit.learn.row_map import RowMap
from cofit.learn.shrinkage import believed_shrinkage, shrunk_weights
from cofit.privacy.accountant import Account, at_epsilon, sigma_for
from cofit.privacy.events import Event, GaussianEvent, LaplaceEvent
from cofit.privacy.safe_rounding import floor_log2, root_up, significant_up
from cofit.sampling import discrete_gaussian, discrete_laplace

Reals = npt.NDArray[np.float64]
LEVEL, CENTRE, STEP, INTERCEPT = "level", "centre", "step", "intercept"
MEAN_BITS = 15
_DRAWS = ((64, 0), (96, 0), (96, 6), (128, 12), (192, 12), (256, 12))
"""Bits of the samplers, and of a finer grid: where epsilon is large, e^epsilon multiplies both distances."""
_MEAN_SLACK = Fraction(1, 1 << (MEAN_BITS - 2))  # the mean of a row as computed may be off by this
_INVERSE_SLACK = 1 + Fraction(1, 1 << 16)  # 1 / n as the parties round it (``descend``) is at most so much larger
_SCALE_BITS = 30


CONSTANTS = (Fraction(AVERAGED), Fraction(MEAN_BITS), CENTRED_FLOOR, Fraction(OWN_PARTS, LEVEL_PARTS))
"""Constants of the party program that no other field states: two releases of the software with other ones would make
other runs, so the hash has them."""


@dataclass(frozen=True)
class DescentPlan(Plan):
    """Noisy descent. ``events``: the releases in order; ``precision``: the bits of the samplers."""

    facts: Facts
    layout: Layout
    formats: DescentFormats
    events: tuple[Event, ...]
    precision: int
    warnings: tuple[str, ...]
    constants: tuple[Fraction, ...] = CONSTANTS

    @property
    def level(self) -> Event | None:
        """The release of the level, or None."""
        return self._named(LEVEL)

    @property
    def centre(self) -> Event | None:
        """The release of the centre, or None."""
        return self._named(CENTRE)

    @property
    def steps(self) -> tuple[Event, ...]:
        """The releases of the steps."""
        return tuple(event for event in self.events if event.name.startswith(STEP))

    @property
    def calibration(self) -> tuple[Event, ...]:
        """The releases of the steps that calibrate the intercept, after all others; none unless asked for."""
        return tuple(event for event in self.events if event.name.startswith(INTERCEPT))

    def _named(self, name: str) -> Event | None:
        return next((event for event in self.events if event.name == name), None)

    @property
    def epochs(self) -> int:
        return len(self.steps)

    @property
    def averaged(self) -> int:
        """The released weights are the mean of so many last iterates."""
        return min(AVERAGED, self.epochs)

    @property
    def floor(self) -> Fraction | None:
        return self.layout.floor

    @property
    def released(self) -> int:
        extras = int(bool(self.calibration)) + int(self.level is not None)
        extras += self.layout.features * int(self.centre is not None)
        return self.layout.cols + extras

    @property
    def own_columns(self) -> int:
        return 0

    @property
    def constant(self) -> None:
        """The intercept has no column here: its part is added to scores and sums."""
        return None

    @property
    def mechanism_name(self) -> str:
        return "laplace" if self.layout.norm == "l1" else "gaussian"

    @property
    def proven(self) -> bool:
        return True

    @property
    def account(self) -> Account:
        """What all releases together guarantee."""
        return at_epsilon(self.events, self.facts.epsilon)

    @property
    def spent(self) -> dict[str, Fraction]:
        """The share of each release in the budget, by name: of mu^2, rho or epsilon, whatever the account adds up."""
        parts = self.account.contributions
        whole = sum((part.amount for part in parts), Fraction(0))
        return {part.name: part.amount / whole for part in parts}

    @property
    def total_delta(self) -> Fraction:
        return self.facts.delta if self.facts.delta else self.account.delta

    @property
    def noise_of_weights(self) -> float:
        """The standard deviation of the noise in a released weight, if the gradients did not answer to it."""
        unit = 2.0**-self.formats.weights
        counts = [min(self.averaged, self.epochs - t) / self.averaged for t in range(self.epochs)]
        spread = math.sqrt(2) if self.layout.norm == "l1" else 1.0
        variances = [(c * float(e.scale)) ** 2 for c, e in zip(counts, self.steps, strict=True)]
        return unit * spread * math.sqrt(sum(variances))

    def shrinkage(self, released: Reals) -> float:
        """Return the threshold to use on what ``in_units`` returned, in standard deviations of the noise.

        Normal noise only: the argument (``learn/shrinkage.py``) is about that. None where the intercept is calibrated:
        that was done for the scores of the weights as released.
        """
        if self.mechanism_name != "gaussian" or self.calibration:
            return 0.0
        return believed_shrinkage(released[: self.layout.features], self.noise_of_weights)

    def used_weights(self, released: Reals) -> Reals:
        """Return the weights of the features that predictions use, from what ``in_units`` returned."""
        threshold = self.shrinkage(released) * self.noise_of_weights
        return shrunk_weights(released[: self.layout.features], threshold)

    def in_units(self, opened: npt.NDArray[Any]) -> Reals:
        """Return what was opened (whole steps) in units of weights: weights, the intercept's, then what there is of
        the calibrated offset, the level and the centre."""
        weights = np.ldexp(opened[: self.cols].astype(np.float64), -self.formats.weights) / self.averaged
        rest = opened[self.cols :].astype(np.float64)
        formats = self.formats
        bits = [formats.grid + formats.offset_exponent] * int(bool(self.calibration))
        bits += [MEAN_BITS] * int(self.level is not None) + [formats.data] * self.layout.features
        return np.concatenate([weights, rest / np.exp2(bits[: len(rest)])])

    def intercept(self, released: Reals) -> float:
        """Return what is added to the score of a row, from what ``in_units`` returned."""
        own = float(self.formats.constant) * float(released[self.cols - 1]) if self.layout.intercept else 0.0
        return own + (float(released[self.cols]) if self.calibration else 0.0)

    def row_map(self, released: Reals) -> RowMap:
        """Return how rows are prepared for their score, from what ``in_units`` returned."""
        rest = list(released[self.cols + int(bool(self.calibration)) :].tolist())
        level = rest.pop(0) if self.level is not None else None
        by_owners = self.floor is None
        return RowMap(
            norm=self.layout.norm,
            bound=1.0 if by_owners else float(self.facts.feature_bound),
            floor=0.0 if self.floor is None else float(self.floor),
            level=level,
            centre=tuple(rest) if self.centre is not None else None,
        )

    def to_dict(self) -> dict[str, Any]:
        formats, account, spent = self.formats, self.account, self.spent
        return {
            "version": PLAN_VERSION,
            **self.facts.to_dict(),
            "method": "noisy descent",
            "norm": self.layout.norm,
            "dimension": self.layout.cols,
            "proven": self.proven,
            "epochs": self.epochs,
            "averaged": self.averaged,
            "step": float(formats.factor) * 2.0**-formats.exponent,
            **plain_formats(formats),
            "mechanism": self.mechanism_name,
            "noise_of_weights": self.noise_of_weights,
            "grid": f"2^-{formats.grid}",
            "releases": [
                {
                    "name": event.name,
                    "share": float(spent[event.name]),
                    "noise": event.kind,
                    "dimension": event.dimension,
                    "sensitivity": float(event.sensitivity),
                    "scale": float(event.scale),
                    "sampler_distance": float(event.sampler_distance),
                }
                for event in self.events
            ],
            "rule": account.rule,
            "delta_proven": float(account.delta),
            "delta_total": float(self.total_delta),
            "warnings": list(self.warnings),
        }


def plan_descent(facts: Facts) -> DescentPlan:
    """Return the plan for these public facts, or raise InvalidInputError with the reason and the remedy."""
    try:
        return _in_ring(facts, Z64)
    except RangeError:
        return _in_ring(facts, Z128)


def _in_ring(facts: Facts, ring: PowerOfTwoRing) -> DescentPlan:
    for precision, finer in _DRAWS:
        plan = _drawn_with(facts, ring, precision, finer)
        delta = plan.account.delta
        if delta <= (facts.delta or Fraction(1, 1 << 20)):
            return plan
    raise InvalidInputError(
        f"The noise cannot be sampled closely enough for epsilon = {float(facts.epsilon):g} and delta = "
        f"{float(facts.delta):g}. Use a smaller epsilon or a larger delta."
    )


def _drawn_with(facts: Facts, ring: PowerOfTwoRing, precision: int, finer: int) -> DescentPlan:
    events: list[Event] = []
    if facts.delta:
        by_parties = facts.normalised_by == "parties"
        budget = spend(
            facts.rows,
            facts.cols,
            facts.epsilon,
            facts.delta,
            ranges=by_parties,
            calibrate=facts.calibrate_intercept,
            chosen=facts.budget_shares,
        )
        gaussian = _Gaussian(precision, events)
        layout = _layout(facts, Fraction(1))
        if budget.level is not None:
            noise = gaussian.release(LEVEL, _level_sensitivity(facts), budget.level, 1)
            layout = _layout(facts, _largest_level(facts, noise))
        formats = base_formats(ring, layout, budget.pace, budget.constant, finer)
        if budget.centre is not None:
            noise = gaussian.release(CENTRE, _centre_sensitivity(layout, formats), budget.centre, layout.features)
            formats = with_centre(formats, layout, _largest_centre(layout, formats, noise))
        sensitivity = _step_sensitivity(layout, formats)
        largest = [
            gaussian.release(f"{STEP} {t + 1}", sensitivity, mu_squared, layout.cols)
            for t, mu_squared in enumerate(budget.steps)
        ]
        if budget.calibration:
            formats = _calibrated(layout, formats, budget, gaussian)
    else:
        layout = _layout(facts, Fraction(1))
        pure = PureBudget(facts.epsilon, facts.rows, facts.row_nonzeros or 1)
        formats = base_formats(ring, layout, pure.pace, pure.constant, finer)
        largest = _pure_steps(pure, layout, formats, precision, events)
    formats = with_radius(formats, layout, _radius(layout, formats, largest))
    return DescentPlan(facts, layout, formats, tuple(events), precision, _warnings(facts, events))


def _layout(facts: Facts, largest_offset: Fraction) -> Layout:
    floor = facts.norm_floor if facts.normalised_by == "parties" else None
    return Layout(facts.rows, facts.cols, facts.fit_intercept, facts.norm, floor, 1 + largest_offset)


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
    ones = Fraction(layout.cols) if layout.norm == "l1" else root_up(Fraction(layout.cols), ROOT_BITS)
    return 2 * reach(formats, layout) * (1 << formats.grid) + 2 * ones


def _pure_steps(
    pure: PureBudget, layout: Layout, formats: DescentFormats, precision: int, events: list[Event]
) -> list[int]:
    """Discrete Laplace noise in every step, of equal epsilons; return the largest magnitude of each."""
    sensitivity = _step_sensitivity(layout, formats)
    scale = significant_up(sensitivity * pure.steps / pure.epsilon, _SCALE_BITS)
    for t in range(pure.steps):
        distance = discrete_laplace.tv_distance(scale, layout.cols, precision=precision)
        events.append(LaplaceEvent(f"{STEP} {t + 1}", sensitivity, scale, layout.cols, distance))
    return [discrete_laplace.largest_draw(scale, precision=precision)] * pure.steps


def _calibrated(layout: Layout, formats: DescentFormats, budget: Budget, gaussian: _Gaussian) -> DescentFormats:
    """Calibrate the releases for the intercept: the sum of residuals, truncated to the grid."""
    exponent = -floor_log2(budget.calibration_pace / formats.factor)
    sensitivity = 2 * formats.largest_residual * (1 << formats.grid) + 2
    radius = Fraction(0)
    for k, mu_squared in enumerate(budget.calibration):
        noise = gaussian.release(f"{INTERCEPT} {k + 1}", sensitivity, mu_squared, 1)
        radius += layout.rows * formats.largest_residual + Fraction(noise + 1, 1 << formats.grid)
    return replace(formats, offset_exponent=exponent, offset_radius=radius * Fraction(2) ** -exponent)


# --- ranges ----------------------------------------------------------------------------------------------


def _radius(layout: Layout, formats: DescentFormats, largest_noise: list[int]) -> Fraction:
    """R: what the contributions and the largest noise of all steps add up to, in the Euclidean norm."""
    root = root_up(Fraction(layout.cols), ROOT_BITS)
    signal = len(largest_noise) * (layout.rows * reach(formats, layout) + root / (1 << formats.grid))
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
    if facts.cols == 1:
        warnings += (
            "There is one column, and rows are scaled to length 1: the model sees of a value on which side of a centre "
            "it lies, and no more. Bring more columns, or use recipe='paper'.",
        )
    return warnings
