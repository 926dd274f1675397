"""Smoothing at prediction: only if asked for, by the batch or by a reference, and never saved."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.models.estimators import LogisticRegression
from cofit.models.linear_model import LinearModel
from cofit.models.regression_estimators import LinearRegression
from cofit.models.smoothing import FEW_ROWS, FEWEST_ROWS

RNG = np.random.default_rng(4)
FACTORS = RNG.normal(size=(700, 3))
X = FACTORS @ RNG.normal(size=(3, 60)) + RNG.normal(size=(700, 60))
Y = (FACTORS[:, 0] > 0).astype(np.int64)
TRAIN, BATCH = X[:400], X[400:]


@pytest.fixture(scope="module")
def fitted() -> LogisticRegression:
    return LogisticRegression(epsilon=1.0, scheme="clear", classes=(0, 1)).fit([(TRAIN, Y[:400])])


@pytest.fixture(scope="module")
def model(fitted: LogisticRegression) -> LinearModel:
    return fitted.model_


def test_it_is_off_unless_asked_for(model: LinearModel) -> None:
    alone = np.array([model.decision_function(row[np.newaxis])[0] for row in BATCH[:5]])
    np.testing.assert_allclose(model.decision_function(BATCH)[:5], alone, rtol=1e-12)


def test_a_batch_is_smoothed_by_itself(fitted: LogisticRegression, model: LinearModel) -> None:
    together = model.decision_function(BATCH, smoothing="batch")
    assert np.abs(together - model.decision_function(BATCH)).max() > 0.05
    np.testing.assert_allclose(model.smoothed(BATCH).decision_function(BATCH), together, atol=1e-9)
    np.testing.assert_array_equal(model.predict(BATCH, smoothing="batch"), (together > 0).astype(np.int64))
    np.testing.assert_array_equal(fitted.predict(BATCH, smoothing="batch"), model.predict(BATCH, smoothing="batch"))
    probabilities = model.predict_proba(BATCH, smoothing="batch")[:, 1]
    np.testing.assert_allclose(probabilities, 1 / (1 + np.exp(-2 * together)), rtol=1e-9)
    np.testing.assert_array_equal(fitted.predict_proba(BATCH, smoothing="batch")[:, 1], probabilities)


def test_a_smoothed_model_scores_single_rows(fitted: LogisticRegression, model: LinearModel) -> None:
    smoothed = fitted.smoothed(BATCH[:200])
    alone = [smoothed.decision_function(row[np.newaxis])[0] for row in BATCH[200:205]]
    np.testing.assert_allclose(smoothed.decision_function(BATCH[200:])[:5], alone, rtol=1e-12)
    assert smoothed.coef == model.coef


def test_scores_lie_along_the_reference(model: LinearModel) -> None:
    """A row's score changes by what the reference varies along: along nothing else does it change."""
    smoothed = model.smoothed(BATCH[:100]).smoothing
    assert smoothed is not None and model.rows is not None
    rows = model.rows(BATCH[:100])
    directions = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=True)[2]
    few = model.rows(BATCH[:30])
    outside = np.linalg.svd(few - few.mean(axis=0), full_matrices=True)[2][29:]
    with pytest.warns(UserWarning, match="30 rows only"):
        narrow = model.smoothed(BATCH[:30]).smoothing
    assert narrow is not None
    assert np.abs(outside @ narrow.weights).max() < 1e-9
    assert np.linalg.norm(directions @ smoothed.weights) <= np.linalg.norm(model.weights) * (1 + 1e-9)


def test_it_is_neither_saved_nor_pickled_nor_shrunk(model: LinearModel, tmp_path: Path) -> None:
    smoothed = model.smoothed(BATCH)
    for attempt in (lambda: smoothed.save(tmp_path / "model.json"), smoothed.to_json, lambda: pickle.dumps(smoothed)):
        with pytest.raises(InvalidInputError, match="contains the rows that it was smoothed by"):
            attempt()
    assert not (tmp_path / "model.json").exists()
    with pytest.raises(InvalidInputError, match="shrink it first"):
        smoothed.shrunk(0)
    with pytest.raises(InvalidInputError, match="smoothed already"):
        smoothed.smoothed(BATCH)
    np.testing.assert_array_equal(copy.deepcopy(smoothed).decision_function(BATCH), smoothed.decision_function(BATCH))
    assert pickle.loads(pickle.dumps(model)) == model


def test_what_cannot_be_smoothed_is_refused(model: LinearModel) -> None:
    with pytest.raises(InvalidInputError, match=r"must be 'batch' .* Got 'all' instead"):
        model.predict(BATCH, smoothing="all")
    with pytest.raises(InvalidInputError, match=f"at least {FEWEST_ROWS} rows .* Got '19 rows' instead"):
        model.predict(BATCH[:19], smoothing="batch")
    with pytest.warns(UserWarning, match=f"fewer than {FEW_ROWS}"):
        model.predict(BATCH[:50], smoothing="batch")
    paper = LogisticRegression(epsilon=5.0, recipe="paper", scheme="clear", classes=(0, 1)).fit([(TRAIN, Y[:400])])
    with pytest.raises(InvalidInputError, match="not trained by recipe 'best'"):
        paper.predict(BATCH, smoothing="batch")
    numbers = LinearRegression(epsilon=5.0, scheme="clear", target_range=(-4.0, 4.0), feature_bound=20.0)
    numbers.fit([(TRAIN, np.clip(FACTORS[:400, 0], -4, 4))])
    with pytest.raises(InvalidInputError, match="it predicts numbers"):
        numbers.model_.predict(BATCH, smoothing="batch")


def test_several_classes_are_smoothed_alike() -> None:
    labels = np.digitize(FACTORS[:, 0], [-0.5, 0.5])
    fitted = LogisticRegression(epsilon=4.0, scheme="clear", classes=(0, 1, 2)).fit([(TRAIN, labels[:400])])
    scores = fitted.decision_function(BATCH, smoothing="batch")
    assert scores.shape == (300, 3)
    np.testing.assert_array_equal(fitted.predict(BATCH, smoothing="batch"), scores.argmax(axis=1))
    np.testing.assert_allclose(fitted.smoothed(BATCH).decision_function(BATCH), scores, atol=1e-9)
