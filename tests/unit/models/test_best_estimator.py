"""The estimators with the default recipe: accurate, honest about a rehearsal, with a word on columns of other units."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cofit.errors import InvalidInputError, PlanWarning, RangeError
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.shrinkage import believed_shrinkage
from cofit.models.estimators import LinearSVC, LogisticRegression
from cofit.models.linear_model import LinearModel
from cofit.models.private_linear import REHEARSAL

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (800, 4))
Y = (X @ [1.0, -1.0, 0.5, 0.0] > 0).astype(np.int64)
OWNERS = [(X[:300], Y[:300]), (X[300:], Y[300:])]


@pytest.fixture(scope="module")
def fitted() -> LogisticRegression:
    given: dict[str, Any] = {"feature_bound": 1.0, "clip_rows": False}
    return LogisticRegression(epsilon=3.0, scheme="clear", classes=(0, 1), **given).fit(OWNERS)


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


def test_each_estimator_trains_with_its_own_loss(fitted: LogisticRegression, tmp_path: Path) -> None:
    given: dict[str, Any] = {"feature_bound": 1.0, "clip_rows": False, "scheme": "clear", "classes": (0, 1)}
    machine = LinearSVC(epsilon=3.0, **given).fit(OWNERS)
    assert isinstance(machine.plan_, DescentPlan) and isinstance(fitted.plan_, DescentPlan)
    assert str(machine.plan_.formats.residual) == "clip(5/2 - 2 m, 0, 1)"
    assert str(fitted.plan_.formats.residual) == "clip(3/2 - m, 0, 1)"
    assert machine.score(X, Y) > 0.9
    assert machine.certificate_.loss == machine.certificate_.facts["loss"] == "hinge"
    assert "hinge" in machine.certificate_.model
    machine.save(tmp_path / "model.json")
    np.testing.assert_array_equal(LinearSVC.load(tmp_path / "model.json").predict(X), machine.predict(X))
    smooth = [LinearSVC(delta=0.0), LinearSVC(recipe="paper", delta=1e-6)]
    assert [estimator._chosen_loss() for estimator in smooth] == ["huber_hinge", "huber_hinge"]


def test_shrinking_moves_weights_and_keeps_intercept_and_release(fitted: LogisticRegression) -> None:
    model = fitted.model_
    noise = model.certificate.noise_expected_norm / np.sqrt(model.certificate.d)
    shrunk = model.shrunk(0.5)
    raw = np.asarray(model.coef)
    expected = np.where(np.abs(raw) > 0.5 * noise, raw - (0.5 * noise) ** 2 / raw, 0.0)
    np.testing.assert_allclose(shrunk.weights, expected)
    with pytest.raises(ValueError, match="read-only"):
        shrunk.weights[:] = 0
    assert (shrunk.coef, shrunk.intercept, shrunk.shrinkage) == (model.coef, model.intercept, 0.5)
    assert LinearModel.from_json(shrunk.to_json()) == shrunk
    np.testing.assert_array_equal(shrunk.shrunk(0.0).weights, model.coef)
    np.testing.assert_array_equal(shrunk.shrunk(0.75).weights, model.shrunk(0.75).weights)
    assert not np.allclose(shrunk.decision_function(X), model.shrunk(0).decision_function(X))
    for bad in (-1, float("nan"), "1", True):
        with pytest.raises(InvalidInputError, match="noise_levels"):
            model.shrunk(bad)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def wide() -> LogisticRegression:
    """One column of 600 matters, and the budget is large: the gain is more than 7 errors, whatever the noise."""
    rng = np.random.default_rng(3)
    x = rng.choice([-1.0, 1.0], (2000, 600))
    return LogisticRegression(12.0, 1e-5, scheme="clear", classes=(0, 1)).fit(x, (x[:, 7] > 0).astype(int))


def test_where_few_columns_matter_predictions_use_few(wide: LogisticRegression) -> None:
    model = wide.model_
    again = believed_shrinkage(np.asarray(model.coef), model.deviation)  # a deviation that was rounded in the file
    assert model.shrinkage > 0
    assert model.shrinkage == pytest.approx(again, rel=1e-12)
    assert np.count_nonzero(wide.coef_) < 500
    np.testing.assert_array_equal(wide.coef_[0], model.weights)
    np.testing.assert_array_equal(wide.released_coef_[0], model.coef)
    assert isinstance(wide.plan_, DescentPlan)
    assert model.deviation == pytest.approx(wide.plan_.noise_of_weights)


def test_a_file_keeps_shrinkage_and_release(wide: LogisticRegression, tmp_path: Path) -> None:
    wide.save(tmp_path / "model.json")
    loaded = LogisticRegression.load(tmp_path / "model.json")
    assert (loaded.shrinkage, loaded.model_.shrinkage) == ("auto", wide.model_.shrinkage)
    np.testing.assert_array_equal(loaded.coef_, wide.coef_)
    np.testing.assert_array_equal(loaded.released_coef_, wide.released_coef_)


def test_a_shrinkage_of_ones_own() -> None:
    given = {"scheme": "clear", "classes": (0, 1)}
    model = LogisticRegression(3.0, shrinkage=0.25, **given).fit(X, Y)  # type: ignore[arg-type]
    assert model.model_.shrinkage == 0.25
    raw = LogisticRegression(3.0, shrinkage=0, **given).fit(X, Y)  # type: ignore[arg-type]
    np.testing.assert_array_equal(raw.coef_, raw.released_coef_)


@pytest.mark.parametrize("bad", ["none", -0.5, float("nan"), float("inf"), True, None, np.array([1, 2])])
def test_a_wrong_shrinkage_is_refused_before_anything_runs(bad: object) -> None:
    with pytest.raises(InvalidInputError, match=r"'shrinkage' parameter of LogisticRegression must be 'auto' or"):
        LogisticRegression(shrinkage=bad).fit(X, Y)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"recipe": "paper", "delta": 1e-5},
        {"delta": 0.0},
        pytest.param({"delta": 0.0, "row_nonzeros": 1}, marks=pytest.mark.slow),
        {"delta": 1e-5, "calibrate_intercept": True},
    ],
)
def test_other_noise_the_papers_recipe_and_calibrated_intercepts_are_not_shrunk_unasked(given: dict[str, Any]) -> None:
    x = np.zeros((600, 60))
    x[np.arange(600), np.arange(600) % 60] = 1.0
    x[:, 0] = np.where(np.arange(600) % 2, 1.0, 0.0)
    model = LogisticRegression(12.0, scheme="clear", classes=(0, 1), **given).fit(x, np.arange(600) % 2)
    assert model.model_.shrinkage == 0.0
    np.testing.assert_array_equal(model.coef_, model.released_coef_)


def test_columns_of_other_units_are_warned_of() -> None:
    raw = X * [1.0, 1.0, 1.0, 1000.0]
    with pytest.warns(UserWarning, match=r"columns 0, 1 and 2 lie so close together, beside those of column 3"):
        LinearSVC(scheme="clear", classes=(0, 1)).fit(raw[:40], Y[:40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearSVC(epsilon=8.0, scheme="clear", classes=(0, 1)).fit(X[:40], Y[:40])


def test_half_a_range_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"'feature_lower'.*without feature_bound"):
        LogisticRegression(feature_lower=0.0).fit(X, Y)


def test_a_large_delta_is_warned_of() -> None:
    model = LogisticRegression(delta=0.05, scheme="clear", classes=(0, 1)).fit(X[:40], Y[:40])
    assert any("1 / n" in warning for warning in model.certificate_.warnings)


@pytest.mark.parametrize("given", [{}, {"feature_bound": 1.0}, {"fit_intercept": False, "calibrate_intercept": False}])
def test_clipped_rows_are_learned_from_saved_and_rebuilt(given: dict[str, Any], tmp_path: Path) -> None:
    model = LogisticRegression(epsilon=3.0, scheme="clear", classes=(0, 1), **given).fit(OWNERS)
    assert isinstance(model.plan_, DescentPlan)
    assert model.plan_.clipped
    assert model.score(X, Y) > 0.9
    constant = int(given.get("fit_intercept", True))
    (opening,) = model.certificate_.openings
    assert opening.reason.endswith(f"(weights: {4 + constant}, mean: 4, stretch: 4, radius: 1)")
    model.save(tmp_path / "model.json")
    loaded = LogisticRegression.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    plan = rebuilt_plan(loaded.certificate_)
    assert plan is not None
    assert plan.hash == model.certificate_.plan_hash


@pytest.mark.parametrize(
    ("name", "value"),
    [("mean", None), ("stretch", [1.0]), ("radius", None), ("radius", 0.0), ("stretch", [1.0, -1.0, 1.0, 1.0]),
     ("radius", "x"), ("mean", 0.5), ("floor", 0.5), ("level", 0.1)],
)  # fmt: skip
def test_numbers_of_clipped_rows_that_cannot_be_are_refused(name: str, value: object, tmp_path: Path) -> None:
    model = LogisticRegression(epsilon=3.0, scheme="clear", classes=(0, 1)).fit(OWNERS)
    model.save(tmp_path / "model.json")
    fields = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    fields["rows"][name] = value
    (tmp_path / "model.json").write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=f"rows.{'radius' if name == 'stretch' and value != [1.0] else name}"):
        LinearModel.load(tmp_path / "model.json")


def test_few_rows_are_warned_of_before_anything_runs() -> None:
    few = [(X[:5], Y[:5]), (X[5:10], Y[5:10])]
    with pytest.warns(PlanWarning, match=r"10 rows with 4 columns are few .* needs about \d+ rows"):
        LogisticRegression(scheme="clear", classes=(0, 1)).fit(few)
    with pytest.warns(PlanWarning, match="are few for this epsilon"):
        LogisticRegression(epsilon=0.001, scheme="clear", classes=(0, 1)).fit(OWNERS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(scheme="clear", classes=(0, 1)).fit(OWNERS)


def test_values_beyond_the_bound_are_refused_by_the_name_of_the_column() -> None:
    frame = pd.DataFrame(X[:50] * [1.0, 1.0, 90.0, 1.0], columns=["a", "b", "age", "c"])
    model = LogisticRegression(epsilon=8.0, scheme="clear", classes=(0, 1), feature_bound=1.0)
    told = r"Owner 'owner': \d+ of 50 values of column 'age' are larger .* in row \d+, counted from 0.*PublicScaler"
    with pytest.raises(RangeError, match=told):
        model.fit(frame, Y[:50])
    with pytest.raises(RangeError, match=r"Owner 'right': .* of column 'age'"):
        model.fit({"left": frame[["a", "b"]], "right": frame[["age", "c"]]}, Y[:50], partition="vertical")


@pytest.mark.parametrize("given", [{}, {"feature_bound": 1.0, "clip_rows": False}])
def test_rows_that_were_not_prepared_as_in_training_are_warned_of(given: dict[str, Any]) -> None:
    model = LogisticRegression(epsilon=3.0, scheme="clear", classes=(0, 1), **given).fit(OWNERS)
    with pytest.warns(UserWarning, match=r"800 of 800 rows have values beyond what was agreed on for training"):
        model.decision_function(X + 100)
    with pytest.warns(UserWarning, match=r"1 of 1 rows have values beyond what was agreed on for training"):
        model.decision_function(X[:1] + 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.decision_function(X)
        model.decision_function(np.vstack([X[:5], X[:4] + 100]))
