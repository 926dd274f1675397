"""Private regression against ridge regression without privacy, and against owners alone: R squared over epsilon.

Two data sets, with ranges of columns and target as somebody would agree on them who knows the field and not the rows:

    diabetes     442 patients, 10 columns, the progression of a disease from 0 to 400 (Efron et al. 2004)
    california   made up: 8 columns like those of the districts in the census of California (skewed incomes, two
                 clusters of places), and the value of a house from 0 to 5, in 100,000 dollars, cut at 5

Models are simulated by the cleartext twin of their plan (``learn/recipes/*/twin.py``), on random halves of the rows for
two owners, and scored on rows that were held out. Equal arguments give equal figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError
from cofit.experiments.result import Figure, Row
from cofit.learn.base_plan import PublicRows
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training

Reals = npt.NDArray[np.float64]
EPSILONS = (0.5, 1.0, 3.0, 8.0)
DELTA = 1e-5
_HELD_OUT = 0.25
_OWNERS = 2


@dataclass(frozen=True, repr=False)
class RealTargets:
    """Columns and target, both scaled from their public ranges to [-1, 1]."""

    name: str
    features: Reals
    targets: Reals


def diabetes() -> RealTargets:
    """Return the diabetes data with ranges by what the columns are: age, sex, body mass, blood pressure, six sera."""
    from sklearn.datasets import load_diabetes  # noqa: PLC0415 - takes a second

    x, y = load_diabetes(return_X_y=True, scaled=False)
    lower = np.array([15, 1, 15, 50, 80, 30, 20, 1.5, 3, 50.0])
    upper = np.array([85, 2, 45, 150, 320, 250, 110, 10, 6.5, 130.0])
    return RealTargets("diabetes", _scaled(x, lower, upper), _scaled(y, 0.0, 400.0))


def california(rows: int = 10_000, seed: int = 0) -> RealTargets:
    """Return made-up districts."""
    rng = np.random.default_rng(seed)
    income = np.clip(rng.gamma(4, 1, rows), 0.5, 15)
    age = rng.uniform(1, 52, rows)
    rooms = np.clip(3 + 0.5 * income + rng.gamma(2, 0.5, rows), 1, 20)
    bedrooms = np.clip(0.2 * rooms + rng.normal(0, 0.1, rows), 0.3, 5)
    people = np.clip(rng.lognormal(7, 0.7, rows), 3, 10_000)
    household = np.clip(rng.gamma(9, 0.33, rows), 1, 10)
    north = np.where(rng.random(rows) < 0.55, rng.normal(34, 0.6, rows), rng.normal(37.8, 0.8, rows))
    east = -119.5 - (north - 35.6) * 0.9 + rng.normal(0, 0.6, rows)
    value = 0.4 * income + 0.01 * age - 0.1 * rooms + 0.6 * bedrooms - 0.25 * household
    value += 1.9 - 0.35 * (north - 35.6) - 0.35 * (east + 119.5)
    value += 0.7 * rng.gamma(1.5, 0.5, rows) + rng.normal(0, 0.3, rows)
    x = np.column_stack([income, age, rooms, bedrooms, people, household, north, east])
    lower, upper = np.array([0, 0, 0, 0, 0, 0, 32, -125.0]), np.array([16, 55, 20, 5, 10_000, 10, 42, -113.0])
    return RealTargets("california", _scaled(x, lower, upper), _scaled(value, 0.0, 5.0))


SETS: dict[str, Callable[[], RealTargets]] = {"diabetes": diabetes, "california": california}
METHODS: dict[str, dict[str, Any]] = {
    "cofit, least squares (recipe best)": {"loss": "clipped_squares"},
    "cofit, Huber (recipe best)": {"loss": "huber"},
    "cofit, Huber, l2 = 0.1 (recipe paper)": {"loss": "huber", "recipe": "paper", "l2": 0.1},
    "cofit, Huber, l2 = 1 (recipe paper)": {"loss": "huber", "recipe": "paper", "l2": 1.0},
}


def regression_rows(
    data: RealTargets, epsilons: Sequence[float] = EPSILONS, *, splits: int = 10, draws: int = 10, seed: int = 0
) -> list[Row]:
    """Return a row of R squared for each method, and for ridge regression without privacy.

    splits: of rows into those to train on and those held out; draws: of the noise in each. The spread is over both.
    """
    rows = [
        Row(label, tuple(_figure(data, epsilon, facts, splits, draws, seed, owners=1) for epsilon in epsilons))
        for label, facts in METHODS.items()
    ]
    alone = METHODS["cofit, least squares (recipe best)"]
    figures = tuple(_figure(data, epsilon, alone, splits, draws, seed, owners=_OWNERS) for epsilon in epsilons)
    rows.append(Row("every owner alone (recipe best)", figures))
    plain = _summed([_ridge(data, part) for part in _splits(data, splits, seed)])
    rows.append(Row("ridge regression, no privacy", (plain,) * len(epsilons), guaranteed=False))
    return rows


def _figure(
    data: RealTargets, epsilon: float, facts: dict[str, Any], splits: int, draws: int, seed: int, owners: int
) -> Figure:
    """Return R squared of models of all rows, or of each of several owners by itself."""
    rng = np.random.default_rng([seed, owners])
    found = []
    try:
        for train, test in _splits(data, splits, seed):
            for own in np.array_split(train, owners):
                found.append(_private(data, own, test, epsilon, facts, draws, rng))
    except InvalidInputError as error:
        return Figure(None, "text", text=str(error))
    return _summed(found)


def _private(
    data: RealTargets,
    train: npt.NDArray[np.int64],
    test: npt.NDArray[np.int64],
    epsilon: float,
    facts: dict[str, Any],
    draws: int,
    rng: np.random.Generator,
) -> Reals:
    x, y = data.features, data.targets
    settings = {"epsilon": epsilon, "delta": DELTA, "feature_bound": 1.0, **facts}
    plan = plan_training(training_facts(len(train), x.shape[1], **settings))
    table = x[train], y[train]
    scores = plan.simulated_scores(PublicRows(table, table, x[test]), draws, rng, {})
    return r_squared(y[test], scores)


def r_squared(targets: Reals, scores: Reals) -> Reals:
    """Return R squared of the predictions in each column, which are within the range of the target."""
    errors = np.square(np.clip(scores, -1, 1) - targets[:, np.newaxis])
    return np.asarray(1 - errors.mean(axis=0) / np.var(targets))


def _ridge(data: RealTargets, part: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]) -> Reals:
    from sklearn.linear_model import Ridge  # noqa: PLC0415 - takes a second

    train, test = part
    model = Ridge().fit(data.features[train], data.targets[train])
    return r_squared(data.targets[test], np.asarray(model.predict(data.features[test]))[:, np.newaxis])


def _splits(data: RealTargets, count: int, seed: int) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    rng = np.random.default_rng(seed)
    held_out = round(_HELD_OUT * len(data.targets))
    orders = [rng.permutation(len(data.targets)) for _ in range(count)]
    return [(order[held_out:], order[:held_out]) for order in orders]


def _summed(found: Sequence[Reals]) -> Figure:
    values = np.concatenate(found)
    return Figure(float(values.mean()), "accuracy", float(values.std()))


def _scaled(values: Reals, lower: Reals | float, upper: Reals | float) -> Reals:
    return np.asarray((2 * np.clip(values, lower, upper) - lower - upper) / (np.asarray(upper) - lower))
