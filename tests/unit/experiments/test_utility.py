"""The forecast of the accuracy: from public facts alone, the same every time, with suggestions that follow from it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import cofit
from cofit.baselines.method import Part
from cofit.baselines.minimiser import minimise
from cofit.errors import InvalidInputError
from cofit.experiments.public_rows import PublicRows, made_up_rows, public_sample
from cofit.experiments.simulation import Simulation
from cofit.experiments.suggestions import FREE, Compared, suggestions
from cofit.experiments.utility import LARGEST_SIZE, AccuracyForecast, forecast_accuracy
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.models.linear_model import LinearModel
from unit.report.models import certified_by

FEW = (0.5, 5.0)


def easy(count: int = 400, cols: int = 4, seed: int = 0) -> tuple[Any, Any]:
    x = np.random.default_rng(seed).uniform(0, 1, (count, cols))
    return x, (x[:, 0] > 0.5).astype(np.int64)


def test_the_same_every_time_and_plain_numbers() -> None:
    first, second = (forecast_accuracy(300, 6, epsilons=FEW) for _ in range(2))
    assert first == second
    told = json.loads(json.dumps(first.to_dict()))
    assert told["asked"] == first.curves[0].at(1.0)
    assert [curve["label"] for curve in told["curves"]] == [
        "best",
        "paper, l2 = 1",
        "paper, l2 = 0.1",
        "paper, l2 = 0.01",
    ]
    assert all(curve.epsilons == (0.5, 1.0, 5.0) for curve in first.curves)
    assert all(curve.delta == 1e-6 for curve in first.curves)
    assert cofit.forecast_accuracy is forecast_accuracy
    assert cofit.AccuracyForecast is AccuracyForecast


def test_without_delta_a_delta_is_tried() -> None:
    found = forecast_accuracy(300, 6, recipe="paper", l2=0.3, epsilons=FEW)
    assert [curve.label for curve in found.curves] == [
        "paper, l2 = 0.3",
        "best",
        "paper, l2 = 1",
        "paper, l2 = 0.1",
        "paper, l2 = 0.01",
        "best, delta = 1e-06",
    ]
    assert [curve.delta for curve in found.curves] == [0.0] * 5 + [1e-6]
    assert any(line.startswith("delta is 0") and "far below 1 / 300" in line for line in found.suggestions)
    assert found.suggestions[-1] == FREE


@pytest.mark.slow
def test_more_epsilon_more_rows_more_accuracy() -> None:
    few = forecast_accuracy(100, 6, epsilons=(0.2, 10.0), loss="huber_hinge")
    many = forecast_accuracy(4000, 6, epsilons=(0.2, 10.0), loss="huber_hinge")
    for small, large in zip(few.curves, many.curves, strict=True):
        assert small.median[0] < large.median[0] - 0.05
        assert small.median[0] < small.median[-1] - 0.05
    assert many.without_privacy > 0.8
    assert many.curves[0].median[-1] > many.without_privacy - 0.05


@pytest.mark.parametrize(
    "facts", [{}, {"fit_intercept": False}, {"partition": "vertical", "feature_bound": 2.0, "norm_floor": 0.5}]
)
def test_the_paper_without_noise_is_the_minimiser_as_a_model(facts: dict[str, Any]) -> None:
    """Rows are scaled as a model scales them; with a million records no noise is left."""
    given = {"recipe": "paper", "l2": 0.01, "delta": 1e-6, **facts}
    plan = plan_training(training_facts(10**6, 4, epsilon=20.0, **given))
    assert isinstance(plan, MinimiserPlan)
    data = PublicRows(*easy(), "made up").split(280)
    found = Simulation(10**6, 4, data, 5, 0).accuracies(20.0, given)
    weights = minimise(
        Part(plan.comparable_rows(data.features[data.train]), data.labels[data.train]), 0.01, tolerance=1e-4
    ).weights
    model = LinearModel.from_weights(plan, weights.tolist(), certified_by(plan), (0, 1))
    right = (model.predict(data.features[data.test]) == data.labels[data.test]).mean()
    assert not isinstance(found, str)
    assert found == pytest.approx(right, abs=0.01)


def test_noise_of_the_paper_is_that_of_its_plan() -> None:
    """The spread of a score over draws is the noise's own: sigma times the row's length, which is 1."""
    given: dict[str, Any] = {"recipe": "paper", "l2": 0.1, "delta": 1e-6}
    plan = plan_training(training_facts(280, 4, epsilon=1.0, **given))
    assert isinstance(plan, MinimiserPlan)
    simulation = Simulation(280, 4, PublicRows(*easy(), "made up").split(280), 4000, 0)
    scores = simulation._scores(plan)
    assert scores.std(axis=1).mean() == pytest.approx(float(plan.mechanism.scale), rel=0.03)


# --- samples ---------------------------------------------------------------------------------------------


def test_training_sees_as_many_rows_as_the_study_has() -> None:
    rows = PublicRows(*easy(), "made up", given=True)
    for count in (100, 280, 1000):
        data = rows.split(count)
        assert len(data.filled) == count
        assert len(data.train) == len(set(data.train.tolist())) == min(count, 280)
        assert set(data.filled.tolist()) == set(data.train.tolist())
        assert not set(data.filled.tolist()) & set(data.test.tolist())


def test_a_sample_says_how_it_was_used() -> None:
    x, y = easy()
    small, large = (forecast_accuracy(rows, 4, X=x, y=y, epsilons=(1.0,)) for rows in (1000, 100))
    assert "1,000 rows drawn from the sample with replacement" in small.notes[0]
    assert "noise is that of the study's 1,000 records" in small.notes[0]
    assert "without replacement" in large.notes[0]
    assert small.given
    assert "as whoever gave it must know" in small.touched
    assert small.curves[0].median[0] > large.curves[0].median[0]


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        (np.zeros((50, 3)), np.zeros(50), "4 columns"),
        (np.zeros((50, 4)), np.zeros(49), "one label for each"),
        (np.full((50, 4), np.inf), np.zeros(50), "finite"),
        (np.zeros((50, 4)), np.full(50, 2), "0 and 1"),
        (np.zeros((9, 4)), np.zeros(9), "at least 40 rows"),
        (np.full((50, 4), "a"), np.zeros(50), "numbers"),
        (np.zeros((50, 4)), np.zeros(50), "both classes"),
        (np.zeros((50, 4)), None, "both X and y"),
    ],
)
def test_a_sample_that_does_not_fit(x: Any, y: Any, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        forecast_accuracy(100, 4, X=x, y=y)


def test_a_sample_beyond_the_agreed_range_has_no_curve_and_says_why() -> None:
    x, y = easy()
    found = forecast_accuracy(4000, 4, X=3 * x, y=y, epsilons=(), partition="vertical", feature_bound=1.0)
    assert found.asked is None
    assert any("larger in magnitude than the agreed feature_bound" in note for note in found.notes)


def test_of_a_very_large_sample_some_rows_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cofit.experiments.public_rows.MOST_SAMPLE_CELLS", 400)
    found = public_sample(*easy(), 4)
    assert found.features.shape == (100, 4)
    assert "100 of them, drawn at random" in found.origin


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(InvalidInputError, match="'l2' parameter"):
        forecast_accuracy(100, 4, l2=1.0)
    with pytest.raises(InvalidInputError, match="'epsilons' parameter"):
        forecast_accuracy(100, 4, epsilons=(0.0,))
    with pytest.raises(InvalidInputError, match="Studies up to"):
        forecast_accuracy(LARGEST_SIZE, 4)
    with pytest.raises(InvalidInputError, match="'colour' parameter of forecast_accuracy must be left out"):
        forecast_accuracy(100, 4, colour="red")


def test_progress_counts_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    forecast_accuracy(200, 4, epsilons=(1.0,), progress=lambda *at: seen.append(at))
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert {total for _, total in seen} == {len(seen)}


def test_made_up_rows_fill_the_agreed_range() -> None:
    assert set(np.unique(made_up_rows(50, 6, 3.0).features).tolist()) == {0.0, 3.0}


# --- suggestions -----------------------------------------------------------------------------------------


def told(curves: dict[str, dict[float, float]], ranges: float | None = None, **facts: Any) -> str:
    asked = training_facts(1000, 5, epsilon=1.0, **facts)
    compared = [Compared(label, values) for label, values in curves.items()]
    return "\n".join(suggestions(asked, compared, 0.9, 0.6, ranges))


def test_the_best_setting_is_named() -> None:
    own = {"best": {1.0: 0.8, 10.0: 0.89}}
    text = told({**own, "paper, l2 = 1": {1.0: 0.7, 10.0: 0.71}})
    assert "At epsilon = 1, 'best', your setting, is the most accurate of those tried: 80.0%" in text
    assert "within 2 points of the accuracy without privacy (90.0%) at epsilon = 10" in text
    better = told({**own, "paper, l2 = 1": {1.0: 0.885, 10.0: 0.89}})
    assert "'paper, l2 = 1' is the most accurate of those tried: 88.5%, 8.5 points more than your setting" in better
    assert "'paper, l2 = 1' comes within 2 points at epsilon = 1 already." in better
    assert "as accurate as the best" in told({**own, "paper, l2 = 1": {1.0: 0.805}})


def test_what_cannot_be_reached_is_said() -> None:
    text = told({"best": {1.0: 0.61, 10.0: 0.7}})
    assert "No epsilon up to 10 brings your setting within 2 points" in text
    assert "hardly better than always naming the more common class (60.0%)" in text
    assert "has no plan there" in told({"best": {10.0: 0.7}, "paper, l2 = 1": {1.0: 0.7}})


def test_delta_and_ranges() -> None:
    own = {"best": {1.0: 0.7}, "best, delta = 1e-06": {1.0: 0.8}}
    assert "would bring 10.0 points more at epsilon = 1 (80.0%)" in told(own, delta=0.0)
    assert "0.001 is not." in told({"best": {1.0: 0.7}}, delta=1e-3)
    assert "would bring about 5.0 points" in told({"best": {1.0: 0.7}}, ranges=0.75)
    assert "would bring nothing at epsilon = 1 (70.5%)" in told({"best": {1.0: 0.7}}, ranges=0.705)
    assert "ranges" not in told({"best": {1.0: 0.7}})


def test_figures_are_rounded_for_people() -> None:
    """The mean of two accuracies in thousandths was 0.5734999999999999."""
    found = forecast_accuracy(300, 50, epsilons=(1.0, 3.0))
    figures = [found.without_privacy, found.majority]
    figures += [value for curve in found.curves for values in (curve.median, curve.low, curve.high) for value in values]
    assert all(len(f"{value!r}") <= len("-0.123456") for value in figures), figures
