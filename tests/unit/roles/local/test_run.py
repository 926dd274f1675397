"""run_local: results, traffic, openings, and what becomes of a run in which a member fails."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from cofit import Contribution, FixedPoint, LocalRun, Party, run_local
from cofit.errors import (
    CofitError,
    DisputeError,
    InvalidInputError,
    PartyFailedError,
    PeerSilentError,
    RangeError,
    TransportError,
)
from unit.roles import programs
from unit.roles.modes import MODES, SLOW_MODES

PARTIES = ("party-a", "party-b", "party-c")
OWNERS = {
    "north": {"x": Contribution(np.array([[0.5, 1.0], [2.0, -3.0]]), bound=4)},
    "south": {"x": Contribution(np.array([[0.25, 1.0], [1.0, 1.0]]), bound=4)},
}
LONG = 60.0  # a time-out that no test waits for


@pytest.fixture(autouse=True)
def nobody_left() -> Iterator[None]:
    """Neither a process nor a member's thread may survive a run, whatever came of it."""
    yield
    assert multiprocessing.active_children() == []
    assert [t.name for t in threading.enumerate() if t.name in (*PARTIES, *OWNERS)] == []


# --- runs that succeed -------------------------------------------------------------------------------------


@MODES
def test_a_run_with_owners(processes: bool) -> None:
    run = run_local(programs.total, owners=OWNERS, processes=processes, timeout=LONG)
    assert isinstance(run, LocalRun)
    assert dict(run.results) == {name: [3.75, 0.0] for name in PARTIES}
    assert set(run.traffic) == {*PARTIES, *OWNERS}
    for name in PARTIES:
        opening = run.traffic[name]["sum/open"]
        assert (opening.rounds, opening.messages_sent, opening.bytes_sent, opening.bytes_received) == (1, 1, 16, 16)
    for name in OWNERS:
        # seeds of 64 + 32 + 32 bytes, then the third summand of four elements to two parties
        assert run.traffic[name]["input"].bytes_sent == 128 + 2 * 4 * 8
    assert [(o.number, o.reason, o.shape, o.learned_by) for o in run.openings] == [(1, "joint sum", (2,), PARTIES)]


@SLOW_MODES
def test_names_and_ranks(processes: bool) -> None:
    names = ("ward", "lab", "registry")
    run = run_local(programs.who_am_i, parties=names, processes=processes, timeout=LONG)
    assert {name: result[:2] for name, result in run.results.items()} == {n: (n, i) for i, n in enumerate(names)}
    assert len({result[2] for result in run.results.values()}) == (3 if processes else 1)


@pytest.mark.parametrize("parties", [1, 2, 5])
def test_numbers_of_parties(parties: int) -> None:
    run = run_local(programs.square, scheme="clear", parties=parties)
    assert list(run.results) == list(run.traffic)
    assert dict(run.results) == {f"party-{'abcde'[i]}": 9.0 for i in range(parties)}


def test_kernel_threads_of_the_processes() -> None:
    run = run_local(programs.kernel_threads, scheme="clear", parties=2, processes=True, threads=2, timeout=LONG)
    assert dict(run.results) == {"party-a": 2, "party-b": 2}


def test_a_result_of_none_is_a_result() -> None:
    run = run_local(lambda party: None, scheme="clear", owners={"north": {"x": Contribution([1.0], 1)}})
    assert dict(run.results) == dict.fromkeys(PARTIES)


def test_owners_without_contributions_are_members_too() -> None:
    run = run_local(lambda party: party.owners, owners={"north": {}})
    assert set(run.results.values()) == {("north",)}


def test_runs_are_independent() -> None:
    """New seeds in every session."""

    def draw(party: Party) -> bytes:
        return party.open(party.random_secret_bits((256,)), reason="test").tobytes()

    assert len({run_local(draw).results["party-a"] for _ in range(3)}) == 3


def test_processes_that_are_forked_from_one_draw_apart() -> None:
    runs = [run_local(programs.draw, processes=True, timeout=LONG) for _ in range(2)]
    draws = [drawn for run in runs for drawn in run.results.values()]
    for one_source in zip(*draws, strict=True):
        assert len(set(one_source)) == 6


# --- a member fails ----------------------------------------------------------------------------------------


@MODES
def test_an_error_of_a_program(processes: bool) -> None:
    start = time.monotonic()
    with pytest.raises(PartyFailedError, match=r"'party-b' failed: TestError: on purpose") as info:
        run_local(programs.fail_at_b, processes=processes, timeout=LONG)
    assert time.monotonic() - start < LONG / 2
    error = info.value
    assert error.party == "party-b"
    assert isinstance(error.__cause__, programs.TestError)
    assert error.__cause__ is error.failures["party-b"]
    assert set(error.failures) == set(PARTIES)
    for name in ("party-a", "party-c"):
        noticed = error.failures[name]
        assert isinstance(noticed, TransportError)
        assert not isinstance(noticed, PeerSilentError)
        assert "party-b" in str(noticed)
        assert "on purpose" not in str(noticed)  # what a program says may be secret: peers get the kind alone


@SLOW_MODES
def test_a_dispute_is_blamed_on_those_in_dispute(processes: bool) -> None:
    with pytest.raises(PartyFailedError, match="'party-a or party-c' failed, as 'party-b' noticed: Dispute") as info:
        run_local(programs.dispute_at_b, processes=processes, timeout=LONG)
    cause = info.value.__cause__
    assert isinstance(cause, DisputeError)
    assert cause.parties == ("party-a", "party-c")


def test_the_traceback_of_a_process_is_told() -> None:
    with pytest.raises(PartyFailedError) as info:
        run_local(programs.fail_at_b, processes=True, timeout=LONG)
    cause = info.value.__cause__
    assert cause is not None
    assert any("fail_at_b" in note and "'party-b'" in note for note in cause.__notes__)


def test_an_error_that_cannot_be_pickled_is_told_in_words() -> None:
    with pytest.raises(PartyFailedError, match="TestError") as info:
        run_local(programs.fail_unpicklably_at_b, processes=True, timeout=LONG)
    assert info.value.party == "party-b"


def test_an_error_that_cannot_be_unpickled_is_told_in_words() -> None:
    with pytest.raises(PartyFailedError, match="AwkwardError") as info:
        run_local(programs.fail_awkwardly_at_b, processes=True, timeout=LONG)
    assert info.value.party == "party-b"


def test_a_result_that_cannot_travel() -> None:
    with pytest.raises(PartyFailedError) as info:
        run_local(programs.return_unpicklable, processes=True, timeout=LONG)
    assert set(info.value.failures) == set(PARTIES)


@SLOW_MODES
def test_an_owner_beyond_its_bound(processes: bool) -> None:
    owners = OWNERS | {"south": {"x": Contribution([[0.25, 7.654321], [1.0, 1.0]], bound=4)}}
    with pytest.raises(PartyFailedError, match="'south' failed: RangeError") as info:
        run_local(programs.total, owners=owners, processes=processes, timeout=LONG)
    error = info.value
    assert error.party == "south"
    assert isinstance(error.__cause__, RangeError)
    assert "(0, 1)" in str(error)
    texts = [str(error), *map(str, error.failures.values())]
    texts += [note for failure in error.failures.values() for note in getattr(failure, "__notes__", [])]
    assert not [text for text in texts if "7.65" in text]


@pytest.mark.parametrize(
    ("program", "culprit", "code"),
    [(programs.exit_at_b, "party-b", 3), (programs.kill_c, "party-c", -9)],
    ids=["exit", "kill"],
)
def test_a_process_that_dies(program: Callable[[Party], Any], culprit: str, code: int) -> None:
    start = time.monotonic()
    with pytest.raises(PartyFailedError, match=rf"'{culprit}' died \(exit code {code}\)") as info:
        run_local(program, processes=True, timeout=LONG)
    assert time.monotonic() - start < LONG / 2
    assert info.value.party == culprit
    assert isinstance(info.value.__cause__, CofitError)
    assert set(info.value.failures) == set(PARTIES)
    for name in set(PARTIES) - {culprit}:
        assert isinstance(info.value.failures[name], TransportError)


def test_a_silent_thread_is_noticed() -> None:
    """The silent party waits until both others have given up, so that no clock decides."""
    given_up = threading.Semaphore(0)
    timeout = 0.4

    def program(party: Party) -> tuple[str, float]:
        programs.meet(party)
        if party.name == "party-b":
            return "", float(all(given_up.acquire(timeout=30) for _ in range(2)))
        start = time.monotonic()
        try:
            while True:
                programs.meet(party)
        except TransportError as error:
            given_up.release()
            return str(error), time.monotonic() - start

    results = run_local(program, timeout=timeout).results
    assert results["party-b"][1] == 1.0
    for name in ("party-a", "party-c"):
        message, seconds = results[name]
        assert "party-b" in message
        assert timeout * 0.9 <= seconds < 20 * timeout


def test_a_silent_process_is_noticed() -> None:
    timeout = 0.5
    results = run_local(programs.fall_silent, processes=True, timeout=timeout).results
    for name in ("party-a", "party-c"):
        kind, message, seconds = results[name]
        assert kind in ("PeerSilentError", "PeerAbortedError")
        assert "party-b" in message
        assert seconds < programs.SILENCE
    assert "PeerSilentError" in {results[name][0] for name in ("party-a", "party-c")}


def test_the_silent_one_is_named_and_not_the_witness() -> None:
    given_up = threading.Semaphore(0)

    def program(party: Party) -> None:
        programs.meet(party)
        if party.name == "party-b":
            for _ in range(2):
                given_up.acquire(timeout=30)
        try:
            while True:
                programs.meet(party)
        finally:
            given_up.release()

    with pytest.raises(PartyFailedError, match=r"'party-b' failed, as 'party-[ac]' noticed: PeerSilentError") as info:
        run_local(program, timeout=0.4)
    assert info.value.party == "party-b"
    assert list(info.value.failures) == list(PARTIES)


def test_a_silent_process_is_not_waited_for() -> None:
    start = time.monotonic()
    with pytest.raises(PartyFailedError):
        run_local(programs.sleep_long, processes=True, timeout=0.5)
    assert time.monotonic() - start < 8


# --- bad arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheme": "rep5"}, "one of .*rep3"),
        ({"parties": 2}, "exactly 3"),
        ({"parties": ["a", "b"]}, "exactly 3"),
        ({"parties": 0}, "from 1 to 26"),
        ({"parties": "abc"}, "a list of names"),
        ({"threads": 0}, "'threads' parameter"),
        ({"owners": {"north": {"x": [1.0]}}}, "a Contribution"),
        ({"parties": -1}, "from 1 to 26"),
        ({"parties": 27, "scheme": "clear"}, "from 1 to 26"),
        ({"parties": [], "scheme": "clear"}, "must be 1 or more computing parties"),
        ({"parties": ["a", "b", "a"]}, "different names"),
        ({"parties": ["a", "b", ""]}, "name"),
        ({"parties": ["a", "b", 3]}, "name"),
        ({"owners": {"party-a": {}}}, "different names"),
        ({"timeout": 0}, "number of seconds"),
        ({"timeout": -1.0}, "number of seconds"),
        ({"timeout": float("nan")}, "number of seconds"),
        ({"timeout": float("inf")}, "number of seconds"),
        ({"timeout": "60"}, "number of seconds"),
        ({"threads": 5000}, "'threads' parameter"),
        ({"threads": 1.5}, "'threads' parameter"),
        ({"parties": 3.0}, "a list of names"),
        ({"parties": ["a", "b", "c" * 300]}, "name"),
        ({"owners": [1]}, "a mapping"),
        ({"owners": {"north": Contribution([1.0], 1)}}, "a mapping"),
    ],
    ids=str,
)
@MODES
def test_bad_arguments(arguments: dict[str, Any], message: str, processes: bool) -> None:
    with pytest.raises(InvalidInputError, match=message):
        run_local(programs.square, processes=processes, **arguments)


@pytest.mark.parametrize(
    ("bound", "format", "message"),
    [
        (-1, FixedPoint(24), "'bound' parameter of Contribution"),
        (None, FixedPoint(24), "'bound' parameter of Contribution"),
        ("120", FixedPoint(24), "'bound' parameter of Contribution"),
        (float("nan"), FixedPoint(24), "'bound' parameter of Contribution"),
        (2.0**60, FixedPoint(24), "does not fit"),
        (9.0, FixedPoint(60), "does not fit"),
        (1.0, 24, "'format' parameter of Contribution"),
    ],
)
def test_a_bad_contribution_is_refused_where_it_is_made(bound: Any, format: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Contribution([1.0], bound, format)


@pytest.mark.parametrize("program", [None, 3, "square"])
def test_a_program_must_be_callable(program: Any) -> None:
    with pytest.raises(InvalidInputError, match="'program' parameter of run_local"):
        run_local(program)


def test_a_local_function_cannot_become_a_process() -> None:
    with pytest.raises(InvalidInputError, match="top level of a module, or use processes=False"):
        run_local(lambda party: 1, processes=True)


def test_a_lambda_of_a_module_cannot_become_a_process() -> None:
    with pytest.raises(InvalidInputError, match="top level of a module, or use processes=False"):
        run_local(programs.in_a_lambda, processes=True)


def test_party_failed_errors_travel() -> None:
    import pickle

    error = PartyFailedError("party-b", "it failed", {"party-b": ValueError("x")})
    back = pickle.loads(pickle.dumps(error))
    assert (back.party, str(back), list(back.failures)) == ("party-b", "it failed", ["party-b"])
