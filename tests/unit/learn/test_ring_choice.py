"""Why a plan takes the larger ring: the reason that the smaller one was refused for, in both recipes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from cofit.arithmetic import Z64, Z128
from cofit.errors import RangeError
from cofit.learn.facts import training_facts
from cofit.learn.plan import Plan, plan_training
from cofit.learn.ring_choice import RINGS, SmallRingError, reason_of

FEWER = "fewer rows or columns would fit"
NO_CENTRE: dict[str, Any] = {"budget_shares": {"centre": 0}}
CASES: list[tuple[dict[str, Any], str]] = [
    ({"rows": 100_000_000, "cols": 100}, rf"the spread of the rows takes 6\d bits, and Z_2\^64 holds 62; {FEWER}"),
    ({"rows": 10**9, "cols": 5000}, rf"a sum of gradients takes 6\d bits, and Z_2\^64 holds 62; {FEWER}"),
    (
        {"rows": 5000, "cols": 100, "partition": "vertical", "norm_floor": 1e-6, "clip_rows": False},
        r".* takes \d\d bits, and Z_2\^64 holds 62; fewer rows or columns, or a larger norm_floor, would fit",
    ),
    (
        {"rows": 100, "cols": 20, "epsilon": 8.0, "partition": "vertical", "norm_floor": 1e-4},
        r"the length of a row or its score would be too coarse in Z_2\^64; fewer rows or columns, or a larger "
        r"norm_floor, would fit",
    ),
    (
        {"rows": 10**6, "cols": 40, "partition": "vertical", "norm_floor": 1.8e-9, "clip_rows": False} | NO_CENTRE,
        r"Z_2\^64 cannot hold the inverse of so small a norm_floor; a larger one would fit",
    ),
    (
        {"rows": 10_000, "cols": 100, "recipe": "paper", "l2": 0.01},
        r"rounding in Z_2\^64 could move the weights by [\d.]+% of what a record may, and 5% is the aim; a larger l2 "
        r"or fewer rows would fit",
    ),
    (
        {"rows": 100, "cols": 5, "recipe": "paper", "l2": 0.0003},
        r"accelerated gradient descent takes \d+ epochs in it, and gradient descent \d{4} in Z_2\^64; a larger l2 "
        r"would fit",
    ),
    (
        {"rows": 12_000, "cols": 600, "recipe": "paper", "epochs": 3, "allow_unproven": True},
        r"it comes nearest to the minimiser; Z_2\^64 would not come near enough for a proof either",
    ),
    (
        {"rows": 10**12, "cols": 5, "recipe": "paper", "allow_unproven": True},
        r"a sum over 1000000000000 rows could overflow in Z_2\^64, in any format; a larger l2 or fewer rows would fit",
    ),
]


def planned(**facts: Any) -> Plan:
    return plan_training(training_facts(**facts))


@pytest.mark.parametrize(("facts", "reason"), CASES, ids=lambda value: None if isinstance(value, str) else str(value))
def test_a_plan_in_the_larger_ring_says_why(facts: dict[str, Any], reason: str) -> None:
    plan = planned(**facts)
    assert plan.formats.ring is Z128
    assert plan.ring_reason is not None
    assert re.fullmatch(reason, plan.ring_reason), plan.ring_reason
    assert plan.to_dict()["ring_reason"] == plan.ring_reason


@pytest.mark.parametrize("facts", [{"rows": 1713, "cols": 1874}, {"rows": 1713, "cols": 50, "recipe": "paper"}])
def test_a_plan_in_the_smaller_ring_has_no_reason(facts: dict[str, Any]) -> None:
    plan = planned(**facts)
    assert plan.formats.ring is Z64
    assert plan.ring_reason is None
    assert plan.to_dict()["ring_reason"] is None


@pytest.mark.parametrize("facts", [CASES[0][0], CASES[5][0]])
def test_the_hash_is_that_of_the_run_and_not_of_the_reason(facts: dict[str, Any]) -> None:
    plan: Any = planned(**facts)
    other = replace(plan, ring_reason="another")
    assert (other.hash, other) == (plan.hash, plan)
    assert replace(plan, warnings=("another",)).hash != plan.hash


def test_the_reason_of_any_refusal_is_half_a_sentence() -> None:
    assert reason_of(RangeError("A bound does not fit.")) == "A bound does not fit"
    assert reason_of(SmallRingError("Too small. Use more.", "it is small")) == "it is small"


def test_every_ring_of_a_plan_reduces_to_fewer_bits() -> None:
    """The check of rows adds fewer bits than the ring has; from the cheapest ring to the largest."""
    assert all(ring.reduces for ring in RINGS)
    assert [ring.capacity for ring in RINGS] == sorted({ring.capacity for ring in RINGS})
