"""The cells of table 10: one contender on one fold of one problem at one epsilon."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofit.errors import CofitError
from cofit.experiments.learners.classes import Digits, Wine
from cofit.experiments.learners.counts import Claims, Visits
from cofit.experiments.learners.numbers import Diabetes, Districts
from cofit.experiments.learners.problem import Contender, Problem, Task
from cofit.experiments.result import Figure
from cofit.experiments.settings import DELTA, Settings

PROBLEMS: Mapping[str, Problem] = {
    problem.name: problem for problem in (Wine(), Digits(), Diabetes(), Districts(), Visits(), Claims())
}
"""By name, in the order of the table."""
OWNERS = 2


@dataclass(frozen=True)
class LearnerCell:
    """``data``: the problem; ``contender``: its label. epsilon: 0 without privacy, where there is one draw."""

    data: str
    contender: str
    epsilon: float
    folds: int
    fold: int
    draws: int
    seed: int


def measure_learner(cell: LearnerCell) -> dict[str, Any]:
    """Return the figures of a cell; {"refused": reason} where the contender cannot do what the cell asks for."""
    problem = PROBLEMS[cell.data]
    features, targets = problem.data
    train, test = problem.folds(cell.folds, cell.seed)[cell.fold]
    shuffled = np.random.default_rng([cell.seed, cell.fold]).permutation(len(train))
    task = Task(
        features=features[train],
        targets=targets[train],
        owners=tuple(np.sort(part) for part in np.array_split(shuffled, OWNERS)),
        test=features[test],
        truth=targets[test],
        epsilon=cell.epsilon,
        delta=DELTA if cell.epsilon else 0.0,
        draws=cell.draws,
        seed=cell.seed + cell.fold,
    )
    try:
        return {"figures": problem.contender(cell.contender).figures(task)}
    except CofitError as error:
        return {"refused": str(error)}


class LearnerAsk:
    """Asked for figures: of cells that are measured, or, before that, to learn which are wanted."""

    def __init__(self, settings: Settings, result: Callable[[LearnerCell], dict[str, Any] | None]) -> None:
        self.settings = settings
        self._result = result

    def figure(self, problem: Problem, contender: Contender, epsilon: float) -> Figure:
        """Return the mean and the spread over folds and draws; without privacy the epsilon does not matter."""
        s, private = self.settings, contender.private
        draws, at = (s.draws, epsilon) if private else (1, 0.0)
        cells = [LearnerCell(problem.name, contender.label, at, s.folds, i, draws, s.seed) for i in range(s.folds)]
        results = [self._result(cell) for cell in cells]
        found = [result for result in results if result is not None]
        refused = next((result["refused"] for result in found if "refused" in result), None)
        if refused is not None:
            return Figure(None, "text", text=f"not possible: {refused}")
        if len(found) < len(results):
            return Figure(None, "text", text="not measured")
        values = [value for result in found for value in result["figures"]]
        spread = statistics.stdev(values) if len(values) > 1 else None
        return Figure(statistics.fmean(values), problem.unit, spread)
