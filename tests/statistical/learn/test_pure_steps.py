"""delta = 0 below epsilon 2: steps with K-norm noise against noise on the minimiser, by the cleartext twins.

Made-up rows that chose none of the rule's numbers, many draws, the same rows for both. The gains are many times their
error, and half of what they are is asked for. With five times the noise in the steps they are gone: the test can fail.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from cofit.learn.base_plan import Plan, PublicRows
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.plan import DescentPlan

DRAWS, HELD_OUT = 100, 4_000
GAINS = {(600, 8, 0.5): 0.04, (2_000, 15, 0.3): 0.04, (400, 30, 1.0): 0.03, (1_500, 40, 1.0): 0.04}
"""By rows, columns and epsilon: half of the gain that was measured."""


def made_up(rows: int, cols: int) -> tuple[PublicRows, npt.NDArray[np.bool_]]:
    rng = np.random.default_rng([rows, cols])
    x = rng.normal(size=(rows + HELD_OUT, cols))
    weights = rng.normal(size=cols)
    ill = rng.random(len(x)) < 1 / (1 + np.exp(-3 * x @ weights / np.linalg.norm(weights)))
    table = x[:rows], ill[:rows].astype(np.int64)
    return PublicRows(table, table, x[rows:]), ill[rows:]


def accuracy(plan: Plan, rows: PublicRows, truth: npt.NDArray[np.bool_]) -> float:
    scores = plan.simulated_scores(rows, DRAWS, np.random.default_rng(7), {})
    return float(((scores.reshape(len(truth), -1) > 0) == truth[:, None]).mean())


def gain(rows: int, cols: int, epsilon: float, noise: int = 1) -> float:
    """How much more accurate steps are, with so many times their noise."""
    data, truth = made_up(rows, cols)
    before, steps = (
        plan_training(training_facts(rows, cols, epsilon=epsilon, delta=0.0, pure_steps=asked))
        for asked in (False, True)
    )
    assert isinstance(steps, DescentPlan)
    louder = replace(steps, events=tuple(replace(event, scale=event.scale * noise) for event in steps.events))
    return accuracy(louder, data, truth) - accuracy(before, data, truth)


@pytest.mark.parametrize("case", GAINS, ids=str)
def test_steps_are_better_than_noise_on_the_minimiser(case: tuple[int, int, float]) -> None:
    assert gain(*case) > GAINS[case]


def test_with_more_noise_they_are_not() -> None:
    for case, wanted in GAINS.items():
        assert gain(*case, noise=5) < wanted
