"""The job of answering one question of a client: from its shared rows to answers that it alone can read.

The client shares its prepared rows and a mask (``secret.masked``); the parties compute the answers with the weights
that training has left them, shared or published, and open the sum of answers and mask among themselves. A query is a
job as training is: its inputs are announced, stored and compared, the release is charged (rows are counted), stored by
all parties before it is opened, and opened once in all sessions. What differs is who learns it, and that its state is a
directory of its own, which ends with the query.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import RingArray
from cofit.errors import InvalidInputError, ProtocolError, parameter_error
from cofit.learn.inference.plan import MASK, ROWS, InferencePlan, plan_inference
from cofit.learn.inference.program import blank_weights, bounded, secret_answers
from cofit.learn.inference.served import PublicWeights
from cofit.learn.plan import Plan
from cofit.roles.files.ledger import Ledger
from cofit.roles.jobs.job import AllowedOpening, Kept, OneRelease, Outcome, Policy, Question, Work
from cofit.secret import InputFacts, Opening, SecretArray
from cofit.secret.masked import masked
from cofit.secret.release import stored_value
from cofit.study.agreement import Agreement
from cofit.study.document import Study
from cofit.transport import Identity

Numbers = Callable[[bytes], tuple[float, ...]]
_HASHED = "cofit query 1 "


class Predictions:
    """Implements ``Questions``: of a study with clients, whose training is done.

    key: under which training has stored its release. numbers: reads them from what it has published.
    """

    def __init__(self, study: Study, plan: Plan, key: str, numbers: Numbers) -> None:
        self.study = study
        self.training = plan
        self.key = key
        self.numbers = numbers

    @cached_property
    def plan(self) -> InferencePlan:
        """Formats and errors of all answers."""
        release = self.study.release
        return plan_inference(self.training, noise=release.noise, public=not release.shared)

    def asked(self, question: Question, kept: Kept | None = None) -> Prediction:
        study = self.study
        if study.client(question.client) is None:
            must_be = f"one of the study's clients, {[client.name for client in study.clients]}"
            raise parameter_error("client", "a query", must_be, question.client)
        if question.answers not in study.release.answers:
            must_be = f"one of {list(study.release.answers)}, which the study allows"
            raise parameter_error("answers", "a query", must_be, question.answers)
        return Prediction(self, question, kept)

    def weights(self, work: Work, kept: Kept | None) -> SecretArray | PublicWeights:
        """Return what rows are multiplied by; zeros, of the same bounds, at a dealer. 1 round where it is shared."""
        plan, party = self.plan, work.party
        if plan.public:
            if kept is None:
                shape = plan.served.columns, plan.served.outputs
                return PublicWeights(np.zeros(shape), np.zeros(plan.served.outputs))
            return self.training.public_weights(np.array(self.numbers(kept.published())))
        drawn = stored_value(party, None if kept is None else kept.store(), self.key)
        if drawn is None:
            return blank_weights(party, plan)
        return bounded(plan, drawn[: plan.served.count])


@dataclass(frozen=True)
class QueryPolicy(Policy):
    """What a query opens. Its rows are counted by the party's own count of the client, and no ledger is charged."""

    question: Question
    count: int
    parties: tuple[str, ...]

    @property
    def openings(self) -> tuple[AllowedOpening, ...]:
        asked = self.question
        reason = f"{asked.answers} of {asked.rows} rows of '{asked.client}', under the mask of that client alone"
        return (AllowedOpening(reason, (self.count,), self.parties),)

    def charge(self, ledger: Ledger, dataset: str, study: Agreement, parties: Collection[str] = ()) -> bool:
        return False

    def due(self, ledger: Ledger, dataset: str, study: Agreement, parties: Collection[str] | None = None) -> bool:
        return False

    @property
    def charged(self) -> Mapping[str, float]:
        return {"rows": float(self.question.rows)}


class Prediction(OneRelease):
    """Implements ``QueryJob``: the answer to one question."""

    name = "prediction"
    state = None
    ranks: Mapping[str, int] = {}

    def __init__(self, predictions: Predictions, question: Question, kept: Kept | None) -> None:
        self.study: Agreement = predictions.study
        self.question = question
        self.limit = next(c.rows for c in predictions.study.clients if c.name == question.client)
        self.spec = predictions.training.facts.spec(len(self.study.parties))
        self.inputs: Mapping[str, Mapping[str, InputFacts]] = {
            question.client: predictions.plan.inputs(question.rows, question.answers)
        }
        named = [question.query, question.client, question.rows, question.answers, predictions.key]
        self.hash = hashlib.sha256(f"{_HASHED}{json.dumps(named)}".encode()).hexdigest()
        self.policy = QueryPolicy(
            question,
            question.rows * predictions.plan.outputs(question.answers),
            tuple(party.name for party in self.study.parties),
        )
        self._predictions = predictions
        self._kept = kept

    def value(self, work: Work) -> SecretArray:
        """Compute the answers, and add the client's mask."""
        party, asked = work.party, self.question
        if self._kept is None and not party.deals and party.holds_values:
            raise ProtocolError("This job was made without the model: nothing can be answered.")
        weights = self._predictions.weights(work, self._kept)
        rows = party.input(asked.client, ROWS)
        answers = secret_answers(party, self._predictions.plan, asked.answers, rows, weights, work.coin())
        return masked(party, answers, asked.client, MASK)

    def in_units(self, opened: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the integers that were opened: they are uniform, and have no unit."""
        return opened

    def publish(self, outcome: Outcome, openings: Sequence[Opening], created: str) -> bytes:
        """Return the masked answers as the client fetches them: elements of the ring, one after the other."""
        del openings, created
        ring = self._predictions.plan.ring
        return ring.from_int(outcome.numbers).tobytes()

    def elements(self, published: bytes) -> RingArray:
        """Return the masked answers in what ``publish`` made; raise InvalidInputError if it is of another query."""
        ring = self._predictions.plan.ring
        if len(published) != self.policy.count * ring.element_bytes:
            raise InvalidInputError("The answer of a query has another length than its study says.")
        return np.frombuffer(published, ring.dtype).reshape(self.policy.count)

    def numbers(self, published: bytes) -> tuple[float, ...]:
        """Return the masked integers."""
        return tuple(self._predictions.plan.ring.to_int(self.elements(published)).tolist())

    def to_sign(self, identity: Identity, published: bytes) -> bytes:
        """A query is answered over TLS to the client alone, and nobody signs it."""
        raise ProtocolError("The answer of a query is not signed.")

    def progress(self, step: str, done: int, total: int) -> str:
        """Return the step of which query."""
        del done, total
        return f"query {self.question.query[:8]} of '{self.question.client}': {step}"

    def seconds(self, latency: float, rate: float) -> Mapping[str, tuple[float, float]]:
        """Return nothing: a query takes seconds."""
        del latency, rate
        return {}
