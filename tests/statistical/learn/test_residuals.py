"""Each loss has the clipped residual that serves its own measure: with the same noise, on made-up data, by the twin.

Differences are small, so the models that are compared have the same noise, and a difference is judged by its standard
error over draws. On other data they are smaller, and some have the other sign (docs/explanation/recipe.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from cofit.experiments.claims import claims
from cofit.learn.facts import training_facts
from cofit.learn.losses import ClippedResidual, loss_named
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.many_scores import scores_of_releases
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.twin import descended, prepared_rows
from cofit.privacy.events import Event
from support.scalings import Labels, scaled

Reals = npt.NDArray[np.float64]
Measure = Callable[[Reals], Reals]
ROWS, HELD_OUT, DRAWS = 4000, 4000, 24


class _Logistic(ClippedResidual):
    """That of the logistic loss as it is, sigmoid(-2 m): never above 1, hence as private."""

    def __call__(self, margins: Reals) -> Reals:
        return np.asarray(0.5 - 0.5 * np.tanh(margins))


UNCLIPPED = _Logistic(Fraction(1, 2), Fraction(1, 2))


@cache
def data_of(kind: str) -> tuple[Reals, Labels, Reals, Labels]:
    """Rows and labels to train on, and those held out."""
    if kind == "claims":
        made = claims(ROWS + HELD_OUT, 100)
        x, y = made.features.astype(np.float64), made.labels
        return x[:ROWS], y[:ROWS], x[ROWS:], y[ROWS:]
    of_kind, labels, truth = scaled(kind, ROWS, HELD_OUT, world=31_000)
    return of_kind["bounds"].train, labels, of_kind["bounds"].test, truth


@cache
def margins_of(kind: str, residual: ClippedResidual) -> Reals:
    """The score on its own side of each row held out, for each draw."""
    rows, labels, held_out, truth = data_of(kind)
    plan = plan_training(training_facts(ROWS, rows.shape[1], epsilon=3.0, delta=1e-5, feature_bound=1.0))
    assert isinstance(plan, DescentPlan)
    plan = replace(plan, formats=replace(plan.formats, residual=residual))
    rng = np.random.default_rng(6)

    def noise(event: Event) -> Reals:
        return np.asarray(float(event.scale) * rng.standard_normal((event.dimension, DRAWS)))

    released = descended(plan, prepared_rows(plan, rows), labels, noise)
    return np.asarray((2.0 * truth - 1)[:, np.newaxis] * scores_of_releases(plan, released, held_out))


def of(loss: str) -> ClippedResidual:
    residual = loss_named(loss).clipped_residual
    assert residual is not None
    return residual


def compared(kind: str, one: ClippedResidual, other: ClippedResidual, measure: Measure) -> tuple[float, float]:
    """The mean difference of a measure, and its standard error."""
    differences = measure(margins_of(kind, one)) - measure(margins_of(kind, other))
    return float(differences.mean()), float(differences.std(ddof=1)) / DRAWS**0.5


def hinge(margins: Reals) -> Reals:
    return np.asarray(np.maximum(0, 1 - margins).mean(axis=0))


def log_loss(margins: Reals) -> Reals:
    """Of the probabilities as ``predict_proba`` has them."""
    return np.asarray(np.logaddexp(0, -2 * margins).mean(axis=0))


def best_log_loss(margins: Reals) -> Reals:
    """With scores multiplied by what serves them best, for each draw."""
    found = [np.logaddexp(0, -factor * margins).mean(axis=0) for factor in np.geomspace(0.5, 8, 17)]
    return np.asarray(np.min(found, axis=0))


def accuracy(margins: Reals) -> Reals:
    return np.asarray(100 * (margins > 0).mean(axis=0))


@pytest.mark.parametrize(
    ("better", "worse", "measure"), [("hinge", "logistic", hinge), ("logistic", "hinge", log_loss)]
)
def test_the_residual_of_a_loss_serves_its_own_measure_better(better: str, worse: str, measure: Measure) -> None:
    gain, error = compared("imbalanced", of(better), of(worse), measure)
    assert gain < -5 * error, (gain, error)


@pytest.mark.parametrize("kind", ["imbalanced", pytest.param("claims", marks=pytest.mark.slow)])
def test_both_are_as_accurate(kind: str) -> None:
    difference, error = compared(kind, of("hinge"), of("logistic"), accuracy)
    assert abs(difference) < 0.3, (difference, error)


@pytest.mark.parametrize(("measure", "sign"), [(accuracy, -1), (best_log_loss, 1)])
def test_the_logistic_loss_without_clipping_is_worse_by_either_measure(measure: Measure, sign: int) -> None:
    loss, error = compared("claims", UNCLIPPED, of("logistic"), measure)
    assert sign * loss > 5 * error, (loss, error)
