"""One replaced record, chosen by an adversary, moves the weights by no more than the sensitivity that the noise covers.

Random and worst cases (few rows, all other rows zero, aligned rows, flipped labels), then hill climbing on the replaced
record and on its neighbour. The exact minimiser is held against the sensitivity of the objective, the computed weights
against that of the mechanism, which counts tau. And the bound is nearly attained, so that a smaller one would fail.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from cofit.learn.losses import Loss, loss_named
from cofit.privacy.objective import Objective, gradient_bound
from support.training import minimise, planned, trained

Reals = npt.NDArray[np.float64]
LOSSES = ("logistic", "huber_hinge", "hinge", "clipped_squares", "huber")


@dataclass(frozen=True)
class Neighbours:
    """Rows of norm at most 1 and labels; and the two records, one of which is the last row."""

    x: Reals
    y: Reals
    records: tuple[tuple[Reals, float], tuple[Reals, float]]

    def tables(self) -> list[tuple[Reals, Reals]]:
        return [(np.vstack([self.x, row]), np.append(self.y, label)) for row, label in self.records]


def objective(loss: Loss, n: int, l2: float) -> Objective:
    return Objective(n, Fraction(l2), gradient_bound(loss.derivative_bound, Fraction(l2), "tight"))


def distance(case: Neighbours, loss: Loss, l2: float) -> float:
    first, second = (minimise(loss, x, y, l2) for x, y in case.tables())
    return float(np.linalg.norm(first - second))


def within_the_ball(rows: Reals) -> Reals:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1.0))


def random_case(rng: np.random.Generator, d: int) -> Neighbours:
    others = int(rng.choice([1, 2, 3, 8, 30]))
    x = rng.normal(size=(others, d)) * rng.choice([0.1, 1.0, 10.0])
    y = rng.integers(0, 2, others).astype(np.float64)
    shape = rng.choice(["any", "zero", "aligned", "one class"])
    if shape == "zero":
        x[:] = 0
    elif shape == "aligned":
        x = np.outer(rng.choice([-1.0, 1.0], others), rng.normal(size=d) * 10)
    elif shape == "one class":
        y[:] = rng.integers(0, 2)
    row = within_the_ball(rng.normal(size=d) * 10)
    other = rng.choice(["opposite", "flipped", "any"])
    record = (row, float(rng.integers(0, 2)))
    if other == "opposite":
        return Neighbours(within_the_ball(x), y, (record, (-row, record[1])))
    if other == "flipped":
        return Neighbours(within_the_ball(x), y, (record, (row, 1 - record[1])))
    return Neighbours(within_the_ball(x), y, (record, (within_the_ball(rng.normal(size=d) * 10), record[1])))


def climbed(case: Neighbours, loss: Loss, l2: float, rng: np.random.Generator, steps: int) -> float:
    """Move both records, and the other rows, wherever the distance grows."""
    best = distance(case, loss, l2)
    size = 0.5
    for _ in range(steps):
        (a, p), (b, q) = case.records
        moved = within_the_ball(np.vstack([case.x, a, b]) + size * rng.normal(size=(len(case.x) + 2, len(a))))
        labels = (p, q) if rng.random() < 0.8 else (float(rng.integers(0, 2)), float(rng.integers(0, 2)))
        trial = Neighbours(moved[:-2], case.y, ((moved[-2], labels[0]), (moved[-1], labels[1])))
        reached = distance(trial, loss, l2)
        if reached > best:
            case, best = trial, reached
        else:
            size = max(size * 0.93, 1e-3)
    return best


def largest_share(name: str, l2: float, cases: int, seed: int) -> float:
    """The largest distance found, in units of the sensitivity."""
    rng = np.random.default_rng(seed)
    loss = loss_named(name)
    shares = []
    for i in range(cases):
        case = random_case(rng, int(rng.integers(1, 4)))
        moved = climbed(case, loss, l2, rng, 20) if i % 10 == 0 else distance(case, loss, l2)
        shares.append(moved / float(objective(loss, len(case.x) + 1, l2).sensitivity))
    return max(shares)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("l2", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", LOSSES)
def test_no_record_moves_the_minimiser_further_than_the_sensitivity(name: str, l2: float) -> None:
    """The minimisers are known to 1e-12 / l2 each."""
    share = largest_share(name, l2, 70, seed=13)
    assert 0.2 < share <= 1 + 1e-6


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("l2", [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("name", LOSSES)
def test_no_record_moves_the_minimiser_further_than_the_sensitivity_long(name: str, l2: float) -> None:
    assert largest_share(name, l2, 1_000, seed=14) <= 1 + 1e-6


@pytest.mark.parametrize(("name", "l2", "share"), [("huber_hinge", 0.5, 0.999), ("logistic", 10.0, 0.95)])
def test_the_sensitivity_is_nearly_attained(name: str, l2: float, share: float) -> None:
    """All other rows zero, and a record against its opposite."""
    loss, row = loss_named(name), np.array([1.0, 0.0])
    case = Neighbours(np.zeros((9, 2)), np.zeros(9), ((row, 1.0), (-row, 1.0)))
    attained = distance(case, loss, l2) / float(objective(loss, 10, l2).sensitivity)
    assert share <= attained <= 1 + 1e-9


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("rows", [2, 12])
def test_computed_weights_move_no_further_than_the_noise_covers(name: str, partition: str, rows: int) -> None:
    """With the whole secure computation in between: encoding, rounding, epochs left out."""
    plan = planned(rows, 2, loss=name, partition=partition, l2=0.4, tolerance=0.05, fit_intercept=False, scheme="clear")
    rng = np.random.default_rng(15)
    largest = 0.0
    for i in range(12):
        case = random_case(rng, 2)
        x = np.zeros((rows - 1, 2)) if i % 3 == 0 else within_the_ball(rng.normal(size=(rows - 1, 2)) * 3)
        y = rng.integers(0, 2, rows - 1).astype(np.float64)
        tables = replace(case, x=x, y=y).tables()
        weights = [trained(plan, rows_of, labels.astype(np.int64)) for rows_of, labels in tables]
        largest = max(largest, float(np.linalg.norm(weights[0] - weights[1])))
        exact = [minimise(plan.loss, plan.comparable_rows(r), labels, 0.4) for r, labels in tables]
        assert np.linalg.norm(exact[0] - exact[1]) <= float(plan.objective.sensitivity) * (1 + 1e-9)
    assert 0.4 * float(plan.mechanism.sensitivity) < largest <= float(plan.mechanism.sensitivity)
    if name == "huber_hinge" and rows == 12:
        assert largest > 0.8 * float(plan.mechanism.sensitivity)


@pytest.mark.parametrize("mechanism", ["knorm", "laplace", "gaussian"])
def test_the_noise_covers_tau_and_the_rounding(mechanism: str) -> None:
    plan = planned(30, 4, mechanism=mechanism, delta=1e-6 if mechanism == "gaussian" else 0.0, tolerance=0.1)
    assert plan.tau is not None
    assert float(plan.mechanism.sensitivity) >= float(plan.objective.sensitivity) + 2 * plan.tau * (1 - 1e-12)
