"""Two releases with one account, audited: the best test of which neighbour it was does no better than claimed.

The second release is adaptive: its function looks at what the first one published. Noise comes from the sampler that
studies use. The event is where the true likelihood ratio exceeds e^epsilon, which no other event beats.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from cofit import Party, SecretArray
from cofit.privacy.accountant import Account, at_epsilon
from cofit.privacy.events import Event, GaussianEvent
from cofit.sampling.discrete_gaussian import discrete_gaussian, tv_distance
from statistical.sampling.checks import Draw, Values, draws
from support.chance import ALPHA, believe

DRAWS = 100_000
EPSILON = Fraction(1)
SHIFTS = (5, 12)
SIGMAS = (Fraction(9), Fraction(25))


def stated() -> Account:
    events: list[Event] = [
        GaussianEvent(name, Fraction(shift), sigma, 1, tv_distance(sigma))
        for name, shift, sigma in zip("ab", SHIFTS, SIGMAS, strict=True)
    ]
    return at_epsilon(events, EPSILON)


def noise(sigma: Fraction) -> Values:
    def draw(party: Party, count: int) -> SecretArray:
        return discrete_gaussian(party, (count,), sigma)

    sampler: Draw = draw
    return draws(sampler, "clear", DRAWS)


def losses(neighbour: int, factor: Fraction) -> Values:
    """ln of P(results | neighbour 1) / P(results | neighbour 0), for results of this neighbour.

    Neighbour 0 releases 0, then 0; neighbour 1 releases 5, then 12 or -12, whichever sign the first result has.
    """
    wide, wider = (sigma * factor for sigma in SIGMAS)
    first = noise(wide) + neighbour * SHIFTS[0]
    moved = SHIFTS[1] * np.where(first < 3, -1, 1)
    second = noise(wider) + neighbour * moved
    loss = (first**2 - (first - SHIFTS[0]) ** 2) / (2 * float(wide) ** 2)
    return np.asarray(loss + (second**2 - (second - moved) ** 2) / (2 * float(wider) ** 2))


def limits(factor: Fraction) -> tuple[float, float]:
    """Return lower and upper limits of the true delta at EPSILON, by Clopper and Pearson, at level ALPHA together."""
    counts = [int((losses(neighbour, factor) > float(EPSILON)).sum()) for neighbour in (1, 0)]
    level = ALPHA / 4
    low = [float(stats.beta.ppf(level, count, DRAWS - count + 1)) for count in counts]
    high = [float(stats.beta.ppf(1 - level, count + 1, DRAWS - count)) for count in counts]
    factor_of = math.exp(EPSILON)
    return low[0] - factor_of * high[1], high[0] - factor_of * low[1]


def test_the_composed_pair_is_as_private_as_stated_and_no_more() -> None:
    account = stated()
    assert account.rule == "gdp"
    assert float(account.delta) == pytest.approx(0.0461, abs=0.0005)
    low, high = limits(Fraction(1))
    believe(low <= float(account.delta) <= high, f"delta is between {low} and {high}")


@pytest.mark.parametrize("factor", [Fraction(3, 4), Fraction(4, 5)], ids=str)
def test_less_noise_than_stated_is_noticed(factor: Fraction) -> None:
    assert limits(factor)[0] > float(stated().delta)


def test_an_account_that_forgets_a_release_is_noticed() -> None:
    one: list[Event] = [GaussianEvent("b", Fraction(SHIFTS[1]), SIGMAS[1], 1, Fraction(0))]
    assert limits(Fraction(1))[0] > float(at_epsilon(one, EPSILON).delta)
