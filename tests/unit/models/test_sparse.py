"""Estimators take sparse matrices of SciPy's: the same rows in training, and the same scores, with little memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, random_array

from cofit import HuberRegressor, LogisticRegression
from cofit.errors import InvalidInputError, RangeError, ShapeError
from cofit.learn.contribution import prepared_features
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.sparse_rows import sparse_rows
from cofit.learn.unlike_scales import scale_warnings, spread_of
from cofit.roles.local.tables import OwnerTable, contributions_of

ROWS, COLS = 400, 300
MATRIX = csr_array(random_array((ROWS, COLS), density=0.1, rng=np.random.default_rng(0)))
DENSE = MATRIX.toarray()
LABELS = np.where(DENSE[:, :150].sum(axis=1) > DENSE[:, 150:].sum(axis=1), "a", "b")


@pytest.mark.parametrize(
    "facts",
    [
        {"epsilon": 1.0},
        {"epsilon": 1.0, "feature_bound": 1.0, "normalised_by": "parties"},
        {"epsilon": 1.0, "recipe": "paper", "l2": 1.0},
        {"epsilon": 30.0, "delta": 1e-5, "clip_rows": True},
        {"epsilon": 1.0, "partition": "vertical", "feature_bound": 1.0, "feature_lower": -0.5},
    ],
    ids=str,
)
def test_what_is_shared_is_what_a_dense_table_is_shared_as(facts: dict[str, Any]) -> None:
    plan = plan_training(training_facts(ROWS, COLS, **facts))
    found, wanted = (
        contributions_of(plan, "a", OwnerTable(features=table))["features"] for table in (sparse_rows(MATRIX), DENSE)
    )
    assert found.shape == wanted.shape == (ROWS, prepared_features(plan, DENSE[:1]).shape[1])
    made = np.concatenate(list(found.encoded().blocks()))  # type: ignore[union-attr]
    np.testing.assert_array_equal(made, wanted.encoded())


def test_fit_predict_and_score() -> None:
    parts = [(MATRIX[:200].tocsc(), LABELS[:200]), (csr_matrix(MATRIX[200:]), LABELS[200:])]
    model = LogisticRegression(epsilon=20.0, scheme="clear").fit(parts)
    assert model.score(MATRIX, LABELS) == model.score(DENSE, LABELS) > 0.8
    np.testing.assert_allclose(model.predict_proba(MATRIX.tocoo()), model.predict_proba(DENSE), rtol=1e-12)


def test_one_owner_columns_and_a_real_target() -> None:
    target = DENSE[:, :50].sum(axis=1)
    one = HuberRegressor(epsilon=20.0, scheme="clear", target_range=(0.0, 10.0)).fit(MATRIX, target)
    np.testing.assert_allclose(one.predict(MATRIX), one.predict(DENSE), rtol=1e-12)
    by_columns = HuberRegressor(epsilon=20.0, scheme="clear", target_range=(0.0, 10.0), feature_bound=1.0)
    by_columns.fit([MATRIX[:, :100], DENSE[:, 100:]], target, partition="vertical")
    assert by_columns.predict(MATRIX).shape == (ROWS,)


def test_a_state_directory_knows_the_data_again(tmp_path: Any) -> None:
    first = LogisticRegression(epsilon=5.0, scheme="clear", state=tmp_path).fit(MATRIX, LABELS)
    again = LogisticRegression(epsilon=5.0, scheme="clear", state=tmp_path).fit(MATRIX.tocoo(), LABELS)
    np.testing.assert_array_equal(first.coef_, again.coef_)
    other = MATRIX.copy()
    other.data[0] += 0.5
    with pytest.raises(InvalidInputError, match="other data"):
        LogisticRegression(epsilon=5.0, scheme="clear", state=tmp_path).fit(other, LABELS)


def test_what_is_wrong_is_refused_as_of_a_dense_table() -> None:
    def told(values: Any, **settings: Any) -> str:
        with pytest.raises(InvalidInputError) as error:
            LogisticRegression(epsilon=1.0, scheme="clear", **settings).fit([(values, LABELS)])
        return str(error.value)

    for value, settings in ((np.nan, {}), (np.inf, {}), (7.5, {"feature_bound": 1.0, "normalised_by": "parties"})):
        wrong = MATRIX.copy()
        wrong.data[7] = value
        assert told(wrong, **settings) == told(wrong.toarray(), **settings)
    with pytest.raises(RangeError):
        wrong = MATRIX.copy()
        wrong.data[7] = 7.5
        LogisticRegression(feature_bound=1.0, normalised_by="parties").fit([(wrong, LABELS)])
    model = LogisticRegression(epsilon=20.0, scheme="clear").fit(MATRIX, LABELS).model_
    with pytest.raises(ShapeError, match="300 columns"):
        model.predict(MATRIX[:, :5])
    wrong.data[-1] = np.nan
    with pytest.raises(InvalidInputError, match=rf"Row {ROWS - 1}, column"):
        model.predict(wrong)


def test_warnings_about_scales_are_those_of_a_dense_table() -> None:
    unlike = csr_array(DENSE * np.where(np.arange(COLS) == 3, 1000.0, 1.0))
    for part in (MATRIX, unlike):
        found, wanted = spread_of([sparse_rows(part)]), spread_of([part.toarray()])
        assert found is not None and wanted is not None
        np.testing.assert_allclose(found.middle, wanted.middle)
        np.testing.assert_allclose(found.all, wanted.all)
        for options in ({"whole_rows": True}, {"limit": 2.0}, {"bound": 100.0}):
            told, expected = (
                list(scale_warnings([one], None, **options)) for one in (sparse_rows(part), part.toarray())
            )
            assert told == expected
    assert any("column 3" in text for text in scale_warnings([sparse_rows(unlike)], None, whole_rows=True))


def test_scores_need_no_dense_table() -> None:
    """40,000 x 300: 96 MB dense."""
    model = LogisticRegression(epsilon=20.0, scheme="clear").fit(MATRIX, LABELS).model_
    wide = csr_array(random_array((40_000, COLS), density=0.01, rng=np.random.default_rng(1)))
    tracemalloc.start()
    try:
        scores = model.decision_function(wide)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert scores.shape == (40_000,) and peak < 30_000_000
