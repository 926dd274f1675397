"""One query of a client: from prepared rows to answers that nobody else has read.

Everything follows from one seed, which the client keeps until it has the answers: the id, the shares, the mask. So a
client that was stopped goes on with the same query, which is counted once; and a seed that the parties know nothing of
any more is replaced by a new one, so that no mask serves two computations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import RingArray
from cofit.arithmetic.prg import Generator, derive_seed
from cofit.errors import CofitError, ProtocolError, StateError, StoppedError, TransportError
from cofit.learn.inference.plan import MASK, ROWS
from cofit.learn.recipes.descent.formats import towards_zero
from cofit.roles.client.served_model import ServedModel
from cofit.roles.files.manifest import DealtContribution, deal_contribution, upload_id
from cofit.roles.jobs.job import Question
from cofit.roles.jobs.predictions import Prediction
from cofit.roles.owner.upload import Asks, UploadProgress, send_dealt
from cofit.roles.service.conversations import Connect, opened, patiently
from cofit.transport import Conversation, RequestRefusedError

Reals = npt.NDArray[np.float64]
_POLL_SECONDS, _SLOWEST_POLL = 0.1, 2.0
_WORDS = {"scores": "score", "probabilities": "probability", "classes": "class"}


class QueryLostError(CofitError):
    """The parties know nothing of a query any more, or ended it: ask anew, with another seed."""


@dataclass(frozen=True)
class Answered:
    """The answers to one query: integers, a row for each row. counted: of how many rows the client was answered in all,
    as the party that counts most says."""

    integers: npt.NDArray[Any]
    counted: int


class Asking:
    """One query. seed: its secret."""

    def __init__(self, model: ServedModel, client: str, answers: str, rows: Reals, seed: bytes) -> None:
        self._model = model
        self._seed = seed
        self._rows = rows
        self.question = Question(upload_id(seed), client, len(rows), answers)
        self._job: Prediction = model.predictions.asked(self.question)

    @property
    def mask(self) -> RingArray:
        """The one-time pad of the answers."""
        shape = self._job.inputs[self.question.client][MASK].shape
        return self._model.plan.ring.uniform(Generator(derive_seed(self._seed, "mask")).draw, shape)

    def dealt(self) -> DealtContribution:
        """Share the rows and the mask."""
        facts = self._job.inputs[self.question.client]
        format = facts[ROWS].format
        prepared = self._model.training.rows_for_scores(self._rows, self._model.prepared)
        encoded = format.encode(towards_zero(prepared, format.fraction_bits), facts[ROWS].bound)
        inputs = {ROWS: (facts[ROWS], encoded), MASK: (facts[MASK], self.mask)}
        return deal_contribution(self._job.spec, inputs, self._seed, self._job.hash)

    def send(
        self, parties: Mapping[str, str], connect: Connect, progress: Callable[[UploadProgress], None] | None = None
    ) -> None:
        """Return when every party has all of it on disk. QueryLostError where one has ended it before."""
        asked = self.question
        facts = {"query": asked.query, "rows": asked.rows, "answers": asked.answers}
        try:
            send_dealt(parties, self.dealt(), connect, progress, Asks("query", facts))
        except RequestRefusedError as error:
            if error.kind == StateError.__name__:
                raise QueryLostError(str(error)) from None
            raise

    def fetch(self, parties: Mapping[str, str], connect: Connect, stopped: Callable[[], bool]) -> Answered:
        """Wait for the masked answers of all parties, compare them, and take the mask off."""
        copies: dict[str, bytes] = {}
        counted = 0
        for party in parties:
            content, told = self._fetched(party, connect, stopped)
            copies[party], counted = content, max(counted, told)
        (first, reference), *others = copies.items()
        for name, content in others:
            if content != reference:
                raise ProtocolError(
                    f"'{first}' and '{name}' answered differently: one of them is wrong. Do not use the answers; let "
                    "them compare their audit logs."
                )
        return Answered(self._unmasked(reference), counted)

    def _unmasked(self, content: bytes) -> npt.NDArray[Any]:
        ring = self._model.plan.ring
        plain = ring.to_int(ring.sub(self._job.elements(content), self.mask))
        return np.asarray(plain).reshape(self.question.rows, -1)

    def _fetched(self, party: str, connect: Connect, stopped: Callable[[], bool]) -> tuple[bytes, int]:
        """Return what one party has opened, and of how many rows it has counted."""
        content = bytearray()

        def attempt() -> int:
            with opened(connect, party) as conversation:
                return self._complete(conversation, party, content, stopped)

        try:
            counted = patiently(party, attempt, lambda: len(content))
        except RequestRefusedError as error:
            if error.kind == StateError.__name__:
                raise QueryLostError(str(error)) from None
            raise
        return bytes(content), counted

    def _complete(self, conversation: Conversation, party: str, content: bytearray, stopped: Callable[[], bool]) -> int:
        """Ask for the answer until all of it is in ``content``; return the count."""
        most = self._job.policy.count * self._model.plan.ring.element_bytes
        pause = _POLL_SECONDS
        while True:
            if stopped():
                raise StoppedError("The query was stopped.")
            request = {"request": "query.answer", "query": self.question.query, "offset": len(content)}
            told, piece = conversation.request(request)
            if told.get("phase") == "failed":
                raise QueryLostError(f"'{party}' has ended the query: {told.get('why')}")
            content += piece
            answered = told.get("phase") == "released"
            if len(content) > most or (answered and (told.get("size") != most or not (piece or len(content) == most))):
                raise TransportError(
                    party, f"What '{party}' sends is no answer. Run the same cofit release everywhere."
                )
            if answered and len(content) == most:
                return _count(told)
            if not answered:
                time.sleep(pause)
                pause = min(1.3 * pause, _SLOWEST_POLL)

    def done(self, parties: Mapping[str, str], connect: Connect) -> None:
        """Tell the parties that they need keep nothing of it; whoever cannot be told forgets it after a day."""
        for party in parties:
            try:
                with opened(connect, party) as conversation:
                    conversation.request({"request": "query.done", "query": self.question.query})
            except TransportError:
                continue


def _count(told: Mapping[str, Any]) -> int:
    counted = told.get("counted")
    return counted if isinstance(counted, int) and not isinstance(counted, bool) else 0


def column_name(answers: str) -> str:
    """Return what an answer of this kind is called."""
    return _WORDS[answers]
