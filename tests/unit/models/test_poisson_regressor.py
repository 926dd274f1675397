"""The estimator of counts: rates through a log link, scored by the deviance, as scikit-learn's PoissonRegressor is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.linear_model import PoissonRegressor as Plain
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import cross_val_score

import cofit
from cofit.errors import InvalidInputError, RangeError
from cofit.learn.targets import Count
from cofit.models.linear_model import LinearModel

RANGE = (0, 40)
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (2500, 4))
Y = np.minimum(RNG.poisson(np.exp(1 + X @ np.array([1.0, -1.0, 0.5, 0.0]))), 40)
TRAIN, TEST = slice(0, 2000), slice(2000, None)


def fitted(**settings: Any) -> cofit.PoissonRegressor:
    owners = [(X[:900], Y[:900]), (X[900:2000], Y[900:2000])]
    return cofit.PoissonRegressor(**{"epsilon": 8.0, "target_range": RANGE, "scheme": "clear", **settings}).fit(owners)


def test_it_predicts_rates(tmp_path: Path) -> None:
    model = fitted()
    predicted = model.predict(X[TEST])
    assert is_regressor(model) and predicted.min() >= 1 / 20 and predicted.max() <= 40
    assert model.score(X[TEST], Y[TEST]) == pytest.approx(d2_tweedie_score(Y[TEST], predicted, power=1))
    plain = Plain(alpha=1e-4).fit(X[TRAIN], Y[TRAIN])
    assert plain.score(X[TEST], Y[TEST]) - 0.05 < model.score(X[TEST], Y[TEST]) < 1
    assert np.corrcoef(np.log(predicted), np.log(plain.predict(X[TEST])))[0, 1] > 0.95
    rows = model.model_.rows
    assert rows is not None
    assert np.allclose(np.exp(rows(X[TEST]) @ model.coef_ + model.intercept_).clip(1 / 20, 40), predicted)
    weights = np.arange(500) % 3 + 1.0
    wanted = d2_tweedie_score(Y[TEST], predicted, sample_weight=weights, power=1)
    assert model.score(X[TEST], Y[TEST], sample_weight=weights) == pytest.approx(wanted)
    model.save(tmp_path / "model.json")
    again = cofit.PoissonRegressor.load(tmp_path / "model.json")
    assert np.array_equal(again.predict(X[TEST]), predicted) and again.target_range == (0.0, 40.0)
    assert np.array_equal(cofit.load_model(tmp_path / "model.json").predict(X[TEST]), predicted)
    with pytest.raises(InvalidInputError, match="loss"):
        cofit.RidgeRegression.load(tmp_path / "model.json")


def test_its_certificate_says_what_it_rests_on() -> None:
    certificate = fitted().certificate_
    assert certificate.proven and "Poisson" in certificate.model
    assert certificate.facts["largest_count"] == 40
    assert any("largest count" in line for line in certificate.assumptions)


def test_a_model_keeps_to_the_largest_count_of_its_certificate(tmp_path: Path) -> None:
    fitted().save(tmp_path / "model.json")
    fields = json.loads((tmp_path / "model.json").read_text())
    for wrong in ([0.0, 41.0], [1.0, 40.0], None):
        (tmp_path / "forged.json").write_text(json.dumps({**fields, "target_range": wrong}))
        with pytest.raises(InvalidInputError, match="target_range"):
            LinearModel.load(tmp_path / "forged.json")


def test_shares_and_owners_of_columns() -> None:
    shared = fitted(scheme="rep3")
    assert shared.score(X[TEST], Y[TEST]) > 0.4
    by_columns = cofit.PoissonRegressor(epsilon=8.0, target_range=RANGE, scheme="clear", weight_bound=2.0)
    by_columns.fit([X[TRAIN, :2], X[TRAIN, 2:]], Y[TRAIN], sample_weight=np.ones(2000), partition="vertical")
    assert by_columns.score(X[TEST], Y[TEST]) > 0.4


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"recipe": "paper"}, "'recipe' parameter of a plan must be 'best' with the loss 'poisson'"),
        ({"delta": 0.0}, "'delta' parameter of a plan must be above 0"),
        ({"calibrate_intercept": True}, "'calibrate_intercept' parameter of a plan must be False"),
        ({"target_range": None}, "'target_range' parameter of PoissonRegressor must be a pair"),
        ({"target_range": (1, 40)}, "must be a pair of 0 and the largest count"),
        ({"target_range": (0, 2.5)}, "a whole number from 1 to 32768"),
        ({"target_range": (0, 5)}, "beyond the agreed target_range, 0 to 5"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        fitted(**settings)


def test_counts_are_whole_and_no_value_is_shown() -> None:
    wrong = Y[TRAIN].astype(np.float64)
    wrong[7] = 3.25
    with pytest.raises(RangeError, match="1 of 2,000 targets are no whole numbers") as caught:
        cofit.PoissonRegressor(target_range=RANGE).fit(X[TRAIN], wrong)
    assert "3.25" not in str(caught.value) and "row 7" in str(caught.value)


def test_scikit_learn_can_clone_and_cross_validate_it() -> None:
    model = clone(cofit.PoissonRegressor(epsilon=8.0, target_range=RANGE, scheme="clear"))
    assert cross_val_score(model, X, Y, cv=2).min() > 0.3


def test_a_forecast_is_of_counts() -> None:
    facts: dict[str, Any] = {"loss": "poisson", "largest_count": 40, "feature_bound": 1.0, "epsilon": 3.0}
    for sample in ({}, {"X": X, "y": 2 * Y / 40 - 1}):
        found = cofit.forecast_accuracy(2000, 4, epsilons=(3.0,), **facts, **sample)
        assert found.measure == Count.measure and found.title.startswith("D squared")
        assert [curve.label for curve in found.curves] == ["best"]
        assert 0.2 < (found.asked or 0) < found.without_privacy < 1 and found.majority == 0
    with pytest.raises(InvalidInputError, match="whole numbers from 0 to 40"):
        cofit.forecast_accuracy(2000, 4, epsilons=(3.0,), **facts, X=X, y=np.full(len(X), 0.01))
