"""Facts and plans: refusals in the house style, one plan for equal facts, one hash for one plan."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.learn.facts import PARAMETERS, training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from support.facts import paper_facts
from support.training import planned

NAN, INF = float("nan"), float("inf")
BAD: dict[str, list[Any]] = {
    "memory": [0, -1, 2.5, True, "much", "0 GB", [1]],
    "shards": [0, -1, 2.0, True, "4", 4097, 11],
    "largest_count": [0, -1, 2.0, True, "x", 40, (1 << 15) + 1],
    "reference": ["", "reference.npz", 3, "AB" * 32],
    "reference_inputs": [3, 0, "3"],
    "rows": [1, 0, -3, 2.0, "5", None, True, (1 << 40) + 1, [3]],
    "cols": [0, 1.5, None, True, (1 << 32) + 1],
    "partition": ["diagonal", None, ["horizontal"], np.array([1, 2])],
    "loss": ["squared", None, ["logistic"]],
    "l2": [0, -1.0, NAN, INF, "1", True, 1e13, np.array([1.0, 2.0])],
    "epsilon": [0, -1.0, NAN, 1025, "1", None],
    "delta": [-1e-9, 1, NAN, "0"],
    "mechanism": ["exponential", ["knorm"], 7],
    "sensitivity": ["loose", ["tight"]],
    "scheme": ["nobody", None, ["rep3"]],
    "threshold": [0, -1, 1.5, "x", True, 65537],
    "route": ["x", "king", 7],
    "epochs": [0, -1, 1.5, "many", True, 10**7, np.array([1, 2])],
    "solver": ["newton"],
    "learning_rate": [0, -1.0, "x", INF],
    "momentum": [-0.1, 1, "x"],
    "initial": ["ones"],
    "fit_intercept": ["no", 2, None],
    "intercept_scaling": [0, -1.0, "x"],
    "normalised_by": ["nobody", "", 0],
    "shared_model": ["yes", 1, None],
    "classes": [1, 0, 257, "x", 2.0, True, None, 3],
    "feature_bound": [0, -1.0, "x"],
    "feature_lower": [-2.0, 1.0, NAN, "x"],
    "calibrate_intercept": ["yes", 1, None, True],
    "budget_shares": [{}, [0.1], "level", 0.1, {"steps": 0.5}, {"level": 0.1}],
    "row_nonzeros": [0, -1, 4, 1.5, "x", True],
    "recipe": ["worst", None, ["best"]],
    "clip_rows": ["yes", 1, True],
    "pure_steps": ["yes", 1],
    "norm_floor": [0, 2, -1, "x"],
    "tolerance": [0, 0.2, -1, "x"],
    "allow_unproven": ["false", 1],
    "weight_bound": [0, -1.0, "x", 10.0],
    "class_weights": [1.0, (1.0, 2.0), "balanced"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_bad_facts_are_refused_by_name_and_value(name: str, value: object) -> None:
    given = {"rows": 10, "cols": 3} | {name: value}
    with pytest.raises(InvalidInputError) as caught:
        paper_facts(**given)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.startswith(f"The '{name}' parameter of a plan must be ")
    assert f"Got {value!r} instead." in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("weight_bound", value) for value in (0, -1.0, NAN, INF, "x", True)),
        *(("class_weights", value) for value in (1.0, (1.0,), (1.0, 0.0), (1.0, -2.0), (1.0, NAN), "balanced")),
    ],
)
def test_bad_weights_are_refused_where_weights_can_be(name: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=f"The '{name}' parameter of a plan must be .*Got ") as caught:
        training_facts(10, 3, **{name: value})  # type: ignore[arg-type]
    assert "left out" not in str(caught.value)


def test_every_fact_has_a_bad_value_here() -> None:
    assert set(PARAMETERS) == set(BAD)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mechanism": "gaussian"}, "'delta' parameter of a plan must be above 0 for the gaussian mechanism"),
        ({"momentum": 0.5}, "give learning_rate too"),
        ({"initial": "glorot"}, "give learning_rate too"),
        ({"partition": "vertical", "normalised_by": "owners"}, "no owner sees a whole row"),
        ({"partition": "vertical", "intercept_scaling": 2.0}, "at most feature_bound"),
    ],
)
def test_facts_that_contradict_each_other(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        paper_facts(10, 3, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epochs": 1, "l2": 0.1}, r"'epochs' parameter of a plan must be large enough.*Got 1 instead"),
        ({"learning_rate": 0.5, "momentum": 0.5, "epochs": 50}, "not proven to be near the minimiser.*allow_unproven"),
        ({"learning_rate": 0.5, "momentum": 0.5}, "epochs='auto' needs a method with a proven rate"),
        ({"learning_rate": 9.0, "epochs": 50}, "'learning_rate' parameter of a plan must be below 2"),
        ({"l2": 1e-9}, "larger l2"),
        ({"mechanism": "knorm", "epsilon": 1e-9, "l2": 1e-3}, "larger epsilon|does not fit|sampled"),
    ],
)
def test_what_cannot_be_proven_is_refused_with_the_remedy(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        plan_minimiser(paper_facts(100, 3, **given))


@pytest.mark.parametrize(("rows", "cols", "delta"), [(1000, 10, 1e-6), (2000, 4, 1e-3), (300, 50, 1e-12)])
def test_an_epsilon_that_is_too_large_for_delta_is_refused_with_the_largest(rows: int, cols: int, delta: float) -> None:
    def plan(epsilon: float) -> Any:
        return plan_training(training_facts(rows, cols, epsilon=epsilon, delta=delta, partition="horizontal"))

    told = rf"With delta = {delta:g}, .* the largest whole epsilon is \d+\.$"
    with pytest.raises(InvalidInputError, match=told) as info:
        plan(1024)
    limit = int(str(info.value).rstrip(".").rpartition(" ")[2])
    assert plan(limit).facts.epsilon == limit
    with pytest.raises(InvalidInputError, match=f"the largest whole epsilon is {limit}\\.$"):
        plan(limit + 1)


def test_a_refusal_that_no_epsilon_mends_names_none() -> None:
    with pytest.raises(InvalidInputError, match=r"larger delta\.$"):
        plan_training(training_facts(1000, 10, epsilon=5, delta=1e-60, partition="horizontal"))


def test_the_most_of_all_epsilons_is_not_promised_with_a_delta() -> None:
    with pytest.raises(InvalidInputError, match=r"at most 1024, and usually far less with a delta above 0\."):
        training_facts(1000, 10, epsilon=1025)
    with pytest.raises(InvalidInputError, match=r"at most 1024\. Got"):
        training_facts(1000, 10, epsilon=1025, delta=0)


def test_too_few_epochs_are_refused_until_tau_is_a_quarter_of_the_sensitivitys_half() -> None:
    outcomes: list[float | None] = []
    for epochs in range(1, 16):
        try:
            plan = plan_minimiser(paper_facts(30, 3, l2=0.3, epochs=epochs))
        except InvalidInputError:
            outcomes.append(None)
        else:
            assert plan.tau is not None
            outcomes.append(2 * plan.tau / float(plan.objective.sensitivity))
    shares = [share for share in outcomes if share is not None]
    assert outcomes[0] is None
    assert outcomes[len(outcomes) - len(shares) :] == shares, "refused below, admitted above"
    assert 0.05 < shares[0] <= 0.25 * (1 + 1e-5)


def test_too_many_dimensions_for_the_papers_noise_name_the_other_mechanisms() -> None:
    with pytest.raises(InvalidInputError, match=r"'laplace' or 'gaussian'|at most 100000"):
        plan_minimiser(paper_facts(100, 150_000, fit_intercept=False, mechanism="knorm"))


def test_an_unproven_plan_says_so_first() -> None:
    plan = plan_minimiser(paper_facts(100, 3, learning_rate=0.5, momentum=0.5, epochs=50, allow_unproven=True))
    assert not plan.proven
    assert plan.tau is None
    assert "not proven" in plan.warnings[0]


def test_a_useless_model_is_announced() -> None:
    assert any("useless" in warning for warning in planned(10, 100, epsilon=0.1).warnings)
    assert not planned(100_000, 3, epsilon=1.0).warnings


# --- one plan --------------------------------------------------------------------------------------------


def test_equal_facts_give_equal_plans() -> None:
    first, second = (plan_minimiser(paper_facts(50, 4, l2=0.5)) for _ in range(2))
    assert first.to_dict() == second.to_dict()
    assert first.hash == second.hash
    assert first.mechanism == second.mechanism


def test_another_process_makes_the_same_plan() -> None:
    program = (
        "from cofit.learn.facts import training_facts; from cofit.learn.plan import plan_training;"
        "print(plan_training(training_facts(50, 4, recipe='paper', l2=0.5)).hash)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == plan_minimiser(paper_facts(50, 4, l2=0.5)).hash


def test_every_fact_changes_the_hash() -> None:
    base: dict[str, Any] = {"rows": 50, "cols": 4, "normalised_by": "parties", "delta": 1e-6, "mechanism": "gaussian"}
    base |= {"learning_rate": 0.5, "epochs": 60}
    of_best: dict[str, Any] = {"classes": 3, "weight_bound": 2.0, "class_weights": (1.0, 2.0)}
    changes: dict[str, Any] = {
        "rows": 51,
        "cols": 5,
        "partition": "vertical",
        "loss": "huber_hinge",
        "l2": 1.0000001,
        "epsilon": 1.0000001,
        "delta": 2e-6,
        "mechanism": "laplace",
        "sensitivity": "paper",
        "scheme": "clear",
        "epochs": 61,
        "solver": "gradient_descent",
        "learning_rate": 0.51,
        "momentum": 0.5,
        "initial": "glorot",
        "fit_intercept": False,
        "intercept_scaling": 0.5,
        "normalised_by": "owners",
        "feature_bound": 2.0,
        "norm_floor": 0.5,
        "tolerance": 1e-4,
        "allow_unproven": True,
        "feature_lower": 0.0,
        "row_nonzeros": 2,
        "threshold": 1,
        "route": "king",
        "shared_model": True,
        "memory": "1 TB",
    }
    apart = {
        "recipe",
        "calibrate_intercept",
        "budget_shares",
        "clip_rows",
        "reference",
        "reference_inputs",
        "largest_count",
        "shards",
        "pure_steps",
    }  # the last three in tests of their own
    assert set(changes) == set(BAD) - apart - set(of_best)
    hashes = [plan_minimiser(paper_facts(**base)).hash]
    for name, value in changes.items():
        needed: dict[str, dict[str, Any]] = {"momentum": {"allow_unproven": True}, "mechanism": {"delta": 0.0}}
        needed |= {"threshold": {"scheme": "shamir"}, "route": {"scheme": "shamir"}}
        hashes.append(plan_minimiser(paper_facts(**(base | {name: value} | needed.get(name, {})))).hash)
    assert len(set(hashes)) == len(hashes)
    best = plan_training(training_facts(50, 4)).hash
    assert best not in hashes
    changed: list[dict[str, Any]] = [
        {"feature_bound": 1.0},
        {"feature_bound": 1.0, "feature_lower": 0.0},
        {"delta": 1e-5},
        {"epsilon": 3.0},
        {"budget_shares": {"level": 0}},
        {"budget_shares": {"level": 0, "centre": 0}},
        {"budget_shares": {"level": 0.02}},
        *({name: value} for name, value in of_best.items()),
        {"weight_bound": 3.0},
        {"class_weights": (2.0, 1.0)},
    ]
    others = {plan_training(training_facts(50, 4, normalised_by="parties", **one)).hash for one in changed}
    assert len(others) == len(changed)
    counts: list[dict[str, Any]] = [{"loss": "poisson", "largest_count": largest} for largest in (40, 41)]
    assert len({plan_training(training_facts(50, 4, **one)).hash for one in counts}) == 2
    clipped: list[dict[str, Any]] = [{}, {"clip_rows": False}, {"feature_bound": 1.0}, {"feature_bound": 2.0}]
    assert len({plan_training(training_facts(5000, 4, **one)).hash for one in clipped}) == len(clipped)


def test_the_plan_is_plain_numbers() -> None:
    plan = planned(50, 4, l2=0.5)
    plain = json.loads(json.dumps(plan.to_dict()))
    assert plain["dimension"] == 5
    assert plain["sensitivity_total"] == pytest.approx(plain["sensitivity_exact"] + 2 * plain["tau"], rel=1e-6)
    assert sum(plain["tau_parts"].values()) == pytest.approx(plain["tau"], rel=1e-5)


def test_the_papers_sensitivity_is_larger() -> None:
    tight, paper = (planned(50, 4, sensitivity=kind).objective for kind in ("tight", "paper"))
    assert float(paper.gradient_bound) == 1.0
    assert float(tight.gradient_bound) == pytest.approx(0.659, abs=1e-3)
