"""The pace of this machine: each of its parts follows what was timed, and two findings are alike."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from cofit import kernels
from cofit.benchmarks import this_machine
from cofit.benchmarks.this_machine import pace_of_this_machine, processors_here
from cofit.transport import Mesh


def test_it_is_found_quickly_and_is_that_of_a_computer() -> None:
    threads = kernels.threads()
    pace = pace_of_this_machine()
    for part in (pace.kernels, pace.bytes, pace.steps):
        assert 0.02 < part < 50
    assert pace.placed == pytest.approx(1.5e-9 * pace.bytes)
    assert kernels.threads() == threads, "as it was"


@pytest.mark.parametrize(("name", "part"), [("_in_turn", "steps"), ("_at_once", "bytes")])
def test_what_takes_longer_is_a_slower_part(name: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With each message sent ten times."""
    usual = pace_of_this_machine()
    once: Callable[[Mesh, Mesh, bytearray, int], None] = getattr(this_machine, name)
    monkeypatch.setattr(this_machine, name, lambda here, there, message, times: once(here, there, message, 10 * times))
    slow = pace_of_this_machine()
    for other in ("kernels", "bytes", "steps"):
        found = getattr(slow, other) / getattr(usual, other)
        assert (found > 4) == (other == part), (other, found)


def test_slow_kernels_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = pace_of_this_machine()
    product = kernels.matvec

    def slow(*arguments: object) -> None:
        for _ in range(20):
            product(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(kernels, "matvec", slow)
    found = pace_of_this_machine()
    assert found.kernels > 4 * usual.kernels
    assert found.steps < 4 * usual.steps


def test_no_more_processors_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    assert [processors_here(processes) for processes in (1, 3, 8, 20)] == [1, 3, 8, 8]
