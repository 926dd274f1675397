"""scikit-learn's own checks of an estimator: all but what cannot hold with noise that nobody can repeat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from cofit.models.estimators import LinearSVC, LogisticRegression
from cofit.models.public_scaler import PublicScaler
from cofit.models.regression_estimators import HuberRegressor, LinearRegression, PoissonRegressor, RidgeRegression

EXPECTED_FAILURES = {"check_fit_idempotent": "two fits give the same weights only with the same noise"}
_UNBOUNDED = "weights of records need a public bound, weight_bound, and noise in every step"
WEIGHT_CHECKS = dict.fromkeys(
    (
        "check_sample_weights_pandas_series", "check_sample_weights_not_an_array", "check_sample_weights_list",
        "check_all_zero_sample_weights_error", "check_sample_weights_shape", "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data",
        "check_classifiers_one_label_sample_weights",
    ),
    _UNBOUNDED,
)  # fmt: skip
OF_REGRESSORS = dict.fromkeys(
    ("check_regressor_data_not_an_array", "check_supervised_y_2d", "check_regressors_int"),
    "two fits predict the same numbers only with the same noise",
)

# So little noise, and so quickly, that what the checks say of predictions is as certain as without any.
PARAMETERS: dict[str, Any] = {
    "recipe": "paper", "epsilon": 1000.0, "l2": 1.0, "mechanism": "laplace", "solver": "gradient_descent"
}  # fmt: skip
ESTIMATORS = [LogisticRegression(**PARAMETERS), LinearSVC(**PARAMETERS)]
REGRESSORS = [RidgeRegression(**PARAMETERS, scheme="clear", target_range=(-1000.0, 1000.0))]
SCALERS = [PublicScaler(), PublicScaler(lower=-3, upper=0.5)]


def expected_failures(estimator: object) -> dict[str, str]:
    if isinstance(estimator, PublicScaler):
        return {}
    return EXPECTED_FAILURES | WEIGHT_CHECKS | (OF_REGRESSORS if isinstance(estimator, RidgeRegression) else {})


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([ESTIMATORS[0], *SCALERS], expected_failed_checks=expected_failures)  # type: ignore[untyped-decorator]
def test_check(estimator: Any, check: Callable[[Any], None]) -> None:
    carried_out(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([*ESTIMATORS[1:], *REGRESSORS], expected_failed_checks=expected_failures)  # type: ignore[untyped-decorator]
def test_check_of_the_other(estimator: Any, check: Callable[[Any], None]) -> None:
    carried_out(estimator, check)


def test_the_other_has_no_methods_of_its_own() -> None:
    """What the checks call is the same for both, but for probabilities: without the slow tests, one of them will do."""
    methods = ("fit", "predict", "score", "decision_function", "predict_proba")
    generated = {f"set_{method}_request" for method in methods}  # by scikit-learn, from the parameters
    for kind, own in ((LogisticRegression, {"predict_proba"}), (LinearSVC, set[str]())):
        assert {name for name in vars(kind) if not name.startswith("_")} - generated == own


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_what_is_learned_has_the_shapes_that_scikit_learn_expects(estimator: Any) -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (80, 3))
    fitted = clone(estimator).fit(rows, np.where(rows[:, 0] > 0, "yes", "no"))
    assert (fitted.coef_.shape, fitted.intercept_.shape, fitted.n_features_in_) == ((1, 3), (1,), 3)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.decision_function(rows).shape == (80,)
    assert (fitted.predict(rows) == np.where(fitted.decision_function(rows) > 0, "yes", "no")).all()


def test_regressors_have_the_shapes_and_the_methods_that_scikit_learn_expects() -> None:
    """The quick companion of the slow checks: shapes, tags, targets of Python objects, one record, sparse rows."""
    rows = np.random.default_rng(0).uniform(-1, 1, (80, 3))
    fitted = clone(REGRESSORS[0]).fit(rows, rows[:, 0])
    assert (fitted.coef_.shape, np.ndim(fitted.intercept_), fitted.n_features_in_) == ((3,), 0, 3)
    assert fitted.predict(rows).shape == fitted.predict(csr_array(rows)).shape == (80,)
    assert clone(REGRESSORS[0]).fit(rows, rows[:, 0].astype(object)).predict(rows).dtype == np.float64
    with pytest.raises(ValueError, match="Unknown label type"):
        clone(REGRESSORS[0]).fit(rows, np.array([{}] * 80))
    with pytest.raises(ValueError, match="n_samples = 1"):
        clone(REGRESSORS[0]).fit(rows[:1], rows[:1, 0])
    for kind in (HuberRegressor, LinearRegression, PoissonRegressor, RidgeRegression):
        tags = kind(target_range=(-1.0, 1.0)).__sklearn_tags__()
        assert tags.estimator_type == "regressor" and tags.input_tags.sparse and tags.non_deterministic
        own = {name for name in vars(kind) if not name.startswith(("_", "set_"))}
        assert own == ({"score"} if kind is PoissonRegressor else set())


def test_names_of_columns_are_forgotten_with_the_table_that_had_them() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (80, 2))
    fitted = clone(ESTIMATORS[0]).fit(pd.DataFrame(rows, columns=["age", "dose"]), rows[:, 0] > 0)
    assert fitted.feature_names_in_.tolist() == ["age", "dose"]
    assert not hasattr(fitted.fit(rows, rows[:, 0] > 0), "feature_names_in_")


def carried_out(estimator: Any, check: Callable[[Any], None]) -> None:
    try:
        check(estimator)
    except SkipTest as reason:
        assert "pandas" not in str(reason), "pandas is one of the development tools, so that nothing is left unchecked"
        raise


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("name", EXPECTED_FAILURES)
def test_an_expected_failure_is_one(estimator: Any, name: str) -> None:
    with pytest.raises(AssertionError):
        getattr(estimator_checks, name)(type(estimator).__name__, estimator)
