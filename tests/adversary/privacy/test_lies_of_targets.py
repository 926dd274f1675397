"""Lies in targets, labels of several classes and weights change not one bit of what is opened, whatever they are.

As ``test_lies_and_ranges``, for what a record has beside its row: every lie is planted in the same record of the same
table, without noise and with the same masks; a record that failed the check counts as nothing, so that the whole
release must be the same integers. Verdicts that are not multiplied in somewhere must show.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest

from adversary.privacy.test_lies_and_ranges import COLS, LIAR, ROWS, Integers, released
from cofit.learn import weights as record_weights
from cofit.learn.base_plan import Plan
from cofit.learn.contribution import prepared_features
from cofit.learn.facts import training_facts
from cofit.learn.losses.clipped_difference import ClippedDifference
from cofit.learn.plan import plan_training
from cofit.learn.targets import Count, SeveralClasses
from cofit.protocols.working import tighten
from cofit.secret import SecretArray, concatenate
from support.schemes import also_slow, form

KINDS: dict[str, dict[str, Any]] = {
    "numbers": {"loss": "huber", "feature_bound": 1.0, "clip_rows": False, "calibrate_intercept": True},
    "numbers, clipped, weights": {"loss": "clipped_squares", "clip_rows": True, "weight_bound": 4.0},
    "counts": {"loss": "poisson", "largest_count": 40, "feature_bound": 1.0, "clip_rows": False},
    "counts, clipped, weights": {"loss": "poisson", "largest_count": 6, "clip_rows": True, "weight_bound": 4.0},
    "weights": {"clip_rows": False, "weight_bound": 2.0, "feature_bound": 1.0, "calibrate_intercept": True},
    "weights, owners scale": {"clip_rows": False, "weight_bound": 2.0},
    "weights of classes": {"clip_rows": True, "class_weights": (1.0, 3.0)},
    "four classes": {"clip_rows": False, "classes": 4, "feature_bound": 1.0, "calibrate_intercept": True},
    "four classes, clipped": {"clip_rows": True, "classes": 4},
    "four classes, owners scale": {"clip_rows": False, "classes": 4},
    "paper, numbers": {"recipe": "paper", "loss": "huber"},
    "paper, numbers, parties": {
        **{"recipe": "paper", "loss": "huber", "normalised_by": "parties", "feature_bound": 1.0},
        **{"fit_intercept": False},
    },
    "paper, numbers, wide": {
        **{"recipe": "paper", "loss": "clipped_squares", "l2": 0.1, "initial": "zeros", "allow_unproven": True},
        **{"epochs": 4},
    },
}
FAST = ("numbers", "numbers, clipped, weights", "counts", "four classes", "paper, numbers")
Lie = tuple[Any, Any, int | None]
"""What an owner puts into a row, its label and its weight; None: what is honest."""


@cache
def planned(kind: str, scheme: str) -> Plan:
    return plan_training(training_facts(ROWS, COLS, epsilon=8.0, scheme=form(scheme).spec.name, **KINDS[kind]))


def ends(plan: Plan) -> tuple[int, int]:
    """The least and the largest integer that an honest label is."""
    if plan.facts.largest_count is not None:
        return 0, plan.facts.largest_count
    one = 1 << plan.target.fraction_bits
    return (-one if plan.target.ranged else 0), one


def lies(plan: Plan) -> Iterator[Lie]:
    """The first is a row that is too long, with an honest label and weight."""
    half, (lowest, one) = 1 << (plan.formats.ring.bits - 1), ends(plan)
    third = 2 * half // 3
    labels: list[Any] = [one + 1, lowest - 1, half, half - 1, half + one, 1 << 40]
    if plan.target.outputs > 1:
        labels = [(1, 1, 0), (half, half, 1), (third, third, third + 2), (half + 1, half, 0), (1 << 40, -(1 << 40), 0)]
    yield 1 << (plan.formats.data + 8), None, None
    yield from ((0, label, None) for label in labels)
    yield half, labels[0], None
    if plan.facts.weight_bound is not None:
        yield from ((None, None, weight) for weight in (257, -1, half, half - 1, half + 256, 1 << 40))
        yield half, labels[2], half


def opened(kind: str, lie: Lie, scheme: str = "clear") -> Integers:
    """All that a run opens, as integers."""
    plan = planned(kind, scheme)
    rng = np.random.default_rng(6)
    rows = prepared_features(plan, rng.uniform(-1, 1, (ROWS, COLS)))
    values = np.rint(np.ldexp(rows, plan.formats.data)).astype(np.int64).astype(object)
    lowest, one = ends(plan)
    drawn = rng.integers(lowest, one + 1, ROWS) if plan.target.ranged else rng.integers(0, plan.facts.classes, ROWS)
    labels = np.asarray(drawn if plan.target.ranged else plan.target.encoded(drawn)).astype(object)
    weights = rng.integers(0, 257, ROWS).astype(object)
    for column, told in zip((values[:, :COLS], labels, weights), lie, strict=True):
        if told is not None:
            column[LIAR] = told
    columns = (values, labels, weights)[: 2 if plan.facts.weight_bound is None else 3]
    return released(plan, scheme, *([column[:30], column[30:]] for column in columns))


def differing(kind: str, scheme: str = "clear", tried: slice = slice(None)) -> Iterator[Lie]:
    """The lies that open anything else than the first one."""
    first, *others = lies(planned(kind, scheme))
    wanted = opened(kind, first, scheme)
    assert np.abs(wanted).max() > 0
    return (lie for lie in others[tried] if (opened(kind, lie, scheme) != wanted).any())


@pytest.mark.parametrize("kind", also_slow(FAST, *(kind for kind in KINDS if kind not in FAST)))
def test_no_lie_changes_a_bit_of_what_is_opened(kind: str) -> None:
    assert list(differing(kind)) == []


@pytest.mark.parametrize(
    ("scheme", "kind"),
    also_slow(
        [("rep3", "numbers, clipped, weights")],
        ("rep3", "counts, clipped, weights"),
        *(
            (scheme, kind)
            for scheme in ("rep3", "shamir")
            for kind in ("numbers", "counts", "weights", "four classes, clipped")
        ),
    ),
)
def test_nor_on_shares(scheme: str, kind: str) -> None:
    assert list(differing(kind, scheme, slice(0, None, 4))) == []


# --- broken on purpose -----------------------------------------------------------------------------------


def ones(self: ClippedDifference, labels: SecretArray, passed: SecretArray) -> Any:
    """The verdict is in the target, and not in what rows are multiplied by."""
    return passed * 0 + 1, tighten(labels * passed, self.largest_target)


def not_above_largest(self: Count, labels: SecretArray) -> tuple[SecretArray, ...]:
    """Negative counts pass."""
    return (-labels + self.largest,)


def indicators_alone(self: SeveralClasses, labels: SecretArray, passed: SecretArray) -> SecretArray:
    others = labels.with_integer_limit(1)
    first = (passed - others.sum(axis=1)).with_integer_limit(1)
    return concatenate([first.reshape(-1, 1), others], axis=1)


def not_above(weights: SecretArray) -> tuple[SecretArray, ...]:
    return (-weights + (1 << record_weights.WEIGHT_BITS),)


@pytest.mark.parametrize(
    ("kind", "where", "name", "broken"),
    [
        ("numbers, clipped, weights", ClippedDifference, "prepared", ones),
        ("counts", ClippedDifference, "prepared", ones),
        ("counts", Count, "not_negative", not_above_largest),
        ("four classes", SeveralClasses, "indicators", indicators_alone),
        ("weights", "cofit.learn.checked_rows", "not_negative", not_above),
    ],
)
def test_a_verdict_that_is_left_out_is_noticed(kind: str, where: Any, name: str, broken: Any) -> None:
    place = f"{where}.{name}" if isinstance(where, str) else f"{where.__module__}.{where.__qualname__}.{name}"
    with mock.patch(place, broken):
        assert next(differing(kind), None) is not None
