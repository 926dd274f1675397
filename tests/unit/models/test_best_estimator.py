"""The estimators with the default recipe: accurate, honest about a rehearsal, with a word on columns of other units."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.models.estimators import REHEARSAL, LinearSVC, LogisticRegression
from cofit.models.linear_model import LinearModel

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (800, 4))
Y = (X @ [1.0, -1.0, 0.5, 0.0] > 0).astype(np.int64)
OWNERS = [(X[:300], Y[:300]), (X[300:], Y[300:])]


@pytest.fixture(scope="module")
def fitted() -> LogisticRegression:
    return LogisticRegression(epsilon=3.0, scheme="clear", feature_bound=1.0, classes=(0, 1)).fit(OWNERS)


def test_it_learns_and_says_that_it_is_a_rehearsal(fitted: LogisticRegression) -> None:
    assert fitted.score(X, Y) > 0.9
    certificate = fitted.certificate_
    assert (certificate.recipe, certificate.method, certificate.proven) == ("best", "descent", True)
    assert REHEARSAL in certificate.warnings
    (opening,) = certificate.openings
    assert opening.reason.endswith("(weights: 5, level: 1, centre: 4)")
    assert opening.shape == (10,)


def test_a_saved_model_scores_the_same(fitted: LogisticRegression, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.json")
    loaded = LogisticRegression.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    assert (loaded.recipe, loaded.epsilon) == ("best", 3.0)


def test_probabilities_are_those_of_the_margin(fitted: LogisticRegression) -> None:
    expected = 1 / (1 + np.exp(-2 * fitted.decision_function(X)))
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], expected, rtol=1e-9, atol=1e-15)


def test_shrinking_moves_every_weight_and_keeps_the_intercept(fitted: LogisticRegression) -> None:
    model = fitted.model_
    noise = model.certificate.noise_expected_norm / np.sqrt(model.certificate.d)
    shrunk = model.shrunk(0.5)
    raw = np.asarray(model.coef)
    expected = np.sign(raw) * np.maximum(np.abs(raw) - 0.5 * noise, 0)
    np.testing.assert_allclose(shrunk.coef, expected)
    assert (shrunk.intercept, shrunk.shrinkage) == (model.intercept, 0.5)
    assert LinearModel.from_json(shrunk.to_json()) == shrunk
    assert model.shrunk(0.0).coef == model.coef
    with pytest.raises(InvalidInputError, match="shrunk already"):
        shrunk.shrunk(0.5)
    for bad in (-1, float("nan"), "1", True):
        with pytest.raises(InvalidInputError, match="noise_levels"):
            model.shrunk(bad)  # type: ignore[arg-type]


def test_columns_of_other_units_are_warned_of() -> None:
    raw = X * [1.0, 1.0, 1.0, 1000.0]
    with pytest.warns(UserWarning, match=r"Column 3 .*feature_bound"):
        LinearSVC(scheme="clear", classes=(0, 1)).fit(raw[:40], Y[:40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearSVC(scheme="clear", classes=(0, 1)).fit(X[:40], Y[:40])


def test_half_a_range_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"'feature_lower'.*without feature_bound"):
        LogisticRegression(feature_lower=0.0).fit(X, Y)


def test_a_large_delta_is_warned_of() -> None:
    model = LogisticRegression(delta=0.05, scheme="clear", classes=(0, 1)).fit(X[:40], Y[:40])
    assert any("1 / n" in warning for warning in model.certificate_.warnings)
