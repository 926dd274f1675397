"""What every plan of a training run has: everything that follows from public facts, before any secret is touched."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.learn.exact import exact
from cofit.learn.facts import Facts
from cofit.learn.losses import Evaluation
from cofit.learn.row_check import CONSTANTS, BlockCheck, check_delta, check_of

PLAN_VERSION = 4


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
    """A training run that has been proven safe, or says that it is not. Its kinds are frozen dataclasses."""

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
        def released(self) -> int:
            """How many numbers are opened."""

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
            self.facts, formats.ring.bits, formats.data, formats.rounded, self.facts.cols + self.own_columns
        )

    @property
    def cols(self) -> int:
        """How many weights there are, with the intercept."""
        return self.facts.cols + int(self.facts.fit_intercept)

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
