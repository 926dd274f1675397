"""Train one differentially private model on the joint data of several owners, with no trusted curator."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cofit.arithmetic import Z64, Z128, FixedPoint
from cofit.errors import CofitError, PartyFailedError
from cofit.roles import Contribution, LocalRun, run_local
from cofit.secret import Opening, Party, SecretArray, SecretBits, concatenate

if TYPE_CHECKING:
    from cofit.experiments.utility import AccuracyForecast, forecast_accuracy
    from cofit.learn.recipes.descent.reference import ReferenceMap, reference_map
    from cofit.models.estimators import LinearSVC, LogisticRegression
    from cofit.models.linear_model import LinearModel
    from cofit.models.model_files import load_model
    from cofit.models.private_predictions import PrivatePredictions, predict_private
    from cofit.models.public_scaler import PublicScaler
    from cofit.models.regression_estimators import HuberRegressor, LinearRegression, PoissonRegressor, RidgeRegression
    from cofit.models.study_classifier import StudyClassifier
    from cofit.models.study_regressor import StudyRegressor
    from cofit.models.verification import Verification, verify_model
    from cofit.privacy.certificate import Certificate
    from cofit.roles.files.sparse_arrays import save_sparse_table

    __version__: str

__all__ = [
    "Z64",
    "Z128",
    "AccuracyForecast",
    "Certificate",
    "CofitError",
    "Contribution",
    "FixedPoint",
    "HuberRegressor",
    "LinearModel",
    "LinearRegression",
    "LinearSVC",
    "LocalRun",
    "LogisticRegression",
    "Opening",
    "Party",
    "PartyFailedError",
    "PoissonRegressor",
    "PrivatePredictions",
    "PublicScaler",
    "ReferenceMap",
    "RidgeRegression",
    "SecretArray",
    "SecretBits",
    "StudyClassifier",
    "StudyRegressor",
    "Verification",
    "__version__",
    "concatenate",
    "forecast_accuracy",
    "load_model",
    "predict_private",
    "reference_map",
    "run_local",
    "save_sparse_table",
    "verify_model",
]

# Imported when first asked for: the estimators need scikit-learn, which no party's process should have to load.
_LAZY = {
    "AccuracyForecast": "cofit.experiments.utility",
    "Certificate": "cofit.privacy.certificate",
    "HuberRegressor": "cofit.models.regression_estimators",
    "LinearModel": "cofit.models.linear_model",
    "LinearRegression": "cofit.models.regression_estimators",
    "LinearSVC": "cofit.models.estimators",
    "LogisticRegression": "cofit.models.estimators",
    "PoissonRegressor": "cofit.models.regression_estimators",
    "PrivatePredictions": "cofit.models.private_predictions",
    "PublicScaler": "cofit.models.public_scaler",
    "ReferenceMap": "cofit.learn.recipes.descent.reference",
    "RidgeRegression": "cofit.models.regression_estimators",
    "StudyClassifier": "cofit.models.study_classifier",
    "StudyRegressor": "cofit.models.study_regressor",
    "Verification": "cofit.models.verification",
    "forecast_accuracy": "cofit.experiments.utility",
    "load_model": "cofit.models.model_files",
    "predict_private": "cofit.models.private_predictions",
    "save_sparse_table": "cofit.roles.files.sparse_arrays",
    "reference_map": "cofit.learn.recipes.descent.reference",
    "verify_model": "cofit.models.verification",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value = import_module("importlib.metadata").version("cofit")  # slow to import, and rarely asked for
    elif name in _LAZY:
        value = getattr(import_module(_LAZY[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
