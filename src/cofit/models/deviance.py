"""D squared of counts, as scikit-learn's PoissonRegressor scores itself."""

from __future__ import annotations

from typing import Any


def d2_poisson(truth: Any, rates: Any, sample_weight: Any = None) -> float:
    """Return 1 less the Poisson deviance of the rates over that of the (weighted) mean of these counts."""
    from sklearn.metrics import d2_tweedie_score  # noqa: PLC0415 - takes a second

    return float(d2_tweedie_score(truth, rates, sample_weight=sample_weight, power=1))
