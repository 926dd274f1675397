"""The queries of a client at one party: what it counts, what it takes and lets go, and what a lying client gains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cofit.roles.party.answering as answering_module
import cofit.roles.party.queries as queries_module
from cofit.errors import InvalidInputError, ProtocolError, StateError
from cofit.roles.files.manifest import DealtContribution, deal_contribution, fresh_upload_seed, upload_id
from cofit.roles.jobs.job import Question
from cofit.roles.jobs.of_study import training_job
from cofit.roles.jobs.predictions import Predictions
from cofit.roles.party.answering import Answering
from cofit.roles.party.desk import PartyDesk
from cofit.roles.party.guard import Guard
from cofit.roles.party.queries import KEPT_SECONDS, MOST_QUERIES, STUCK_SECONDS, Queries
from cofit.roles.party.query_desk import QueryDesk
from cofit.roles.party.sealing import Sealing
from cofit.roles.service.doors import BusyError, Doors, RefusedError
from cofit.secret import Opening
from unit.roles.party_directory import PartyDirectory
from unit.study.studies import CLIENTS, changed, study_of

CLIENT, OTHER, LIMIT, RANK = "stranger", "owner-b", 50, 1
STUDY = study_of(changed(CLIENTS, {"clients.1": {"name": OTHER, "certificate": f"{OTHER}.pem", "rows": LIMIT}}))


@cache
def predictions() -> Predictions:
    found = training_job(STUDY).questions
    assert found is not None
    return found


class Party(PartyDirectory):
    """A party that has the model, and what it answers to clients and to the leader."""

    def begin(self) -> None:
        state, audit = self.start()
        state.advance("released")
        self.main, self.now = state, 0.0
        self.queries = Queries(STUDY, predictions(), RANK, state, audit, lambda: self.now)
        self.invited: list[str] = []
        doors = Doors("This party", lambda: 0.0)
        self.desk = QueryDesk(self.queries, state, doors, lambda: "i", lambda _, query: self.invited.append(query))

    def end(self) -> None:
        self.queries.close()
        self.stop()

    def ask(self, kind: str, payload: bytes = b"", client: str = CLIENT, **fields: Any) -> dict[str, Any]:
        return self.desk.requests[kind].action(client, fields, payload)[0]

    def announce(
        self, rows: int, seed: bytes | None = None, client: str = CLIENT, entry: float = 0.0
    ) -> DealtContribution:
        seed = fresh_upload_seed() if seed is None else seed
        job = predictions().asked(Question(upload_id(seed), client, rows, "scores"))
        inputs = {
            name: (facts, facts.format.encode(np.full(facts.shape, entry), 1.0))
            for name, facts in job.inputs[client].items()
        }
        dealt = deal_contribution(job.spec, inputs, seed, job.hash)
        query = dealt.manifest["upload"]
        self.ask("query.begin", client=client, query=query, rows=rows, answers="scores", manifest=dealt.manifest)
        return dealt

    def send(self, dealt: DealtContribution, client: str = CLIENT) -> str:
        query: str = dealt.manifest["upload"]
        for name, component in dealt.files_of(RANK):
            content = b"".join(component.content())
            self.ask("query.chunk", content, client, upload=query, file=name, offset=0)
        self.ask("query.commit", client=client, upload=query)
        return query

    def sealed(self, rows: int, seed: bytes | None = None, client: str = CLIENT) -> str:
        return self.send(self.announce(rows, seed, client), client)

    def complete(self, query: str) -> str | None:
        found: str | None = self.ask("party.query", query=query)["complete"]
        return found

    def charge(self, query: str) -> None:
        found = self.queries.get(query)
        assert found is not None
        self.queries.charge(found)

    def fail(self, query: str) -> None:
        found = self.queries.get(query)
        assert found is not None
        self.queries.fail(found, "a test")


@pytest.fixture
def party(tmp_path: Path) -> Iterator[Party]:
    one = Party(tmp_path, STUDY.hash, STUDY.parties[RANK].name)
    one.begin()
    yield one
    one.end()


# --- what was not sealed is in no session ----------------------------------------------------------------


def test_what_arrived_and_was_not_sealed_is_not_complete_for_the_leader(party: Party) -> None:
    """Its client can still replace it. A session that began with it would find that parties hold different things, and
    end the service of all parties."""
    small, large = party.announce(10), party.announce(LIMIT)
    party.send(large)
    with pytest.raises(RefusedError, match="50 rows in all"):
        party.send(small)  # all of it is here, and the other one takes all rows
    query = small.manifest["upload"]
    assert party.complete(query) is None and party.complete(large.manifest["upload"]) is not None
    with pytest.raises(RefusedError, match="not complete"):
        party.ask("party.answer", session="0" * 32, query=query)
    assert not party.invited
    party.ask("query.done", query=query)


def test_a_crash_between_arrival_and_seal_is_made_good_when_the_client_asks_again(
    party: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = fresh_upload_seed()
    dealt = party.announce(10, seed)
    with monkeypatch.context() as patch:
        patch.setattr(Queries, "seal", lambda *_: None)
        query = party.send(dealt)
    assert party.complete(query) is None
    party.announce(10, seed)
    assert party.complete(query) is not None


def test_a_sealed_query_that_ended_does_not_come_back(party: Party, tmp_path: Path) -> None:
    """The other parties may have it, and its coin: with another upload, or another nonce, they would find a lie."""
    seeds = [fresh_upload_seed() for _ in range(2)]
    failed, expired = (party.sealed(10, seed) for seed in seeds)
    party.fail(failed)
    party.ask("query.done", query=failed)
    party.now += KEPT_SECONDS + 1
    party.queries.expire()
    for seed in seeds:
        with pytest.raises(StateError, match="has ended here"):
            party.announce(10, seed, entry=0.5)
    party.end()
    party.begin()
    for seed in seeds:
        with pytest.raises(StateError, match="has ended here"):
            party.announce(10, seed)
    assert party.queries.get(expired) is None and party.queries.counted(CLIENT) == 0


def test_what_was_never_sealed_may_come_back(party: Party) -> None:
    seed = fresh_upload_seed()
    query = party.announce(10, seed).manifest["upload"]
    party.ask("query.done", query=query)
    assert party.sealed(10, seed) == query


def test_a_query_whose_directory_cannot_be_read_does_not_come_back(party: Party) -> None:
    seed = fresh_upload_seed()
    query = party.sealed(10, seed)
    party.end()
    (party.folder / "queries" / query / "state.sqlite").write_bytes(b"damaged" * 1000)
    party.begin()
    with pytest.raises(StateError, match="has ended here"):
        party.announce(10, seed)


# --- limits ----------------------------------------------------------------------------------------------


def test_rows_are_counted_once_and_for_good_and_the_limit_holds(party: Party) -> None:
    first = party.sealed(30)
    party.charge(first)
    party.charge(first)
    assert party.queries.counted(CLIENT) == 30
    with pytest.raises(RefusedError, match="30 are used"):
        party.announce(21)
    party.end()
    party.begin()
    assert party.queries.counted(CLIENT) == 30
    party.charge(first)
    assert party.queries.counted(CLIENT) == 30
    party.charge(party.sealed(LIMIT, client=OTHER))
    assert (party.queries.counted(CLIENT), party.queries.counted(OTHER)) == (30, LIMIT)


def test_the_limit_holds_where_two_queries_are_charged_that_do_not_fit_together(party: Party) -> None:
    """The seal keeps them apart; whatever came past it, the count does."""
    queries = [party.announce(30).manifest["upload"] for _ in range(2)]
    party.charge(queries[0])
    with pytest.raises(RefusedError, match="30 are used"):
        party.charge(queries[1])
    assert party.queries.counted(CLIENT) == 30


def test_an_answered_id_is_refused_for_ever(party: Party) -> None:
    seed = fresh_upload_seed()
    query = party.sealed(10, seed)
    party.charge(query)
    party.fail(query)
    party.ask("query.done", query=query)
    party.end()
    party.begin()
    with pytest.raises(StateError, match="answered before"):
        party.announce(10, seed)


def test_a_client_has_three_queries_at_once_and_none_of_another(party: Party) -> None:
    first, *_ = [party.announce(1).manifest["upload"] for _ in range(MOST_QUERIES)]
    party.now += 1
    party.announce(1)
    assert party.queries.get(first) is None
    mine = [party.announce(1, client=OTHER).manifest["upload"] for _ in range(MOST_QUERIES)]
    for query in mine:
        for kind in ("query.answer", "query.done", "query.commit", "query.chunk"):
            with pytest.raises(StateError, match="No such query"):
                party.ask(kind, b"x", query=query, upload=query, offset=0, file="rows.x_2")
    assert all(party.queries.get(query) is not None for query in mine)


def test_sealed_queries_are_not_pushed_out_before_they_are_stuck(party: Party) -> None:
    seed = fresh_upload_seed()
    first, *_ = [party.sealed(1, seed if not place else None) for place in range(MOST_QUERIES)]
    with pytest.raises(BusyError, match="are being computed"):
        party.announce(1)
    with pytest.raises(StateError, match="being computed"):
        party.ask("query.done", query=first)
    party.now += STUCK_SECONDS + 1
    party.announce(1)
    assert party.queries.get(first) is None
    with pytest.raises(StateError, match="has ended here"):
        party.announce(1, seed)


def test_a_client_sees_no_other_clients_count(party: Party) -> None:
    party.charge(party.sealed(7))
    job = training_job(STUDY)
    sealing = Sealing(tuple(job.inputs), party.main, party.audit)
    desk = PartyDesk(job, RANK, party.main, sealing, party.audit, dict, lambda: 0.0, party.queries)

    def seen_by(peer: str) -> Any:
        return desk.answer(peer, {"request": "status"}, b"")[0]["answered"]

    assert seen_by(CLIENT) == {CLIENT: 7}
    assert seen_by("analyst") == seen_by("owner-a") == seen_by("party-c") == {CLIENT: 7, OTHER: 0}
    assert seen_by(OTHER) == {CLIENT: 7, OTHER: 0}, "it is an owner, too"


# --- charged before stored, stored before opened ---------------------------------------------------------


def test_nothing_is_stored_or_opened_of_rows_beyond_the_limit(party: Party) -> None:
    query = party.queries.get(party.sealed(30))
    assert query is not None
    party.main.record(**{f"answered {CLIENT}": "21"})  # as where other queries were counted meanwhile
    guard = Guard(query.job, query.state, party.audit, charge=lambda: party.queries.charge(query))
    with pytest.raises(RefusedError):
        guard.save(b"shares")
    assert not query.state.stored_at(1).exists()
    policy = query.job.policy.openings[0]
    opening = Opening(1, policy.reason, "arithmetic", policy.shape, policy.learned_by)
    with pytest.raises(ProtocolError, match="not every party has stored"):
        guard.opening(opening)
    party.main.record(**{f"answered {CLIENT}": "20"})
    guard.save(b"shares")
    assert party.queries.counted(CLIENT) == LIMIT
    guard.confirm()
    guard.opening(opening)
    with pytest.raises(ProtocolError):
        guard.opening(replace(opening, shape=(31,)))
    with pytest.raises(ProtocolError, match="may have been opened"):
        guard.save(b"other shares under the same mask")


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"answers": "probabilities"}, "answers"), ({"rows": 1 << 40}, "rows"), ({"query": "0" * 31}, "hexadecimal")],
)
def test_what_the_study_does_not_allow_leaves_nothing(party: Party, changes: Mapping[str, Any], told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        party.ask("query.begin", **{"query": "0" * 32, "rows": 1, "answers": "scores", "manifest": {}, **changes})
    assert not (party.folder / "queries").exists()


# --- the leader ------------------------------------------------------------------------------------------


class Others:
    """The other parties, as the leader asks them; ``told``: what they say of every query."""

    names = ("party-b",)
    dealers = ()

    def __init__(self, told: dict[str, dict[str, Any]]) -> None:
        self.told = told
        self.asked: list[str] = []
        self.invited: list[str] = []

    @contextmanager
    def conversation(self, name: str) -> Iterator[Any]:
        yield SimpleNamespace(request=self._request)

    def _request(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        query = request["query"]
        if request["request"] == "party.answer":
            self.invited.append(query)
            return {}, b""
        self.asked.append(query)
        return self.told.get(query, {"phase": "", "complete": None}), b""


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (answering_module, queries_module):
        monkeypatch.setattr(module, "time", made)
    return made


def leader(party: Party, others: Others) -> Answering:
    return Answering(predictions(), party.queries, others, Doors("This party", lambda: 0.0))  # type: ignore[arg-type]


def test_queries_that_never_become_complete_are_asked_about_ever_less_often(party: Party, clock: Clock) -> None:
    """Parties answer the leader ten requests a second: three queries that a client sealed here alone used them up, and
    no other client was answered."""
    for _ in range(MOST_QUERIES):
        party.sealed(1)
    others = Others({})
    answering = leader(party, others)
    for _ in range(300):
        assert answering.next() is None
        clock.now += 0.2
    assert len(others.asked) <= 20 * MOST_QUERIES
    party.now += 1
    honest = party.queries.get(party.sealed(2, client=OTHER))
    assert honest is not None
    others.told[honest.id] = {"phase": "sealed", "complete": honest.complete, "plan": honest.job.hash}
    found = answering.next()
    assert found is not None and found[1] == honest.id and others.invited == [honest.id]


@pytest.mark.parametrize("other", ["complete", "plan"])
def test_a_query_of_which_parties_hold_different_things_has_ended(party: Party, clock: Clock, other: str) -> None:
    query = party.queries.get(party.sealed(1))
    assert query is not None
    same = {"phase": "sealed", "complete": query.complete, "plan": query.job.hash}
    others = Others({query.id: {**same, other: "f" * 64}})
    assert leader(party, others).next() is None
    assert query.state.phase == "failed" and not others.invited


def test_what_another_party_has_ended_is_asked_about_no_more(party: Party, clock: Clock) -> None:
    query = party.queries.get(party.sealed(1))
    assert query is not None
    query.state.advance("released")
    others = Others({query.id: {"phase": "failed", "complete": None, "plan": query.job.hash}})
    for _ in range(3):
        assert leader(party, others).next() is None
        clock.now += 1
    assert len(others.asked) == 1
