"""Several classes in table 10: data within their bounds, folds that part the rows, contenders in their order."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.experiments.learners.classes import (
    CentralObjectivePerClass,
    ClassByClass,
    Commonest,
    Joint,
    OwnersAlone,
    WithoutPrivacy,
)
from cofit.experiments.learners.measured import PROBLEMS, LearnerAsk, LearnerCell, measure_learner
from cofit.experiments.learners.problem import Task
from cofit.experiments.settings import QUICK

CLASSES = {"wine": 3, "digits": 10}


@pytest.mark.parametrize("name", CLASSES)
def test_the_data_keep_to_their_public_bounds(name: str) -> None:
    features, targets = PROBLEMS[name].data
    assert np.abs(features).max() <= 1
    assert sorted(set(targets.tolist())) == list(range(CLASSES[name]))
    assert f"{features.shape[0]} x {features.shape[1]}" in PROBLEMS[name].about


@pytest.mark.parametrize("name", CLASSES)
def test_folds_part_the_rows(name: str) -> None:
    problem = PROBLEMS[name]
    folds = problem.folds(5, 3)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(len(problem.data[0])))
    assert all(not set(train.tolist()) & set(test.tolist()) for train, test in folds)


def made_up(epsilon: float, draws: int = 4) -> Task:
    """Three classes that lie apart, more or less, held by two owners."""
    rng = np.random.default_rng(5)
    places = rng.integers(0, 3, 600)
    features = np.clip(np.eye(3, 12)[places] * 0.8 + rng.normal(0, 0.3, (600, 12)), -1, 1)
    owners = tuple(np.split(np.arange(400), 2))
    parts = features[:400], places[:400], owners, features[400:], places[400:]
    return Task(*parts, epsilon=epsilon, delta=1e-5, draws=draws, seed=1)


def test_contenders_learn_and_are_in_the_order_of_what_they_may_know() -> None:
    task = made_up(0.5)
    found = {
        type(one): float(np.mean(one.figures(task)))
        for one in (Joint(), ClassByClass(), OwnersAlone(), CentralObjectivePerClass(), WithoutPrivacy(), Commonest())
    }
    assert found[WithoutPrivacy] > found[Joint] > found[ClassByClass] + 0.03
    assert found[Joint] > found[OwnersAlone] + 0.05
    assert found[ClassByClass] > found[CentralObjectivePerClass] + 0.1
    assert found[Commonest] < 0.4


def test_every_release_has_its_figure_and_equal_tasks_have_equal_ones() -> None:
    task = made_up(1.0, draws=3)
    assert len(Joint().figures(task)) == 3
    assert len(OwnersAlone().figures(task)) == 6
    assert Joint().figures(task) == Joint().figures(task)
    assert Joint().figures(task) != Joint().figures(made_up(1.5, draws=3))


def test_a_cell_is_one_fold_of_one_contender() -> None:
    cell = LearnerCell("wine", WithoutPrivacy.label, 0.0, 5, 0, 1, 7)
    (figure,) = measure_learner(cell)["figures"]
    assert figure > 0.9
    assert measure_learner(LearnerCell("wine", CentralObjectivePerClass.label, 1e-9, 5, 0, 1, 7)).keys() <= {
        "figures",
        "refused",
    }


def test_what_is_not_measured_or_refused_is_said() -> None:
    wine = PROBLEMS["wine"]
    asked: list[LearnerCell] = []
    figure = LearnerAsk(QUICK, asked.append).figure(wine, wine.contenders[0], 1.0)
    assert (figure.value, figure.text) == (None, "not measured")
    assert [cell.fold for cell in asked] == list(range(QUICK.folds))
    refused = LearnerAsk(QUICK, lambda _: {"refused": "too little"}).figure(wine, wine.contenders[0], 1.0)
    assert refused.text == "not possible: too little"
