"""The party program: who contributes what, the initialiser, and the rounds of an epoch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from cofit import Party, run_local
from cofit.learn.inputs import Holders
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.program import initial, train
from support.training import COIN, contributions, labels, minimiser, planned, table, trained


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("owners", [1, 2, 3])
def test_any_number_of_owners_makes_the_same_model(partition: str, owners: int) -> None:
    """Rows and columns in the order of the owners; the intercept's weight is the last."""
    plan = planned(20, 4, partition=partition, scheme="clear")
    rng = np.random.default_rng(4)
    x = table("skewed", rng, plan)
    y = labels("by sign", rng, x)
    inputs, holders = contributions(plan, x, y, owners=owners)
    assert len(holders.features) == owners
    run = run_local(
        lambda party: party.open(train(party, plan, holders, COIN), reason="test"),
        scheme="clear",
        parties=1,
        owners=inputs,
    )
    (weights,) = run.results.values()
    assert weights.shape == (5,)
    assert plan.tau is not None
    assert np.linalg.norm(weights - minimiser(plan, x, y)) <= plan.tau


@pytest.mark.parametrize("cols", [1, 3, 200])
def test_glorots_initialiser(cols: int) -> None:
    plan = planned(20, cols, learning_rate=0.5, initial="glorot", fit_intercept=False)
    run = run_local(lambda party: party.open(initial(party, plan), reason="test"), scheme="clear", parties=1)
    (start,) = run.results.values()
    half_width = (6 / (cols + 1)) ** 0.5
    assert start.shape == (cols,)
    assert np.abs(start).max() <= half_width
    assert np.linalg.norm(start) <= float(plan.solver.initial_radius)
    if cols == 200:
        assert np.abs(start).max() > 0.9 * half_width
        assert abs(start.mean()) < 6 * half_width / (3 * cols) ** 0.5
        assert len(set(start)) > 190


def _train_only(party: Party, plan: MinimiserPlan, holders: Holders) -> None:
    train(party, plan, holders, COIN)


def epoch_rounds(plan: MinimiserPlan) -> int:
    """Rounds of one more epoch, with rep3."""
    rng = np.random.default_rng(5)
    x = table("normal", rng, plan)
    owners, holders = contributions(plan, x, labels("random", rng, x))
    rounds = []
    for epochs in (1, 2):
        shorter = replace(plan, epochs=epochs)
        run = run_local(partial(_train_only, plan=shorter, holders=holders), owners=owners)
        rounds.append(run.traffic["party-a"].total.rounds)
    return rounds[1] - rounds[0]


def evaluation_rounds(plan: MinimiserPlan) -> int:
    evaluation = plan.formats.evaluation

    def program(party: Party) -> None:
        format = plan.formats.of(evaluation.argument_bits)
        z = party.constant(np.zeros(4), format)
        z = (z + float(plan.formats.argument_radius) * 0.99) - float(plan.formats.argument_radius) * 0.99
        z = z.with_integer_limit(min(z.integer_limit, format.limit(plan.formats.argument_radius)))
        evaluation(z, party.constant(np.ones(4, np.int64), replace(format, fraction_bits=0)))

    run = run_local(program)
    start = run_local(lambda party: None)
    return run.traffic["party-a"].total.rounds - start.traffic["party-a"].total.rounds


@pytest.mark.parametrize(
    ("facts", "rounds"),
    [
        ({}, 5),
        ({"loss": "huber_hinge"}, 5),
        ({"partition": "vertical"}, 8),
        ({"solver": "accelerated"}, 7),
        ({"partition": "vertical", "solver": "accelerated"}, 10),
        ({"learning_rate": 0.5, "momentum": 0.5, "epochs": 9, "allow_unproven": True}, 5),
    ],
)
def test_rounds_of_an_epoch_are_as_stated(facts: dict[str, Any], rounds: int) -> None:
    plan = planned(12, 3, **facts)
    assert epoch_rounds(plan) == rounds + evaluation_rounds(plan)


def test_momentum_and_few_epochs_run_as_asked() -> None:
    """pi_LR of the paper, against the same recurrence in floating point."""
    plan = planned(
        20, 3, learning_rate=0.5, momentum=0.9, epochs=7, allow_unproven=True, fit_intercept=False, scheme="clear"
    )
    rng = np.random.default_rng(6)
    x = table("normal", rng, plan)
    y = labels("by sign", rng, x)
    rows = x / np.linalg.norm(x, axis=1, keepdims=True)
    w = before = np.zeros(3)
    alpha = float(plan.solver.step)
    for _ in range(7):
        gradient = rows.T @ plan.loss.derivative(y.astype(np.float64), rows @ w) / 20 + w
        w, before = w - alpha * gradient + 0.9 * (w - before), w
    assert np.abs(trained(plan, x, y) - w).max() < 1e-6
    assert alpha == pytest.approx(0.5, rel=2.0**-11)
