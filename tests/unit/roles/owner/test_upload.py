"""Uploads: every party gets its components once, whatever breaks on the way."""

from __future__ import annotations

import json
import stat
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, FixedPoint
from cofit.errors import InvalidInputError, StateError, TransportError
from cofit.roles.owner.upload import UploadProgress, contribute, incarnations
from cofit.roles.service import conversations
from cofit.secret import InputFacts
from cofit.transport import RequestRefusedError
from unit.roles.owner.upload_world import PARTIES, PLAN, SPEC, STUDY, Desk, World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(conversations, "_PAUSES", (0.0, 0.0, 0.0))
    return World(tmp_path, {name: Desk(name, rank) for rank, name in enumerate(PARTIES)})


def test_everything_arrives(world: World) -> None:
    told: list[UploadProgress] = []
    upload = world.contribute(progress=told.append)
    assert world.complete()
    assert {desk.manifest["upload"] for desk in world.desks.values()} == {upload}
    for party in PARTIES:
        steps = [one for one in told if one.party == party]
        assert [one.done for one in steps] == sorted(one.done for one in steps)
        assert steps[-1].done == steps[-1].total == sum(len(f) for f in world.desks[party].files.values())


def test_all_are_asked_before_anything_is_sent(world: World) -> None:
    world.away = {"party-c"}
    with pytest.raises(TransportError, match="'party-c' cannot be reached") as info:
        world.contribute()
    assert info.value.peer == "party-c"
    assert [desk.requests for desk in world.desks.values()] == [["upload.begin"], ["upload.begin"], []]


@pytest.mark.parametrize("party", ["party-a", "party-b"])
@pytest.mark.parametrize("at", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("how", ["breaks", "mute"])
def test_one_broken_connection_at_any_moment(world: World, party: str, at: int, how: str) -> None:
    desk = world.desks[party]
    getattr(desk, how).add(at)
    world.contribute()
    assert world.complete()


def test_nothing_is_sent_twice_after_a_break(world: World) -> None:
    desk = world.desks["party-b"]
    desk.breaks.add(9)  # announced, two seeds and a piece are there, each after its salt
    world.contribute()
    pieces = [kind for kind in desk.requests if kind == "upload.chunk"]
    # four salts, three pieces, a seed and a small file for labels and features, one lost
    assert len(pieces) == 4 + 3 + 1 + 1 + 1 + 1
    assert world.complete()


def test_a_connection_that_breaks_again_and_again(world: World) -> None:
    desk = world.desks["party-b"]
    desk.breaks.update(range(4, 100))
    with pytest.raises(TransportError, match=r"The connection to 'party-b' broke 4 times.*Check the network") as info:
        world.contribute()
    assert info.value.peer == "party-b"
    assert world.desks["party-a"].committed  # the others are not held up
    seed = world.kept["seed"]
    desk.breaks.clear()
    before = len(world.desks["party-a"].requests)
    upload = world.contribute()
    assert world.complete()
    assert world.desks["party-a"].requests[before:] == ["upload.begin"]
    assert "seed" not in world.kept
    assert seed not in json.dumps(world.kept)
    assert world.kept["manifest"]["upload"] == upload


def test_a_line_that_breaks_after_every_few_pieces_ends_nothing(world: World) -> None:
    """Every attempt gets further: there may be more of them than pauses."""
    desk = world.desks["party-b"]
    desk.breaks.update(range(4, 300, 3))
    world.contribute()
    assert world.complete()
    assert desk.requests.count("upload.begin") > 4


def test_a_party_that_goes_away_in_the_middle(world: World) -> None:
    world.desks["party-c"].breaks.add(3)

    def leave(party: str) -> None:
        if party == "party-c" and len(world.desks["party-c"].requests) >= 3:
            world.away.add(party)

    world.on_connect = leave
    with pytest.raises(TransportError, match="'party-c' cannot be reached"):
        world.contribute()


def test_repeating_a_complete_contribution_sends_nothing(world: World) -> None:
    upload = world.contribute()
    for desk in world.desks.values():
        desk.requests.clear()
    assert world.contribute() == upload
    assert [desk.requests for desk in world.desks.values()] == [["upload.begin"]] * 3


def test_a_party_that_lost_everything_gets_a_new_upload(world: World) -> None:
    old = world.contribute()
    world.desks["party-b"] = Desk("party-b", 1)
    assert world.contribute() != old
    assert world.complete()


def test_an_upload_that_the_parties_replaced_is_not_believed_to_be_there(world: World) -> None:
    old = world.contribute()
    for desk in world.desks.values():
        desk.manifest = {}
    assert world.contribute() != old
    assert world.complete()


@pytest.mark.parametrize("party", PARTIES)
def test_a_party_that_has_begun_anew_since_it_was_asked_gets_nothing(world: World, party: str) -> None:
    world.desks[party].incarnation = "cd" * 16
    with pytest.raises(StateError, match=f"'{party}' lost its state"):
        world.contribute()
    assert all(desk.files == {} for desk in world.desks.values())


def test_a_party_that_begins_anew_in_the_middle_gets_nothing_more(world: World) -> None:
    desk = world.desks["party-b"]
    desk.breaks.add(4)

    def restart(party: str) -> None:
        if party == "party-b" and len(desk.requests) == 4:
            desk.manifest, desk.files, desk.incarnation = {}, {}, "cd" * 16

    world.on_connect = restart
    with pytest.raises(StateError, match="'party-b' lost its state"):
        world.contribute()
    assert desk.files == {}


def test_incarnations_are_asked_for(world: World) -> None:
    world.desks["party-b"].incarnation = "cd" * 16
    world.desks["party-b"].breaks.add(1)
    assert list(incarnations(PARTIES, world.connect).items()) == [
        ("party-a", "ab" * 16),
        ("party-b", "cd" * 16),
        ("party-c", "ab" * 16),
    ]
    for wrong in (None, "", "ab" * 15, "AB" * 16, "ab" * 16 + " ", ["ab" * 16]):
        world.desks["party-c"].incarnation = wrong
        with pytest.raises(TransportError, match="same cofit release"):
            incarnations(PARTIES, world.connect)


@pytest.mark.parametrize("changes", [{"value": 0.25}, {"rows": "ab" * 32}, {"plan": "56" * 32}])
def test_other_data_rows_or_plans_are_shared_with_other_randomness(world: World, changes: dict[str, Any]) -> None:
    one = world.contribute()
    first = {name: bytes(content) for name, content in world.desks["party-a"].files.items()}
    two = world.contribute(**changes)
    assert one != two
    assert world.complete()
    for name, content in world.desks["party-a"].files.items():
        assert bytes(content) != first[name]
    assert world.desks["party-a"].manifest["rows"] == changes.get("rows")
    assert world.desks["party-a"].manifest["plan"] == changes.get("plan", PLAN)


def test_other_data_before_the_first_were_complete(world: World) -> None:
    world.desks["party-b"].breaks.update(range(4, 100))
    with pytest.raises(TransportError):
        world.contribute(0.5)
    seed = world.kept["seed"]
    with pytest.raises(TransportError):
        world.contribute(0.25)
    assert world.kept["seed"] != seed


@pytest.mark.parametrize("kind", ["upload.begin", "upload.chunk", "upload.commit"])
def test_refusals_are_told_and_not_tried_again(world: World, kind: str) -> None:
    desk = world.desks["party-b"]
    desk.refusals[kind] = ("StateError", "The contributions are sealed.")
    with pytest.raises(RequestRefusedError, match="sealed") as info:
        world.contribute()
    assert info.value.peer == "party-b"
    assert desk.requests.count("upload.begin") == 1


@pytest.mark.parametrize("party", PARTIES)
@pytest.mark.parametrize("kind", ["busy", "storage", "RefusedError", "InvalidInputError"])
def test_a_complete_contribution_is_not_replaced_because_a_party_is_not_well(
    world: World, party: str, kind: str
) -> None:
    upload = world.contribute()
    world.desks[party].refusals["upload.begin"] = (kind, "Not now.")
    with pytest.raises(RequestRefusedError, match="Not now"):
        world.contribute()
    assert world.kept["manifest"]["upload"] == upload
    world.desks[party].refusals.clear()
    assert world.contribute() == upload


def test_a_contribution_that_the_first_party_refuses_does_not_displace_what_is_kept(world: World) -> None:
    upload = world.contribute()
    world.desks["party-a"].refusals["upload.begin"] = ("StateError", "The contributions are sealed.")
    with pytest.raises(RequestRefusedError, match="sealed"):
        world.contribute(0.25)
    assert world.kept["manifest"]["upload"] == upload
    world.desks["party-a"].refusals.clear()
    assert world.contribute() == upload


def test_the_seed_is_kept_before_any_share_leaves_and_after_the_first_party_accepted(world: World) -> None:
    path = world.state / f"upload-{STUDY[:32]}.json"
    kept: list[tuple[str, bool]] = []
    for desk in world.desks.values():

        def answer(
            request: dict[str, Any],
            payload: bytes,
            name: str = desk.name,
            original: Callable[[dict[str, Any], bytes], dict[str, Any]] = desk.answer,
        ) -> dict[str, Any]:
            kept.append((f"{name} {request['request']}", path.exists() and "seed" in world.kept))
            return original(request, payload)

        desk.answer = answer  # type: ignore[method-assign]
    world.contribute()
    assert kept[0] == ("party-a upload.begin", False)
    assert all(there for _, there in kept[1:])


def test_what_a_party_says_is_made_printable(world: World) -> None:
    world.desks["party-b"].refusals["upload.chunk"] = ("StateError", "\x1b[2Jgone")
    with pytest.raises(RequestRefusedError) as info:
        world.contribute()
    assert info.value.text == "?[2Jgone"


def test_a_busy_party_is_asked_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = world.desks["party-b"]
    desk.refusals["upload.begin"] = ("busy", "Try again later.")
    monkeypatch.setattr("cofit.roles.service.conversations.time.sleep", lambda _: desk.refusals.clear())
    world.contribute()
    assert world.complete()
    desk.refusals["upload.begin"] = ("busy", "Try again later.")
    monkeypatch.setattr("cofit.roles.service.conversations.time.sleep", lambda _: None)
    with pytest.raises(RequestRefusedError, match="Try again later"):
        world.contribute(0.25)


def test_two_at_once_from_one_directory(world: World) -> None:
    entered, leave = threading.Event(), threading.Event()

    def wait(_: str) -> None:
        entered.set()
        leave.wait(30)

    world.on_connect = wait
    thread = threading.Thread(target=world.contribute)
    thread.start()
    assert entered.wait(30)
    with pytest.raises(StateError, match="Another process contributes"):
        world.contribute()
    leave.set()
    thread.join()
    assert world.complete()


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '{"seed": "00"}', '{"digest": 1, "seed": "xy"}'])
def test_a_damaged_state_file(world: World, text: str) -> None:
    (world.state / f"upload-{STUDY[:32]}.json").write_text(text)
    with pytest.raises(InvalidInputError, match="is damaged"):
        world.contribute()


def test_what_is_kept_is_private(world: World) -> None:
    world.contribute()
    for path in world.state.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_memory_beyond_the_encoded_array_stays_small(tmp_path: Path) -> None:
    rows = 25_000
    facts = InputFacts((rows, 1000), FixedPoint(24, Z64), 1.0)
    encoded = np.zeros(facts.shape, np.uint64)
    assert encoded.nbytes == 200_000_000
    world = World(tmp_path, {name: Desk(name, rank, keep=False) for rank, name in enumerate(PARTIES)})
    tracemalloc.start()
    try:
        known = dict.fromkeys(PARTIES, "ab" * 16)
        contribute(known, SPEC, {"features": (facts, encoded)}, world.connect, tmp_path, STUDY, PLAN)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
