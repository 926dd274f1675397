"""A lower bound of epsilon from draws on two neighbouring data sets, in one dimension."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from cofit.baselines.method import Part, Reals
from support.chance import ALPHA

_QUANTILES = np.concatenate([[0.002, 0.01], np.linspace(0.05, 0.95, 19), [0.99, 0.998]])


def one_record_apart(rows: int) -> tuple[Part, Part]:
    """Records that say nothing, and one that says one thing, or the opposite."""
    features = np.zeros((rows, 1))
    features[-1] = 1.0
    labels = np.zeros(rows, np.int64)
    other = labels.copy()
    other[-1] = 1
    return Part(features, labels), Part(features, other)


def epsilon_shown(here: Reals, there: Reals, delta: float) -> float:
    """Return what epsilon must at least be, with confidence 1 - ALPHA, given draws on neighbours.

    An event is a half-line. Its border is chosen on the first halves of the draws, so that the second halves, which
    the bound is from (Clopper and Pearson's intervals), know nothing of the choice.
    """
    half = len(here) // 2
    best, bound = -math.inf, -math.inf
    for sign in (1.0, -1.0):
        a, b = sign * here.ravel(), sign * there.ravel()
        for first, second in ((a, b), (b, a)):
            for border in np.quantile(np.concatenate([first[:half], second[:half]]), _QUANTILES):
                guess = _bound((first[:half] > border).sum(), (second[:half] > border).sum(), half, delta)
                if guess > best:
                    rest = len(first) - half
                    best = guess
                    bound = _bound((first[half:] > border).sum(), (second[half:] > border).sum(), rest, delta)
    return bound


def _bound(more: int, fewer: int, count: int, delta: float) -> float:
    """ln((p - delta) / q) with p at the lower and q at the upper end of intervals that fail with ALPHA together."""
    lower = float(stats.beta.ppf(ALPHA / 2, more, count - more + 1)) if more else 0.0
    upper = float(stats.beta.isf(ALPHA / 2, fewer + 1, count - fewer)) if fewer < count else 1.0
    return math.log((lower - delta) / upper) if lower > delta else -math.inf
