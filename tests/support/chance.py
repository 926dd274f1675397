"""Tests that draw anew in every run: when a draw counts as wrong, and how seldom right code fails a whole run.

``accept`` takes the p-values of one test. With p the least of them, times their number (Bonferroni):

- p > ALPHA passes;
- p <= CERTAIN fails at once: no chance explains it, also where a defect shows in one run of many;
- between them the whole test is run once more, with fresh randomness, and fails unless it passes now with p > ALPHA.

Right code fails a test that calls ``accept`` k times with probability at most k CERTAIN + (k ALPHA)^2. A complete run
has fewer than MOST_CALLS calls, at most MOST_IN_A_TEST of them in one test: together less than one false alarm in a
million runs (``tests/unit/test_chance.py``); without the second look, one in 200 to 1000. A defect that one look finds
with probability b is found with b^2 at least, and with b where it is plain: ``reject`` asks of every broken version
that the first look finds it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Mapping
from typing import Any, ParamSpec, TypeAlias, TypeVar

import pytest

ALPHA = 1e-6
CERTAIN = 1e-10
MOST_CALLS = 5_000
MOST_IN_A_TEST = 10
PValues: TypeAlias = Mapping[str, float]
P = ParamSpec("P")
T = TypeVar("T")
_SECOND_LOOK = "second look"
_SHARED: list[Any] = []


class SuspicionError(AssertionError):
    """What right code comes to with probability ALPHA at most: to be looked at again."""


class _Calls:
    """How often the test that is running has asked."""

    count = 0


def accept(p_values: PValues) -> None:
    """All tests pass, at level ALPHA together."""
    believe(True, "")
    failed = {name: p for name, p in p_values.items() if not p > ALPHA / len(p_values)}
    if failed:
        by_chance = min(failed.values()) > CERTAIN / len(p_values)
        raise (SuspicionError if by_chance else AssertionError)(f"Of {len(p_values)} p-values: {failed}")


def reject(p_values: PValues) -> None:
    """At least one test fails: the battery notices."""
    assert min(p_values.values()) < ALPHA / len(p_values)


def believe(holds: bool, what: str) -> None:
    """For a statement that right code breaks with probability ALPHA at most, and that has no p-value."""
    _Calls.count += 1
    assert _Calls.count <= MOST_IN_A_TEST, "Put the p-values into one battery: see support/chance.py."
    if not holds:
        raise SuspicionError(what)


def shared(draw: Callable[P, T]) -> Callable[P, T]:
    """Draws that several tests look at are made once; and again, before a second look."""
    kept = functools.cache(draw)
    _SHARED.append(kept)
    return kept  # type: ignore[return-value]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a test whose draws were suspicious once more."""
    _Calls.count = 0
    try:
        return (yield)
    except SuspicionError as suspicion:
        pyfuncitem.user_properties.append((_SECOND_LOOK, str(suspicion)))
        patched = pyfuncitem.funcargs.get("monkeypatch")
        if isinstance(patched, pytest.MonkeyPatch):
            patched.undo()
        for kept in _SHARED:
            kept.cache_clear()
        _Calls.count = 0
        names = pyfuncitem._fixtureinfo.argnames
        pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
        return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that were looked at twice, passed or not."""
    for report in [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]:
        for name, why in report.user_properties:
            if name == _SECOND_LOOK and report.when == "call":
                terminalreporter.write_line(f"SECOND LOOK {report.nodeid}: {why}")
