"""Training against the exact minimiser: within tau, always, for every scheme, solver, loss and extreme of the data.

Every example makes one plan and trains on several tables. What is compared is opened by a test program; a product path
opens noisy weights only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from cofit.arithmetic import Z128, PowerOfTwoRing, Ring, RingArray
from cofit.errors import PartyFailedError
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.sharing import Share
from cofit.sharing.clear.party import Clear
from support.facts import paper_facts
from support.schemes import form
from support.training import LABELLINGS, TABLES, checked_ranges, labels, minimiser, planned, table, trained

FAST = settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
LONG = settings(FAST, max_examples=50)


@st.composite
def facts(draw: st.DrawFn, least_l2: float = 0.01, most_rows: int = 300) -> dict[str, Any]:
    """The public facts of a study with a proven tau."""
    chosen: dict[str, Any] = {
        "rows": draw(st.integers(2, most_rows)),
        "cols": draw(st.integers(1, 20)),
        "l2": float(np.exp(draw(st.floats(np.log(least_l2), np.log(10.0))))),
        "loss": draw(st.sampled_from(["logistic", "huber_hinge"])),
        "fit_intercept": draw(st.booleans()),
        "tolerance": draw(st.sampled_from([1e-3, 1e-3, 0.1, 1e-7])),
    }
    method = draw(st.sampled_from(["auto", "gradient_descent", "accelerated", "learning_rate"]))
    if method == "learning_rate":
        smoothness = chosen["l2"] + (0.25 if chosen["loss"] == "logistic" else 1.0)
        chosen |= {
            "learning_rate": draw(st.floats(0.3, 1.5)) / smoothness,
            "initial": draw(st.sampled_from(["zeros", "glorot"])),
        }
    else:
        chosen["solver"] = method
    chosen["partition"] = draw(st.sampled_from(["horizontal", "vertical"]))
    if chosen["partition"] == "vertical" or draw(st.booleans()):
        chosen |= {"normalised_by": "parties", "feature_bound": draw(st.sampled_from([1.0, 8.0, 3.3]))}
        chosen["norm_floor"] = draw(st.sampled_from([1 / 16, 0.1, 1.0]))
    chosen["intercept_scaling"] = draw(st.sampled_from([1.0, 0.37]))
    return chosen


def disagreement(plan: MinimiserPlan, x: npt.NDArray[np.float64], y: npt.NDArray[np.int64], scheme: str) -> float:
    """The distance to the minimiser, in units of tau."""
    assert plan.proven and plan.tau is not None
    return float(np.linalg.norm(trained(plan, x, y, scheme) - minimiser(plan, x, y))) / plan.tau


def assert_within_tau(given_facts: dict[str, Any], seed: int, tables: int, scheme: str) -> None:
    plan = planned(scheme=form(scheme).spec.name, **given_facts)
    rng = np.random.default_rng(seed)
    slow = plan.formats.evaluation.description.startswith("range-safe")
    for kind in rng.choice(TABLES, 1 if slow else tables, replace=False):
        labelling = str(rng.choice(LABELLINGS))
        x = table(str(kind), rng, plan)
        ratio = disagreement(plan, x, labels(labelling, rng, x), scheme)
        assert ratio <= 1, f"{ratio} tau from the minimiser: {kind}, {labelling}, {plan.to_dict()}"


@FAST
@given(facts(), st.integers(0, 1 << 30))
def test_weights_are_within_tau_of_the_minimiser(given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, 3, "clear")


@pytest.mark.slow
@pytest.mark.timeout(900)
@LONG
@given(facts(), st.integers(0, 1 << 30))
def test_weights_are_within_tau_of_the_minimiser_long(given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, len(TABLES), "clear")


@settings(FAST, max_examples=6)
@given(facts(least_l2=0.3, most_rows=80), st.integers(0, 1 << 30))
def test_weights_are_within_tau_with_rep3(given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, 1, "rep3")


@settings(FAST, max_examples=4)
@given(facts(least_l2=0.3, most_rows=80), st.integers(0, 1 << 30))
def test_weights_are_within_tau_with_semi2k(given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, 1, "semi2k")


@settings(FAST, max_examples=2)
@given(facts(least_l2=1.0, most_rows=40), st.integers(0, 1 << 30))
def test_weights_are_within_tau_with_pair(given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, 1, "pair")


@settings(FAST, max_examples=2)
@given(facts(least_l2=1.0, most_rows=40), st.integers(0, 1 << 30))
def test_weights_are_within_tau_with_rep4(given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, 1, "rep4")


@settings(FAST, max_examples=2)
@given(facts(least_l2=1.0, most_rows=40), st.integers(0, 1 << 30))
def test_weights_are_within_tau_with_shamir_among_five(given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, 1, "shamir/5")


@settings(FAST, max_examples=2)
@given(facts(least_l2=1.0, most_rows=40), st.integers(0, 1 << 30))
def test_weights_are_within_tau_with_repn(given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, 1, "repn")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("scheme", ["pair", "shamir", "shamir/5/king", "shamir/7", "repn", "repn/5"])
@settings(FAST, max_examples=6)
@given(facts(least_l2=0.3, most_rows=80), st.integers(0, 1 << 30))
def test_weights_are_within_tau_among_n_parties_long(scheme: str, given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, 1, scheme)


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(FAST, max_examples=12)
@given(facts(least_l2=0.3, most_rows=80), st.integers(0, 1 << 30))
def test_weights_are_within_tau_with_rep4_long(given_facts: dict[str, Any], seed: int) -> None:
    assert_within_tau(given_facts, seed, 1, "rep4")


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_weights_are_within_tau_with_rep3_and_the_range_safe_sigmoid(partition: str) -> None:
    assert_within_tau({"rows": 30, "cols": 4, "l2": 0.1, "partition": partition, "tolerance": 0.05}, 5, 1, "rep3")


@pytest.mark.parametrize("l2", [pytest.param(1e-3, marks=pytest.mark.slow), 100.0])
@pytest.mark.parametrize("loss", ["logistic", "huber_hinge"])
def test_weights_are_within_tau_for_extreme_penalties(l2: float, loss: str) -> None:
    assert_within_tau({"rows": 20, "cols": 3, "l2": l2, "loss": loss, "tolerance": 0.05}, 6, 1, "clear")


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_the_wide_ring_agrees_as_well(partition: str) -> None:
    with mock.patch("cofit.learn.recipes.minimiser.planning.RINGS", (Z128,)):
        plan = plan_minimiser(paper_facts(40, 5, partition=partition, solver="gradient_descent", tolerance=1e-9))
    assert plan.formats.ring is Z128
    rng = np.random.default_rng(7)
    for kind in ("skewed", "equal"):
        x = table(kind, rng, plan)
        with checked_ranges():
            assert disagreement(plan, x, labels("by sign", rng, x), "clear") <= 1


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("l2", [0.05, 1.0])
def test_scikit_learn_finds_the_same_weights(partition: str, l2: float) -> None:
    """The reference of the other tests is our own; this one is not."""
    plan = planned(120, 6, partition=partition, l2=l2, scheme="clear", tolerance=1e-7)
    rng = np.random.default_rng(8)
    x = table("normal", rng, plan)
    y = labels("by sign", rng, x)
    model = LogisticRegression(
        C=1 / (120 * l2), fit_intercept=False, solver="newton-cholesky", tol=1e-14, max_iter=1000
    )
    reference = model.fit(plan.comparable_rows(x), y).coef_[0]
    assert plan.tau is not None
    assert np.linalg.norm(trained(plan, x, y) - reference) <= plan.tau + 1e-9


# --- the worst rounding ----------------------------------------------------------------------------------


def _ceiling(ring: Ring, product: RingArray, shift: int) -> Share:
    """Truncation off by almost one unit upwards: what a scheme may do in the worst case."""
    if shift and isinstance(ring, PowerOfTwoRing):
        almost = ring.from_int(np.asarray((1 << shift) - 1, dtype=object))
        product = ring.sar(ring.add(product, almost), shift)
    return Share(ring, (product,))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("loss", ["logistic", "huber_hinge"])
@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("solver", ["gradient_descent", "accelerated"])
@pytest.mark.parametrize("rounding", ["down", "up"])
def test_tau_holds_when_every_truncation_errs_in_the_same_direction(
    loss: str, partition: str, solver: str, rounding: str
) -> None:
    """So many epochs that rounding and encoding are all that is left of tau."""
    plan = planned(
        25,
        12,
        loss=loss,
        partition=partition,
        solver=solver,
        l2=0.3,
        tolerance=1e-9,
        scheme="clear",
        fit_intercept=False,
    )
    assert plan.tau is not None
    assert (plan.tau_parts["iterations"] or 0) < plan.tau / 2
    rng = np.random.default_rng(9)
    floor = Clear._floor if rounding == "down" else _ceiling
    for kind, labelling in (("equal", "all 1"), ("normal", "all 0"), ("skewed", "by sign")):
        x = table(kind, rng, plan)
        with mock.patch.object(Clear, "_floor", staticmethod(floor)):
            assert disagreement(plan, x, labels(labelling, rng, x), "clear") <= 1


# --- nothing wraps ---------------------------------------------------------------------------------------


@settings(FAST, max_examples=6)
@given(facts(least_l2=0.05, most_rows=40), st.integers(0, 1 << 30), st.sampled_from([0.0, 0.0, 0.9, 0.5]))
def test_every_intermediate_value_is_within_its_proven_range(
    given_facts: dict[str, Any], seed: int, momentum: float
) -> None:
    if momentum:
        rate = 0.5 / (given_facts["l2"] + 1)
        given_facts = given_facts | {"learning_rate": rate, "momentum": momentum, "allow_unproven": True, "epochs": 40}
        given_facts.pop("solver", None)
    plan = planned(scheme="clear", **given_facts)
    rng = np.random.default_rng(seed)
    for kind, labelling in (("equal", "all 0"), ("aligned", "by sign"), ("tiny rows", "all 1")):
        x = table(kind, rng, plan)
        with checked_ranges() as used:
            trained(plan, x, labels(labelling, rng, x))
        assert len(used) > 30


@pytest.mark.parametrize("loss", ["logistic", "huber_hinge"])
@pytest.mark.parametrize("solver", ["gradient_descent", "accelerated"])
def test_weights_reach_their_radius_and_do_not_pass_it(loss: str, solver: str) -> None:
    """All rows equal and of norm 1, one class: ||w|| comes as close to G / Lambda as it can."""
    plan = planned(20, 3, loss=loss, solver=solver, l2=2.0, fit_intercept=False, scheme="clear")
    x, y = np.tile([[0.0, 1.0, 0.0]], (20, 1)), np.zeros(20, np.int64)
    with checked_ranges():
        weights = trained(plan, x, y)
    reached = float(np.linalg.norm(weights)) / float(plan.formats.radius)
    assert (0.85 if loss == "huber_hinge" else 0.7) < reached <= 1


def test_a_value_beyond_its_limit_is_noticed() -> None:
    """The instruments themselves: weights claimed to be shorter than they are, and half the epochs."""
    plan = planned(20, 3, l2=1.0, fit_intercept=False, scheme="clear")
    x, y = np.tile([[0.0, 1.0, 0.0]], (20, 1)), np.zeros(20, np.int64)
    narrow = replace(plan, formats=replace(plan.formats, radius=plan.formats.radius / 4))
    with checked_ranges(), pytest.raises(PartyFailedError, match="exceeds its proven limit"):
        trained(narrow, x, y)
    hurried = replace(plan, epochs=plan.epochs // 2)
    assert disagreement(hurried, x, y, "clear") > 1
