"""The layout of what is opened: parts in order, taken apart as they were put together, and told in words."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.learn.opened import Opened, OpenedPart
from support.certified import CASES, certified, planned

LAYOUT = Opened(
    2, 8.0, (OpenedPart("a", 1, 3, "thing", "the thing"), OpenedPart("b", 2, 1, "other", "the others", blank=1.5))
)


def test_what_is_joined_is_taken_apart_again() -> None:
    pieces = LAYOUT.joined([16, -8], {"b": [4, 6], "a": [24]})
    assert pieces == [[16, -8], [24], [4, 6]]
    released = LAYOUT.in_units(np.concatenate(pieces))
    assert released.tolist() == [2.0, -1.0, 3.0, 2.0, 3.0]
    assert LAYOUT.part(released, "a").tolist() == [3.0]
    assert LAYOUT.part(np.array([released, 2 * released]), "b").tolist() == [[2.0, 3.0], [4.0, 6.0]]
    assert LAYOUT.part(released, "absent").shape == (0,)
    assert LAYOUT.count == len(released) == len(LAYOUT.blank())
    assert LAYOUT.blank() == (0.0, 0.0, 0.0, 1.5, 1.5)


def test_in_words() -> None:
    assert LAYOUT.in_words() == "the noisy weights, the thing, the others"
    assert LAYOUT.counted() == "weights: 2, thing: 1, other: 2"


@pytest.mark.parametrize("named", [{"a": [1]}, {"a": [1], "b": [1, 2], "c": [3]}])
def test_other_parts_are_refused(named: dict[str, list[int]]) -> None:
    with pytest.raises(ValueError, match="The parts of a release are"):
        LAYOUT.joined([1, 2], named)


@pytest.mark.parametrize("case", CASES)
def test_plan_and_certificate_agree_on_how_many_numbers_are_opened(case: str) -> None:
    plan = planned(case)
    assert plan.opened.count == plan.released == certified(case).released == len(plan.opened.blank())
    assert plan.opened.weights == plan.cols * plan.opened.outputs
    assert not np.any(plan.scoring(np.array(plan.opened.blank())).intercept)
