"""The plan of noisy descent: formats, ranges, the noise of every release, and one account of all of them.

Releases, each by a function of the data and of the releases before (``proof.md``): what prepares the rows (the
level and the centre; or, for clipped rows, mean, radius, shift and spread), and the noisy gradient sum of each step.
Only their end is opened: the sum of the last iterates, with what a score needs of the preparation. All noise is drawn
on a grid of whole steps; sensitivities are in these steps and count every truncation (``planning.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.learn.base_plan import PLAN_VERSION, Plan, plain_formats
from cofit.learn.facts import Facts
from cofit.learn.recipes.descent.budget import AVERAGED, CENTRED_FLOOR, LEVEL_PARTS, OWN_PARTS
from cofit.learn.recipes.descent.clip import (
    LEAST_VARIANCE,
    LONGEST,
    OWN_MEAN,
    PART_BITS,
    RADIUS_BITS,
    RADIUS_SQUARED,
    SHORTEST,
    SQUARE_BITS,
    STRETCH_BITS,
)
from cofit.learn.recipes.descent.formats import DescentFormats, Layout
from cofit.learn.recipes.descent.row_map import RowMap
from cofit.learn.recipes.descent.shrinkage import believed_shrinkage, shrunk_weights
from cofit.learn.usefulness import rows_needed
from cofit.privacy.accountant import Account, at_epsilon
from cofit.privacy.events import Event

Reals = npt.NDArray[np.float64]
LEVEL, CENTRE, STEP, INTERCEPT = "level", "centre", "step", "intercept"
MEAN, RADIUS, SHIFT, SPREAD = "mean", "radius", "shift", "spread"
OPENED = {
    INTERCEPT: "intercept's offset",
    LEVEL: "level",
    CENTRE: "centre",
    MEAN: "mean",
    SPREAD: "stretch",
    RADIUS: "radius",
}
"""What each of a plan's ``extras`` is called where people read of what was opened."""
MEAN_BITS = 15


CONSTANTS = (
    *(Fraction(AVERAGED), Fraction(MEAN_BITS), CENTRED_FLOOR, Fraction(OWN_PARTS, LEVEL_PARTS)),
    *(SHORTEST, LONGEST, RADIUS_SQUARED, OWN_MEAN, LEAST_VARIANCE),
    *map(Fraction, (STRETCH_BITS, SQUARE_BITS, RADIUS_BITS, PART_BITS)),
)
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
    ring_reason: str | None = field(default=None, compare=False)

    @property
    def level(self) -> Event | None:
        """The release of the level, or None."""
        return self._named(LEVEL)

    @property
    def centre(self) -> Event | None:
        """The release of the centre, or None."""
        return self._named(CENTRE)

    @property
    def clipped(self) -> bool:
        """Whether rows are clipped at a private radius, and not scaled to length 1."""
        return self.layout.clipped

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

    def grid_of(self, name: str) -> int:
        """The fractional bits of a release: a few have a grid of their own, all others that of the steps."""
        if name == RADIUS and self.formats.clip is not None:
            return self.formats.clip.radius_grid
        return MEAN_BITS if name == LEVEL else self.formats.grid

    @property
    def extras(self) -> dict[str, tuple[int, int]]:
        """What is opened beside the weights, in order: how many numbers, with how many fractional bits."""
        formats, features = self.formats, self.layout.features
        return {
            INTERCEPT: (int(bool(self.calibration)), formats.grid + formats.offset_exponent),
            LEVEL: (int(self.level is not None), MEAN_BITS),
            CENTRE: (features * int(self.centre is not None), formats.data),
            MEAN: (features * int(self.clipped), formats.data),
            SPREAD: (features * int(self.clipped), STRETCH_BITS),
            RADIUS: (int(self.clipped), RADIUS_BITS),
        }

    @property
    def released(self) -> int:
        return self.layout.cols + sum(count for count, _ in self.extras.values())

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
        return self.facts.delta if self.facts.delta else min(Fraction(1), self.account.delta + self.check_delta)

    @property
    def noise_of_weights(self) -> float:
        """The standard deviation of the noise in a released weight, if the gradients did not answer to it."""
        unit = 2.0**-self.formats.weights
        counts = [min(self.averaged, self.epochs - t) / self.averaged for t in range(self.epochs)]
        spread = math.sqrt(2) if self.layout.norm == "l1" else 1.0
        variances = [(c * float(e.scale)) ** 2 for c, e in zip(counts, self.steps, strict=True)]
        return unit * spread * math.sqrt(sum(variances))

    @property
    def strength(self) -> float:
        """How far all records together could move the score of a row of length 1, over the noise in it.

        In the L1 geometry, of a row of as many equal values as rows are said to have.
        """
        counts = sum(min(self.averaged, self.epochs - t) / self.averaged for t in range(self.epochs))
        margin = float(self.formats.factor) * 2.0**-self.formats.exponent * self.layout.rows * counts
        sparse = math.sqrt(self.facts.row_nonzeros or 1) if self.layout.norm == "l1" else 1.0
        return margin / self.noise_of_weights / sparse

    @property
    def rows_needed(self) -> int:
        return rows_needed(self.facts.rows, self.facts.cols, self.strength)

    def shrinkage(self, released: Reals) -> float:
        """Return the threshold to use on what ``in_units`` returned, in standard deviations of the noise.

        Normal noise only: the argument (``shrinkage.py``) is about that. None where the intercept is calibrated:
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
        """Return what was opened (whole steps) in units of weights: weights, the intercept's, then ``extras``."""
        weights = np.ldexp(opened[: self.cols].astype(np.float64), -self.formats.weights) / self.averaged
        bits = [bits for count, bits in self.extras.values() for _ in range(count)]
        return np.concatenate([weights, opened[self.cols :].astype(np.float64) / np.exp2(bits)])

    def part(self, released: Reals, name: str) -> Reals:
        """Return one of the ``extras`` of what ``in_units`` returned; of several releases, that of each."""
        start = self.cols
        for other, (count, _) in self.extras.items():
            if other == name:
                return released[..., start : start + count]
            start += count
        raise KeyError(name)

    def intercept(self, released: Reals) -> float:
        """Return what is added to the score of a row, from what ``in_units`` returned."""
        own = float(self.formats.constant) * float(released[self.cols - 1]) if self.layout.intercept else 0.0
        return own + float(self.part(released, INTERCEPT).sum())

    def row_map(self, released: Reals) -> RowMap:
        """Return how rows are prepared for their score, from what ``in_units`` returned."""
        level, centre, mean, stretch, radius = (
            tuple(self.part(released, name).tolist()) for name in (LEVEL, CENTRE, MEAN, SPREAD, RADIUS)
        )
        bound = self.facts.row_limit if self.facts.row_limit is not None else self.facts.feature_bound
        return RowMap(
            norm=self.layout.norm,
            bound=1.0 if self.floor is None and not self.clipped else float(bound),
            floor=0.0 if self.floor is None else float(self.floor),
            level=level[0] if level else None,
            centre=centre or None,
            mean=mean or None,
            stretch=stretch or None,
            radius=radius[0] if radius else None,
        )

    def to_dict(self) -> dict[str, Any]:
        formats, account, spent = self.formats, self.account, self.spent
        return {
            "version": PLAN_VERSION,
            **self.facts.to_dict(),
            "method": "noisy descent",
            "norm": self.layout.norm,
            "rows_are": "clipped" if self.clipped else "scaled to length 1",
            "dimension": self.layout.cols,
            "proven": self.proven,
            "epochs": self.epochs,
            "averaged": self.averaged,
            "step": float(formats.factor) * 2.0**-formats.exponent,
            **plain_formats(self),
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
            "check_delta": float(self.check_delta),
            "check_projections": self.row_check.projections,
            "rows_needed": self.rows_needed,
            "warnings": list(self.warnings),
        }
