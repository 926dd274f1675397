"""Several classes: scikit-learn's wine (178 x 13, 3 classes) and digits (1797 x 64, 10 classes).

The bounds of columns are public: those that scikit-learn's description of wine prints, and 0 to 16 for the pixels.

diffprivlib is no dependency of cofit. What its LogisticRegression does with several classes (each against the rest with
epsilon / K, by the objective perturbation of Chaudhuri, Monteleoni and Sarwate 2011, delta 0, by a trusted curator) is
done here by cofit's own baseline of that method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from cofit.baselines.federated_objective import FederatedObjective
from cofit.baselines.method import Part
from cofit.experiments.learners.problem import Contender, Places, Problem, Reals, Task
from cofit.learn.facts import training_facts
from cofit.learn.recipes.descent.many_scores import scores_of_releases
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.descent.twin import cleartext_descent

_WINE_LOWER = (11.0, 0.74, 1.36, 10.6, 70.0, 0.98, 0.34, 0.13, 0.41, 1.3, 0.48, 1.27, 278.0)
_WINE_UPPER = (14.8, 5.8, 3.23, 30.0, 162.0, 3.88, 5.08, 0.66, 3.58, 13.0, 1.71, 4.0, 1680.0)
_PIXEL = 16.0


def _hits(scores: Reals, truth: npt.NDArray[Any]) -> list[float]:
    """Return the accuracy of every release. scores: rows, releases, classes."""
    return [float(share) for share in (scores.argmax(axis=2) == truth[:, np.newaxis]).mean(axis=0)]


def _released(
    task: Task, rng: np.random.Generator, rows: Places, targets: npt.NDArray[Any], share: int = 1, classes: int = 2
) -> Reals:
    """Return the scores of the rows held out under recipe best, by its cleartext twin: rows, releases, outputs.

    share: the part of epsilon and delta that it may spend, one over this.
    """
    facts = training_facts(
        len(rows),
        task.features.shape[1],
        epsilon=task.epsilon / share,
        delta=task.delta / share,
        classes=classes,
        feature_bound=1.0,
        scheme="clear",
    )
    plan = plan_descent(facts)
    released = cleartext_descent(plan, task.features[rows], targets[rows], task.draws, rng)
    return np.atleast_3d(scores_of_releases(plan, released, task.test))


def _classes(task: Task) -> int:
    return int(task.targets.max()) + 1


class Joint(Contender):
    """cofit: all owners together, one account for all classes."""

    label: ClassVar[str] = "cofit, recipe best: one account for all classes"

    def figures(self, task: Task) -> list[float]:
        rows = np.concatenate(task.owners)
        return _hits(_released(task, task.rng(), rows, task.targets, classes=_classes(task)), task.truth)


class ClassByClass(Contender):
    """The same with a model of two classes for each, against the rest: their epsilons and deltas add up."""

    label: ClassVar[str] = "cofit, recipe best, a release for each class with epsilon / K and delta / K"

    def figures(self, task: Task) -> list[float]:
        rows, count, rng = np.concatenate(task.owners), _classes(task), task.rng()
        each = [_released(task, rng, rows, (task.targets == k).astype(np.int64), count) for k in range(count)]
        return _hits(np.concatenate(each, axis=2), task.truth)


class OwnersAlone(Contender):
    """Every owner with its own rows and no computation in common; the mean over owners."""

    label: ClassVar[str] = "every owner alone, recipe best"

    def figures(self, task: Task) -> list[float]:
        rng, count = task.rng(), _classes(task)
        scores = [_released(task, rng, rows, task.targets, classes=count) for rows in task.owners]
        return [share for one in scores for share in _hits(one, task.truth)]


class CentralObjectivePerClass(Contender):
    """As diffprivlib: by a trusted curator, each class against the rest with epsilon / K, delta 0."""

    label: ClassVar[str] = "trusted curator, objective perturbation for each class with epsilon / K (as diffprivlib)"

    def figures(self, task: Task) -> list[float]:
        count = _classes(task)
        rows, test = (_unit(x) for x in (task.features[np.concatenate(task.owners)], task.test))
        targets, rng = task.targets[np.concatenate(task.owners)], task.rng()
        method = FederatedObjective(task.epsilon / count, l2=_PENALTY, sensitivity="tight")
        each = [
            method.train([Part(rows, (targets == k).astype(np.int64))]).draws(task.draws, rng) for k in range(count)
        ]
        return _hits(np.stack([test @ weights.T for weights in each], axis=2), task.truth)


_PENALTY = 0.01
"""Of the mean loss: the best of 1, 0.1, 0.01 and 0.001 on both data sets at epsilon 8; not private, in its favour."""


class WithoutPrivacy(Contender):
    """scikit-learn's, on all rows."""

    label: ClassVar[str] = "no privacy: scikit-learn's LogisticRegression, C = 1"
    guaranteed: ClassVar[bool] = False
    private: ClassVar[bool] = False

    def figures(self, task: Task) -> list[float]:
        rows = np.concatenate(task.owners)
        fitted = LogisticRegression(max_iter=2000).fit(task.features[rows], task.targets[rows])
        return [float((fitted.predict(task.test) == task.truth).mean())]


class Commonest(Contender):
    """No model."""

    label: ClassVar[str] = "the most common class, always"
    guaranteed: ClassVar[bool] = False
    private: ClassVar[bool] = False

    def figures(self, task: Task) -> list[float]:
        return [float((task.truth == np.bincount(task.targets).argmax()).mean())]


def _unit(x: Reals) -> Reals:
    """Return rows with a constant, divided by their length."""
    rows = np.hstack([x, np.ones((len(x), 1))])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@dataclass(frozen=True)
class _Classes(Problem):
    """A data set of scikit-learn with classes from 0 on."""

    contenders = (Joint(), ClassByClass(), OwnersAlone(), CentralObjectivePerClass(), WithoutPrivacy(), Commonest())
    source: Callable[..., Any] = load_wine
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()

    def load(self) -> tuple[Reals, npt.NDArray[Any]]:
        x, y = self.source(return_X_y=True)
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        return np.clip(2 * (x - lower) / (upper - lower) - 1, -1, 1), y.astype(np.int64)

    def folds(self, count: int, seed: int) -> list[tuple[Places, Places]]:
        x, y = self.data
        return [(a, b) for a, b in StratifiedKFold(count, shuffle=True, random_state=seed).split(x, y)]


class Wine(_Classes):
    """Chemistry of wines of three growers."""

    name: ClassVar[str] = "wine"
    about: ClassVar[str] = "178 x 13, 3 classes"

    def __init__(self) -> None:
        super().__init__(load_wine, _WINE_LOWER, _WINE_UPPER)


class Digits(_Classes):
    """Handwritten digits of 8 x 8 pixels."""

    name: ClassVar[str] = "digits"
    about: ClassVar[str] = "1797 x 64, 10 classes"

    def __init__(self) -> None:
        super().__init__(load_digits, (0.0,) * 64, (_PIXEL,) * 64)
