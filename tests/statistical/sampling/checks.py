"""What every sampler is tested with: many draws, and p-values.

A battery is a function from draws to named p-values. A right sampler keeps all of them above ALPHA divided by their
number, or does so at a second look (``support/chance.py``); a slightly wrong one must push at least one of them below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from cofit import Party, SecretArray, SecretBits, run_local
from support.chance import PValues
from support.schemes import local

CHUNK = 20_000
Values: TypeAlias = npt.NDArray[Any]
Draw: TypeAlias = Callable[[Party, int], "SecretArray | SecretBits"]

AMOUNTS = [
    pytest.param("clear", 100_000, id="clear"),
    pytest.param("rep3", 20_000, id="rep3"),
    pytest.param("clear", 1_000_000, id="clear-long", marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
]
_MORE = ("pair", "shamir", "shamir/5", "shamir/7")
AMOUNTS_AND_DEALER = [
    *AMOUNTS,
    pytest.param("semi2k", 5_000, id="semi2k"),
    *(pytest.param(form, 5_000, id=form, marks=pytest.mark.slow) for form in _MORE),
]
"""For one sampler of each kind: where bits and correlations come from elsewhere, and where more parties make them."""
AMOUNTS_OF_ALL = [*AMOUNTS_AND_DEALER[:-2], pytest.param("shamir/5", 5_000, id="shamir/5"), AMOUNTS_AND_DEALER[-1]]
"""The same, for samplers that are quick among five parties."""


def draws(draw: Draw, scheme: str, count: int) -> Values:
    """Draw in chunks, open, and join along the last axis."""

    def program(party: Party) -> Values:
        pieces = [party.open(draw(party, min(CHUNK, count - start)), reason="test") for start in range(0, count, CHUNK)]
        return np.concatenate(pieces, axis=-1)

    form = local("clear/1" if scheme == "clear" else scheme)
    return next(iter(run_local(program, **form, timeout=300).results.values()))


def chi_square(values: Values, probabilities: Mapping[int, float]) -> float:
    """Integers against their probabilities; rare values, and what is not listed, are one class each side."""
    listed = sorted(probabilities)
    common = [x for x in listed if probabilities[x] * len(values) >= 20]
    low, high = common[0], common[-1]
    inside = values[(values >= low) & (values <= high)].astype(np.int64)
    counts = np.bincount(inside - low, minlength=high - low + 1)
    expected = np.array([probabilities[x] for x in range(low, high + 1)]) * len(values)
    rest = 1 - expected.sum() / len(values)
    if rest * len(values) >= 20:
        counts, expected = np.append(counts, len(values) - len(inside)), np.append(expected, rest * len(values))
    return float(stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue)


def count_of(values: npt.NDArray[np.bool_], probability: float) -> float:
    """How often something happened, against its probability."""
    return float(stats.binomtest(int(values.sum()), values.size, probability).pvalue)


def mean_of(values: Values, mean: float, deviation: float) -> float:
    """The mean of many values, which is close to normal."""
    z = (float(values.mean()) - mean) / deviation * len(values) ** 0.5
    return float(2 * stats.norm.sf(abs(z)))


def variance_of(values: Values, mean: float, variance: float, fourth_moment: float) -> float:
    """The mean square about the true mean; ``fourth_moment`` is central."""
    return mean_of((values - mean) ** 2, variance, (fourth_moment - variance**2) ** 0.5)


def unrelated(a: Values, b: Values) -> float:
    """Two lists of draws that should be independent: rank correlation."""
    return float(stats.spearmanr(a, b).pvalue)


def neighbours(values: Values) -> PValues:
    """Coordinates next to each other, 64 and half the length apart (a word of packed bits holds 64)."""
    half = len(values) // 2
    return {
        "next coordinate": unrelated(values[:-1], values[1:]),
        "next word": unrelated(values[:-64], values[64:]),
        "other half": unrelated(values[:half], values[half : 2 * half]),
    }
