"""The plan of the paper's method: minimise the objective (pi_LR), then add noise to the weights (pi_DP).

**tau** bounds the distance between the weights that the parties compute and the exact minimiser, and is the sum of
``iterations`` (epochs left out), ``arithmetic`` (sigmoid, truncations, public constants; worst case) and ``encoding``
(rounding of the data, and of the norms where the parties normalise). One record moves the minimiser by at most
2 G / (n Lambda) (``privacy.objective``), hence the computed weights by at most 2 G / (n Lambda) + 2 tau: the noise is
calibrated to that, and to the rounding of the weights to the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, reals
from cofit.learn.base_plan import PLAN_VERSION, Plan, PublicRows, plain_formats
from cofit.learn.facts import Facts
from cofit.learn.inference.served import PublicWeights, Served, largest_value
from cofit.learn.losses import Loss, loss_named
from cofit.learn.opened import Opened
from cofit.learn.recipes.minimiser.cost import further_epochs
from cofit.learn.recipes.minimiser.formats import Formats, Geometry
from cofit.learn.recipes.minimiser.program import BEFORE, WEIGHTS, train
from cofit.learn.recipes.minimiser.rows import normalised_rows, unit_rows
from cofit.learn.recipes.minimiser.sections import minimiser_sections
from cofit.learn.recipes.minimiser.solvers import Solver
from cofit.learn.recipes.minimiser.statement import certified_by_minimiser, stated_by_minimiser
from cofit.learn.sections import Section
from cofit.learn.statement import Scoring, Stated
from cofit.learn.usefulness import about
from cofit.privacy.certified import CertifiedRelease
from cofit.privacy.mechanisms import Mechanism
from cofit.privacy.mechanisms.mechanism import square_root_up
from cofit.privacy.objective import Objective
from cofit.secret import Party, SecretArray
from cofit.secret.checkpoints import Checkpoints, KeptArray, KeptState

if TYPE_CHECKING:
    from cofit.learn.inputs import Holders
    from cofit.sharing.meter import Meter
from cofit.sharing.tally import Tally

Reals = npt.NDArray[np.float64]
SLACK = 1 + 2.0**-20
"""Covers the rounding of sums of bounds, upwards."""


@dataclass(frozen=True)
class MinimiserPlan(Plan):
    """The paper's method, calibrated honestly. ``proven``: whether tau is bounded and counted in the noise."""

    facts: Facts
    objective: Objective
    geometry: Geometry
    solver: Solver
    formats: Formats
    epochs: int
    tau_parts: dict[str, float | None]
    mechanism: Mechanism
    proven: bool
    warnings: tuple[str, ...]
    ring_reason: str | None = field(default=None, compare=False)

    @property
    def floor(self) -> Fraction | None:
        return self.geometry.floor

    @property
    def opened(self) -> Opened:
        return Opened(self.geometry.cols)

    @property
    def releases(self) -> tuple[CertifiedRelease, ...]:
        return certified_by_minimiser(self)

    def stated(self) -> Stated:
        return stated_by_minimiser(self)

    def scoring(self, released: Reals) -> Scoring:
        facts = self.facts
        constant = float(facts.intercept_scaling) if facts.fit_intercept else 0.0
        return Scoring(
            intercept=float(released[facts.cols]) * constant if facts.fit_intercept else 0.0,
            constant=constant,
            norm_floor=0.0 if self.floor is None else float(self.floor * facts.feature_bound),
        )

    def served(self, noise: bool = True) -> Served:
        formats, cols = self.formats, self.geometry.cols
        exact = formats.of(formats.weights)
        if not noise:
            return Served(cols, 1, exact, Fraction(1), formats.radius)
        largest = _largest_noisy(self.mechanism, exact, formats.radius)
        return Served(cols, 1, formats.of(self.mechanism.grid_bits), Fraction(1), largest)

    def public_weights(self, released: Reals) -> PublicWeights:
        return PublicWeights(released.reshape(-1, 1), np.zeros(1))

    def rows_for_scores(self, values: npt.ArrayLike, prepared: Reals) -> Reals:
        del prepared
        return normalised_rows(self, values)

    def sections(self) -> list[Section]:
        return minimiser_sections(self)

    @property
    def in_words(self) -> str:
        return f"l2 = {float(self.facts.l2):g}, {self.epochs} epochs of {self.solver.name}"

    @property
    def noise_in_words(self) -> str:
        share = self.mechanism.expected_norm / float(self.objective.radius)
        return (
            f"{self.mechanism_name} noise of expected length {self.mechanism.expected_norm:.2g}, {share:.0%} of the "
            f"longest possible weights"
        )

    def scaled_by_owner(self, x: Reals) -> Reals:
        return unit_rows(x, float(self.facts.intercept_scaling) if self.facts.fit_intercept else None)

    @property
    def state(self) -> KeptState:
        format, shape = self.formats.of(self.formats.weights), (self.geometry.cols,)
        limit = format.limit(self.formats.radius)
        arrays = tuple(KeptArray(name, shape, format, limit) for name in (WEIGHTS, BEFORE))
        return KeptState(arrays, range(1, self.epochs + 1))

    def noisy_release(
        self, party: Party, holders: Holders, toss: Callable[[], bytes], checkpoints: Checkpoints | None
    ) -> SecretArray:
        """Train (pi_LR), then perturb (pi_DP)."""
        weights = train(party, self, holders, toss(), checkpoints)
        party.progress("noise", 0, 1)
        with party.label("noise"):
            return self.mechanism.perturb(party, weights)

    def exact_release(
        self, party: Party, holders: Holders, toss: Callable[[], bytes], checkpoints: Checkpoints | None
    ) -> SecretArray:
        return train(party, self, holders, toss(), checkpoints)

    @property
    def shortest(self) -> MinimiserPlan:
        return replace(self, epochs=1)

    def left_out(self, meter: Meter, again: Callable[[], Party], holders: Holders) -> tuple[Tally, Tally]:
        return further_epochs(again(), meter, self, holders)

    @property
    def penalty(self) -> Fraction:
        return self.facts.l2

    def comparable_rows(self, values: npt.ArrayLike) -> Reals:
        return normalised_rows(self, values)

    @property
    def simulates_all_rows(self) -> bool:
        return False

    def simulated_scores(self, data: PublicRows, draws: int, rng: np.random.Generator, kept: dict[Any, Any]) -> Reals:
        from cofit.learn.recipes.minimiser.twin import simulated_scores  # noqa: PLC0415 - no party imports scipy

        return simulated_scores(self, data, draws, rng, kept)

    @property
    def own_columns(self) -> int:
        return int(self.facts.fit_intercept and self.facts.normalised_by == "owners")

    @property
    def mechanism_name(self) -> str:
        return self.mechanism.name

    @property
    def total_delta(self) -> Fraction:
        return min(Fraction(1), self.mechanism.total_delta + self.check_delta)

    @property
    def loss(self) -> Loss:
        """The loss."""
        return loss_named(self.facts.loss)

    @property
    def tau(self) -> float | None:
        """The bound of the distance to the exact minimiser; None where none is proven."""
        parts = list(self.tau_parts.values())
        return None if any(part is None for part in parts) else reals.total(p for p in parts if p is not None) * SLACK

    @property
    def constant(self) -> Fraction | None:
        """The entry of the intercept's column as the parties see it, where they normalise; None without one."""
        if not self.facts.fit_intercept or self.facts.normalised_by == "owners":
            return None
        return self.facts.intercept_scaling / self.facts.feature_bound

    @property
    def rows_needed(self) -> int:
        return rows_needed(self.facts, self.mechanism, self.objective)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan in plain numbers: what ``cofit plan --json`` prints and what the hash covers."""
        mechanism, solver = self.mechanism, self.solver
        return {
            "version": PLAN_VERSION,
            **self.facts.to_dict(),
            "dimension": self.geometry.cols,
            "gradient_bound": float(self.objective.gradient_bound),
            "weight_radius": float(self.objective.radius),
            "sensitivity_exact": float(self.objective.sensitivity),
            "tau": self.tau,
            "tau_parts": dict(self.tau_parts),
            "sensitivity_total": float(mechanism.sensitivity),
            "proven": self.proven,
            "solver": solver.name,
            "step": float(solver.step),
            "rate": solver.rate,
            "epochs": self.epochs,
            **plain_formats(self),
            "mechanism": mechanism.name,
            "noise_scale": {mechanism.scale_name: float(mechanism.scale)},
            "noise_expected_norm": mechanism.expected_norm,
            "grid": f"2^-{mechanism.grid_bits}",
            "sampler_distance": float(mechanism.sampler_distance),
            "delta_total": float(self.total_delta),
            "check_delta": float(self.check_delta),
            "check_projections": self.row_check.projections,
            "rows_needed": self.rows_needed,
            "warnings": list(self.warnings),
        }


@lru_cache(maxsize=64)
def _largest_noisy(mechanism: Mechanism, exact: FixedPoint, radius: Fraction) -> Fraction:
    """Return what no vector of noisy weights is longer than: the bound of a coordinate that ``perturb`` proves, in all
    of them. exact: the format of the weights before."""
    largest = largest_value(mechanism.dimension, exact, exact.limit(radius), mechanism.perturb)
    return largest * square_root_up(Fraction(mechanism.dimension))


def rows_needed(facts: Facts, mechanism: Mechanism, objective: Objective) -> int:
    """Return about how many rows make the noise, which falls as 1 / n, as long as the longest weights."""
    return about(facts.rows * mechanism.expected_norm / float(objective.radius))
