"""Rows and labels against the rules: the parties' check finds each, and no honest record beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit.learn.base_plan import Plan
from cofit.learn.contribution import prepared_features
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.row_check import check_of, largest_square
from cofit.learn.targets import SeveralClasses
from cofit.secret import SecretArray
from support.lies import verdicts_on
from support.schemes import also_slow, form

Integers = npt.NDArray[Any]
ROWS = 80
SCHEMES = ("rep3", "semi2k", "rep4")
FIVE = "shamir/5"
GEOMETRIES: dict[str, dict[str, Any]] = {
    "owners scale": {"cols": 90, "clip_rows": False},
    "owners scale, few columns": {"cols": 6, "clip_rows": False},
    "clipped": {"cols": 6, "clip_rows": True, "epsilon": 30.0},
    "clipped, bounds": {"cols": 40, "clip_rows": True, "feature_bound": 1.0, "epsilon": 40.0},
    "level": {"cols": 70, "clip_rows": False, "feature_bound": 1.0, "feature_lower": 0.0, "epsilon": 5.0},
    "paper": {"cols": 70, "recipe": "paper"},
    "paper, parties": {"cols": 70, "recipe": "paper", "normalised_by": "parties", "feature_bound": 1.0},
    "paper, parties, few columns": {
        "cols": 6,
        "recipe": "paper",
        "normalised_by": "parties",
        "feature_bound": 1.0,
        "fit_intercept": False,
    },
    "1-norm": {"cols": 40, "delta": 0.0, "row_nonzeros": 3},
}


def planned(geometry: str, **more: Any) -> Plan:
    facts = dict(GEOMETRIES[geometry])
    return plan_training(training_facts(ROWS, facts.pop("cols"), **facts, **more))


def honest(plan: Plan, rng: np.random.Generator) -> Integers:
    """Rows as the owners' software makes them, as integers."""
    low = 0.0 if plan.facts.feature_lower == 0 else -1.0
    x = prepared_features(plan, rng.uniform(low, 1.0, (ROWS, plan.facts.cols)))
    return np.rint(np.ldexp(x, plan.formats.data)).astype(np.int64).astype(object)


def largest_square_of(plan: Plan, cols: int) -> int:
    return largest_square(
        plan.facts,
        plan.formats.data,
        getattr(plan.formats, "eta", None) if isinstance(plan, MinimiserPlan) else None,
        cols,
    )


def lies(plan: Plan, row: Integers) -> Iterator[tuple[str, Integers]]:
    """Rows against the rules, each close to an honest one in some way."""
    bits, one, cols = plan.formats.ring.bits, 1 << plan.formats.data, len(row)
    zeros = np.zeros(cols, dtype=object)
    half, quarter = 1 << (bits - 1), 1 << (bits - 2)

    def with_entries(values: dict[int, int], base: Integers = zeros) -> Integers:
        changed = base.copy()
        for j, value in values.items():
            changed[j] = value
        return changed

    yield "2^63", with_entries({0: half}, row)
    yield "2^63 alone", with_entries({1: half})
    yield "two of 2^63", with_entries({0: half, 1: half})
    yield "2^62", with_entries({0: quarter}, row)
    yield "four of 2^62, whose sum and squares vanish", with_entries(dict.fromkeys(range(4), quarter))
    yield "2^32, whose square vanishes", with_entries({2: 1 << (bits // 2)})
    yield "minus 2^32", with_entries({2: -(1 << (bits // 2))}, row)
    yield "2^33 twice", with_entries({0: 1 << (bits // 2 + 1), 1: -(1 << (bits // 2 + 1))})
    yield "2^40", with_entries({3: 1 << 40})
    yield "2^48 + 1", with_entries({3: (1 << 48) + 1})
    yield "a third of the ring", with_entries({0: (1 << bits) // 3})
    yield "two thirds", with_entries({0: 2 * (1 << bits) // 3}, row)
    yield "a fifth", with_entries({0: (1 << bits) // 5})
    yield "a seventh everywhere", np.full(cols, (1 << bits) // 7, dtype=object)
    yield "2^63 - 1", with_entries({0: half - 1})
    yield "-2^63 + 1", with_entries({0: -half + 1})
    yield "all 2^63", np.full(cols, half, dtype=object)
    yield "all 2^32", np.full(cols, 1 << (bits // 2), dtype=object)
    yield "all 2^31", np.full(cols, 1 << (bits // 2 - 1), dtype=object)
    yield "random", np.random.default_rng(5).integers(-(2**62), 2**62, cols).astype(object)
    yield "squares that add up to a multiple of the ring", with_entries(_vanishing(bits, cols))
    yield "a thousand times too long", row * 1000
    yield "twice too long", _just_long(plan, row, 4)
    if plan.facts.norm == "l1":
        yield "too long by a unit", with_entries({0: one // 2, 1: -(one - one // 2) - 1})
        yield "one entry and a unit", with_entries({0: one, 1: 1})
        yield "an entry of 1 and a unit", with_entries({0: -one - 1})
        return
    yield "too long by a unit", _longer_by_a_unit(plan, cols)
    if getattr(plan, "level", None) is not None:
        yield "mean below the bound", np.full(cols, -(one >> 9), dtype=object)
        yield "mean far below", np.full(cols, -one, dtype=object)


def _vanishing(bits: int, cols: int) -> dict[int, int]:
    """Entries of 2^(k/2 - 1), four of which have squares that add up to 2^k."""
    return dict.fromkeys(range(min(4, cols)), 1 << (bits // 2 - 1))


def _just_long(plan: Plan, row: Integers, square: int) -> Integers:
    """The row, stretched until its sum of squares is so many times the largest that is allowed."""
    length = sum(int(v) ** 2 for v in row) ** 0.5
    return np.array([round(int(v) * (square * largest_square_of(plan, len(row))) ** 0.5 / length) for v in row], object)


def _longer_by_a_unit(plan: Plan, cols: int) -> Integers:
    """A sum of squares that exceeds what is allowed by as little as integers can."""
    wanted = largest_square_of(plan, cols) + 1
    row = np.zeros(cols, dtype=object)
    for j in range(cols):
        left = wanted - sum(int(v) ** 2 for v in row)
        row[j] = math.isqrt(left)
    row[-1] += row[-1] ** 2 < left  # few columns may not hit it
    assert wanted <= sum(int(v) ** 2 for v in row) <= wanted + 64
    return row


LABELS: dict[str, int] = {
    "label 2": 2,
    "label -1": -1,
    "label 2^63": 1 << 63,
    "label 2^63 + 1": (1 << 63) + 1,
    "label (K + 1) / 2, K = 60,001": 30_001,
    "label K = 60,001": 60_001,
    "label 2^32": 1 << 32,
    "label half of the ring and a bit": (1 << 62) + 1,
}


NUMBERS: dict[str, int] = {
    "a unit above the range": 4097,
    "a unit below": -4097,
    "twice the range": 8192,
    "2^63": 1 << 63,
    "2^63 + 1": (1 << 63) + 1,
    "2^62": 1 << 62,
    "2^32": 1 << 32,
    "-2^40": -(1 << 40),
}
COUNTS: dict[str, int] = {
    "one more than the largest": 41,
    "minus one": -1,
    "a count in units of a number's bits": 41 << 12,
    "2^15": 1 << 15,
    "2^63": 1 << 63,
    "2^63 + 1": (1 << 63) + 1,
    "2^62": 1 << 62,
    "-2^40": -(1 << 40),
}
WEIGHTS: dict[str, int] = {
    "a unit above the bound": 257,
    "a unit below 0": -1,
    "minus the bound": -256,
    "a thousand times the bound": 256_000,
    "2^63": 1 << 63,
    "2^63 + 128": (1 << 63) + 128,
    "2^62 + 1": (1 << 62) + 1,
    "2^32": 1 << 32,
}


@pytest.mark.parametrize("scheme", also_slow(SCHEMES, FIVE, "pair", "repn"))
def test_every_planted_lie_in_a_real_target_or_a_weight_is_found(scheme: str) -> None:
    """And nothing that keeps to the rules: the ends of both ranges."""
    facts: dict[str, Any] = {"loss": "huber", "weight_bound": 10.0, "clip_rows": False, "feature_bound": 1.0}
    plan = plan_training(training_facts(ROWS, 6, scheme=form(scheme).spec.name, **facts))
    rng = np.random.default_rng(7)
    targets = rng.integers(-4096, 4097, ROWS).astype(object)
    weights = rng.integers(0, 257, ROWS).astype(object)
    targets[:3], weights[:3] = [4096, -4096, 0], [256, 0, 1]
    of_targets, of_weights = range(10, 10 + len(NUMBERS)), range(40, 40 + len(WEIGHTS))
    targets[list(of_targets)], weights[list(of_weights)] = list(NUMBERS.values()), list(WEIGHTS.values())
    found = verdicts_on(plan, [honest(plan, rng)], [targets], scheme, weights=[weights])
    assert set(np.flatnonzero(found == 0).tolist()) == {*of_targets, *of_weights}


@pytest.mark.parametrize("scheme", also_slow(SCHEMES, FIVE, "shamir", "pair", "repn"))
def test_every_planted_lie_in_a_count_is_found(scheme: str) -> None:
    """And no count from 0 to the largest. A number that is not whole has no shares: every integer is a count."""
    facts: dict[str, Any] = {"loss": "poisson", "largest_count": 40, "clip_rows": False, "feature_bound": 1.0}
    plan = plan_training(training_facts(ROWS, 6, scheme=form(scheme).spec.name, **facts))
    rng = np.random.default_rng(9)
    counts = rng.integers(0, 41, ROWS).astype(object)
    counts[:2] = [0, 40]
    planted = range(10, 10 + len(COUNTS))
    counts[list(planted)] = list(COUNTS.values())
    found = verdicts_on(plan, [honest(plan, rng)], [counts], scheme)
    assert set(np.flatnonzero(found == 0).tolist()) == set(planted)


@pytest.mark.parametrize("scheme", also_slow(SCHEMES, FIVE, "shamir", "pair", "repn"))
def test_every_planted_weight_of_a_record_of_several_classes_is_found(scheme: str) -> None:
    facts: dict[str, Any] = {"classes": 4, "weight_bound": 10.0, "clip_rows": False}
    plan = plan_training(training_facts(ROWS, 6, scheme=form(scheme).spec.name, **facts))
    rng = np.random.default_rng(8)
    labels = plan.target.encoded(rng.integers(0, 4, ROWS)).astype(object)
    weights = rng.integers(0, 257, ROWS).astype(object)
    wrong_labels, wrong_weights = range(5, 5 + len(SEVERAL)), range(40, 40 + len(WEIGHTS))
    labels[list(wrong_labels)], weights[list(wrong_weights)] = list(SEVERAL.values()), list(WEIGHTS.values())
    found = verdicts_on(plan, [honest(plan, rng)], [labels], scheme, weights=[weights])
    assert set(np.flatnonzero(found == 0).tolist()) == {*wrong_labels, *wrong_weights}


def test_few_columns_are_checked_by_shifted_squares_too() -> None:
    plan = planned("paper, parties, few columns")
    assert check_of(plan.facts, plan.formats.ring.bits, plan.formats.data, plan.formats.rounded, 6).shift > 0


@pytest.mark.parametrize(
    ("geometry", "scheme"),
    also_slow(
        [*((geometry, scheme) for geometry in GEOMETRIES for scheme in SCHEMES), ("owners scale", FIVE)],
        *((geometry, FIVE) for geometry in list(GEOMETRIES)[1:]),
        ("owners scale", "shamir"),
        ("paper", "shamir/7/king"),
    ),
)
def test_every_planted_lie_is_found(geometry: str, scheme: str) -> None:
    plan = planned(geometry, scheme=form(scheme).spec.name)
    rng = np.random.default_rng(1)
    rows = honest(plan, rng)
    labels = rng.integers(0, 2, ROWS).astype(object)
    named = dict(enumerate(lies(plan, rows[0].copy())))
    assert len(named) + len(LABELS) >= 30
    bad = list(range(1, 1 + len(named)))
    for i, (_, row) in zip(bad, named.values(), strict=True):
        rows[i] = row
    wrong = list(range(40, 40 + len(LABELS)))
    labels[wrong] = list(LABELS.values())
    found = verdicts_on(plan, [rows], [labels], scheme)
    refused = set(np.flatnonzero(found == 0).tolist())
    missed = [name for i, (name, _) in zip(bad, named.values(), strict=True) if i not in refused]
    missed += [name for i, name in zip(wrong, LABELS, strict=True) if i not in refused]
    assert not missed
    assert refused == {*bad, *wrong}
    assert set(np.unique(found)) == {0, 1}


THIRD = (1 << 64) // 3
SEVERAL: dict[str, tuple[int, ...]] = {
    "a 2": (2, 0, 0),
    "a -1": (0, -1, 0),
    "two ones": (1, 1, 0),
    "two ones at the ends": (1, 0, 1),
    "all ones": (1, 1, 1),
    "1 and -1, whose sum is 0": (1, -1, 0),
    "2 and -1, whose sum is 1": (2, -1, 0),
    "2^63": (0, 1 << 63, 0),
    "2^63 twice, whose sum is 0": (1 << 63, 1 << 63, 0),
    "2^63 twice and a 1": (1 << 63, 1 << 63, 1),
    "2^63 + 1": (0, 0, (1 << 63) + 1),
    "2^62 four times too much": (1 << 62, 1 << 62, 1 << 62),
    "three thirds of the ring, none negative, whose sum is 1": (THIRD, THIRD, THIRD + 2),
    "three thirds of the ring, whose sum is 0": (THIRD, THIRD, THIRD + 1),
    "2^63 - 1 twice and a 2": ((1 << 63) - 1, (1 << 63) - 1, 2),
    "2^63 - 1 twice and a 3": ((1 << 63) - 1, (1 << 63) - 1, 3),
    "2^32": (1 << 32, 0, 0),
    "30,001": (0, 30_001, 0),
    "30,001 and what takes it back": (30_001, -30_000, 0),
}
"""Of four classes. The entry of the first is one minus the sum of these: there is no label of no class."""


@pytest.mark.parametrize("scheme", also_slow(SCHEMES, FIVE, "shamir", "pair", "repn"))
@pytest.mark.parametrize("geometry", ["owners scale, few columns", "level"])
def test_every_planted_label_of_several_classes_is_found(geometry: str, scheme: str) -> None:
    assert sum(1 for row in SEVERAL.values() if sum(row) % (1 << 64) in (0, 1) and min(row) >= 0) >= 4, "they wrap"
    plan = planned(geometry, scheme=form(scheme).spec.name, classes=4)
    rng = np.random.default_rng(6)
    labels = plan.target.encoded(rng.integers(0, 4, ROWS)).astype(object)
    wrong = list(range(5, 5 + len(SEVERAL)))
    labels[wrong] = list(SEVERAL.values())
    found = verdicts_on(plan, [honest(plan, rng)], [labels], scheme)
    refused = set(np.flatnonzero(found == 0).tolist())
    assert not [name for i, name in zip(wrong, SEVERAL, strict=True) if i not in refused]
    assert refused == set(wrong)


def test_labels_of_several_classes_without_the_test_of_single_entries_would_pass() -> None:
    """Broken on purpose: not negative, and a sum of at most 1, is not enough in a ring."""

    def too_few(self: SeveralClasses, labels: SecretArray) -> tuple[SecretArray, ...]:
        return (*(labels[:, k] for k in range(self.classes - 1)), -labels.sum(axis=1) + 1)

    plan = planned("owners scale, few columns", scheme="clear", classes=4)
    labels = plan.target.encoded(np.arange(ROWS) % 4).astype(object)
    labels[7] = (THIRD, THIRD, THIRD + 2)
    with mock.patch.object(SeveralClasses, "not_negative", too_few):
        assert verdicts_on(plan, [honest(plan, np.random.default_rng(6))], [labels], "clear").all()


@pytest.mark.parametrize("scheme", also_slow(SCHEMES, FIVE))
@pytest.mark.parametrize(
    "settings", [{"clip_rows": False}, {"clip_rows": True, "feature_bound": 1.0, "epsilon": 40.0}, {"recipe": "paper"}]
)
def test_a_block_of_columns_is_held_against_its_own_bound(scheme: str, settings: dict[str, Any]) -> None:
    """One owner's columns use up what the whole row may have: that owner lies, though the row as a whole is short."""
    plan = plan_training(training_facts(70, 24, partition="vertical", scheme=form(scheme).spec.name, **settings))
    rng = np.random.default_rng(2)
    x = prepared_features(plan, rng.uniform(-1, 1, (70, 24)))
    rows = np.rint(np.ldexp(x, plan.formats.data)).astype(np.int64).astype(object)
    labels = rng.integers(0, 2, 70).astype(object)
    blocks = [rows[:, :8].copy(), rows[:, 8:].copy()]
    blocks[0][5] = _just_long(plan, np.ones(8, dtype=object), 2)
    blocks[0][6] = 1 << 63
    blocks[1][7] = 1 << 32
    assert sum(int(v) ** 2 for v in blocks[0][5]) < largest_square_of(plan, 24)
    found = verdicts_on(plan, blocks, [labels], scheme)
    assert set(np.flatnonzero(found == 0).tolist()) == {5, 6, 7}


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_longest_honest_rows_pass(geometry: str) -> None:
    """On the border: as long as is allowed, all in one entry, in two, in all; and nothing at all."""
    plan = planned(geometry, scheme="clear")
    cols, one = plan.facts.cols + plan.own_columns, 1 << plan.formats.data
    rows = np.zeros((ROWS, cols), dtype=object)
    if plan.facts.norm == "l1":
        rows[0, 0], rows[1, :2] = one, (one // 2, -one // 2)
        rows[2] = one // cols
    else:
        square = largest_square_of(plan, cols)
        length = int(square**0.5) - 1
        rows[0, 0], rows[1, 0] = length, -length if getattr(plan, "level", None) is None else length
        rows[2] = int((square // cols) ** 0.5)
        rows[3, :4] = length // 2
    found = verdicts_on(plan, [rows], [np.arange(ROWS, dtype=object) % 2], "clear")
    assert found.all()


def planned_rows(count: int, cols: int) -> Plan:
    return plan_training(training_facts(count, cols, clip_rows=False, scheme="clear"))


@pytest.mark.slow
def test_a_million_honest_rows_on_the_border_pass() -> None:
    """Rows of exactly the largest length, in random directions, by projections and one by one."""
    passed = 0
    for cols, count in ((80, 400_000), (12, 600_000)):
        plan = planned_rows(count, cols)
        rng = np.random.default_rng(cols)
        x = rng.standard_normal((count, cols))
        x[: count // 4] *= rng.random((count // 4, cols)) < 0.1
        x[:, 0] += 1e-9
        rows = np.trunc(x / np.linalg.norm(x, axis=1, keepdims=True) * (1 << plan.formats.data)).astype(np.int64)
        found = verdicts_on(plan, [rows], [np.arange(count) % 2], "clear")
        passed += int(found.sum())
    assert passed == 1_000_000


@pytest.mark.parametrize("entry", [1 << 63, (1 << 64) // 3, 1 << 40, (1 << 64) // 5])
def test_a_projection_passes_about_as_often_as_the_lemma_allows(entry: int) -> None:
    """Of one test alone, over many coins: at most (m + 1) / (2 m + 1), and for 2^63 close to it."""
    plan = planned("owners scale", scheme="clear")
    check = check_of(plan.facts, 64, plan.formats.data, None, 90, 1, 4)
    coins = 4000
    rng = np.random.default_rng(3)
    r = rng.integers(-check.width, check.width + 1, coins)
    t = (r.astype(object) * entry + check.offset) % (1 << 64)
    rate = float(np.mean([int(v) < 1 << 62 for v in t]))
    bound = (check.width + 1) / (2 * check.width + 1)
    assert rate <= bound + 4 * (0.25 / coins) ** 0.5
    if entry == 1 << 63:
        assert rate > 0.45
