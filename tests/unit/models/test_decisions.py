"""A threshold in the place of the usual decision, and the warning where a large table gets one class only."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import recall_score

from cofit.errors import InvalidInputError, OneClassWarning
from cofit.models.decisions import second_class
from cofit.models.estimators import LinearSVC, LogisticRegression

RNG = np.random.default_rng(8)
X = RNG.uniform(-1, 1, (300, 2))
Y = (X[:, 0] > 0).astype(np.int64)
GIVEN: dict[str, Any] = {"epsilon": 8.0, "scheme": "clear", "classes": (0, 1), "feature_bound": 1.0}


@pytest.fixture(scope="module")
def logistic() -> LogisticRegression:
    return LogisticRegression(**GIVEN).fit(X, Y)


@pytest.fixture(scope="module")
def machine() -> LinearSVC:
    return LinearSVC(**GIVEN).fit(X, Y)


def test_a_threshold_is_a_probability_with_the_logistic_loss(logistic: LogisticRegression) -> None:
    likely = logistic.predict_proba(X)[:, 1]
    for limit in (0.1, 0.5, 0.9, float(likely[3])):
        expected = (likely > limit).astype(int)
        assert 0 < expected.sum() < len(X)
        np.testing.assert_array_equal(logistic.predict(X, threshold=limit), expected)
        np.testing.assert_array_equal(logistic.model_.predict(X, threshold=limit), expected)
    np.testing.assert_array_equal(logistic.predict(X, threshold=0.5), logistic.predict(X))


def test_a_threshold_is_a_score_without_probabilities(machine: LinearSVC) -> None:
    scores = machine.decision_function(X)
    for limit in (-0.5, 0, 0.5):
        np.testing.assert_array_equal(machine.predict(X, threshold=limit), (scores > limit).astype(int))
        np.testing.assert_array_equal(machine.model_.predict(X, threshold=limit), (scores > limit).astype(int))


def test_a_row_at_the_limit_is_of_the_first_class() -> None:
    scores, likely = np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.5, 0.8])
    for found in (
        second_class(scores, likely, None),
        second_class(scores, likely, 0.5),
        second_class(scores, None, None),
        second_class(scores, None, 0.0),
    ):
        assert found.tolist() == [False, False, True]


@pytest.mark.parametrize("bad", [0, 1, 1.5, -0.1, float("nan"), float("inf"), "0.5", True, np.array([0.5, 0.4]), [0.5]])
def test_what_is_no_probability_is_refused(logistic: LogisticRegression, bad: Any) -> None:
    for model in (logistic, logistic.model_):
        with pytest.raises(InvalidInputError, match=r"'threshold' parameter of predict must be a probability above 0"):
            model.predict(X, threshold=bad)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "0.5", False, [0.5]])
def test_what_is_no_score_is_refused(machine: LinearSVC, bad: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"'threshold' parameter of predict must be a finite score"):
        machine.predict(X, threshold=bad)


def test_a_threshold_is_given_by_name(logistic: LogisticRegression) -> None:
    with pytest.raises(TypeError, match="positional"):
        logistic.predict(X, 0.5)  # type: ignore[call-arg]


def test_one_class_for_a_large_table_is_warned_of(logistic: LogisticRegression) -> None:
    left = np.tile([[-1.0, 0.0]], (100, 1))
    for model in (logistic, logistic.model_):
        with pytest.warns(OneClassWarning, match=r"All 100 rows .* class '0'.*lower threshold.*calibrate_in") as caught:
            model.predict(left)
        assert caught[0].filename == __file__  # the line that called predict, whatever the model
    with pytest.warns(OneClassWarning, match="higher threshold"):
        logistic.predict(-left)
    with pytest.warns(OneClassWarning):
        logistic.score(left, np.zeros(100, dtype=int))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logistic.predict(left[:99])
        logistic.predict(np.vstack([left, -left[:1]]))
        logistic.predict_proba(left)


def test_rare_positives_are_found_with_a_threshold() -> None:
    """4 % positives: nobody is predicted ill by the usual rule; the fifth with the largest scores has most of them."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (4000, 5))
    y = (rng.random(4000) < 1 / (1 + np.exp(-(4 * x[:, 0] - 4.9)))).astype(int)
    assert 0.03 < y.mean() < 0.06
    model = LogisticRegression(3.0, scheme="clear", classes=(0, 1), feature_bound=1.0).fit(x, y)
    with pytest.warns(OneClassWarning):
        assert not model.predict(x).any()
    likely = model.predict_proba(x)[:, 1]
    chosen = model.predict(x, threshold=float(np.quantile(likely, 0.8)))
    assert recall_score(y, chosen) > 0.5
