"""Parameters of an estimator that need more than a default: the shrinkage, and those that a saved model states."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from cofit.errors import parameter_error
from cofit.models.linear_model import LinearModel
from cofit.sharing import scheme_named

AUTO = "auto"


def check_shrinkage(given: Any, estimator: str) -> None:
    """Raise InvalidInputError before anything is spent."""
    number = isinstance(given, Real) and not isinstance(given, bool) and 0 <= float(given) < math.inf
    if not number and not (isinstance(given, str) and given == AUTO):
        raise parameter_error("shrinkage", estimator, "'auto' or a number that is at least 0", given)


def stated_parameters(model: LinearModel) -> dict[str, Any]:
    """Return the parameters of an estimator that a model and its certificate state."""
    certificate = model.certificate
    stated: dict[str, Any] = {
        "epsilon": float(certificate.epsilon),
        "delta": float(certificate.delta),
        "recipe": certificate.recipe,
        "scheme": certificate.scheme,
        "fit_intercept": bool(model.constant),
        "normalised_by": certificate.normalised_by,
    }
    usual = scheme_named(certificate.scheme).info.default_parties
    stated["parties"] = None if len(certificate.parties) == usual else len(certificate.parties)
    stated["threshold"] = certificate.facts.get("threshold")
    if certificate.recipe == "best" and not certificate.delta:
        stated["pure_steps"] = certificate.facts.get("pure_steps", False)
    if certificate.recipe == "paper" and certificate.minimiser is not None:
        stated |= {
            "l2": float(certificate.minimiser.l2),
            "mechanism": certificate.mechanism,
            "sensitivity": certificate.minimiser.sensitivity_kind,
            "intercept_scaling": model.constant or None,
        }
    return stated
