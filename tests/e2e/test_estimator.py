"""Private training as a data scientist calls it: fit, predict, save, and the certificate."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as PlainLogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import cofit
from cofit.errors import InvalidInputError
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.models import estimators
from cofit.roles import Progress

ROWS, COLS = 200, 4
RNG = np.random.default_rng(20)
X = RNG.uniform(-1, 1, (ROWS, COLS))
Y = (X @ [1.0, -0.5, 0.25, 0.0] + 0.2 * RNG.normal(size=ROWS) > 0.1).astype(np.int64)
FAST: dict[str, Any] = {
    "recipe": "paper",
    "epsilon": 1000.0,
    "l2": 0.5,
    "mechanism": "laplace",
    "solver": "gradient_descent",
}


def score_by_hand(model: Any, rows: Any, floor: float) -> Any:
    lengths = np.sqrt((rows**2).sum(axis=1) + 1.0)
    return (rows @ model.coef_[0] + model.intercept_[0]) / np.maximum(lengths, floor)


@pytest.fixture(scope="module")
def fitted() -> cofit.LogisticRegression:
    return cofit.LogisticRegression(**FAST).fit([(X[:120], Y[:120]), (X[120:], Y[120:])])


def test_attributes(fitted: cofit.LogisticRegression) -> None:
    assert fitted.coef_.shape == (1, COLS)
    assert fitted.intercept_.shape == (1,)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == COLS
    assert fitted.n_iter_ == fitted.plan_.epochs
    assert fitted.certificate_.owners["owner-1"] == {"features": (120, COLS + 1), "labels": (120,)}
    assert [opening.shape for opening in fitted.openings_] == [(COLS + 1,)]
    assert set(fitted.traffic_) == {"owner-1", "owner-2", "party-a", "party-b", "party-c"}
    assert not hasattr(fitted, "feature_names_in_")


def test_the_first_line_of_the_certificate() -> None:
    model = cofit.LogisticRegression(recipe="paper", epsilon=0.5, l2=1.0, mechanism="laplace").fit(X, Y)
    first = model.certificate_.to_text().splitlines()[0]
    assert first.startswith("The published model limits what can be learned about any single record")
    assert "epsilon = 0.5" in model.certificate_.headline
    unproven = cofit.LogisticRegression(recipe="paper", epochs=1, scheme="clear", allow_unproven=True).fit(X, Y)
    assert unproven.certificate_.to_text().startswith("NO SECRECY")
    assert "NOT A PROVEN GUARANTEE" in unproven.certificate_.headline
    with pytest.raises(InvalidInputError, match="'epochs'"):
        cofit.LogisticRegression(recipe="paper", epochs=1).fit(X, Y)


def test_predictions_are_those_of_the_weights_by_hand(fitted: cofit.LogisticRegression) -> None:
    scores = score_by_hand(fitted, X, 0.0)
    np.testing.assert_allclose(fitted.decision_function(X), scores, rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), (scores > 0).astype(int))
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-12)
    assert fitted.score(X, Y) == ((scores > 0) == Y).mean()


def test_with_hardly_any_noise_it_is_plain_logistic_regression(fitted: cofit.LogisticRegression) -> None:
    assert isinstance(fitted.plan_, MinimiserPlan)
    rows = fitted.plan_.comparable_rows(X)
    plain = PlainLogisticRegression(C=1 / (ROWS * FAST["l2"]), fit_intercept=False, tol=1e-10).fit(rows, Y)
    weights = np.append(fitted.coef_[0], fitted.intercept_[0])
    noise = fitted.plan_.mechanism.expected_norm
    assert np.linalg.norm(weights - plain.coef_[0]) < 10 * noise
    assert noise < 2e-4  # a thousandth of the weights
    assert fitted.score(X, Y) == plain.score(rows, Y) > 0.85


def test_owners_by_name_and_by_columns_give_the_same_model(fitted: cofit.LogisticRegression) -> None:
    named = cofit.LogisticRegression(**FAST).fit({"clinic": (X[:50], Y[:50]), "lab": (X[50:], Y[50:])})
    assert set(named.certificate_.owners) == {"clinic", "lab"}
    np.testing.assert_allclose(named.coef_, fitted.coef_, atol=2e-3)
    blocks = {"clinic": X[:, :1], "lab": X[:, 1:]}
    by_columns = cofit.LogisticRegression(**FAST).fit(blocks, Y, partition="vertical")
    assert set(by_columns.certificate_.owners) == {"clinic", "lab", "label-owner"}
    assert by_columns.certificate_.normalised_by == "parties"
    np.testing.assert_allclose(by_columns.coef_, fitted.coef_, atol=2e-3)
    np.testing.assert_allclose(by_columns.intercept_, fitted.intercept_, atol=2e-3)
    np.testing.assert_allclose(by_columns.decision_function(X), score_by_hand(by_columns, X, 1.0), rtol=1e-12)


def test_support_vector_machine() -> None:
    model = cofit.LinearSVC(**FAST).fit(X, np.where(Y == 1, "ill", "healthy"))
    assert model.classes_.tolist() == ["healthy", "ill"]
    assert model.score(X, np.where(Y == 1, "ill", "healthy")) > 0.85
    assert not hasattr(model, "predict_proba")


def test_as_processes(fitted: cofit.LogisticRegression) -> None:
    model = cofit.LogisticRegression(**FAST, processes=True, threads=1).fit([(X[:120], Y[:120]), (X[120:], Y[120:])])
    np.testing.assert_allclose(model.coef_, fitted.coef_, atol=2e-3)
    assert {name: counts.total.bytes_sent for name, counts in model.traffic_.items()} == {
        name: counts.total.bytes_sent for name, counts in fitted.traffic_.items()
    }


def test_save_and_load(fitted: cofit.LogisticRegression, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    fitted.save(path)
    loaded = cofit.LogisticRegression.load(path)
    assert loaded.certificate_ == fitted.certificate_
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(cofit.load_model(path).predict(X), fitted.predict(X))
    assert (loaded.epsilon, loaded.l2, loaded.mechanism) == (1000.0, 0.5, "laplace")
    assert loaded.n_iter_ == fitted.n_iter_
    with pytest.raises(
        InvalidInputError, match=r"LinearSVC\.load must be a model with the loss 'hinge' or 'huber_hinge'"
    ):
        cofit.LinearSVC.load(path)
    with pytest.raises(NotFittedError):
        cofit.LogisticRegression().save(path)


def test_the_same_state_opens_the_same_weights(tmp_path: Path) -> None:
    fits = [cofit.LogisticRegression(**FAST, state=tmp_path).fit(X, Y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(fits[0], fits[1])
    again = cofit.LogisticRegression(**FAST).fit(X, Y).coef_
    assert not np.array_equal(again, fits[0])


def test_the_steps_come_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Progress] = []
    model = cofit.LogisticRegression(**FAST, progress=seen.append).fit(X, Y)
    assert list(dict.fromkeys(progress.step for progress in seen)) == [
        "start",
        "share",
        "train",
        "check",
        "noise",
        "release",
    ]
    epochs = [progress.done for progress in seen if progress.step == "train"]
    assert epochs == sorted(epochs)
    assert epochs[-1] == model.n_iter_
    assert capsys.readouterr() == ("", "")
    with pytest.raises(InvalidInputError, match="'progress' parameter of LinearSVC"):
        cofit.LinearSVC(**FAST, progress="yes").fit(X, Y)  # type: ignore[arg-type]


def test_it_is_an_estimator(fitted: cofit.LogisticRegression) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert copy.set_params(epsilon=2.0).epsilon == 2.0
    assert not hasattr(copy, "coef_")
    pipeline = make_pipeline(MinMaxScaler((-1, 1)), cofit.LogisticRegression(**FAST)).fit(X, Y)
    assert pipeline.score(X, Y) > 0.85
    assert (cross_val_score(cofit.LogisticRegression(**FAST), X, Y, cv=2) > 0.8).all()


def test_a_failed_fit_changes_nothing(fitted: cofit.LogisticRegression) -> None:
    before = fitted.predict(X).tolist()
    with pytest.raises(InvalidInputError, match="Got one class"):
        fitted.fit(X[:, :2], np.zeros(ROWS))
    assert fitted.predict(X).tolist() == before
    with pytest.raises(InvalidInputError, match="'epsilon' parameter of a plan"):
        cofit.LogisticRegression(epsilon=-1.0).fit(X, Y)
    with pytest.raises(InvalidInputError, match=r"Owner 'lab': \d+ of \d+ values of column \d are larger"):
        cofit.LogisticRegression().fit({"clinic": X, "lab": X * 3 + 2}, Y, partition="vertical")


def test_the_examples_in_the_docstrings() -> None:
    result = doctest.testmod(estimators)
    assert (result.failed, result.attempted > 10) == (0, True)
