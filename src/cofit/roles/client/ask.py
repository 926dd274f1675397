"""The client's side of private predictions: a table goes to the parties in batches, and the answers come back.

While the parties compute one batch, the next is shared and sent. What was answered is on the client's disk before the
parties forget it (``journal``), so that a repeated command asks only for what is missing.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, StateError, parameter_error
from cofit.privacy.certificate import Certificate
from cofit.roles.client.journal import Journal
from cofit.roles.client.query import Asking, QueryLostError
from cofit.roles.client.served_model import ServedModel, fetch_model
from cofit.roles.client.statement import QueryStatement
from cofit.roles.owner.upload import incarnations
from cofit.roles.service.conversations import Connect, connector
from cofit.study.document import Study
from cofit.transport import Identity

Reals = npt.NDArray[np.float64]
_MOST_ATTEMPTS = 3


@dataclass(frozen=True)
class AskProgress:
    """How many rows of how many are answered."""

    done: int
    total: int


@dataclass(frozen=True)
class PrivateAnswers:
    """What a client has got. values: a row for each row: scores (of a number: predictions, in its own units),
    probabilities of the second class (of several: of each against the rest), or places of classes. statement: what was
    answered, and what that reveals. certificate: of the model; None where it has no noise, and so none."""

    values: Reals
    statement: QueryStatement
    certificate: Certificate | None = None


def ask_privately(
    study: Study,
    identity: Identity,
    rows: Reals,
    answers: str | None = None,
    state: Path | None = None,
    progress: Callable[[AskProgress], None] | None = None,
    batch_rows: int | None = None,
) -> PrivateAnswers:
    """Return the parties' answers about encoded rows, which nobody else reads; nor does any party read a row.

    rows: encoded as the study says, columns in the order of its weights. answers: a kind that the study allows; None:
    the first of them. state: a private directory, by which a repetition goes on; it stays until
    ``Journal.delete``. batch_rows: how many rows a query has, at most as many as the plan says.

    RequestRefusedError where a party refuses, as beyond the client's limit; another TransportError where one cannot be
    reached; ProtocolError where the parties' answers differ; StateError where they could not answer.
    """
    kind = _kind(study, answers)
    model = fetch_model(study, identity)
    reference, facts = study.data.reference, model.training.facts
    columns = facts.cols if reference is None else reference.inputs
    if rows.ndim != 2 or rows.shape[1] != columns or not len(rows) or not np.isfinite(rows).all():
        must_be = f"a table of finite numbers with {columns} columns and at least one row"
        raise parameter_error("rows", "private predictions", must_be, f"shape {rows.shape}")
    most = model.plan.batch_rows if batch_rows is None else min(batch_rows, model.plan.batch_rows)
    if most < 1:
        raise parameter_error("batch_rows", "private predictions", "at least 1", batch_rows)
    digest = hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()
    if reference is not None:
        rows = reference.for_scores(rows, float(facts.feature_bound), float(model.training.floor or 0))
    asked = {"study": study.hash, "client": identity.name, "answers": kind, "batch": most, "table": digest}
    if state is None:
        from tempfile import TemporaryDirectory  # noqa: PLC0415 - for those who want no repetition

        with TemporaryDirectory(prefix="cofit-ask-") as folder:
            return _Batches(model, identity, kind, rows, most, Journal(Path(folder) / "asking", asked), progress).run()
    return _Batches(model, identity, kind, rows, most, Journal(state, asked), progress).run()


def _kind(study: Study, answers: str | None) -> str:
    if not study.clients:
        raise InvalidInputError(f"Study '{study.name}' has no clients ([[clients]]), so its parties answer nobody.")
    allowed = study.release.answers
    if answers is None:
        return allowed[0]
    if answers not in allowed:
        raise parameter_error("answers", "private predictions", f"one of {list(allowed)}, as the study says", answers)
    return answers


class _Batches:
    """All batches of one table."""

    def __init__(
        self,
        model: ServedModel,
        identity: Identity,
        kind: str,
        rows: Reals,
        most: int,
        journal: Journal,
        progress: Callable[[AskProgress], None] | None,
    ) -> None:
        self._model, self._client, self._kind, self._rows, self._journal = model, identity.name, kind, rows, journal
        self._places = [slice(start, min(start + most, len(rows))) for start in range(0, len(rows), most)]
        self._connect: Connect = connector(model.study, identity)
        self._progress = progress
        self._counted: int | None = None
        self._stopped = threading.Event()
        self._parties: dict[str, str] = {}

    def run(self) -> PrivateAnswers:
        """Ask for what is missing; return all."""
        self._journal.open()
        self._parties = incarnations([party.name for party in self._model.study.parties], self._connect)
        waiting: tuple[int, Future[None]] | None = None
        with ThreadPoolExecutor(1) as pool:
            try:
                for batch in range(len(self._places)):
                    if self._journal.answers(batch) is None:
                        asking = self._sent(batch)
                        if waiting is not None:
                            waiting[1].result()
                        waiting = batch, pool.submit(self._fetch, batch, asking)
                    self._tell(batch if waiting is not None else batch + 1)
                if waiting is not None:
                    waiting[1].result()
            except BaseException:
                self._stopped.set()
                raise
        self._tell(len(self._places))
        found = [self._journal.answers(batch) for batch in range(len(self._places))]
        values = np.concatenate([one for one in found if one is not None])
        return PrivateAnswers(values, self._statement(), self._model.certificate)

    def _sent(self, batch: int) -> Asking:
        """Share and send a batch; with a new secret where the parties have ended its query."""
        seed = self._journal.seed(batch)
        for _ in range(_MOST_ATTEMPTS):
            asking = self._asking(batch, seed)
            try:
                asking.send(self._parties, self._connect)
                return asking
            except QueryLostError as error:
                seed, lost = self._journal.renewed(batch), error
        raise StateError(f"The parties do not take the query: {lost}")

    def _fetch(self, batch: int, asking: Asking) -> None:
        """Get and keep the answers to a batch; ask anew where the parties have ended its query."""
        for attempt in range(_MOST_ATTEMPTS):
            try:
                answered = asking.fetch(self._parties, self._connect, self._stopped.is_set)
                break
            except QueryLostError as error:
                if attempt + 1 == _MOST_ATTEMPTS:
                    raise StateError(f"The parties could not answer: {error}") from None
                self._journal.renewed(batch)
                asking = self._sent(batch)
        self._counted = max(self._counted or 0, answered.counted)
        self._journal.keep(batch, self._in_units(answered.integers))
        asking.done(self._parties, self._connect)

    def _asking(self, batch: int, seed: bytes) -> Asking:
        return Asking(self._model, self._client, self._kind, self._rows[self._places[batch]], seed)

    def _in_units(self, integers: npt.NDArray[Any]) -> Reals:
        """Return answers as numbers that people use."""
        if self._kind == "classes":
            return integers.astype(np.float64)
        values = integers.astype(np.float64) / 2.0**self._model.plan.score_bits
        study = self._model.study
        if study.data.label_range is None:
            return values
        return study.data.target(study.model.kind).predicted(values, study.data.label_range)

    def _tell(self, batches: int) -> None:
        if self._progress is not None:
            done = self._places[batches - 1].stop if batches else 0
            self._progress(AskProgress(done, len(self._rows)))

    def _statement(self) -> QueryStatement:
        return QueryStatement.of(self._model, self._client, self._kind, len(self._rows), self._counted)
