"""The map of a public reference: its formula in both forms, its files, what plans and facts make of it, and what a
useless or a shifted one costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.learn.certify import certify
from cofit.learn.contribution import prepared_features
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.recipes.descent.budget import CENTRED_CONSTANT, CONSTANT, STEPS, spend
from cofit.learn.recipes.descent.many_scores import scores_of_releases
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.descent.reference import CUT, ReferenceMap, prepared, reference_map
from cofit.learn.recipes.descent.twin import cleartext_descent
from cofit.learn.stated_facts import facts_as_stated, facts_from_stated

RNG = np.random.default_rng(6)
ROWS = RNG.normal(size=(40, 90)) * np.geomspace(3, 0.1, 90) + 1
MAP = reference_map(ROWS, 500, epsilon=1.0, delta=1e-5)
DELTA = training_facts(500, 90, delta=1e-5).delta
HASH = "ab" * 32


def test_it_is_the_ridge_of_the_reference() -> None:
    z = prepared(ROWS)
    mean = z.mean(axis=0)
    covariance = (z - mean).T @ (z - mean) / len(z)
    strength = 500 * (covariance / 2 + np.trace(covariance) / 2 / 90 * np.eye(90))
    budget = spend(500, 90, training_facts(500, 90, epsilon=1.0).epsilon, DELTA, ranges=False)
    cut = CUT / (float(budget.pace) * STEPS)
    rows = RNG.normal(size=(7, 90)) + 1
    expected = (prepared(rows) - mean) @ strength @ np.linalg.inv(strength + cut * np.eye(90))
    np.testing.assert_allclose(MAP(rows), expected, atol=1e-6)
    only = replace(MAP, only=True)
    assert (MAP.columns, only.columns) == (90, 39)
    inside = only(rows) @ only.directions
    directions = MAP.directions.astype(float)
    np.testing.assert_allclose(inside, MAP(rows) @ directions.T @ directions, atol=1e-6)


def test_it_never_stretches() -> None:
    rows = RNG.normal(size=(50, 90)) * 100
    assert (np.linalg.norm(MAP(rows), axis=1) <= np.linalg.norm(prepared(rows) - MAP.mean, axis=1) + 1e-9).all()


def test_files_hold_all_of_it_and_the_hash_is_of_all_of_it() -> None:
    assert ReferenceMap.from_arrays(MAP.arrays()) == MAP == ReferenceMap.from_dict(MAP.to_dict())
    others = [
        replace(MAP, only=True),
        replace(MAP, cut=MAP.cut * 2),
        replace(MAP, records=501),
        replace(MAP, isotropic=MAP.isotropic * 2),
        replace(MAP, mean=MAP.mean + np.float32(1e-3)),
        replace(MAP, variances=MAP.variances * 2),
        replace(MAP, directions=-MAP.directions),
    ]
    assert len({MAP.hash, *(other.hash for other in others)}) == len(others) + 1
    for changes in ({"hash": HASH}, {"records": 2.5}, {"mean": "?"}, {"cut": others[1].cut.hex()}, {"format": "x"}):
        with pytest.raises(InvalidInputError, match="reference"):
            ReferenceMap.from_dict({**MAP.to_dict(), **changes})
    with pytest.raises(InvalidInputError, match="holds the arrays"):
        ReferenceMap.from_arrays({"mean": MAP.mean})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:19], r"at least 20 rows"),
        (np.ones((30, 5)), "differ from each other"),
        (np.full((30, 5), np.nan), "finite"),
    ],
)
def test_what_shows_nothing_is_refused(rows: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        reference_map(rows, 500, epsilon=1.0, delta=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        {"delta": 0.0},
        {"recipe": "paper"},
        {"clip_rows": True},
        {"loss": "clipped_squares"},
        {"reference": "not a hash"},
    ],
    ids="-".join,
)
def test_facts_refuse_a_reference_that_a_plan_cannot_have(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="'reference' parameter"):
        training_facts(500, 90, **{"reference": HASH, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalised_by": "parties"}, "'normalised_by' parameter"),
        ({"reference_inputs": 90}, "'reference_inputs' parameter"),
        ({"partition": "vertical"}, "'reference_inputs' parameter"),
        ({"partition": "vertical", "reference_inputs": 89}, "'reference_inputs' parameter"),
        ({"partition": "vertical", "reference_inputs": 1 << 20}, "keep its directions alone"),
        ({"partition": "vertical", "reference_inputs": 90, "normalised_by": "owners"}, "no owner sees a whole row"),
        ({"partition": "vertical", "reference_inputs": 90, "budget_shares": {"centre": 0.1}}, "centres them"),
        ({"partition": "vertical", "reference_inputs": 90, "budget_shares": {"level": 0.1}}, "centres them"),
        ({"reference": None, "partition": "vertical", "reference_inputs": 90}, "'reference_inputs' parameter"),
    ],
)
def test_facts_refuse_what_does_not_go_with_a_reference(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        training_facts(500, 90, **{"reference": HASH, **changes})


def test_plan_and_certificate_know_it() -> None:
    facts = training_facts(5000, 10, epsilon=1.0, delta=1e-5, reference=HASH, scheme="clear")
    plan = plan_training(facts)
    assert isinstance(plan, DescentPlan)
    assert (facts.normalised_by, facts.row_limit, plan.level) == ("owners", None, None)
    assert plan.mapped
    few = [plan_descent(training_facts(500, 90, delta=1e-5, reference=one, scheme="clear")) for one in (HASH, None)]
    assert [one.centre for one in few] == [None, None]
    assert [one.formats.constant for one in few] == [CENTRED_CONSTANT, CONSTANT]
    without = plan_training(replace(facts, reference=None))
    assert plan.hash != without.hash
    assert "reference" not in facts_as_stated(without.facts)
    assert facts_from_stated(facts_as_stated(facts)) == facts
    owners = {"a": {"features": (5000, 10), "labels": (5000,)}}
    certificate = certify(plan, parties=["one"], owners=owners, openings=(), created="2026-01-01T00:00:00+00:00")
    assert any(HASH in assumption for assumption in certificate.assumptions)
    assert rebuilt_plan(certificate) == plan


def test_owners_divide_mapped_rows_by_their_length_and_take_no_mean_from_them() -> None:
    plan = plan_training(training_facts(500, 90, reference=MAP.hash, scheme="clear"))
    rows = MAP(ROWS)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(prepared_features(plan, rows), unit, atol=2.0**-15)
    assert (np.linalg.norm(prepared_features(plan, rows), axis=1) <= 1).all()


def _accuracy(reference: np.ndarray | None, directions: bool = False) -> float:
    """The mean over draws at epsilon = 1: 300 columns that follow 4 factors."""
    rng = np.random.default_rng(9)
    loadings, factors = rng.normal(size=(4, 300)), rng.normal(size=(1000, 4))
    features = factors @ loadings + 3 * rng.normal(size=(1000, 300))
    labels = (factors[:, 0] > 0).astype(np.int64)
    made = None
    if reference is not None:
        rows = reference[:, :4] @ loadings + 3 * reference[:, 4:]
        made = reference_map(rows, 600, epsilon=1.0, delta=1e-5, directions_only=directions)
        features = made(features)
    hash = None if made is None else made.hash
    facts = training_facts(600, features.shape[1], epsilon=1.0, delta=1e-5, reference=hash, scheme="clear")
    plan = plan_descent(facts)
    released = cleartext_descent(plan, features[:600], labels[:600], 10, rng)
    return float(((labels[600:] == 1) == (scores_of_releases(plan, released, features[600:]) > 0).T).mean())


def test_a_good_reference_helps_a_shifted_one_less_and_a_useless_one_harms_little() -> None:
    rng = np.random.default_rng(10)
    good = rng.normal(size=(80, 304))
    shifted = good + 2 * rng.normal(size=304)
    useless = np.concatenate([np.zeros((80, 4)), rng.normal(size=(80, 300))], axis=1)
    without, helped = _accuracy(None), _accuracy(good)
    assert helped > without + 0.025
    assert _accuracy(good, directions=True) > without + 0.025
    assert _accuracy(shifted) > without - 0.03
    assert without - 0.05 < _accuracy(useless) < helped - 0.03
