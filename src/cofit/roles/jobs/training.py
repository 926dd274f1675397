"""The job of training: from the owners' contributions to the noisy weights and their certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import RingArray
from cofit.errors import InvalidInputError
from cofit.learn.certify import certify
from cofit.learn.checkpoint_steps import every, minute_by_minute
from cofit.learn.contribution import encoded_features
from cofit.learn.forecast import Contributors, Forecast, forecast
from cofit.learn.inputs import FEATURES, WEIGHTS
from cofit.learn.memory import Memory
from cofit.learn.plan import Plan
from cofit.learn.releases import accounted_releases
from cofit.learn.weights import encoded_weights
from cofit.roles.files.published import Release
from cofit.roles.files.signatures import bytes_to_sign
from cofit.roles.jobs.job import OneRelease, Outcome, ReleasePolicy, Work
from cofit.roles.jobs.predictions import Predictions
from cofit.roles.jobs.steps import release_key
from cofit.secret import InputFacts, Opening, SecretArray
from cofit.secret.checkpoints import KeptState
from cofit.secret.party import PREPARATION
from cofit.sharing.inputs import Values
from cofit.study.document import Study
from cofit.study.encoding import study_encoding
from cofit.study.expected import expected_contributions, holders, party_ranks
from cofit.study.plan import study_plan
from cofit.transport import Identity

if TYPE_CHECKING:
    from cofit.study.encode import EncodedTable

Reals = npt.NDArray[np.float64]
_STEP = "train"


class Training(OneRelease):
    """Implements ``Job``: the training that a study describes, by its plan."""

    name = "training"
    study: Study

    def __init__(self, study: Study) -> None:
        self.study = study
        self.plan: Plan = study_plan(study)
        self.hash = self.plan.hash
        self.spec = self.plan.facts.spec(len(study.parties))
        self.inputs: Mapping[str, Mapping[str, InputFacts]] = expected_contributions(study, self.plan)

    @cached_property
    def questions(self) -> Predictions | None:  # type: ignore[override]
        """The predictions for the study's clients, if it has any."""
        return Predictions(self.study, self.plan, release_key(self), self.numbers) if self.study.clients else None

    @cached_property
    def policy(self) -> ReleasePolicy:
        """The noisy weights, to all parties; charged is what the certificate states."""
        return ReleasePolicy(
            reason=self.plan.release_reason,
            shape=(self.plan.released,),
            learned_by=tuple(party.name for party in self.study.parties),
            epsilon=self.plan.facts.epsilon,
            delta=self.plan.total_delta,
            releases=accounted_releases(self.plan),
            kept=self.plan.kept,
        )

    @property
    def contributors(self) -> Contributors:
        """Who contributes what, for forecasts."""
        return Contributors(self.inputs, holders(self.study), party_ranks(self.study))

    @cached_property
    def state(self) -> KeptState | None:
        """What the plan says, as often as the study says, or after a minute of work each; None where that is never."""
        compute, kept = self.study.compute, self.plan.state
        if compute.checkpoint_epochs is not None:
            due = every(kept.steps, compute.checkpoint_epochs)
        else:
            parties = len(self.study.parties)
            due = minute_by_minute(self.plan, kept.steps, self.contributors, parties, compute.latency)
        return replace(kept, due=due) if due else None

    def encode(self, name: str, facts: InputFacts, table: EncodedTable) -> Values | None:
        """Return the features, the labels or the weights as the plan wants them."""
        if name == WEIGHTS:
            return self._weights(facts, table)
        if name == FEATURES:
            held = table.features
            return None if held is None else encoded_features(self.plan, held, facts.format, facts.bound)
        if table.labels is None:
            return None
        return facts.format.encode(self.plan.target.encoded(table.labels), facts.bound)

    def _weights(self, facts: InputFacts, table: EncodedTable) -> RingArray | None:
        bound = self.plan.facts.weight_bound
        if table.weights is None or bound is None:
            return None
        return facts.format.encode(encoded_weights(table.weights, bound), facts.bound)

    def value(self, work: Work) -> SecretArray:
        """Train and perturb."""
        if work.spread is not None:
            work.spread(work.party)
        return self.plan.noisy_release(work.party, holders(self.study), work.coin, work.checkpoints)

    def in_units(self, opened: npt.NDArray[Any]) -> Reals:
        """Return the weights, unless they stay shared, and what else a score needs, as real numbers."""
        return self.plan.opened.in_units(opened, self.plan.kept)

    def publish(self, outcome: Outcome, openings: Sequence[Opening], created: str) -> bytes:
        """Return the weights and their certificate."""
        study = self.study
        certificate = certify(
            self.plan,
            parties=[party.name for party in study.parties],
            dealer=None if study.dealer is None else study.dealer.name,
            owners={owner: {name: facts.shape for name, facts in i.items()} for owner, i in self.inputs.items()},
            openings=openings,
            created=created,
            study=study.hash,
        )
        return Release(tuple(outcome.numbers.tolist()), certificate).to_json().encode()

    def numbers(self, published: bytes) -> tuple[float, ...]:
        """Return the weights of a release of this study."""
        return self._release(published).weights

    def to_sign(self, identity: Identity, published: bytes) -> bytes:
        """Return weights, certificate and the meaning of the columns, as ``files.signatures`` says."""
        return bytes_to_sign(identity, self._release(published), study_encoding(self.study))

    def progress(self, step: str, done: int, total: int) -> str:
        """Return the step; of the training, the epoch too; of a preparation in several parts, how many are done."""
        if step == PREPARATION and total > 1:
            return f"{step}: {done} of {total}"
        return f"{step}: epoch {done} of {total} ({done / total:.0%})" if step == _STEP and total else step

    def seconds(self, latency: float, rate: float) -> Mapping[str, tuple[float, float]]:
        """Return what the forecast of the plan says of each step; the owners' part is over when a session begins."""
        there = self._forecast.at(latency, rate)
        epochs = min(there.train.seconds, self.plan.epochs * there.epoch.seconds)
        stored = 0.0 if there.checkpoints is None else there.checkpoints.seconds
        steps = {"check": there.check, "noise": there.noise, "release": there.release}
        return {
            **{name: (0.0, phase.seconds) for name, phase in steps.items()},
            _STEP: (there.train.seconds - epochs, epochs + stored),
        }

    @property
    def memory(self) -> Memory:  # type: ignore[override]
        """What the plan needs."""
        return self._forecast.memory

    @property
    def head_memory(self) -> Memory | None:  # type: ignore[override]
        """What the plan needs at a head, where rows are in shards."""
        return self._forecast.head_memory

    @property
    def shards(self) -> int | None:  # type: ignore[override]
        """Those of the plan."""
        return self.plan.facts.shards

    @cached_property
    def _forecast(self) -> Forecast:
        parties, noise = len(self.study.parties), self.study.release.noise
        return forecast(self.plan, owners=self.contributors, parties=parties, kept=self.state, noise=noise)

    def _release(self, published: bytes) -> Release:
        try:
            release = Release.from_json(published.decode())
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"A release is not UTF-8 text: {error.reason}.") from None
        if release.certificate.study != self.study.hash:
            raise InvalidInputError("It is the release of another study.")
        return release
