"""How accurate such a model may be, against epsilon: ``experiments.utility`` for the facts of a released model.

The setting that is simulated first is the model's own, by the facts of its certificate: recipe, penalty, delta, who
scales rows, ranges, shares of the budget. Beside it, the other recipe. No private data are touched, and no privacy is
spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cofit.errors import InvalidInputError
from cofit.experiments.public_rows import PublicRows, made_up_counts, made_up_numbers, made_up_rows
from cofit.experiments.referenced_rows import mapped_rows, rows_of_reference, within
from cofit.experiments.simulation import too_large
from cofit.experiments.utility import (
    QUICK_SIZE,
    AccuracyCurve,
    AccuracyForecast,
    own_and_other,
    own_setting,
    simulated_forecast,
)
from cofit.learn.rebuild import of_another_release, rebuilt_plan
from cofit.learn.stated_facts import parameters_of
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.report.source import linear

__all__ = [
    "AccuracyCurve",
    "AccuracyForecast",
    "NoForecast",
    "forecast_on_made_up_rows",
    "forecast_on_sample",
    "rows_in_words",
]


_RANGES = ("feature_bound", "feature_lower", "norm_floor")
_SETTING = (
    *(
        "partition",
        "recipe",
        "loss",
        "classes",
        "largest_count",
        "delta",
        "fit_intercept",
        "normalised_by",
        "clip_rows",
        "pure_steps",
        "calibrate_intercept",
    ),
    *("budget_shares", "l2", "sensitivity", "intercept_scaling", *_RANGES),
)
"""The parameters of ``training_facts`` that are simulated; solvers and tolerances hardly matter for the accuracy."""


@dataclass(frozen=True)
class NoForecast:
    """Why there is none."""

    reason: str


def forecast_on_made_up_rows(model: LinearModel | StudyModel) -> AccuracyForecast | NoForecast:
    """Return the forecast that needs nothing but the model."""
    one = linear(model)
    if reason := too_large(one.certificate.n, one.features, QUICK_SIZE):
        return NoForecast(f"No forecast was made. {reason} Give a public or made-up table with --sample.")
    if rebuilt_plan(one.certificate) is None:
        return NoForecast(f"No forecast was made. {of_another_release(one.certificate)}")
    scale = 1.0 if one.rows is None else one.rows.bound
    try:
        return _forecast(model, _made_up(one, scale))
    except InvalidInputError:
        return NoForecast("No forecast was made: there are too few rows to simulate. Give a table with --sample.")


def _made_up(model: LinearModel, scale: float) -> PublicRows:
    if model.reference is not None:
        return within(rows_of_reference(model.reference), scale)
    if model.largest_count is not None:
        return made_up_counts(model.certificate.n, model.features, model.largest_count, scale)
    if model.target_range is not None:
        return made_up_numbers(model.certificate.n, model.features, scale)
    return made_up_rows(model.certificate.n, model.features, scale, len(model.classes))


def forecast_on_sample(model: LinearModel | StudyModel, sample: PublicRows) -> AccuracyForecast:
    """Return the forecast with a sample, which must have both classes; large studies without noisy descent."""
    return _forecast(model, sample)


def rows_in_words(forecast: AccuracyForecast) -> str:
    """Return what was simulated with, in two words that every sentence about a forecast has."""
    return "a sample" if forecast.given else "made-up rows"


def _forecast(model: LinearModel | StudyModel, sample: PublicRows) -> AccuracyForecast:
    one = linear(model)
    c = one.certificate
    plan = rebuilt_plan(c)
    if plan is None:
        raise InvalidInputError(f"No forecast can be made. {of_another_release(c)}")
    own = parameters_of(plan.facts)
    facts = {name: own[name] for name in _SETTING if own[name] is not None}
    facts["epsilon"] = float(c.epsilon)
    if c.recipe == "paper":
        facts = {name: value for name, value in facts.items() if name not in _RANGES} | _paper_ranges(one, sample)
        facts |= {"mechanism": c.mechanism, "allow_unproven": not c.proven}
    if c.descent is not None and c.descent.norm == "l1":
        facts["row_nonzeros"] = _typical_nonzeros(sample)
    if one.reference is not None:
        sample, facts = mapped_rows(sample, one.reference, facts)
    settings = own_and_other if one.reference is None else own_setting
    return simulated_forecast(c.n, one.features, facts, sample, settings=settings, largest=QUICK_SIZE)


def _paper_ranges(model: LinearModel, sample: PublicRows) -> dict[str, Any]:
    """Return a range that holds sample and constant: rows are scaled to length 1, so a larger one changes nothing."""
    if model.certificate.normalised_by == "owners":
        return {}
    bound = max(1.0, model.constant, float(np.abs(sample.features).max()))
    return {"feature_bound": bound, "norm_floor": min(1.0, model.norm_floor / bound)}


def _typical_nonzeros(sample: PublicRows) -> int:
    """Return about how many values of a row are not 0."""
    return max(1, round(float(np.count_nonzero(sample.features, axis=1).mean())))
