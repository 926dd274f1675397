"""Queries at a party: counted once, limited, replaced, ended, and found again after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic.prg import fresh_seed
from cofit.errors import CofitError, InvalidInputError, StateError
from cofit.roles.client.query import Asking
from cofit.roles.client.served_model import ServedModel
from cofit.roles.files.audit import AuditFile
from cofit.roles.jobs.of_study import training_job
from cofit.roles.party.queries import KEPT_SECONDS, MOST_QUERIES, Queries, Query
from cofit.roles.party.state import PartyState
from cofit.roles.service.doors import BusyError, RefusedError
from unit.study.studies import EXACT, study_of

STUDY = study_of(EXACT)
JOB = training_job(STUDY)
assert JOB.questions is not None
MODEL = ServedModel(JOB.questions, np.zeros(0), None, "")
CLIENT, LIMIT, RANK = "stranger", 50, 1


class Desk:
    """The queries of one party, with a clock of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now = folder, 1e9
        self.open()

    def open(self) -> None:
        self.state = PartyState(self.folder, STUDY.hash, "party-b")
        self.audit = AuditFile(self.folder / "audit.jsonl")
        assert JOB.questions is not None
        self.queries = Queries(STUDY, JOB.questions, RANK, self.state, self.audit, lambda: self.now)

    def close(self) -> None:
        self.queries.close()
        self.audit.close()
        self.state.close()

    def begin(self, rows: int = 10, seed: bytes | None = None) -> Asking:
        asking = Asking(MODEL, CLIENT, "classes", np.zeros((rows, 10)), seed or fresh_seed())
        self.queries.begin(CLIENT, self.announced(asking))
        self.now += 1
        return asking

    def announced(self, asking: Asking) -> dict[str, Any]:
        asked = asking.question
        return {"query": asked.query, "rows": asked.rows, "answers": asked.answers, "manifest": asking.dealt().manifest}

    def complete(self, rows: int = 10) -> Query:
        asking = self.begin(rows)
        query = self.queries.of(CLIENT, asking.question.query)
        for name, component in asking.dealt().files_of(RANK):
            query.state.append(CLIENT, query.id, name, 0, b"".join(component.content()))
        query.state.commit(CLIENT, query.id)
        self.queries.seal(query)
        return query


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    one = Desk(tmp_path / "state")
    yield one
    one.close()


def test_rows_are_counted_once_and_never_beyond_the_limit(desk: Desk) -> None:
    first, second = desk.complete(30), desk.complete(20)
    desk.queries.charge(first)
    desk.queries.charge(first)
    assert desk.queries.counted(CLIENT) == 30
    desk.queries.charge(second)
    assert desk.queries.counted(CLIENT) == LIMIT
    with pytest.raises(RefusedError, match=r"50 are used: 1 more are too many\. To ask more, agree on a study"):
        desk.begin(1)


def test_what_is_sealed_is_kept_free_for_it(desk: Desk) -> None:
    desk.complete(40)
    desk.begin(10)
    with pytest.raises(RefusedError, match=r"40 are used: 11 more are too many\. Ask about 10 or fewer, or agree"):
        desk.begin(11)


def test_the_count_itself_is_held_to_the_limit(desk: Desk) -> None:
    """Whatever went wrong before: two queries that are together beyond it are not both counted."""
    first, second = desk.complete(30), desk.complete(20)
    object.__setattr__(second.job.question, "rows", 21)
    desk.queries.charge(first)
    with pytest.raises(RefusedError, match="too many"):
        desk.queries.charge(second)
    assert desk.queries.counted(CLIENT) == 30


def test_counts_and_queries_are_there_after_a_restart(desk: Desk) -> None:
    query = desk.complete(30)
    desk.queries.charge(query)
    name = query.id
    desk.close()
    desk.open()
    assert desk.queries.counted(CLIENT) == 30
    found = desk.queries.of(CLIENT, name)
    assert found.state.phase == "sealed" and found.complete and [q.id for q in desk.queries.waiting()] == [name]
    desk.queries.charge(found)
    assert desk.queries.counted(CLIENT) == 30


def test_what_was_only_begun_when_a_process_ended_is_deleted(desk: Desk) -> None:
    folder = desk.folder / "queries" / ("a" * 32)
    desk.begin()
    PartyState(folder, STUDY.hash, "party-b").close()
    desk.close()
    desk.open()
    assert not folder.exists() and len(list((desk.folder / "queries").iterdir())) == 1


def test_an_id_that_was_counted_never_comes_back(desk: Desk) -> None:
    query = desk.complete(10)
    desk.queries.charge(query)
    query.state.advance("released")
    seed_of_it = query.id
    desk.queries.done(CLIENT, seed_of_it)
    assert not query.state.directory.exists()
    job = query.job
    with pytest.raises(StateError, match="answered before"):
        desk.queries._check_new(job)


def test_a_client_has_so_many_queries_and_a_new_one_replaces_the_oldest_idle_one(desk: Desk) -> None:
    names = [desk.begin(1).question.query for _ in range(MOST_QUERIES)]
    desk.begin(1)
    with pytest.raises(StateError, match="No such query"):
        desk.queries.of(CLIENT, names[0])
    desk.queries.of(CLIENT, names[1])


def test_queries_that_are_computed_are_not_replaced(desk: Desk) -> None:
    for _ in range(MOST_QUERIES):
        query = desk.complete(1)
        with pytest.raises(StateError, match="being computed"):
            desk.queries.done(CLIENT, query.id)
    with pytest.raises(BusyError, match="are being computed"):
        desk.begin(1)


def test_after_a_day_a_query_ends(desk: Desk) -> None:
    query = desk.complete(5)
    desk.now += KEPT_SECONDS - 10
    desk.queries.expire()
    assert desk.queries.get(query.id) is not None
    desk.now += 20
    desk.queries.expire()
    assert desk.queries.get(query.id) is None and not query.state.directory.exists()


def test_a_query_that_failed_is_told_why(desk: Desk) -> None:
    query = desk.complete(5)
    desk.queries.fail(query, "because")
    assert query.state.phase == "failed" and query.state.fact("why") == "because"
    assert list(desk.queries.waiting()) == []


def test_the_same_id_with_another_content_is_refused(desk: Desk) -> None:
    seed = fresh_seed()
    asking = desk.begin(10, seed)
    desk.queries.begin(CLIENT, desk.announced(asking))  # the same again resumes
    other = {**desk.announced(asking), "rows": 9}
    with pytest.raises(CofitError):
        desk.queries.begin(CLIENT, other)
    with pytest.raises(InvalidInputError, match="client"):
        desk.queries.begin("analyst", desk.announced(asking))
