"""Tests that draw anew: a second look on suspicion, none where chance explains nothing, and few false alarms in all."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support import chance
from support.chance import ALPHA, CERTAIN, MOST_CALLS, MOST_IN_A_TEST, SuspicionError, accept, believe, reject, shared


def looked_at(test: Callable[..., None], **arguments: Any) -> list[str]:
    """Run a test as pytest does, with the hook around it; return why it was looked at twice."""
    info = SimpleNamespace(argnames=tuple(arguments))
    item = SimpleNamespace(user_properties=[], funcargs=arguments, obj=test, _fixtureinfo=info)
    hook = chance.pytest_pyfunc_call(cast(pytest.Function, item))
    next(hook)
    try:
        test(**arguments)
    except AssertionError as error:
        with pytest.raises(StopIteration):
            hook.throw(error)
    else:
        with pytest.raises(StopIteration):
            hook.send(None)
    return [why for _, why in item.user_properties]


def of(*p_values: float) -> Callable[[], None]:
    """A test whose p-values these are, one run after the other."""
    left = iter(p_values)
    return lambda: accept({"p": next(left), "another": 0.5})


def test_what_passes_is_looked_at_once() -> None:
    assert looked_at(of(ALPHA)) == []


def test_a_suspicion_that_is_not_confirmed_passes_and_is_named() -> None:
    (why,) = looked_at(of(ALPHA / 2, 0.3))
    assert "'p': 5e-07" in why


@pytest.mark.parametrize(
    "p_values", [(ALPHA / 2, ALPHA / 2), (ALPHA / 2, 0.0), (CERTAIN / 2,), (0.0,), (float("nan"),)]
)
def test_what_is_suspicious_twice_or_certain_at_once_fails(p_values: tuple[float, ...]) -> None:
    with pytest.raises(AssertionError, match="'p'"):
        looked_at(of(*p_values))


def test_the_second_look_has_fresh_draws_and_no_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([1e-8, 0.7])
    draw = shared(lambda: next(drawn))
    seen = []

    def test(monkeypatch: pytest.MonkeyPatch) -> None:
        seen.append(chance.ALPHA)
        monkeypatch.setattr(chance, "ALPHA", ALPHA / 2)
        assert draw() == draw()
        accept({"p": draw()})

    assert len(looked_at(test, monkeypatch=monkeypatch)) == 1
    assert seen == [ALPHA, ALPHA]


def test_a_statement_without_a_p_value_is_suspicious_too() -> None:
    believe(True, "holds")
    with pytest.raises(SuspicionError, match="does not hold"):
        believe(False, "does not hold")


def test_batteries_are_at_level_alpha_together() -> None:
    reject({"p": ALPHA / 3, "another": 1.0})
    with pytest.raises(AssertionError):
        reject({"p": ALPHA / 1.5, "another": 1.0})


def test_a_test_asks_a_few_times_at_most() -> None:
    def test(times: int) -> None:
        for _ in range(times):
            accept({"p": 0.5})

    looked_at(test, times=MOST_IN_A_TEST)
    with pytest.raises(AssertionError, match="one battery"):
        looked_at(test, times=MOST_IN_A_TEST + 1)


def test_a_complete_run_of_right_code_fails_less_than_once_in_a_million() -> None:
    """The most that calls in tests of k each can come to: k = MOST_IN_A_TEST."""
    tests = MOST_CALLS / MOST_IN_A_TEST
    assert MOST_CALLS * CERTAIN + tests * (MOST_IN_A_TEST * ALPHA) ** 2 < 1e-6
