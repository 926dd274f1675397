"""A participant that does its worst for a week, by a simulated clock: the sizes of all files stay as stated.

The bounds are those of docs/reference/state.md#how-large-files-can-become. Everything goes through the real services,
with real files; clocks are turned, and syncing is left out, which changes no size. Every few hours of the
week (every five minutes, in the slow version) there are more requests than are answered at once; an answer "busy" is
like all that would follow it.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from cofit.errors import PeerClosedError
from cofit.roles.dealer.service import DealerService
from cofit.roles.files.audit import read_audit
from cofit.roles.files.manifest import deal_contribution
from cofit.roles.jobs.training import Training
from cofit.roles.owner.contribute import prepare
from cofit.roles.party.service import PartyService
from cofit.roles.party.session import begin_once
from cofit.roles.service import service, sessions
from cofit.study.encode import EncodedTable
from cofit.transport import Conversation, Reception
from support.nursery import until
from support.studies import DEALER, Lab

Request = tuple[dict[str, Any], bytes]
MEGABYTE = 1_000_000
AUDIT_A_DAY = 0.3 * MEGABYTE
"""By one participant, or by all strangers together; 0.5 is stated, for long names and many owners."""
AUDIT_OF_UPLOADS = MEGABYTE
"""By one owner, of all that it announces and completes, ever."""
STATE, STATE_A_DAY = 0.4 * MEGABYTE, 0.3 * MEGABYTE
"""state.sqlite: for each owner, and for the sessions of a day."""
LOG_A_DAY = 0.1 * MEGABYTE
"""Of what the program logs, by one participant or by all strangers together; 0.8 is stated, for all at once that one
can do.
"""


class Week:
    """The clocks of one service."""

    def __init__(self, serving: PartyService | DealerService) -> None:
        self.seconds = 0.0
        serving._desk.doors._clock = lambda: self.seconds
        serving._audit._clock = self.time

    def time(self) -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def steps(self, days: int, seconds: float) -> Iterator[int]:
        """Let the days pass, so many seconds at a time."""
        self.count = round(days * 86_400 / seconds)
        for number in range(self.count):
            self.seconds = seconds * (number + 0.5)
            yield number


class Asking:
    """The peer's end of a conversation that asks one thing after the other; what was answered."""

    name, timeout = "here", 5.0

    def __init__(self, peer: str, requests: Iterator[Request]) -> None:
        self.peer = peer
        self.requests = requests
        self.answers: list[dict[str, Any]] = []

    def receive(self, *_: Any, **__: Any) -> Request:
        try:
            return next(self.requests)
        except StopIteration:
            raise PeerClosedError(self.peer, "gone") from None

    def send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        self.answers.append(header)


def asks(serving: PartyService | DealerService, peer: str, requests: list[Request]) -> list[dict[str, Any]]:
    asking = Asking(peer, iter(requests))
    with pytest.raises(PeerClosedError):
        serving._converse(cast(Conversation, asking))
    return asking.answers


class Contributions:
    """What an owner sends to the second party as its contribution, made from a seed."""

    def __init__(self, lab: Lab) -> None:
        self._made: dict[tuple[str, int], list[Request]] = {}
        self._prepared = {}
        for number, owner in enumerate(lab.owners):
            X, y, _ = lab.part(number)
            self._prepared[owner] = prepare(Training(lab.study), owner, EncodedTable(X, y, None))

    def whole(self, owner: str, seed: int = 1) -> list[Request]:
        """Announcement, files, commit."""
        if (owner, seed) not in self._made:
            self._made[owner, seed] = self._whole(owner, seed)
        return self._made[owner, seed]

    def _whole(self, owner: str, seed: int) -> list[Request]:
        ready = self._prepared[owner]
        ours = deal_contribution(ready.study.spec, ready.inputs, seed.to_bytes(32, "big"), ready.job.hash)
        upload = ours.manifest["upload"]
        chunks = [
            ({"request": "upload.chunk", "upload": upload, "file": name, "offset": 0}, b"".join(component.content()))
            for name, component in ours.files_of(1)
        ]
        begin = {"request": "upload.begin", "manifest": ours.manifest}
        return [(begin, b""), *chunks, ({"request": "upload.commit", "upload": upload}, b"")]


def sizes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No syncing, and busy answers at once: neither changes a size."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(service, "BUSY_SECONDS", 0.0)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], int]]:
    """How many bytes the program has logged so far."""
    total = [0]

    class Adding(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            total[0] += 64 + len(record.getMessage())

    handler = Adding()
    logger = logging.getLogger("cofit")
    logger.addHandler(handler)
    caplog.set_level("INFO", "cofit")
    caplog.handler.setLevel(logging.CRITICAL)
    yield lambda: total[0]
    logger.removeHandler(handler)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "lab", None, scheme="semi2k", model={"epochs": 4})


@pytest.fixture
def party(lab: Lab) -> Iterator[PartyService]:
    """The second party, so that the leading one can be hostile; one owner has contributed."""
    serving = PartyService(Training(lab.study), lab.identity("party-b"), lab.state("party-b"))
    serving._state._database.execute("PRAGMA synchronous = OFF")
    yield serving
    serving._audit.close()
    serving._state.close()


@pytest.fixture
def dealer(lab: Lab) -> Iterator[DealerService]:
    serving = DealerService(Training(lab.study), lab.identity(DEALER), lab.state(DEALER))
    yield serving
    serving._audit.close()
    serving._directory.close()


_long = pytest.param(7, 300.0, marks=[pytest.mark.slow, pytest.mark.timeout(900)])
weeks = pytest.mark.parametrize(("days", "step"), [(7, 14_400.0), _long])
LONG = "\U0001f600" * 100


def of_an_owner(new: list[Request]) -> list[Request]:
    """Pieces of nothing, lies, repetitions, and as many new announcements and complete uploads as it likes."""
    upload = new[-1][0]["upload"]
    bad: list[Request] = [
        ({"request": "upload.chunk", "upload": upload, "file": "labels.x_0", "offset": 10**9}, bytes(1000)),
        ({"request": "upload.chunk", "upload": LONG, "file": "labels.x_0", "offset": 0}, b"x"),
        ({"request": "upload.commit", "upload": "0" * 32}, b""),
        ({"request": "upload.begin", "manifest": {"upload": LONG}}, b""),
        ({"request": LONG, LONG: LONG}, b""),
        ({"request": "model", "offset": 0}, b""),
        ({"request": "party.begin", "session": LONG}, b""),
    ]
    return [*new, *([new[0], new[-1]] * 30), *(bad * 10)]


@weeks
def test_a_week_of_a_hostile_owner(
    lab: Lab, party: PartyService, logged: Callable[[], int], days: int, step: float
) -> None:
    week, made = Week(party), Contributions(lab)
    assert all("error" not in answer for answer in asks(party, "owner-b", made.whole("owner-b")))
    busy = failed = 0
    for number in week.steps(days, step):
        answers = asks(party, "owner-a", of_an_owner(made.whole("owner-a", number // 6)))
        kinds = [answer.get("error", {}).get("kind") for answer in answers]
        busy, failed = busy + kinds.count("busy"), failed + sum(kind not in (None, "busy") for kind in kinds)
        for _ in range(300):
            party._refused("frame", "owner-a", "2001:db8:1111:2222:3333:4444:5555:6666")
    assert failed > 40 * week.count and busy > 10 * week.count
    found = sizes(lab.state("party-b"))
    assert found["audit.jsonl"] < days * AUDIT_A_DAY + AUDIT_OF_UPLOADS
    assert sum(size for name, size in found.items() if name.startswith("state.sqlite")) < 2 * STATE
    owed = sum(len(payload) for request, payload in (*made.whole("owner-a"), *made.whole("owner-b")) if payload)
    assert sum(size for name, size in found.items() if name.startswith("uploads")) <= 2 * owed
    assert set(found) <= {"lock", "state.sqlite", "state.sqlite-journal", "audit.jsonl"} | {
        name for name in found if name.startswith("uploads")
    }
    assert logged() < days * LOG_A_DAY
    party._audit.close()
    records = read_audit(lab.state("party-b") / "audit.jsonl")
    told = [record for record in records if record["event"] == "summary"]
    lines = Counter((record["event"], record["time"][:10]) for record in records)
    assert {event for (event, _), count in lines.items() if count >= 100} == {
        "request refused",
        "connection refused",
        "upload announced again",
    }
    assert max(lines.values()) == 100
    assert len({record["day"] for record in told}) == days, "every day is summed up"


@weeks
def test_a_week_of_a_hostile_analyst_and_of_strangers(
    lab: Lab, party: PartyService, logged: Callable[[], int], days: int, step: float
) -> None:
    week = Week(party)
    requests: list[Request] = [({"request": "model", "offset": 0}, b""), ({"request": "status"}, b"")] * 30
    for number in week.steps(days, step):
        asks(party, "analyst", requests)
        for kind in ("no-tls", "certificate", "silent", "closed", "no-room", "address-rate"):
            for _ in range(60):
                party._refused(kind, None, f"2001:db8:{number:x}:2222:3333:4444:5555:6666")
    found = sizes(lab.state("party-b"))
    assert found["audit.jsonl"] < 2 * days * AUDIT_A_DAY
    assert found["state.sqlite"] < STATE
    assert logged() < 2 * days * LOG_A_DAY


@pytest.mark.parametrize(("days", "step"), [(1, 7200.0), _long])
def test_days_of_a_hostile_leading_party(
    lab: Lab, party: PartyService, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], int], days: int, step: float
) -> None:
    """It calls to session after session, and leaves each after its beginning was noted."""
    week = Week(party)
    made = Contributions(lab)
    for owner in lab.owners:
        asks(party, owner, made.whole(owner))
    state, begun = party._state, 0

    def leave(*_: Any, terms: Any, **__: Any) -> Any:
        begin_once(state, terms.session)
        raise PeerClosedError("party-a", LONG)

    monkeypatch.setattr(sessions, "connect_mesh", leave)
    reception = cast(Reception, type("Closed", (), {"mesh_listener": None, "running": True}))
    named = {"contributions": party._desk._sealing.ready(), "created": "2026-01-02T03:04:05+00:00"}
    ids = itertools.count()
    for _ in week.steps(days, step):
        for _ in range(150):
            begin = {"request": "party.begin", "session": f"{next(ids):032x}", **named}
            asks(party, "party-a", [(begin, b"")])
            if (invited := party._desk.invitations.get(0)) is not None:
                party._sessions._guarded(reception, invited)
                begun += 1
    assert 700 * days <= begun <= min(1440 * days + 60, 60 * week.count)
    found = sizes(lab.state("party-b"))
    assert found["audit.jsonl"] < days * AUDIT_A_DAY
    assert sum(size for name, size in found.items() if name.startswith("state.sqlite")) < 2 * STATE + days * STATE_A_DAY
    assert logged() < 5 * days * LOG_A_DAY


@weeks
def test_a_week_of_hostile_participants_at_the_dealer(
    lab: Lab, dealer: DealerService, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], int], days: int, step: float
) -> None:
    week = Week(dealer)

    def leave(*_: Any, **__: Any) -> Any:
        raise PeerClosedError("party-a", LONG)

    monkeypatch.setattr(sessions, "connect_mesh", leave)
    reception = cast(Reception, type("Closed", (), {"mesh_listener": None, "running": True}))
    bad: list[Request] = [
        ({"request": LONG, LONG: 1}, b""),
        ({"request": "status", **{LONG + str(n): LONG for n in range(9)}}, b""),
        ({"request": "dealer.begin", "session": LONG}, b""),
    ]
    for number in week.steps(days, step):
        for peer in ("owner-a", "party-a"):
            asks(dealer, peer, bad * 20)
            for _ in range(300):
                dealer._refused("frame", peer, "192.0.2.7")
        asks(dealer, "party-a", [])
        week.seconds += 1  # a request is granted again
        for session in range(70):
            begin = {"request": "dealer.begin", "session": f"{number * 100 + session:032x}"}
            asks(dealer, "party-a", [(begin, b"")])
            if (call := dealer._desk.invitations.get(0)) is not None:
                dealer._sessions._guarded(reception, call)
    found = sizes(lab.state(DEALER))
    assert found["audit.jsonl"] < 2 * days * AUDIT_A_DAY
    assert found["state.sqlite"] < STATE
    assert set(found) <= {"lock", "state.sqlite", "state.sqlite-journal", "audit.jsonl"}
    assert logged() < 6 * days * LOG_A_DAY


class Queue(list[Any]):
    """Those who wait for a turn; notes how many were answered when a request of an honest owner came."""

    def __init__(self, order: list[str]) -> None:
        super().__init__()
        self.order = order
        self.came: list[int] = []

    def append(self, ticket: Any) -> None:
        if ticket.peer == "owner-b":
            self.came.append(len(self.order))
        super().append(ticket)


def test_an_honest_upload_gets_at_least_every_second_turn(lab: Lab, party: PartyService) -> None:
    """Eight conversations of each of four hostile participants flood the desk while an owner uploads byte by byte."""
    desk, order, stop = party._desk, list[str](), threading.Event()
    desk.doors._clock = lambda: 0.1 * len(order)  # enough for the flood to get turns
    queue = desk.doors._turns._waiting = Queue(order)

    def noting(action: Callable[..., Any]) -> Callable[..., Any]:
        def act(peer: str, *rest: Any) -> Any:
            order.append(peer)
            return action(peer, *rest)

        return act

    desk._requests = {kind: replace(one, action=noting(one.action)) for kind, one in desk._requests.items()}
    begin, *files, commit = Contributions(lab).whole("owner-b")
    pieces = [
        ({**request, "offset": at}, payload[at : at + 1]) for request, payload in files for at in range(len(payload))
    ]
    bad: list[Request] = [
        ({"request": "upload.chunk", "upload": "0" * 32, "file": "x", "offset": 0}, b"x"),
        ({"request": "status"}, b""),
    ]

    def flood(peer: str) -> None:
        while not stop.is_set():
            asks(party, peer, bad * 20)

    threads = [
        threading.Thread(target=flood, args=(peer,), daemon=True)
        for peer in ("owner-a", "analyst", "party-a", DEALER)
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(order) > 50, "the flood is there")
    try:
        answers = asks(party, "owner-b", [begin, *pieces, commit])
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    assert answers[-1] == {"committed": True} and all("error" not in answer for answer in answers)
    served = [at for at, peer in enumerate(order) if peer == "owner-b"]
    waited = [at - came for at, came in zip(served, queue.came, strict=True)]
    assert len(served) == len(pieces) + 2 > 100
    assert max(waited) <= 1, f"others were answered first, {max(waited)} of them"
    assert len(order) > 1.5 * len(served), "the flood got turns as well"
