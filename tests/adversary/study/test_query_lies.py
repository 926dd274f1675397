"""Clients that lie, and parties that do: limits hold, nobody else's query is touched, and nobody is stopped by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic.prg import fresh_seed
from cofit.learn.inference.plan import MASK, ROWS
from cofit.roles.client.query import Asking, QueryLostError
from cofit.roles.client.served_model import ServedModel, fetch_model
from cofit.roles.files.manifest import deal_contribution
from cofit.roles.owner.upload import Asks, incarnations, send_dealt
from cofit.roles.service.conversations import Connect, connector
from cofit.transport import RequestRefusedError
from support.nursery import Nursery, until
from support.studies import Lab

CLIENT, OTHER, LIMIT = "clinic", "rival", 60
ROWS_OF_QUERY = 10


class Open:
    """A study without noise, whose clients have limits, ready to be asked."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.models = {name: fetch_model(lab.study, lab.identity(name)) for name in (CLIENT, OTHER)}
        self.connect = {name: connector(lab.study, lab.identity(name)) for name in (CLIENT, OTHER)}
        self.parties = incarnations(lab.parties, self.connect[CLIENT])
        self.rows = np.random.default_rng(2).uniform(-1, 1, (ROWS_OF_QUERY, lab.features))

    def asking(self, rows: Any = None, seed: bytes | None = None, client: str = CLIENT) -> Asking:
        rows = self.rows if rows is None else rows
        return Asking(self.models[client], client, "scores", rows, seed or fresh_seed())

    def answered(self, asking: Asking, client: str = CLIENT) -> np.ndarray:
        asking.send(self.parties, self.connect[client])
        found = asking.fetch(self.parties, self.connect[client], lambda: False).integers
        asking.done(self.parties, self.connect[client])
        return found

    def request(
        self, party: str, request: dict[str, Any], payload: bytes = b"", client: str = CLIENT
    ) -> dict[str, Any]:
        with self.connect[client](party) as conversation:
            return conversation.request(request, payload or None)[0]


def begun(asking: Asking, **changes: Any) -> dict[str, Any]:
    """The announcement of a query, with lies in it."""
    asked = asking.question
    manifest = asking.dealt().manifest
    facts = {"query": asked.query, "rows": asked.rows, "answers": asked.answers, "manifest": manifest}
    return {"request": "query.begin", **facts, **changes}


@pytest.fixture(scope="module")
def study(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    terms = {"model": "shared", "noise": False, "answers": ["scores"]}
    lab = Lab(
        tmp_path_factory.mktemp("lies") / "lab", nursery, terms=terms, clients={CLIENT: LIMIT, OTHER: LIMIT}, model={}
    )
    lab.start()
    lab.up()
    lab.contribute_all()
    lab.wait_released()
    yield Open(lab)
    for child in lab.children.values():
        child.kill()


def integers_of(model: ServedModel, connect: Connect, study: Open, rows: np.ndarray) -> np.ndarray:
    """Ask with encoded rows of one's own, whatever they are."""
    asking = study.asking(np.zeros((len(rows), study.lab.features)))
    facts = asking._job.inputs[CLIENT]
    inputs = {ROWS: (facts[ROWS], rows), MASK: (facts[MASK], asking.mask)}
    dealt = deal_contribution(asking._job.spec, inputs, asking._seed, asking._job.hash)
    asked = asking.question
    send_dealt(
        study.parties,
        dealt,
        connect,
        None,
        Asks("query", {"query": asked.query, "rows": asked.rows, "answers": "scores"}),
    )
    found = asking.fetch(study.parties, connect, lambda: False).integers
    asking.done(study.parties, connect)
    return found


def test_rows_against_the_rules_count_as_zeros(study: Open) -> None:
    model = study.models[CLIENT]
    ring, columns = model.plan.ring, model.plan.served.columns
    one = 1 << model.plan.row_bits
    rows = np.zeros((5, columns), dtype=object)
    rows[1, 0] = 4 * one  # four times too long
    rows[2, :] = 1 << 62
    rows[3, 0] = -(1 << 63)
    rows[4, 0] = one  # as long as allowed
    found = integers_of(model, study.connect[CLIENT], study, ring.from_int(rows))
    assert (found[1:4] == found[0]).all()
    assert found[4] != found[0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rows": 9}, "plan"),
        ({"rows": 0}, "rows"),
        ({"rows": -1}, "rows"),
        ({"rows": 1 << 63}, "rows"),
        ({"rows": "10"}, "integer"),
        ({"rows": True}, "integer"),
        ({"answers": "classes"}, "answers"),
        ({"answers": "weights"}, "answers"),
        ({"query": "x"}, "hexadecimal"),
        ({"query": "../../../../etc/passwd"}, "hexadecimal"),
        ({"query": "0" * 32}, "plan"),
        ({"manifest": {}}, "manifest"),
        ({"manifest": None}, "manifest"),
    ],
)
def test_announcements_that_lie_are_refused_and_leave_nothing(study: Open, changes: dict[str, Any], told: str) -> None:
    before = [sorted((study.lab.state(party) / "queries").glob("*")) for party in study.lab.parties]
    with pytest.raises(RequestRefusedError, match=told):
        study.request("party-b", begun(study.asking(), **changes))
    assert before == [sorted((study.lab.state(party) / "queries").glob("*")) for party in study.lab.parties]


def test_nobody_else_can_touch_a_query(study: Open) -> None:
    asking = study.asking()
    study.request("party-a", begun(asking))
    name = asking.question.query
    for request in (
        {"request": "query.answer", "query": name, "offset": 0},
        {"request": "query.done", "query": name},
        {"request": "query.commit", "upload": name},
    ):
        with pytest.raises(RequestRefusedError, match="No such query"):
            study.request("party-a", request, client=OTHER)
    with pytest.raises(RequestRefusedError):
        study.request("party-a", begun(asking), client=OTHER)
    owner = connector(study.lab.study, study.lab.identity("owner-a"))
    with owner("party-a") as conversation, pytest.raises(RequestRefusedError, match="only a client"):
        conversation.request(begun(asking))
    with pytest.raises(RequestRefusedError, match="only the first party"):
        study.request("party-a", {"request": "party.answer", "session": "0" * 32, "query": name})
    study.request("party-a", {"request": "query.done", "query": name})


def test_a_query_is_answered_once_and_its_id_never_again(study: Open) -> None:
    seed = fresh_seed()
    asking = study.asking(seed=seed, client=OTHER)
    before = study.lab.counted("party-a", OTHER)
    first = study.answered(asking, OTHER)
    assert study.lab.counted("party-a", OTHER) == before + ROWS_OF_QUERY
    with pytest.raises(QueryLostError, match="answered before"):
        study.asking(seed=seed, client=OTHER).send(study.parties, study.connect[OTHER])
    again = study.answered(study.asking(client=OTHER), OTHER)
    assert np.abs(first - again).max() <= 3  # units of the last place


def test_the_session_of_a_query_counts_among_those_of_the_study(study: Open) -> None:
    """With a scheme that checks late each is a chance for a liar, and there are only so many."""

    def sessions() -> list[int]:
        return [sum(name.startswith("session ") for name in study.lab.facts(party)) for party in study.lab.parties]

    before = sessions()
    study.answered(study.asking(rows=study.rows[:1]))
    assert all(now > then for now, then in zip(sessions(), before, strict=True))


def test_a_client_that_tells_parties_different_things_is_told_so_and_nobody_is_stopped(study: Open) -> None:
    seed = fresh_seed()
    one = study.asking(seed=seed)
    other = study.asking(rows=-study.rows, seed=seed)
    assert one.question == other.question
    first, *others = study.parties
    for asking, parties in ((one, [first]), (other, others)):
        dealt, asked = asking.dealt(), asking.question
        for rank, party in enumerate(study.parties):
            if party in parties:
                study.request(party, begun(asking))
                for name, component in dealt.files_of(rank):
                    content = b"".join(component.content())
                    request = {"request": "query.chunk", "upload": asked.query, "file": name, "offset": 0}
                    study.request(party, request, content)
                study.request(party, {"request": "query.commit", "upload": asked.query})
    with pytest.raises(QueryLostError, match="different things"):
        one.fetch({first: study.parties[first]}, study.connect[CLIENT], lambda: False)
    assert len(study.answered(study.asking(rows=study.rows[:1]))) == 1


def test_no_client_is_answered_more_rows_than_the_study_says(study: Open) -> None:
    """Also where two queries race for the last rows."""
    left = LIMIT - study.lab.counted("party-a", OTHER)
    rows = np.tile(study.rows, (10, 1))
    with pytest.raises(RequestRefusedError, match=f"{LIMIT} rows in all"):
        study.answered(study.asking(rows[: left + 1], client=OTHER), OTHER)
    races = [study.asking(rows[: left // 2 + 1], client=OTHER) for _ in range(2)]
    for asking in races:
        for party in study.parties:
            study.request(party, begun(asking), client=OTHER)
    races[0].send(study.parties, study.connect[OTHER])
    with pytest.raises(RequestRefusedError, match=f"{LIMIT} rows in all"):
        races[1].send(study.parties, study.connect[OTHER])
    races[0].fetch(study.parties, study.connect[OTHER], lambda: False)
    assert {study.lab.counted(party, OTHER) for party in study.lab.parties} == {LIMIT - left + left // 2 + 1}


@pytest.mark.slow
def test_a_party_that_lies_in_a_query_is_noticed_and_nothing_is_answered(nursery: Nursery, tmp_path: Any) -> None:
    lab = Lab(tmp_path / "lab", nursery, scheme="rep4", terms={"model": "shared"}, clients={CLIENT: None}, model={})
    lab.start()
    lab.up()
    lab.contribute_all()
    lab.wait_released()
    lab.kill("party-c")
    lab.start("party-c", tamper={"score": 2})
    lab.up("party-c")
    child = lab.ask(CLIENT, np.zeros((8, lab.features)) + 0.5, answers="scores")
    until(
        lambda: any("query failed" in lab.events(party) for party in ("party-a", "party-b", "party-d")),
        lambda: lab.log("party-a"),
    )
    assert child.wait(60) == 1, lab.log(CLIENT)
    assert not (lab.root / CLIENT / "answers.npy").exists()
    assert "tampers" in lab.log("party-c")
    lab.stop()
