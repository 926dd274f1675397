"""Weights of records: facts, what owners share, what a plan makes of them, and their certificate."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError, RangeError
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.formats import truncated_factors
from cofit.learn.recipes.descent.many_scores import scores_of_releases
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.stated_facts import facts_as_stated, facts_from_stated
from cofit.learn.weights import checked_class_weights, encoded_weights, in_the_clear
from cofit.roles.local.tables import OwnerTable, holders_of
from cofit.roles.local.training import run_training

FACTS: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-6, "scheme": "clear"}


def test_class_weights_are_relative_to_the_larger_one() -> None:
    assert checked_class_weights((1, 4)) == (("first", Fraction(1, 4)), ("second", Fraction(1)))
    assert checked_class_weights((3, 3)) == () == checked_class_weights(None)


@pytest.mark.parametrize("wrong", [(1,), (1, 2, 3), (0, 1), (-1, 1), "ab", 3, (1, float("nan"))])
def test_class_weights_that_are_no_pair_of_positive_numbers_are_refused(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match="class_weights"):
        training_facts(50, 3, class_weights=wrong, **FACTS)


@pytest.mark.parametrize(
    "facts",
    [
        {"class_weights": (1, 2), "loss": "huber"},
        {"class_weights": (1, 2), "weight_bound": 2.0},
        {"class_weights": (1, 2), "recipe": "paper", "delta": None},
        {"weight_bound": 2.0, "delta": 0.0},
        {"weight_bound": 0.0},
    ],
)
def test_weights_that_a_plan_cannot_have_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="weight"):
        training_facts(50, 3, **(FACTS | facts))


def test_owners_share_weights_relative_to_their_bound() -> None:
    assert encoded_weights(np.array([0.0, 5.0, 10.0]), Fraction(10)).tolist() == [0.0, 0.5, 1.0]
    for wrong in (10.1, -0.1, np.nan, np.inf):
        with pytest.raises(RangeError, match=r"1 of 2 weights .* row 1"):
            encoded_weights(np.array([1.0, wrong]), Fraction(10))


def test_in_the_clear() -> None:
    labels = np.array([0, 1, 1])
    found = in_the_clear(labels, checked_class_weights((1, 4)), None)
    assert found is not None
    assert found.tolist() == [0.25, 1, 1]
    assert in_the_clear(labels, (), None) is None


@pytest.mark.parametrize("facts", [{"weight_bound": 4.0}, {"class_weights": (3.0, 1.0)}])
def test_they_are_stated_and_found_again(facts: dict[str, Any]) -> None:
    asked = training_facts(50, 3, **FACTS, **facts)
    stated = facts_as_stated(asked)
    assert set(stated) & set(facts) == set(facts)
    assert facts_from_stated(stated) == asked
    plain = training_facts(50, 3, **FACTS)
    assert not set(facts_as_stated(plain)) & {"weight_bound", "class_weights"}
    assert plan_training(asked).hash != plan_training(plain).hash


def test_the_sensitivity_is_that_of_the_largest_weight() -> None:
    plain, weighted = (plan_training(training_facts(50, 3, **FACTS, weight_bound=bound)) for bound in (None, 4.0))
    assert plain.releases[-1].sensitivity <= weighted.releases[-1].sensitivity
    assert weighted.releases[-1].sensitivity < plain.releases[-1].sensitivity * Fraction(1001, 1000)


@pytest.mark.parametrize("facts", [{"partition": "vertical", "clip_rows": False}, {"clip_rows": True}])
def test_factors_times_weights_are_truncated_and_the_sensitivity_counts_it(facts: dict[str, Any]) -> None:
    """One unit of the factor, times the residual and the longest row, to either side."""
    asked = {**FACTS, "epsilon": 30.0, **facts}
    plain, weighted = (plan_training(training_facts(60, 5, **asked, weight_bound=bound)) for bound in (None, 4.0))
    assert isinstance(plain, DescentPlan) and isinstance(weighted, DescentPlan)
    formats = weighted.formats
    unit = Fraction(1, 1 << formats.inverse_norm)
    more = formats.largest_residual * (formats.longest + formats.centre) * unit
    assert truncated_factors(formats, weighted.layout) - truncated_factors(plain.formats, plain.layout) == more > 0
    assert plain.steps[0].sensitivity < weighted.steps[0].sensitivity


def test_a_run_without_the_weights_of_its_plan_is_refused() -> None:
    plan = plan_training(training_facts(4, 2, **FACTS, weight_bound=4.0))
    x, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    with pytest.raises(InvalidInputError, match="one for each label"):
        holders_of(plan, {"a": OwnerTable(x, y)})
    plan = plan_training(training_facts(4, 2, **FACTS))
    with pytest.raises(InvalidInputError, match="none without weight_bound"):
        holders_of(plan, {"a": OwnerTable(x, y, np.ones(4))})


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_records_of_weight_0_teach_nothing(partition: str) -> None:
    """Half of the records say the opposite, and count 0."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (2000, 3))
    y = (x[:, 0] > 0).astype(np.int64)
    weights = np.tile([2.0, 0.0], 1000)
    lying = np.where(weights > 0, y, 1 - y)
    facts = {**FACTS, "epsilon": 8.0, "feature_bound": 1.0, "weight_bound": 2.0, "partition": partition}
    plan = plan_training(training_facts(2000, 3, **facts))
    owners = {"a": OwnerTable(x, lying, weights)}
    if partition == "vertical":
        owners = {"a": OwnerTable(x[:, :1]), "b": OwnerTable(x[:, 1:], lying, weights)}
    run = run_training(plan, owners)
    scoring = plan.scoring(run.weights)
    assert scoring.rows is not None
    scores = scoring.rows(x) @ run.weights[:3] + scoring.intercept
    assert ((scores > 0) == y).mean() > 0.9
    assert run.certificate.owners[list(owners)[-1]]["weights"] == (2000,)


def test_weights_of_several_classes() -> None:
    facts = {**FACTS, "classes": 3}
    asked = training_facts(50, 3, class_weights=(1, 4, 2), **facts)
    assert [weight for _, weight in asked.class_weights] == [Fraction(1, 4), 1, Fraction(1, 2)]
    assert facts_from_stated(facts_as_stated(asked)) == asked
    assert [name for name, _ in asked.class_weights] == sorted(name for name, _ in asked.class_weights)
    assert training_facts(50, 3, class_weights=(3, 3, 3), **facts).class_weights == ()
    for wrong in ((1, 4), (1, 4, 0), (1, 4, 2, 2), "142", (1, 4, None)):
        with pytest.raises(InvalidInputError, match="class_weights"):
            training_facts(50, 3, class_weights=wrong, **facts)
    found = in_the_clear(np.array([2, 0, 1, 1]), asked.class_weights, None)
    assert found is not None
    assert found.tolist() == [0.5, 0.25, 1, 1]


@pytest.mark.parametrize("how", ["records", "classes"])
def test_what_counts_little_of_several_classes_teaches_little(how: str) -> None:
    """A run of the protocol: half of the records name another class and count 0, or a class hardly counts."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (1500, 3))
    y = x.argmax(axis=1)
    weights = np.tile([2.0, 0.0], 750)
    settings: dict[str, Any] = {"weight_bound": 2.0} if how == "records" else {"class_weights": (1.0, 1.0, 1 / 256)}
    plan = plan_training(training_facts(1500, 3, epsilon=8.0, delta=1e-4, classes=3, scheme="clear", **settings))
    lying = np.where(weights > 0, y, (y + 1) % 3) if how == "records" else y
    table = OwnerTable(x, lying, weights if how == "records" else None)
    run = run_training(plan, {"a": table})
    scores = scores_of_releases(plan, run.weights[np.newaxis], x)[:, 0]  # type: ignore[arg-type]
    predicted = scores.argmax(axis=1)
    if how == "records":
        assert (predicted == y).mean() > 0.85
    else:
        assert (predicted == 2).mean() < 0.15
