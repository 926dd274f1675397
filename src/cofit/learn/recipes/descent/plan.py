"""The plan of noisy descent: formats, ranges, the noise of every release, and one account of all of them.

Releases, each by a function of the data and of the releases before (``proof.md``): what prepares the rows (the
level and the centre; or, for clipped rows, mean, radius, shift and spread), and the noisy gradient sum of each step.
Only their end is opened: the sum of the last iterates, with what a score needs of the preparation. All noise is drawn
on a grid of whole steps; sensitivities are in these steps and count every truncation (``planning.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cofit.learn.base_plan import PLAN_VERSION, Plan, PublicRows, plain_formats
from cofit.learn.bounds import TOLERANCE
from cofit.learn.facts import Facts
from cofit.learn.inference.served import PublicWeights, Served
from cofit.learn.opened import KEPT_REASON, REASON, Opened, OpenedPart
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
from cofit.learn.recipes.descent.formats import MEAN_BITS, DescentFormats, Layout, towards_zero
from cofit.learn.recipes.descent.kept import kept_state
from cofit.learn.recipes.descent.many_scores import scores_of_releases, smoothed_scores_of_releases
from cofit.learn.recipes.descent.program import descend
from cofit.learn.recipes.descent.row_map import RowMap
from cofit.learn.recipes.descent.sections import descent_sections
from cofit.learn.recipes.descent.shrinkage import believed_shrinkage, shrunk_weights
from cofit.learn.recipes.descent.signal import noise_of_weights, strength
from cofit.learn.recipes.descent.statement import certified_by_descent, stated_by_descent
from cofit.learn.sections import Section
from cofit.learn.statement import Scoring, Stated, by_output
from cofit.learn.usefulness import rows_needed
from cofit.privacy.accountant import Account, at_epsilon
from cofit.privacy.certified import CertifiedRelease
from cofit.privacy.events import Event
from cofit.privacy.release_names import CENTRE, INTERCEPT, LEVEL, MEAN, RADIUS, SPREAD, STEP
from cofit.secret import Party, SecretArray
from cofit.secret.checkpoints import Checkpoints, KeptState
from cofit.sharing.meter import Meter
from cofit.sharing.tally import Tally

if TYPE_CHECKING:
    from cofit.learn.inputs import Holders

Reals = npt.NDArray[np.float64]
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
    def opened(self) -> Opened:
        """The sum of the last iterates, and what a score needs of the intercept and of how rows are prepared."""
        formats, features = self.formats, self.layout.features
        possible = (
            OpenedPart(
                INTERCEPT,
                int(bool(self.calibration)) * self.layout.outputs,
                formats.grid + formats.offset_exponent,
                "intercept's offset",
                "the noisy calibration of the intercept",
                scores=True,
            ),
            self._prepared(LEVEL, int(self.level is not None), MEAN_BITS, "level"),
            self._prepared(CENTRE, features * int(self.centre is not None), formats.data, "centre"),
            self._prepared(MEAN, features * int(self.clipped), formats.data, "mean"),
            self._prepared(SPREAD, features * int(self.clipped), STRETCH_BITS, "stretch", 1.0),
            self._prepared(RADIUS, int(self.clipped), RADIUS_BITS, "radius", float(LONGEST)),
        )
        steps = self.averaged * 2.0**formats.weights
        parts = tuple(part for part in possible if part.count)
        return Opened(self.layout.weights, steps, parts, self.layout.outputs)

    def _prepared(self, name: str, count: int, bits: int, word: str, blank: float = 0.0) -> OpenedPart:
        return OpenedPart(name, count, bits, word, f"the noisy {word} of the rows", blank)

    @property
    def release_reason(self) -> str:
        shared = self.facts.shared_model
        if shared and not self.released:
            return KEPT_REASON
        return f"{KEPT_REASON if shared else REASON} ({self.opened.counted(shared)})"

    @property
    def releases(self) -> tuple[CertifiedRelease, ...]:
        return certified_by_descent(self)

    def stated(self) -> Stated:
        return stated_by_descent(self)

    def sections(self) -> list[Section]:
        return descent_sections(self)

    @property
    def in_words(self) -> str:
        return f"{self.epochs} steps of gradient descent with noise in each"

    @property
    def noise_in_words(self) -> str:
        return f"{self.mechanism_name} noise"

    def scaled_by_owner(self, x: Reals) -> Reals:
        scaled = RowMap(self.layout.norm, 1.0, 0.0, mapped=self.mapped, plain=not self.layout.own_mean)
        return towards_zero(scaled(x), self.formats.data)

    @property
    def mapped(self) -> bool:
        """Whether rows come mapped by a public reference."""
        return self.facts.reference is not None

    @property
    def least_mean(self) -> Fraction | None:
        """The agreed one, where there is a level, which rests on it; less the tolerance of owners."""
        if self.level is None:
            return None
        return self.facts.feature_lower / self.facts.feature_bound - Fraction(TOLERANCE)

    def noisy_release(
        self, party: Party, holders: Holders, toss: Callable[[], bytes], checkpoints: Checkpoints | None
    ) -> SecretArray:
        return descend(party, self, holders, toss(), checkpoints)

    @property
    def state(self) -> KeptState:
        return kept_state(self)

    @property
    def shortest(self) -> DescentPlan:
        """There are few epochs, and all are run."""
        return self

    def left_out(self, meter: Meter, again: Callable[[], Party], holders: Holders) -> tuple[Tally, None]:
        """Nothing."""
        del meter, again, holders
        return Tally(), None

    @property
    def penalty(self) -> None:
        return None

    def comparable_rows(self, values: npt.ArrayLike) -> Reals:
        """Rows of length 1."""
        return RowMap("l2", 1.0, 0.0)(values)

    @property
    def simulates_all_rows(self) -> bool:
        return True

    def simulated_scores(self, data: PublicRows, draws: int, rng: np.random.Generator, kept: dict[Any, Any]) -> Reals:
        from cofit.learn.recipes.descent.twin import cleartext_descent  # noqa: PLC0415 - no party imports scipy

        del kept
        return scores_of_releases(self, cleartext_descent(self, *data.filled, draws, rng), data.test)

    def smoothed_scores(self, data: PublicRows, draws: int, rng: np.random.Generator) -> Reals | None:
        from cofit.learn.recipes.descent.twin import cleartext_descent  # noqa: PLC0415 - no party imports scipy

        if self.mechanism_name != "gaussian" or self.layout.outputs > 1 or self.formats.residual.clip is not None:
            return None
        return smoothed_scores_of_releases(self, cleartext_descent(self, *data.filled, draws, rng), data.test)

    @property
    def own_columns(self) -> int:
        return 0

    @property
    def constant(self) -> None:
        """The intercept has no column here: its part is added to scores and sums."""
        return None

    @property
    def mechanism_name(self) -> str:
        return "knorm" if self.facts.pure_steps else "laplace" if self.layout.norm == "l1" else "gaussian"

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
        return noise_of_weights(self)

    @property
    def strength(self) -> float:
        return strength(self)

    @property
    def rows_needed(self) -> int:
        return rows_needed(self.facts.rows, self.facts.cols, self.strength)

    def shrinkage(self, released: Reals) -> float:
        """Return the threshold to use on what ``opened.in_units`` returned, in standard deviations of the noise.

        Normal noise only, and classes: the argument (``shrinkage.py``) is about that. None where the intercept is
        calibrated: that was done for the scores of the weights as released. Of several classes, one for all of their
        weights: with one of its own a class whose weights are small would be set back beside the others.
        """
        if self.mechanism_name != "gaussian" or self.calibration or self.formats.residual.clip is not None:
            return 0.0
        return believed_shrinkage(self._of_features(released).ravel(), self.noise_of_weights)

    def _of_features(self, released: Reals) -> Reals:
        """Return the weights of the features as released, a column for every output."""
        return self.opened.by_output(released)[: self.layout.features]

    def used_weights(self, released: Reals) -> Reals:
        """Return the weights of the features that predictions use, from what ``opened.in_units`` returned: a column for
        every output."""
        threshold = self.shrinkage(released) * self.noise_of_weights
        return shrunk_weights(self._of_features(released), threshold)

    def scoring(self, released: Reals) -> Scoring:
        return Scoring(
            intercept=by_output(self.intercepts(released)),
            constant=float(self.formats.constant),
            rows=self.row_map(released),
            shrinkage=self.shrinkage(released),
        )

    def intercepts(self, released: Reals) -> Reals:
        """Return what is added to the scores of a row, one an output, from what ``opened.in_units`` returned: of
        several releases, those of each."""
        added = self.opened.part(released, INTERCEPT)
        own = np.zeros((*released.shape[:-1], self.layout.outputs)) if not added.size else added
        if self.layout.intercept:
            own = own + float(self.formats.constant) * self.opened.by_output(released)[..., self.cols - 1, :]
        return np.asarray(own)

    def served(self, noise: bool = True) -> Served:
        del noise  # there is always some
        formats, layout = self.formats, self.layout
        return Served(
            columns=layout.features,
            outputs=layout.outputs,
            drawn=formats.of(0),
            unit=Fraction(1, self.averaged << formats.weights),
            largest=formats.radius,
            constant=formats.constant if layout.intercept else Fraction(0),
            offset_bits=formats.grid + formats.offset_exponent if self.calibration else None,
            offset=formats.offset_radius,
            margins=2,
        )

    def public_weights(self, released: Reals) -> PublicWeights:
        return PublicWeights(self.used_weights(released), self.intercepts(released))

    def rows_for_scores(self, values: npt.ArrayLike, prepared: Reals) -> Reals:
        return self.row_map(self.with_blank_weights(prepared))(values)

    def row_map(self, released: Reals) -> RowMap:
        """Return how rows are prepared for their score, from what ``opened.in_units`` returned."""
        level, centre, mean, stretch, radius = (
            tuple(self.opened.part(released, name).tolist()) for name in (LEVEL, CENTRE, MEAN, SPREAD, RADIUS)
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
            mapped=self.mapped,
            plain=not self.layout.own_mean,
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
