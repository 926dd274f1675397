"""Estimators of real targets: as scikit-learn users expect them, in the target's own units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_regressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

import cofit
from cofit.errors import InvalidInputError, RangeError
from cofit.models.regressor import PrivateLinearRegressor

KINDS: list[type[PrivateLinearRegressor]] = [cofit.RidgeRegression, cofit.LinearRegression, cofit.HuberRegressor]
RANGE = (20.0, 60.0)
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (1500, 4))
Y = 40 + X @ np.array([8.0, -4.0, 2.0, 0.0]) + RNG.normal(size=1500)


def owners() -> list[tuple[Any, Any]]:
    return [(X[:500], Y[:500]), (X[500:1200], Y[500:1200])]


@pytest.mark.parametrize("kind", KINDS)
def test_it_predicts_numbers_in_the_units_of_the_target(kind: type[PrivateLinearRegressor], tmp_path: Path) -> None:
    model = kind(epsilon=8.0, target_range=RANGE, scheme="clear").fit(owners())
    assert is_regressor(model)
    predicted = model.predict(X[1200:])
    plain = Ridge().fit(X[:1200], Y[:1200]).score(X[1200:], Y[1200:])
    assert model.score(X[1200:], Y[1200:]) == pytest.approx(r2_score(Y[1200:], predicted))
    assert model.score(X[1200:], Y[1200:]) > plain - 0.1
    assert (model.coef_.shape, np.ndim(model.intercept_)) == ((4,), 0)
    rows = model.model_.rows
    assert rows is not None
    inside = np.clip(rows(X[1200:]) @ model.coef_ + model.intercept_, *RANGE)
    assert np.allclose(inside, predicted)
    assert model.certificate_.proven
    assert "linear regression" in model.certificate_.model
    assert any("range of the target" in line for line in model.certificate_.assumptions)
    model.save(tmp_path / "model.json")
    again = kind.load(tmp_path / "model.json")
    assert np.array_equal(again.predict(X[1200:]), predicted)
    assert again.target_range == RANGE
    loaded = cofit.load_model(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(X[1200:]), predicted)
    with pytest.raises(InvalidInputError, match="loss"):
        cofit.LogisticRegression.load(tmp_path / "model.json")


def test_the_penalty_is_that_of_recipe_paper() -> None:
    settings: dict[str, Any] = {"recipe": "paper", "epsilon": 100.0, "target_range": RANGE, "scheme": "clear"}
    model = cofit.RidgeRegression(l2=0.1, normalised_by="parties", **settings).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert model.certificate_.minimiser is not None
    assert model.certificate_.minimiser.gradient_bound == 1


@pytest.mark.parametrize("settings", [{"recipe": "paper"}, {"delta": 0}])
def test_without_a_penalty_there_is_no_minimiser_to_perturb(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="RidgeRegression"):
        cofit.LinearRegression(target_range=RANGE, **settings).fit(X, Y)


@pytest.mark.parametrize("wrong", [None, (1,), (2, 1), (1, 1), ("a", "b"), (0, float("inf")), 5])
def test_the_range_is_agreed_on_and_never_taken_from_the_data(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"The 'target_range' parameter of RidgeRegression .* agreed on"):
        cofit.RidgeRegression(target_range=wrong).fit(X, Y)


def test_targets_beyond_the_range_are_refused_without_a_value() -> None:
    with pytest.raises(RangeError, match=r"Owner 'owner': 1 of 1,500 targets .* row 7") as error:
        cofit.RidgeRegression(target_range=RANGE).fit(X, np.where(np.arange(1500) == 7, 61.25, Y))
    assert "61.25" not in str(error.value)


def test_texts_are_no_targets() -> None:
    with pytest.raises(InvalidInputError, match="must be numbers"):
        cofit.HuberRegressor(target_range=RANGE).fit(X, np.where(Y > 40, "high", "low"))


def test_columns_of_several_owners_and_weights() -> None:
    """Half of the records are wrong by 15, and count nothing."""
    weights = np.tile([1.0, 0.0], 750)
    wrong = np.where(weights > 0, Y, np.clip(Y + 15, *RANGE))
    model = cofit.RidgeRegression(epsilon=8.0, target_range=RANGE, weight_bound=1.0, scheme="clear")
    model.fit([X[:, :2], X[:, 2:]], wrong, weights, partition="vertical")
    assert model.score(X, Y) > 0.85


def test_weights_and_their_bound_go_together() -> None:
    with pytest.raises(InvalidInputError, match=r"sample_weight.*weight_bound"):
        cofit.RidgeRegression(target_range=RANGE).fit(X, Y, np.ones(1500))
    with pytest.raises(InvalidInputError, match=r"sample_weight.*weight_bound is set"):
        cofit.RidgeRegression(target_range=RANGE, weight_bound=1.0).fit(X, Y)
    with pytest.raises(InvalidInputError, match="one for each of the 1500 records"):
        cofit.RidgeRegression(target_range=RANGE, weight_bound=1.0).fit(X, Y, np.ones(3))
    with pytest.raises(InvalidInputError, match="for each of the 2 owners"):
        cofit.RidgeRegression(target_range=RANGE, weight_bound=1.0).fit(owners(), sample_weight=np.ones(1200))
