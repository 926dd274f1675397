"""Estimators with a public reference: rows are mapped in training and in predictions, and files hold the map."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from cofit import reference_map
from cofit.errors import InvalidInputError
from cofit.models.estimators import LinearSVC, LogisticRegression
from cofit.models.linear_model import LinearModel

RNG = np.random.default_rng(12)
LOADINGS = RNG.normal(size=(3, 80))
FACTORS = RNG.normal(size=(900, 3))
X = FACTORS @ LOADINGS + 2 * RNG.normal(size=(900, 80))
Y = np.where(FACTORS[:, 0] > 0, "yes", "no")
PUBLIC, TRAIN, TEST = slice(0, 100), slice(100, 600), slice(600, 900)
OWNERS = [(X[100:300], Y[100:300]), (X[300:600], Y[300:600])]


@pytest.fixture(scope="module")
def fitted() -> LogisticRegression:
    return LogisticRegression(scheme="clear", classes=("no", "yes"), reference=X[PUBLIC]).fit(OWNERS)


def test_it_learns_and_states_its_reference(fitted: LogisticRegression) -> None:
    assert fitted.score(X[TEST], Y[TEST]) > 0.8
    reference = fitted.model_.reference
    assert reference == reference_map(X[PUBLIC], 500, epsilon=1.0, delta=1e-6)
    assert fitted.certificate_.facts["reference"] == reference.hash
    assert fitted.n_features_in_ == 80
    assert any("reference map" in text for text in fitted.certificate_.assumptions)


def test_scores_are_those_of_mapped_rows(fitted: LogisticRegression) -> None:
    model = fitted.model_
    assert model.reference is not None
    rows = model.reference(X[TEST])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = unit @ np.array(model.weights) + model.intercept
    np.testing.assert_allclose(fitted.decision_function(X[TEST]), expected, rtol=1e-9)
    smoothed = fitted.decision_function(X[TEST], smoothing="batch")
    assert smoothed.shape == expected.shape


def test_files_hold_the_map_and_one_of_another_reference_is_refused(fitted: LogisticRegression, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.json")
    loaded = LogisticRegression.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(X[TEST]), fitted.decision_function(X[TEST]))
    assert loaded.reference == fitted.model_.reference
    document = json.loads((tmp_path / "model.json").read_text())
    other = reference_map(X[TEST], 500, epsilon=1.0, delta=1e-6)
    for changes in (
        {"reference": other.to_dict()},
        {"reference": None},
        {"rows": {**document["rows"], "mapped": False}},
    ):
        with pytest.raises(InvalidInputError, match=r"reference|rows"):
            LinearModel.from_json(json.dumps({**document, **changes}))
    del document["reference"]
    with pytest.raises(InvalidInputError, match="'reference' parameter"):
        LinearModel.from_json(json.dumps(document))


def test_directions_alone_have_fewer_weights() -> None:
    made = reference_map(X[:40], 500, epsilon=1.0, delta=1e-6, directions_only=True)
    machine = LinearSVC(scheme="clear", classes=("no", "yes"), reference=made).fit(OWNERS)
    assert machine.coef_.shape == (1, 39)
    assert machine.score(X[TEST], Y[TEST]) > 0.75


def test_what_does_not_fit_is_refused() -> None:
    def fit(reference: Any, **settings: Any) -> None:
        LogisticRegression(scheme="clear", classes=("no", "yes"), reference=reference, **settings).fit(OWNERS)

    with pytest.raises(InvalidInputError, match="80 columns"):
        fit(X[PUBLIC, :50])
    with pytest.raises(InvalidInputError, match="for the 500 records"):
        fit(reference_map(X[PUBLIC], 400, epsilon=1.0, delta=1e-6))
    with pytest.raises(InvalidInputError, match="delta=0"):
        fit(X[PUBLIC], delta=0.0)
    with pytest.raises(InvalidInputError, match="at least 20 rows"):
        fit(X[:19])
    with pytest.raises(InvalidInputError, match="clipping brings all columns to one spread"):
        fit(X[PUBLIC], clip_rows=True)


def test_owners_of_columns_have_their_rows_mapped_by_the_parties(fitted: LogisticRegression, tmp_path: Path) -> None:
    bound = float(np.abs(X).max())
    blocks = [X[TRAIN, :30], X[TRAIN, 30:]]
    settings: dict[str, Any] = {"classes": ("no", "yes"), "feature_bound": bound, "reference": X[PUBLIC]}
    columns = LogisticRegression(scheme="rep3", **settings).fit(blocks, Y[TRAIN], partition="vertical")
    assert columns.model_.reference == fitted.model_.reference
    assert columns.score(X[TEST], Y[TEST]) > 0.8
    assert columns.certificate_.facts["reference_inputs"] == columns.n_features_in_ == 80
    columns.save(tmp_path / "model.json")
    loaded = LinearModel.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(X[TEST]), columns.decision_function(X[TEST]))
    rows = loaded.reference.by_parties(X[TEST], bound, 1 / 16) if loaded.reference is not None else X[TEST]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = unit @ np.array(loaded.weights) + loaded.intercept
    np.testing.assert_allclose(loaded.decision_function(X[TEST]), expected, rtol=1e-9)


def test_sparse_tables_are_mapped_too(fitted: LogisticRegression) -> None:
    owners = [(csr_array(x), y) for x, y in OWNERS]
    sparse = LogisticRegression(scheme="clear", classes=("no", "yes"), reference=csr_array(X[PUBLIC])).fit(owners)
    assert sparse.model_.reference == fitted.model_.reference
    assert sparse.score(X[TEST], Y[TEST]) > 0.8
    np.testing.assert_allclose(fitted.decision_function(csr_array(X[TEST])), fitted.decision_function(X[TEST]))
