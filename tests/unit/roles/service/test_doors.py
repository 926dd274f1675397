"""How often each participant may ask, and what counts against it."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from cofit.errors import InvalidInputError, StateError
from cofit.roles.service.doors import BusyError, Doors, RefusedError, answerable, shown
from unit.roles.desks import FILE, OWNERS, SEALED_AT, Counter

FAULTS: tuple[Exception, ...] = (RefusedError("x"), InvalidInputError("x"), StateError("x"))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def doors(clock: Clock) -> Doors:
    return Doors("This party", clock)


def fails(doors: Doors, peer: str, error: BaseException, **kind: Any) -> None:
    with pytest.raises(type(error)), doors.request(peer, **kind):
        raise error


def succeeds(doors: Doors, peer: str, **kind: Any) -> None:
    with doors.request(peer, **kind):
        pass


@pytest.mark.parametrize("error", FAULTS)
@pytest.mark.parametrize("piece", [False, True])
def test_failed_requests_are_limited_and_one_is_free_again_after_a_second(
    doors: Doors, clock: Clock, error: Exception, piece: bool
) -> None:
    kind: dict[str, Any] = {"upload": piece, "counted": not piece}
    for _ in range(50):
        fails(doors, "owner-a", error, **kind)
    for _ in range(500):  # to be told so does not prolong it
        with pytest.raises(BusyError, match="requests failed") as busy:
            succeeds(doors, "owner-a", **kind)
    assert busy.value.retry_after == 1
    succeeds(doors, "owner-b", **kind)
    clock.now += busy.value.retry_after
    for _ in range(20):  # a client that erred and behaves again is served
        succeeds(doors, "owner-a", **kind)
    fails(doors, "owner-a", error, **kind)
    with pytest.raises(BusyError):
        succeeds(doors, "owner-a", **kind)


def test_a_day_of_failures_is_one_a_second(doors: Doors, clock: Clock) -> None:
    failed, hours = 0, 24
    for _ in range(hours * 36):
        clock.now += 100
        for _ in range(110):
            with contextlib.suppress(BusyError):
                fails(doors, "owner-a", StateError("x"), counted=False)
                failed += 1
    assert failed <= hours * 3600 + 50


def test_asking_in_parallel_gains_nothing(doors: Doors) -> None:
    """Each request that is being answered has left its deposit."""
    with contextlib.ExitStack() as answered:
        for _ in range(50):
            answered.enter_context(doors.request("owner-a", alone=False))
        with pytest.raises(BusyError):
            succeeds(doors, "owner-a")
    for _ in range(50):
        succeeds(doors, "owner-a")


@pytest.mark.parametrize("error", [OSError("disk"), ValueError("bug"), BusyError("This party", "x", 1), SystemExit()])
def test_what_is_not_the_senders_fault_does_not_count(doors: Doors, error: BaseException) -> None:
    for _ in range(80):
        fails(doors, "owner-a", error)
    succeeds(doors, "owner-a")


@pytest.mark.parametrize(("kind", "counts"), [("frame", True), ("study", True), ("busy", False), ("failed", False)])
def test_broken_frames_and_refused_connections_count(doors: Doors, kind: str, counts: bool) -> None:
    for _ in range(50):
        doors.turned_away(kind, "owner-a")
        doors.turned_away(kind, None)
    if counts:
        with pytest.raises(BusyError):
            succeeds(doors, "owner-a")
    else:
        succeeds(doors, "owner-a")
    succeeds(doors, "owner-b")


def test_all_requests_are_limited_but_for_pieces(doors: Doors, clock: Clock) -> None:
    for _ in range(100):
        succeeds(doors, "owner-a")
    with pytest.raises(BusyError, match="in a short time"):
        succeeds(doors, "owner-a")
    for _ in range(1000):
        succeeds(doors, "owner-a", upload=True, counted=False)
    clock.now += 0.1
    succeeds(doors, "owner-a")


def test_sessions_are_limited_whoever_calls(doors: Doors, clock: Clock) -> None:
    for _ in range(60):
        doors.session()
    with pytest.raises(BusyError, match="sessions") as busy:
        doors.session()
    assert busy.value.retry_after == 60
    clock.now += 60
    doors.session()


def test_the_answer_says_when_to_come_back(doors: Doors) -> None:
    assert answerable(BusyError("This party", "too many requests", 2.2)) == {
        "error": {
            "kind": "busy",
            "message": "This party is busy: too many requests. Try again in 3 s.",
            "retry_after": 3.0,
        }
    }


def test_uploads_come_first_unless_their_owner_failed_lately(
    doors: Doors, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    turn = doors._turns.turn

    def spy(peer: str, *, favoured: bool) -> contextlib.AbstractContextManager[None]:
        seen.append(favoured)
        return turn(peer, favoured=favoured)

    monkeypatch.setattr(doors._turns, "turn", spy)
    succeeds(doors, "owner-a", upload=True)
    fails(doors, "owner-a", StateError("x"), upload=True)
    succeeds(doors, "owner-a", upload=True)
    succeeds(doors, "owner-b", upload=True)
    succeeds(doors, "analyst")
    clock.now += 60
    succeeds(doors, "owner-a", upload=True)
    assert seen == [True, True, False, True, False, True]


def test_what_a_peer_sent_is_cut_and_printable() -> None:
    assert shown("\x1b[2J\u00e9\U0001f600" + "x" * 100) == "?[2J??" + "x" * 58
    assert shown(["status"]) == "['status']"


# --- at the desk -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sealed", [False, True])
def test_failed_pieces_count_also_after_sealing(horizontal: Counter, sealed: bool) -> None:
    dealt = {owner: horizontal.whole(owner) for owner in OWNERS}
    if sealed:
        horizontal.sealing.seal(SEALED_AT, horizontal.sealing.ready())
    horizontal.now += 100
    horizontal.pause = 0.0
    upload = dealt["owner-a"].manifest["upload"]
    answers = [
        horizontal.refused("owner-a", "upload.chunk", b"x", upload=upload, file=FILE, offset=7) for _ in "x" * 90
    ]
    assert ["busy" in answer for answer in answers] == [False] * 50 + [True] * 40
    assert horizontal.ask("owner-b", "upload.begin", manifest=dealt["owner-b"].manifest)["committed"] is True
    horizontal.now += 1.0
    assert horizontal.ask("owner-a", "upload.begin", manifest=dealt["owner-a"].manifest)["committed"] is True


@pytest.mark.parametrize(
    ("peer", "kind", "fields"),
    [
        ("owner-a", "upload.begin", {"manifest": {}}),
        ("owner-a", "upload.commit", {"upload": "0" * 32}),
        ("owner-a", "status", {"more": 1}),
        ("owner-a", "model", {"offset": 0}),
        ("analyst", "model", {"offset": 0}),
        ("analyst", "party.state", {}),
        ("party-a", "party.hold", {"contributions": None}),
        ("party-b", "party.begin", {}),
        ("party-a", "nonsense", {}),
    ],
)
def test_every_kind_of_failed_request_counts(horizontal: Counter, peer: str, kind: str, fields: dict[str, Any]) -> None:
    horizontal.pause = 0.0
    answers = [horizontal.refused(peer, kind, **fields) for _ in range(60)]
    assert sum("busy" in answer for answer in answers) == 10
