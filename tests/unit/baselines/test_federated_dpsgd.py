"""DP-SGD: the accountant's word, the clipping, the steps against a plain loop, and the sampling."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation
from scipy.special import expit

from cofit.baselines import federated_dpsgd
from cofit.baselines.federated_dpsgd import FederatedDPSGD, Schedule, bernoulli_positions, clipping, descend
from cofit.baselines.method import Part, Reals
from cofit.errors import InvalidInputError
from unit.baselines.neighbours import random_part


def accounted(schedule: Schedule, delta: float) -> float:
    accountant = PLDAccountant(NeighboringRelation.REPLACE_ONE)
    step = dp_event.PoissonSampledDpEvent(schedule.probability, dp_event.GaussianDpEvent(schedule.sigma))
    accountant.compose(dp_event.SelfComposedDpEvent(step, schedule.steps))
    return float(accountant.get_epsilon(delta))


@pytest.mark.parametrize(
    ("method", "rows"),
    [
        (FederatedDPSGD(1.0, 1e-5, epochs=10), 100),
        pytest.param(FederatedDPSGD(1.0, 1e-5, lot=1, epochs=300), 857, marks=pytest.mark.slow),
        (FederatedDPSGD(2.0, 1e-3, lot=50, epochs=5), 50),
    ],
)
def test_the_accountant_confirms_the_noise(method: FederatedDPSGD, rows: int) -> None:
    schedule = method.schedule(rows)
    assert accounted(schedule, method.delta) <= method.epsilon * 1.005
    assert accounted(replace(schedule, sigma=schedule.sigma * 0.97), method.delta) > method.epsilon


def test_the_schedule_is_that_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federated_dpsgd, "noise_multiplier", lambda *asked: 1.0)
    schedule = FederatedDPSGD(1.0, 1e-5, epochs=10).schedule(101)
    assert (schedule.lot, schedule.steps) == (10, 101)
    assert FederatedDPSGD(1.0, 1e-5, lot=1, epochs=3).schedule(101).steps == 303
    assert FederatedDPSGD(1.0, 1e-5, lot=500, epochs=3).schedule(101).lot == 101


def plain(schedule: Schedule, part: Part) -> Reals:
    """Every step with every record, without noise, in a loop over records."""
    w = np.zeros(part.features.shape[1])
    for _ in range(schedule.steps):
        total = np.zeros_like(w)
        for x, y in zip(part.features, part.labels, strict=True):
            gradient = (expit(x @ w) - y) * x
            length = float(np.linalg.norm(gradient))
            total += gradient / max(1.0, length / schedule.clip)
        w = w - schedule.learning_rate * (total / schedule.lot + schedule.l2 * w)
    return w


@pytest.mark.parametrize("columns", [3, 25], ids=["fewer columns than rows", "more columns than rows"])
@pytest.mark.parametrize("clip", [1.0, 0.1])
def test_without_noise_and_sampling_it_is_clipped_gradient_descent(columns: int, clip: float) -> None:
    part = random_part(np.random.default_rng(1), 10, columns)
    schedule = Schedule(10, 30, 10, clip, 0.7, 0.05, 0.0)
    found = descend(schedule, part, 3, np.random.default_rng(0))
    assert found.shape == (3, columns)
    assert np.abs(found - plain(schedule, part)).max() < 1e-12


def test_the_clipping_has_an_effect() -> None:
    part = random_part(np.random.default_rng(1), 10, 3)
    loose, narrow = (plain(Schedule(10, 5, 10, clip, 0.7, 0.0, 0.0), part) for clip in (1.0, 0.1))
    assert np.linalg.norm(loose) > 2 * np.linalg.norm(narrow)
    lengths = np.array([0.0, 0.1, 0.5, 0.9])
    assert clipping(lengths, 0.5) * lengths == pytest.approx([0.0, 0.1, 0.5, 0.5])


def test_gathered_and_dense_products_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    part, schedule = random_part(np.random.default_rng(2), 30, 4), Schedule(30, 40, 5, 0.4, 0.5, 0.1, 1.0)
    dense = descend(schedule, part, 6, np.random.default_rng(9))
    monkeypatch.setattr(federated_dpsgd, "_DENSE", 2.0)
    assert np.abs(descend(schedule, part, 6, np.random.default_rng(9)) - dense).max() < 1e-12


def test_many_draws_go_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federated_dpsgd, "_TOGETHER", 200)
    part, schedule = random_part(np.random.default_rng(2), 30, 4), Schedule(30, 40, 5, 0.4, 0.5, 0.1, 1.0)
    drawn = descend(schedule, part, 50, np.random.default_rng(9))
    assert drawn.shape == (50, 4)
    assert len(np.unique(drawn[:, 0])) == 50


@pytest.mark.parametrize("probability", [1.0, 0.5, 0.01])
def test_every_trial_succeeds_with_its_probability(probability: float) -> None:
    trials, count = 400, 2000
    hits = np.zeros(trials)
    rng = np.random.default_rng(41)
    for _ in range(count):
        positions = bernoulli_positions(trials, probability, rng)
        assert (np.diff(positions) > 0).all()
        hits[positions] += 1
    spread = math.sqrt(probability * (1 - probability) / count)
    assert np.abs(hits / count - probability).max() <= 6 * spread + 1e-12
    assert abs(hits.mean() / count - probability) <= 6 * spread / math.sqrt(trials) + 1e-12


@pytest.mark.parametrize(
    "settings", [{"lot": 0}, {"epochs": 0}, {"clip": -1.0}, {"learning_rate": 0.0}, {"l2": 10.0}, {"delta": 0.0}]
)
def test_settings_without_a_meaning_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        FederatedDPSGD(**{"epsilon": 1.0, "delta": 1e-5, **settings})  # type: ignore[arg-type]
