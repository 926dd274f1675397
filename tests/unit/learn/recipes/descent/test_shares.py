"""Shares of the budget that users choose: what they are given they get, and the guarantee stays the same."""

from __future__ import annotations

import itertools
import json
import tomllib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from cofit import LogisticRegression, forecast_accuracy
from cofit.cli.main import cli
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.recipes.descent.budget import CALIBRATION_SHARE, CENTRE_SHARE
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.study.plan import study_plan
from unit.study.studies import study_of

FACTS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "feature_bound": 1.0, "feature_lower": 0.0}
BEST = {"model": {"kind": "logistic_regression", "calibrate_intercept": True}}


def planned(shares: dict[str, Any] | None, rows: int = 500, cols: int = 20, **facts: Any) -> DescentPlan:
    return plan_descent(training_facts(rows, cols, **(FACTS | {"clip_rows": False} | facts), budget_shares=shares))


def spent(plan: DescentPlan) -> dict[str, float]:
    """Shares by the first word of a release's name, from its sensitivity and noise alone."""
    amounts: dict[str, float] = {}
    for event in plan.events:
        name = event.name.split()[0]
        amounts[name] = amounts.get(name, 0.0) + float(event.sensitivity / event.scale) ** 2
    return {name: amount / sum(amounts.values()) for name, amount in amounts.items()}


@pytest.mark.parametrize(
    "shares",
    [
        {"level": 0.02, "centre": 0.3, "intercept": 0.1},
        {"level": 0.0001, "centre": 0.0001, "intercept": 0.0001},
        {"level": 0.3, "centre": 0.3, "intercept": 0.3},
        {"centre": 0.85, "level": 0, "intercept": 0.05},
    ],
)
def test_a_release_has_the_share_that_it_was_given(shares: dict[str, float]) -> None:
    plan = planned(shares, calibrate_intercept=True)
    found = spent(plan)
    assert set(found) - {"step"} == {name for name, share in shares.items() if share}
    for name, share in shares.items():
        assert found.get(name, 0.0) == pytest.approx(share, rel=1e-4)
        assert float(sum(part for of, part in plan.spent.items() if of.startswith(name))) == pytest.approx(
            share, rel=1e-3
        )
    assert found["step"] == pytest.approx(1 - sum(shares.values()), rel=1e-4)


def test_whatever_the_shares_the_guarantee_is_the_one_asked_for() -> None:
    grid = (0, 0.0001, 0.4)
    for level, centre, epsilon in itertools.product(grid, grid, (0.1, 8.0)):
        plan = planned({"level": level, "centre": centre}, epsilon=epsilon)
        delta = plan.account.delta
        assert Fraction(99, 100) * plan.facts.delta < delta <= plan.facts.delta


def test_the_recipes_own_shares_give_the_recipes_own_releases() -> None:
    usual = planned(None, rows=5000, calibrate_intercept=True)
    chosen = planned(
        {"centre": float(CENTRE_SHARE), "intercept": float(CALIBRATION_SHARE)}, rows=5000, calibrate_intercept=True
    )
    assert usual.centre is not None
    assert usual.events == chosen.events
    assert usual.hash != chosen.hash


def test_a_share_of_nothing_leaves_a_release_out() -> None:
    assert planned(None, rows=5000).level is not None
    without = planned({"level": 0, "centre": 0}, rows=5000)
    assert (without.level, without.centre) == (None, None)
    assert without.facts.normalised_by == "owners", "nothing is left for the parties to do"


@pytest.mark.parametrize(
    ("shares", "facts", "message"),
    [
        ({"level": -0.1}, {}, "from 0 .* for 'level'.*Got -0.1"),
        ({"level": 0.00001}, {}, "at most four decimals, for 'level'"),
        ({"level": 0.12345}, {}, "at most four decimals, for 'level'"),
        ({"level": 0.9001}, {}, "to 0.9, .*for 'level'"),
        ({"centre": "x"}, {}, "for 'centre'.*Got 'x'"),
        ({"centre": True}, {}, "for 'centre'.*Got True"),
        ({"centre": float("nan")}, {}, "for 'centre'.*Got nan"),
        ({"level": 0.86}, {"rows": 5000, "cols": 4}, r"together, with the recipe's own of \['centre'\]"),
        ({"intercept": 0.89}, {"rows": 230, "cols": 2, "calibrate_intercept": True}, "with the recipe's own"),
        ({"level": 0.5, "centre": 0.41}, {}, "at most 0.9 together"),
        ({"level": 0.1}, {"normalised_by": "owners"}, "without a 'level'"),
        ({"level": 0.1}, {"feature_bound": None, "feature_lower": None}, "without a 'level'.*feature_bound"),
        ({"intercept": 0.1}, {}, "calibrate_intercept"),
        ({"intercept": 0}, {"calibrate_intercept": True}, "calibrate_intercept"),
        ({"centre": 0.1}, {"delta": 0.0}, "recipe='best' and a delta above 0"),
    ],
)
def test_bad_shares_are_refused_with_the_remedy(shares: dict[str, Any], facts: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=f"'budget_shares' parameter of a plan must be .*{message}"):
        planned(shares, **facts)


def test_decimals_are_what_they_say() -> None:
    assert spent(planned({"level": 0, "centre": 0.9}))["step"] == pytest.approx(0.1)
    assert planned({"centre": np.float32(0.05)}).facts.budget_shares == (("centre", Fraction(1, 20)),)
    assert planned({"level": 0.45, "centre": 0.45}).facts.budget_shares[0] == ("level", Fraction(9, 20))


def test_noise_beyond_use_is_announced() -> None:
    poor = planned({"level": 0.0001, "centre": 0.0001})
    assert [warning.split()[1] for warning in poor.warnings] == ["level", "centre"]
    assert planned(None, rows=5000).warnings == ()
    x, y = np.tile(np.eye(4), (10, 1)), np.arange(40) % 2
    with pytest.warns(UserWarning, match="the level has noise of"):
        LogisticRegression(
            scheme="clear", classes=(0, 1), feature_bound=1.0, feature_lower=0.0, budget_shares={"level": 0.0001}
        ).fit(x, y)
    told = forecast_accuracy(500, 4, epsilons=(1.0,), feature_bound=1.0, budget_shares={"level": 0.0001})
    assert any("level has noise" in note for note in told.notes)


def test_the_model_can_be_trained_and_its_plan_found_again() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 2, (300, 4)).astype(float), rng.integers(0, 2, 300)
    shares = {"level": 0.07, "centre": 0.11, "intercept": 0.03}
    model = LogisticRegression(
        epsilon=3.0,
        scheme="clear",
        feature_bound=1.0,
        feature_lower=0.0,
        calibrate_intercept=True,
        budget_shares=shares,
    ).fit([(x[:150], y[:150]), (x[150:], y[150:])], partition="horizontal")
    names = {release.name.split()[0] for release in model.certificate_.releases}
    assert names == {"level", "centre", "step", "intercept"}
    plan = rebuilt_plan(model.certificate_)
    assert plan is not None
    assert dict(plan.facts.budget_shares) == {name: Fraction(str(share)) for name, share in shares.items()}


def test_studies_have_them() -> None:
    document = tomllib.loads("epsilon = 1\nbudget_shares = { level = 0.02, centre = 0 }")
    plan = study_plan(study_of(**BEST, privacy=document))
    assert isinstance(plan, DescentPlan)
    assert plan.facts.budget_shares == (("level", Fraction(1, 50)), ("centre", Fraction(0)))
    assert study_of(**BEST, privacy=document).hash != study_of(**BEST, privacy={"epsilon": 1}).hash


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"lvl": 0.1}, r"'privacy.budget_shares.lvl'.*level"),
        ({}, r"'privacy.budget_shares' parameter of the study must be left out"),
        (0.1, r"'privacy.budget_shares'"),
        ({"level": "0.1"}, r"'privacy.budget_shares.level'"),
        ({"level": 0.95}, r"'privacy.budget_shares' parameter of the study must be a number from 0 .*for 'level'"),
    ],
)
def test_studies_with_bad_ones_are_refused_by_path(shares: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        study_of(**BEST, privacy={"epsilon": 1, "budget_shares": shares})


def test_the_command_line_has_them() -> None:
    command = ["plan", "--rows", "500", "--cols", "20", "--feature-bound", "1", "--feature-lower", "0", "--json"]
    done = CliRunner().invoke(cli, [*command, "--share", "level=0.02", "--share", "centre=0"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["budget_shares"] == {"level": 0.02, "centre": 0.0}
    assert found["releases"][0]["name"] == "level"
    assert found["releases"][0]["share"] == pytest.approx(0.02, rel=1e-3)
    for wrong, told in (
        (["level"], "NAME=SHARE"),
        (["level="], "not a number"),
        (["level=2%"], "not a number: write level=0.02"),
        (["steps=0.1"], "the steps have what is left"),
        (["level=0.1", "level=0.2"], "given twice"),
    ):
        refused = CliRunner().invoke(cli, [*command, *(part for one in wrong for part in ("--share", one))])
        assert refused.exit_code == 2
        assert told in " ".join(refused.output.replace("│", " ").split())
