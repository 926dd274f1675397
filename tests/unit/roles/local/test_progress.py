"""What a run tells of itself: progress, seconds of its steps, peak memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cofit import Contribution, Party, run_local
from cofit.errors import InvalidInputError, PartyFailedError
from cofit.roles import Progress
from cofit.roles.local.progress import Reporter
from unit.roles import programs
from unit.roles.modes import MODES, SLOW_MODES

OWNERS = {
    "north": {"x": Contribution(np.array([0.5]), bound=4), "y": Contribution(np.array([0.5]), bound=4)},
    "south": {"x": Contribution(np.array([0.25]), bound=4)},
}
LONG = 60.0


class CallbackError(Exception):
    """An error of a callback."""


# --- in a run ----------------------------------------------------------------------------------------------


@MODES
def test_steps_are_told_in_order_and_throttled(processes: bool) -> None:
    heard: list[Progress] = []
    run = run_local(programs.report_steps, owners=OWNERS, processes=processes, timeout=LONG, progress=heard.append)
    assert heard[:3] == [Progress("start", 1, 1), Progress("share", 0, 3), Progress("share", 3, 3)]
    assert list(dict.fromkeys(p.step for p in heard)) == ["start", "share", "prepare", "train", "release"]
    train = [p for p in heard if p.step == "train"]
    assert train[0] == Progress("train", 0, 1000)
    assert train[-1] == Progress("train", 1000, 1000)
    assert [p.done for p in train] == sorted({p.done for p in train})
    assert len(train) <= 2 + 20 * (run.seconds["train"] + 0.1)
    assert heard[-1] == Progress("release", 0, 1)


@SLOW_MODES
def test_seconds_of_the_steps(processes: bool) -> None:
    run = run_local(programs.report_steps, owners=OWNERS, processes=processes, timeout=LONG)
    assert set(run.seconds) == {"start", "share", "program", "prepare", "train", "release"}
    assert all(seconds > 0 for seconds in run.seconds.values())
    assert run.seconds["prepare"] >= 0.2
    assert run.seconds["train"] >= 0.05
    steps = sum(run.seconds[step] for step in ("prepare", "train", "release"))
    assert 0.25 <= steps <= run.seconds["program"] + 1e-6


def test_seconds_start_at_the_launch() -> None:
    """Each of three processes makes a key before it says that it is there."""
    began = time.monotonic()
    run = run_local(programs.square, processes=True, timeout=LONG)
    wall = time.monotonic() - began
    assert 0.005 < run.seconds["start"] < wall
    assert set(run.seconds) == {"start", "share", "program"}
    assert sum(run.seconds.values()) < wall


def test_only_rank_0_is_heard() -> None:
    def program(party: Party) -> None:
        party.progress(party.name, 0, 1)

    heard: list[Progress] = []
    run = run_local(program, progress=heard.append)
    assert {p.step for p in heard} == {"start", "share", "party-a"}
    assert set(run.seconds) == {"start", "share", "program", "party-a"}


def test_peak_memory_of_each_process() -> None:
    ballast = np.ones(300_000_000, np.uint8)  # the launcher's memory is not the members'
    run = run_local(programs.hold_memory, owners={"north": {}}, processes=True, timeout=LONG)
    assert ballast.size
    assert set(run.peak_memory) == {"party-a", "party-b", "party-c", "north"}
    others = [run.peak_memory[name] for name in ("party-a", "party-c", "north")]
    assert all(10_000_000 < peak < 250_000_000 for peak in others)
    assert run.peak_memory["party-b"] > max(others) + 90_000_000


def test_threads_have_no_peak_memory_of_their_own() -> None:
    assert run_local(programs.square).peak_memory == {}


def test_processor_seconds_of_each_process() -> None:
    run = run_local(programs.work_at_party_b, owners={"north": {}}, processes=True, timeout=LONG)
    spent = dict(run.processor_seconds)
    assert set(spent) == {"party-a", "party-b", "party-c", "north"}
    at_work = spent.pop("party-b")
    assert at_work > max(spent.values()) + 0.8 * programs.WORK_SECONDS
    assert min(spent.values()) > 0
    assert run_local(programs.square).processor_seconds == {}


# --- a callback fails --------------------------------------------------------------------------------------


@SLOW_MODES
@pytest.mark.parametrize("step", ["start", "share", "train"])
def test_a_callback_that_raises_stops_the_run(processes: bool, step: str) -> None:
    def callback(progress: Progress) -> None:
        if progress.step == step:
            raise CallbackError(step)

    start = time.monotonic()
    with pytest.raises(CallbackError, match=step):
        run_local(programs.report_for_long, owners=OWNERS, processes=processes, timeout=LONG, progress=callback)
    assert time.monotonic() - start < 9


def test_a_program_cannot_hide_the_error_of_a_callback() -> None:
    def program(party: Party) -> None:
        for _ in range(2):
            with contextlib.suppress(CallbackError):
                party.progress("train", 0, 1)

    def callback(progress: Progress) -> None:
        if progress.step == "train":
            raise CallbackError

    with pytest.raises(CallbackError):
        run_local(program, progress=callback)


# --- wrong calls -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", 0, 1), "'step' parameter of progress"),
        ((" ", 0, 1), "'step' parameter of progress"),
        ((None, 0, 1), "'step' parameter of progress"),
        (("share", 0, 1), "which the runner itself reports"),
        (("program", 0, 1), "which the runner itself reports"),
        (("train", -1, 1), "'done' parameter of progress"),
        (("train", 2, 1), "'done' parameter of progress"),
        (("train", 0.5, 1), "'done' parameter of progress"),
        (("train", 0, 1.5), "'total' parameter of progress"),
    ],
)
def test_bad_reports(arguments: Any, message: str) -> None:
    with pytest.raises(PartyFailedError, match=message):
        run_local(lambda party: party.progress(*arguments), scheme="clear", parties=1)


def test_the_callback_must_be_callable() -> None:
    with pytest.raises(InvalidInputError, match="'progress' parameter of run_local"):
        run_local(programs.square, progress="yes")  # type: ignore[arg-type]


# --- the reporter alone, with a clock of our own -----------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that stands still until it is moved."""
    now = [100.0]
    monkeypatch.setattr("cofit.roles.local.progress.time", SimpleNamespace(monotonic=lambda: now[0]))

    def advance(seconds: float) -> None:
        now[0] += seconds

    return advance


def test_the_reporter_books_resumed_steps_together(clock: Callable[[float], None]) -> None:
    reporter = Reporter(90.0, lambda progress: None)
    reporter.report("start", 1, 1)
    reporter.report("share", 0, 0)
    clock(1)
    with reporter.program():
        clock(2)  # before the first report: the program's alone
        for _ in range(3):
            reporter.report("train", 0, 1)
            clock(4)
            reporter.report("check", 0, 1)
            clock(8)
    assert reporter.seconds == {"start": 10, "share": 1, "program": 38, "train": 12, "check": 24}


def test_the_reporter_holds_back_and_tells_the_last(clock: Callable[[float], None]) -> None:
    heard: list[tuple[str, int]] = []
    reporter = Reporter(100.0, lambda progress: heard.append((progress.step, progress.done)))
    with reporter.program():
        for done in range(101):
            reporter.report("train", done, 100)
            reporter.report("check", done, 100)
            clock(0.001)
        assert heard == [(step, done) for done in (0, 50, 100) for step in ("train", "check")][: len(heard)]
        assert len(heard) in (4, 5, 6)
        reporter.report("train", 77, 100)
        reporter.report("release", 0, 1)
        assert heard[-2:] == [("train", 77), ("release", 0)]
        reporter.report("release", 1, 1)
        assert heard[-1] == ("release", 0)
    assert heard[-1] == ("release", 1)
