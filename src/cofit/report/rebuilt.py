"""What a released model tells of the facts of its study, and the plan that these give again.

A certificate does not have every fact. What it lacks is tried: the few values that follow from the model or are usual.
A plan counts as found only if its hash is the certificate's; then it is the very plan. Otherwise there is none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from cofit.errors import CofitError
from cofit.learn.descent.clip import row_limit
from cofit.learn.descent.plan import INTERCEPT, MEAN_BITS
from cofit.learn.descent.recipe import PureBudget
from cofit.learn.descent.shares import SHARED
from cofit.learn.facts import training_facts
from cofit.learn.losses.loss import STEP_BITS
from cofit.learn.plan import Plan, plan_training
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.privacy.certificate import Certificate

_MOST_NONZEROS = 64
_DECIMALS = 4  # of shares of a budget
_ROUNDING = Fraction(1, 1 << (MEAN_BITS - 3))  # what a plan adds to the width of a range, for roundings of means


def linear(model: LinearModel | StudyModel) -> LinearModel:
    """Return the linear model of either kind."""
    return model.model if isinstance(model, StudyModel) else model


def stated_facts(model: LinearModel | StudyModel) -> dict[str, Any]:
    """Return the facts that certificate and model state, under the names of ``training_facts``; rows, columns and
    ranges of values apart."""
    one = linear(model)
    c = one.certificate
    facts: dict[str, Any] = {
        "partition": c.partition,
        "recipe": c.recipe,
        "loss": c.loss,
        "epsilon": c.epsilon,
        "delta": c.delta,
        "scheme": c.scheme,
        "fit_intercept": c.d > len(one.coef),
        "normalised_by": c.normalised_by,
    }
    if c.descent is not None and c.descent.norm == "l2":
        facts["clip_rows"] = one.rows is not None and one.rows.mean is not None
    if c.recipe == "paper":
        scaling = one.constant or 1.0
        facts |= {"l2": c.l2, "sensitivity": c.sensitivity_kind, "intercept_scaling": scaling}
    return facts


def ranges_of(model: LinearModel | StudyModel) -> list[dict[str, Any]]:
    """Return which agreed ranges the model may have had, as ``training_facts`` takes them, the likeliest first.

    A released level has left the width of the range in the certificate. A study's features are within [-1, 1], and the
    mean of a row is at least minus the share of numbers. Otherwise the range is symmetric, or begins at 0.
    """
    one = linear(model)
    rows, descent = one.rows, one.certificate.descent
    bound = Fraction(1 if rows is None else rows.bound)
    if rows is not None and rows.mean is not None:
        return _bounds_of_clipped(rows.bound, len(one.coef), one.certificate.normalised_by)
    floors: list[dict[str, Any]] = [{}]
    if one.certificate.normalised_by == "parties":
        floors.insert(0, {"norm_floor": one.norm_floor if rows is None else rows.floor})
    lowers = [-bound, Fraction(0)]
    if isinstance(model, StudyModel):
        numbers = sum(feature.type == "number" for feature in model.features)
        lowers.insert(0, Fraction(-numbers, sum(feature.width for feature in model.features)))
    if descent is not None and descent.mean_width:
        lowers = [bound - (descent.mean_width - _ROUNDING) * bound]
    return [
        {"feature_bound": bound, "feature_lower": lower, **floor}
        for lower, floor in itertools.product(tuple(dict.fromkeys(lowers)), floors)
    ]


def _bounds_of_clipped(limit: float, cols: int, normalised_by: str) -> list[dict[str, Any]]:
    """Return the bounds that give this limit of a row's length: none, or one that is found by division."""
    none: list[dict[str, Any]] = [{}] if normalised_by == "owners" and float(row_limit(cols, None)) == limit else []
    bound = Fraction(limit) / row_limit(cols, Fraction(1))
    nearest = [Fraction(float(f"{float(bound):.{digits}g}")) for digits in (6, 12, 17)]
    bounds = [one for one in dict.fromkeys([*nearest, bound]) if float(row_limit(cols, one)) == limit]
    return [*none, *({"feature_bound": one} for one in bounds)] or [{}]


def rebuilt_plan(model: LinearModel | StudyModel) -> Plan | None:
    """Return the plan of a released model, or None where what is stated does not give it again."""
    one = linear(model)
    c, facts = one.certificate, stated_facts(model)
    for ranges, choice in itertools.product(ranges_of(model), _choices(one)):
        try:
            plan = plan_training(training_facts(c.n, len(one.coef), **facts, **ranges, **choice))
        except CofitError:
            continue
        if plan.hash == c.plan_hash:
            return plan
    return None


def _choices(model: LinearModel) -> Iterator[dict[str, Any]]:
    """Give the values to try of what neither certificate nor ranges tell."""
    c = model.certificate
    if c.recipe == "paper":
        epochs: tuple[int | str, ...] = ("auto", c.epochs)
        for mechanism, count, solver in itertools.product((None, c.mechanism), epochs, ("auto", c.solver)):
            yield {"mechanism": mechanism, "epochs": count, "solver": solver}
    elif c.descent is None or c.descent.norm == "l2":
        yield from _shared(c)
    else:
        within = Fraction(1, 1 << (STEP_BITS - 1))
        paces = ((k, PureBudget(c.epsilon, c.n, k).pace) for k in range(1, (len(model.coef) + 1) // 2))
        close = (k for k, pace in paces if abs(pace / c.descent.step_size - 1) <= within)
        for nonzeros in itertools.islice(close, _MOST_NONZEROS):
            yield {"row_nonzeros": nonzeros}


def _shared(certificate: Certificate) -> Iterator[dict[str, Any]]:
    """Give the recipe's own shares of the budget, then those that the noise amounts to, all or some of them chosen."""
    amounts: dict[str, float] = {}
    for release in certificate.releases:
        name = release.name.split()[0]
        amounts[name] = amounts.get(name, 0.0) + float(release.sensitivity / release.scale) ** 2
    whole = sum(amounts.values())
    calibrated = {"calibrate_intercept": INTERCEPT in amounts}
    yield calibrated
    shares = {name: round(amounts.get(name, 0.0) / whole, _DECIMALS) for name in SHARED}
    names = [name for name in SHARED if name != INTERCEPT or calibrated["calibrate_intercept"]]
    for count in range(len(names), 0, -1):
        for some in itertools.combinations(names, count):
            yield {**calibrated, "budget_shares": {name: shares[name] for name in some}}
