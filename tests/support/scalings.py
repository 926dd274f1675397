"""Made-up data of several kinds, as users bring it, under the usual scalings.

The bounds of "bounds" are public: round numbers that somebody who knows the field would write down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Bounds = list[tuple[float, float]]
SCALINGS = ("minmax", "maxabs", "standard", "robust", "bounds")


@dataclass(frozen=True)
class Scaled:
    """Rows to train on and to test on, under one scaling."""

    train: Reals
    test: Reals


def labels_of(log_odds: Reals, rng: np.random.Generator) -> Labels:
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)


def concentrated(n: int, rng: np.random.Generator, world: int) -> tuple[Reals, Reals, Bounds]:
    """Age, creatinine and blood pressure: far from 0 beside their spread."""
    age = np.clip(rng.normal(62, 14, n), 18, 100)
    creatinine, pressure = rng.lognormal(0, 0.4, n), rng.normal(130, 18, n)
    log_odds = 0.05 * (age - 62) + 1.2 * (creatinine - 1.08) + 0.02 * (pressure - 130) - 0.4
    return np.column_stack([age, creatinine, pressure]), log_odds, [(0, 120), (0, 20), (40, 260)]


def skewed(n: int, rng: np.random.Generator, world: int) -> tuple[Reals, Reals, Bounds]:
    """Twenty correlated columns, two thirds of them lognormal."""
    fixed = np.random.default_rng(5 + world)
    g = rng.normal(size=(n, 20)) @ (np.eye(20) + fixed.normal(size=(20, 20)) / np.sqrt(20))
    x = np.exp(g / 2)
    x[:, ::3] = g[:, ::3] * 3 + 10
    return x, g @ (0.45 * fixed.normal(size=20)), [(-10, 30) if j % 3 == 0 else (0, 25) for j in range(20)]


def one_hot(n: int, rng: np.random.Generator, world: int) -> tuple[Reals, Reals, Bounds]:
    """Six categories with 42 values together."""
    fixed = np.random.default_rng(6 + world)
    columns, log_odds = [], np.zeros(n)
    for count in (3, 4, 5, 8, 10, 12):
        shares = fixed.dirichlet(np.full(count, 1.5))
        chosen, effects = rng.choice(count, n, p=shares), 0.9 * fixed.normal(size=count)
        log_odds += effects[chosen] - shares @ effects
        columns.append(np.eye(count)[chosen])
    x = np.hstack(columns)
    return x, log_odds, [(-1, 1)] * x.shape[1]


def mixed(n: int, rng: np.random.Generator, world: int) -> tuple[Reals, Reals, Bounds]:
    """Six laboratory values far from 0, and twelve marks that are 0 or 1."""
    fixed = np.random.default_rng(12 + world)
    middle, deviation = fixed.uniform(50, 200, 6), fixed.uniform(5, 20, 6)
    g, marks = rng.normal(size=(n, 6)), (rng.random((n, 12)) < fixed.uniform(0.1, 0.9, 12)).astype(np.float64)
    log_odds = g @ (0.6 * fixed.normal(size=6)) + (marks - marks.mean(axis=0)) @ (0.3 * fixed.normal(size=12))
    return np.hstack([middle + deviation * g, marks]), log_odds, [(0.0, 300.0)] * 6 + [(-1.0, 1.0)] * 12


def imbalanced(n: int, rng: np.random.Generator, world: int) -> tuple[Reals, Reals, Bounds]:
    """Ten columns; about a tenth of the rows are positive."""
    fixed = np.random.default_rng(8 + world)
    x = rng.normal(size=(n, 10))
    x[:, 5:] = np.exp(0.6 * x[:, 5:])
    log_odds = x @ (0.5 * fixed.normal(size=10))
    return x, log_odds - log_odds.mean() - 3.2, [(-6.0, 6.0)] * 5 + [(0.0, 20.0)] * 5


def correlated(n: int, rng: np.random.Generator, world: int) -> tuple[Reals, Reals, Bounds]:
    """Fifty columns of five factors, in different units."""
    fixed = np.random.default_rng(9 + world)
    loadings, factors = fixed.normal(size=(5, 50)), rng.normal(size=(n, 5))
    own = rng.normal(size=(n, 50))
    log_odds = factors @ np.array([0.8, -0.56, 0.4, 0.16, -0.24]) + own @ (0.12 * fixed.normal(size=50))
    x = (factors @ loadings + own) * fixed.uniform(0.5, 4, 50) + 8 * fixed.normal(size=50)
    return x, log_odds, [(-60, 60)] * 50


def common_factor(n: int, rng: np.random.Generator, world: int) -> tuple[Reals, Reals, Bounds]:
    """Twenty columns that rise and fall together."""
    fixed = np.random.default_rng(18 + world)
    factor, own = rng.normal(size=n), rng.normal(size=(n, 20))
    x = 5 * (factor[:, None] + own) + 50
    return x, own @ (0.3 * fixed.normal(size=20)) + 0.5 * factor, [(0, 100)] * 20


KINDS: dict[str, Callable[[int, np.random.Generator, int], tuple[Reals, Reals, Bounds]]] = {
    "concentrated": concentrated,
    "skewed": skewed,
    "one-hot": one_hot,
    "mixed": mixed,
    "imbalanced": imbalanced,
    "correlated": correlated,
    "common factor": common_factor,
}


def scaled(kind: str, rows: int, held_out: int, world: int = 0) -> tuple[dict[str, Scaled], Labels, Labels]:
    """Return the data of a kind under every scaling, fitted on the training rows, with both parts' labels.

    world: seeds the rows, and the coefficients, units and correlations of their kind.
    """
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    from cofit import PublicScaler

    rng = np.random.default_rng(1 + world)
    x, log_odds, bounds = KINDS[kind](rows + held_out, rng, world)
    y = labels_of(log_odds, rng)
    lower, upper = (list(ends) for ends in zip(*bounds, strict=True))
    scalers: dict[str, Any] = {
        "minmax": MinMaxScaler(),
        "maxabs": MaxAbsScaler(),
        "standard": StandardScaler(),
        "robust": RobustScaler(),
        "bounds": PublicScaler(lower=lower, upper=upper),
    }
    done = {}
    for name, scaler in scalers.items():
        fitted = scaler.fit(x[:rows])
        done[name] = Scaled(np.asarray(fitted.transform(x[:rows])), np.asarray(fitted.transform(x[rows:])))
    return done, y[:rows], y[rows:]
