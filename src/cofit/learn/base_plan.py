"""What every plan of a training run has: everything that follows from public facts, before any secret is touched."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, IntegerRing, Shape
from cofit.errors import parameter_error
from cofit.learn.exact import exact
from cofit.learn.facts import Facts
from cofit.learn.inference.served import PublicWeights, Served
from cofit.learn.losses import Evaluation, loss_named
from cofit.learn.opened import KEPT_REASON, REASON, Opened
from cofit.learn.row_check import CONSTANTS, BlockCheck, check_delta, check_of
from cofit.learn.sections import Section
from cofit.learn.statement import Scoring, Stated
from cofit.learn.targets import Target
from cofit.privacy.certified import CertifiedRelease
from cofit.secret import InputFacts, Party, SecretArray
from cofit.secret.checkpoints import Checkpoints, KeptState

if TYPE_CHECKING:
    from cofit.learn.inputs import Holders
    from cofit.sharing.meter import Meter
from cofit.sharing.tally import Tally

PLAN_VERSION = 4
Reals = npt.NDArray[np.float64]
Table = tuple[Reals, npt.NDArray[Any]]


@dataclass(frozen=True)
class PublicRows:
    """Rows that are no secret, for simulations. ``different``: features and labels of as many different rows as there
    are, at most the study's; ``filled``: as many as the study has, some of them repeated; ``test``: features of others.
    """

    different: Table
    filled: Table
    test: Reals


class Formats(Protocol):
    """What everybody who takes part knows of the formats of a plan."""

    @property
    def ring(self) -> IntegerRing:
        """The ring of all computations."""

    @property
    def data(self) -> int:
        """The fractional bits of the features."""

    @property
    def weights(self) -> int:
        """Those of the weights."""

    @property
    def argument(self) -> int:
        """Those of a score."""

    @property
    def scaled(self) -> int:
        """Those of a residual."""

    @property
    def inverse_norm(self) -> int | None:
        """Those of an inverse length; None where none is computed."""

    @property
    def product(self) -> int | None:
        """Those of a product with a row that is not scaled yet; None where all are."""

    @property
    def evaluation(self) -> Evaluation:
        """How residuals are computed."""

    @property
    def radius(self) -> Fraction:
        """No weight vector is longer."""

    @property
    def argument_radius(self) -> Fraction:
        """No score is larger."""

    @property
    def rounded(self) -> float | None:
        """How much longer than 1 a row may become that its owner rounds to the nearest; None where towards zero."""

    def of(self, fraction_bits: int) -> FixedPoint:
        """Return the format with that many fractional bits."""


class Plan(ABC):
    """A training run that has been proven safe, or says that it is not. Its kinds are frozen dataclasses.

    A plan runs itself: it prepares an owner's rows, is the party program, owns the layout of what is opened, states
    what a certificate says of it, makes a model of its release, knows what it costs, and simulates itself in the clear.
    Nobody asks which kind it is.
    """

    if TYPE_CHECKING:  # fields or properties of the kinds; a property here would be taken for a field's default

        @property
        def facts(self) -> Facts:
            """The public facts."""

        @property
        def formats(self) -> Formats:
            """The fixed-point formats."""

        @property
        def epochs(self) -> int:
            """How often all rows are read."""

        @property
        def floor(self) -> Fraction | None:
            """Where the parties scale rows: no row is divided by less. None where the owners scale."""

        @property
        def own_columns(self) -> int:
            """How many columns an owner of whole rows adds to its features."""

        @property
        def constant(self) -> Fraction | None:
            """What the parties put into one more column of the joint data; None: there is none."""

        @property
        def mechanism_name(self) -> str:
            """The law of the noise."""

        @property
        def proven(self) -> bool:
            """Whether the guarantee is proven."""

        @property
        def total_delta(self) -> Fraction:
            """The delta of the guarantee, with the imperfection of the samplers and the check's ``check_delta``."""

        @property
        def rows_needed(self) -> int:
            """How many rows make a useful model at this epsilon and delta, about (``usefulness``)."""

        @property
        def warnings(self) -> tuple[str, ...]:
            """What a person should know before the run."""

        @property
        def ring_reason(self) -> str | None:
            """Why the smaller ring is too small, in half a sentence; None where it is used. Not in the hash."""

    @property
    def check_delta(self) -> Fraction:
        """The probability, at most, that a row or label against the rules passes the check of the parties."""
        return check_delta(self.facts.delta)

    @property
    def row_check(self) -> BlockCheck:
        """The tests of a whole row; where owners hold columns, each block has its own, in a run."""
        formats = self.formats
        return check_of(
            self.facts, formats.ring.bits, formats.data, formats.rounded, self.facts.input_cols + self.own_columns
        )

    @property
    def cols(self) -> int:
        """How many weights there are, with the intercept."""
        return self.facts.cols + int(self.facts.fit_intercept)

    def features(self, shape: Shape) -> InputFacts:
        """Return what is public of an owner's features of this shape."""
        return InputFacts(shape, self.formats.of(self.formats.data), 1.0)

    @property
    def target(self) -> Target:
        """What is predicted."""
        return loss_named(self.facts.loss, self.facts.largest_count).target.among(self.facts.classes)

    # --- what it opens and states ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def opened(self) -> Opened:
        """The layout of what is opened."""

    @property
    def kept(self) -> int:
        """How many of the numbers of ``opened``, the first, stay shared: those of every score, or none."""
        return self.opened.of_scores if self.facts.shared_model else 0

    @property
    def released(self) -> int:
        """How many numbers are opened."""
        return self.opened.count - self.kept

    @property
    def release_reason(self) -> str:
        """What is opened and why, for the audit log."""
        return KEPT_REASON if self.facts.shared_model else REASON

    @property
    def revealed(self) -> str:
        """What is opened, for people."""
        return self.opened.in_words(self.facts.shared_model)

    @property
    @abstractmethod
    def releases(self) -> tuple[CertifiedRelease, ...]:
        """Every noisy release, in order, with its exact sensitivity and scale in steps of its grid."""

    @abstractmethod
    def stated(self) -> Stated:
        """Return what the recipe states in a certificate."""

    @abstractmethod
    def scoring(self, released: Reals) -> Scoring:
        """Return how rows are scored with a release, from what ``opened.in_units`` returned."""

    @abstractmethod
    def served(self, noise: bool = True) -> Served:
        """Return how the parties score rows with the shares of what a run draws. noise: whether it draws any."""

    @abstractmethod
    def public_weights(self, released: Reals) -> PublicWeights:
        """Return what predictions use of a release, from what ``opened.in_units`` returned."""

    @abstractmethod
    def rows_for_scores(self, values: npt.ArrayLike, prepared: Reals) -> Reals:
        """Return whole rows as a score takes them, in the clear, none longer than 1 but for rounding.

        prepared: what ``opened.in_units`` returned, without what is part of scores.
        """

    def with_blank_weights(self, prepared: Reals) -> Reals:
        """Return released numbers with zeros for all that is part of scores."""
        return np.concatenate([np.zeros(self.opened.of_scores), prepared])

    @abstractmethod
    def sections(self) -> list[Section]:
        """Return what is planned for people, but for data and cost."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """How the model is trained, in half a sentence."""

    @property
    @abstractmethod
    def noise_in_words(self) -> str:
        """What noise is added, likewise."""

    # --- how it runs -----------------------------------------------------------------------------------------

    @abstractmethod
    def scaled_by_owner(self, x: Reals) -> Reals:
        """Return whole rows as an owner that scales them is to encode them."""

    @property
    def least_mean(self) -> Fraction | None:
        """What no mean of a row, in units of the bound, is below: tested on shares; None where nothing rests on it."""
        return None

    @property
    @abstractmethod
    def state(self) -> KeptState:
        """What checkpoints hold."""

    @abstractmethod
    def noisy_release(
        self, party: Party, holders: Holders, toss: Callable[[], bytes], checkpoints: Checkpoints | None
    ) -> SecretArray:
        """Return what may be opened, once. ``toss``: the coin for the check of rows. ``checkpoints``: of ``state``."""

    def exact_release(
        self, party: Party, holders: Holders, toss: Callable[[], bytes], checkpoints: Checkpoints | None
    ) -> SecretArray:
        """Return the weights without noise, which are never opened. Refused where every step has noise."""
        del party, holders, toss, checkpoints
        raise parameter_error("noise", "a plan", "true: this method adds noise in every step", False)

    # --- before and beside a run -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def shortest(self) -> Self:
        """The plan with as few epochs as forecasts have to run."""

    @abstractmethod
    def left_out(self, meter: Meter, again: Callable[[], Party], holders: Holders) -> tuple[Tally, Tally | None]:
        """Return what all epochs cost that ``shortest`` leaves out, and what one costs; None where it has them all.

        again: returns a party with the same inputs, whose steps ``meter`` counts.
        """

    @property
    @abstractmethod
    def penalty(self) -> Fraction | None:
        """Of the objective, which scikit-learn could minimise on ``comparable_rows``; None: there is no objective."""

    @abstractmethod
    def comparable_rows(self, values: npt.ArrayLike) -> Reals:
        """Return whole rows as training means them, in the clear: for comparisons with scikit-learn."""

    @property
    @abstractmethod
    def simulates_all_rows(self) -> bool:
        """Whether ``simulated_scores`` trains on as many rows as the study has, for every draw."""

    @abstractmethod
    def simulated_scores(self, data: PublicRows, draws: int, rng: np.random.Generator, kept: dict[Any, Any]) -> Reals:
        """Return the score of every test row (first axis) under every simulated release. ``kept``: for other calls."""

    def smoothed_scores(self, data: PublicRows, draws: int, rng: np.random.Generator) -> Reals | None:
        """Return the same, smoothed by the test rows; None where scores of this plan cannot be smoothed."""
        del data, draws, rng
        return None

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the plan in plain numbers: what ``cofit plan --json`` prints."""

    @property
    def hash(self) -> str:
        """SHA-256 of the plan, of every number of it and of the check of rows in full: equal hashes, equal runs."""
        return hashlib.sha256(
            json.dumps([PLAN_VERSION, exact(CONSTANTS), exact(self)], sort_keys=True).encode()
        ).hexdigest()


def large_delta(facts: Facts) -> tuple[str, ...]:
    """Return a warning where delta is no small probability: a mechanism that publishes one record has delta = 1 / n."""
    if facts.delta * facts.rows < 1:
        return ()
    return (
        f"delta = {float(facts.delta):.2g} is 1 / n or more for {facts.rows:,} records: that would allow to publish a "
        f"record at random; use one far below 1 / n",
    )


def plain_formats(plan: Plan) -> dict[str, Any]:
    """Return formats and ranges in plain numbers."""
    formats = plan.formats
    return {
        "evaluation": formats.evaluation.description,
        "ring": formats.ring.name,
        "ring_reason": plan.ring_reason,
        "bits": {
            "data": formats.data,
            "weights": formats.weights,
            "argument": formats.argument,
            "scaled": formats.scaled,
            "inverse_norm": formats.inverse_norm,
            "product": formats.product,
        },
        "largest_weight_norm": float(formats.radius),
        "largest_argument": float(formats.argument_radius),
    }
