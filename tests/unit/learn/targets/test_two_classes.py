"""Labels of two classes: what owners may share, what the parties find against the rules, and the sign of a class."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, Z128, FixedPoint
from cofit.errors import InvalidInputError
from cofit.learn.targets import TWO_CLASSES

ANY = (0, 1, 2, -1, 7, -(2**40), 2**40)


def test_labels_are_integers_0_and_1() -> None:
    for given in ([0, 1, 1], [0.0, 1.0, 1.0], [False, True, True]):
        encoded = TWO_CLASSES.encoded(np.array(given))
        assert encoded.dtype == np.int64
        assert encoded.tolist() == [0, 1, 1]


@pytest.mark.parametrize("wrong", [2, -1, 0.5, float("nan")])
def test_an_owner_is_told_of_any_other(wrong: float) -> None:
    with pytest.raises(InvalidInputError, match="Labels must be 0 and 1"):
        TWO_CLASSES.encoded(np.array([0, 1, wrong]))


def test_facts_of_an_owners_labels() -> None:
    for ring in (Z64, Z128):
        facts = TWO_CLASSES.facts(5, ring)
        assert (facts.shape, facts.format, facts.bound) == ((5,), FixedPoint(0, ring), 1.0)


def test_whoever_keeps_to_the_rules_has_nothing_negative() -> None:
    def program(party: Party) -> list[bool]:
        labels = party.constant(np.array(ANY), FixedPoint(0))
        tests = [party.open(one, reason="test") for one in TWO_CLASSES.not_negative(labels)]
        return [bool(all(test[i] >= 0 for test in tests)) for i in range(len(ANY))]

    results = run_local(program, scheme="clear").results
    assert all(kept == [label in (0, 1) for label in ANY] for kept in results.values())


def test_signs() -> None:
    def program(party: Party) -> list[float]:
        signs = TWO_CLASSES.signs(party.constant(np.array([0, 1]), FixedPoint(0)))
        return [float(v) for v in party.open(signs, reason="test")]

    assert all(signs == [-1.0, 1.0] for signs in run_local(program, scheme="clear").results.values())
