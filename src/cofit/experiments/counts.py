"""Counts: Poisson regression against regressions of the count and of its logarithm, simulated on made-up data.

Recipe best by its cleartext twin: ``poisson`` of the count, and ``huber`` and ``clipped_squares`` of the count and of
log(1 + count), whose ranges are public too. The figure is the part of the Poisson deviance of a constant rate that a
model explains, on rows held out; a rate is never taken for less than 1/1000.

Kinds, with a log-linear rate: visits to a doctor (about 3, more spread than Poisson's, up to 40), claims (about 0.15,
up to 6), cases of a disease in a district (about 15, up to 120), admissions to a hospital (about 100, up to 1,000), and
visits again with a range that is ten times too wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.experiments.result import Figure, Row
from cofit.learn.base_plan import PublicRows
from cofit.learn.bounds import scaled_by_bounds
from cofit.learn.facts import training_facts
from cofit.learn.plan import Plan, plan_training

Reals = npt.NDArray[np.float64]
DELTA = 1e-5
LEAST_RATE = 1e-3


@dataclass(frozen=True)
class Kind:
    """cols: how many columns; mean: the rate in the middle; spread: of the logarithm of the rate; most: public."""

    cols: int
    mean: float
    spread: float
    most: int
    overdispersed: bool = False


KINDS = {
    "visits": Kind(8, 3.0, 0.8, 40, overdispersed=True),
    "claims": Kind(10, 0.15, 0.9, 6),
    "cases": Kind(12, 15.0, 0.6, 120),
    "admissions": Kind(8, 100.0, 0.6, 1000),
    "visits, wide": Kind(8, 3.0, 0.8, 400, overdispersed=True),
}


def made_up(kind: Kind, rows: int, seed: int) -> tuple[Reals, Reals]:
    """Return columns in [-1, 1], every third of them skewed, and counts."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (rows, kind.cols))
    x[:, ::3] = np.clip(rng.gamma(2, 0.3, x[:, ::3].shape) - 1, -1, 1)
    direction = rng.normal(0, 1, kind.cols)
    logarithm = x @ (direction * kind.spread * math.sqrt(3) / np.linalg.norm(direction))
    rates = kind.mean * np.exp(logarithm - logarithm.mean())
    if kind.overdispersed:
        rates = rates * rng.gamma(4, 0.25, rows)
    return x, np.minimum(rng.poisson(rates), kind.most).astype(np.float64)


def deviance_explained(counts: Reals, rates: Reals, constant: float) -> Reals:
    """Return 1 - the deviance of the rates in each column over that of a constant rate."""
    return np.asarray(1 - _deviance(counts, rates) / _deviance(counts, np.full((len(counts), 1), constant)))


def _deviance(counts: Reals, rates: Reals) -> Reals:
    y, rate = counts[:, np.newaxis], np.maximum(rates, LEAST_RATE)
    logs = np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / rate), 0.0)
    return np.asarray(2 * (logs - (y - rate)).mean(axis=0))


@dataclass(frozen=True)
class Split:
    """Rows to learn from, and rows held out."""

    x: Reals
    y: Reals
    test: Reals
    truth: Reals
    most: int


def linear_rates(split: Split, epsilon: float, draws: int, seed: int, *, loss: str, logarithm: bool) -> Reals:
    """Return the rates that releases of cofit's regression predict; of log(1 + count) if ``logarithm``."""
    most = math.log1p(split.most) if logarithm else float(split.most)
    target = 2 * (np.log1p(split.y) if logarithm else split.y) / most - 1
    plan = _plan(split, epsilon, loss)
    table = split.x, target
    scores = plan.simulated_scores(PublicRows(table, table, split.test), draws, np.random.default_rng(seed), {})
    found = (np.clip(scores, -1, 1) + 1) / 2 * most
    return np.asarray(np.expm1(found) if logarithm else found)


def poisson_rates(split: Split, epsilon: float, draws: int, seed: int) -> Reals:
    """Return the rates that releases of cofit's Poisson regression predict."""
    ends = (0.0, float(split.most))
    table = split.x, scaled_by_bounds(split.y, *ends)
    plan = _plan(split, epsilon, "poisson", largest_count=split.most)
    scores = plan.simulated_scores(PublicRows(table, table, split.test), draws, np.random.default_rng(seed), {})
    return plan.target.predicted(scores, ends)


METHODS: dict[str, Callable[[Split, float, int, int], Reals]] = {
    "Huber, of the count": partial(linear_rates, loss="huber", logarithm=False),
    "least squares, of the count": partial(linear_rates, loss="clipped_squares", logarithm=False),
    "Huber, of log(1 + count)": partial(linear_rates, loss="huber", logarithm=True),
    "least squares, of log(1 + count)": partial(linear_rates, loss="clipped_squares", logarithm=True),
    "Poisson": poisson_rates,
}


def count_rows(
    kind: str, rows: int, epsilons: Sequence[float] = (1.0, 3.0), *, instances: int = 4, draws: int = 6
) -> list[Row]:
    """Return the deviance explained by each method, and by scikit-learn's PoissonRegressor without privacy; the spread
    is over instances of the data and draws of the noise."""
    splits = [_split(KINDS[kind], rows, seed) for seed in range(instances)]
    result = []
    for label, method in METHODS.items():
        found = [
            [_explained(split, method(split, epsilon, draws, seed)) for seed, split in enumerate(splits)]
            for epsilon in epsilons
        ]
        result.append(Row(label, tuple(_figure(values) for values in found)))
    plain = _figure([_explained(split, _without_privacy(split)) for split in splits])
    return [*result, Row("Poisson regression, no privacy", (plain,) * len(epsilons), guaranteed=False)]


def _split(kind: Kind, rows: int, seed: int) -> Split:
    x, y = made_up(kind, rows + rows // 3, seed)
    return Split(x[:rows], y[:rows], x[rows:], y[rows:], kind.most)


def _explained(split: Split, rates: Reals) -> Reals:
    return deviance_explained(split.truth, rates, float(split.y.mean()))


def _figure(found: Sequence[Reals]) -> Figure:
    values = np.concatenate(found)
    return Figure(float(values.mean()), "accuracy", float(values.std()))


def _without_privacy(split: Split) -> Reals:
    from sklearn.linear_model import PoissonRegressor  # noqa: PLC0415 - takes a second

    model = PoissonRegressor(alpha=1e-4, max_iter=1000).fit(split.x, split.y)
    return np.asarray(np.minimum(model.predict(split.test), split.most))[:, np.newaxis]


def _plan(split: Split, epsilon: float, loss: str, **facts: Any) -> Plan:
    settings: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "feature_bound": 1.0, "loss": loss, **facts}
    return plan_training(training_facts(*split.x.shape, **settings))
