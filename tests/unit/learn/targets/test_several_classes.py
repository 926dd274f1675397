"""Labels of several classes: rows of zeros and ones, what the parties find against the rules, and who is in a class."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.arithmetic import Z64, FixedPoint
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.targets import TWO_CLASSES, SeveralClasses

FOUR = SeveralClasses(4)


def test_a_label_is_a_unit_vector_and_the_first_class_is_zeros() -> None:
    encoded = FOUR.encoded(np.array([0, 3, 1, 2]))
    assert encoded.dtype == np.int64
    assert encoded.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert FOUR.shape(5) == FOUR.facts(5, Z64).shape == (5, 3)


@pytest.mark.parametrize("wrong", [4, -1, 0.5, float("nan")])
def test_an_owner_is_told_of_any_other(wrong: float) -> None:
    with pytest.raises(InvalidInputError, match="integers from 0 to 3"):
        FOUR.encoded(np.array([0, 1, wrong]))


def test_two_classes_stay_what_they_are() -> None:
    assert TWO_CLASSES.among(2) is TWO_CLASSES
    assert TWO_CLASSES.among(3) == SeveralClasses(3)
    plan = plan_training(training_facts(100, 3, classes=3))
    assert (plan.target, plan_training(training_facts(100, 3)).target) == (SeveralClasses(3), TWO_CLASSES)
    assert (plan.target.outputs, TWO_CLASSES.outputs) == (3, 1)


@pytest.mark.parametrize("settings", [{"recipe": "paper"}, {"delta": 0.0}, {"delta": 0.0, "row_nonzeros": 1}], ids=str)
def test_what_is_not_made_for_several_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"'classes' parameter of a plan must be 2 unless recipe='best'"):
        training_facts(100, 3, classes=3, **settings)


def test_exactly_unit_vectors_and_zeros_have_nothing_negative() -> None:
    values = (0, 1, 2, -1, 2**40)
    rows = np.array(list(itertools.product(values, repeat=3)))

    def program(party: Party) -> list[bool]:
        labels = party.constant(rows, FixedPoint(0))
        tests = [party.open(one, reason="test") for one in FOUR.not_negative(labels)]
        assert len(tests) == 2 * 3 + 1
        return [bool(all(test[i] >= 0 for test in tests)) for i in range(len(rows))]

    kept = next(iter(run_local(program, scheme="clear").results.values()))
    assert kept == [sorted(row) in ([0, 0, 0], [0, 0, 1]) for row in rows.tolist()]


def test_records_that_failed_are_in_no_class() -> None:
    def program(party: Party) -> Any:
        labels = party.constant(FOUR.encoded(np.array([0, 3, 1, 2, 0])), FixedPoint(0))
        passed = party.constant(np.array([1, 1, 0, 1, 0]), FixedPoint(0))
        return np.asarray(party.open(FOUR.indicators(labels, passed), reason="test")).tolist()

    found = next(iter(run_local(program, scheme="clear").results.values()))
    assert found == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
