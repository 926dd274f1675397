"""What a table asks for.

A table is one function of an ``Ask``. It is called once to collect its questions, and again, when all cells are
measured, to get figures.
"""

from __future__ import annotations

import decimal
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cofit.experiments.cells import AccuracyCell, Best, Cell, Cofit, Contender, RunCell, TimingCell
from cofit.experiments.datasets import DataSet
from cofit.experiments.result import Figure
from cofit.experiments.settings import Settings
from cofit.sharing import scheme_named

_UPWARDS = decimal.Context(prec=2, rounding=decimal.ROUND_CEILING)


@dataclass(frozen=True)
class Timing:
    """A real run's seconds from connected processes to the release, a party's rounds, everybody's bytes."""

    seconds: Figure
    rounds: Figure
    bytes: Figure
    epochs: int | None


@dataclass(frozen=True)
class Answer:
    """An accuracy, and the epsilon and delta that the contender really guarantees (None: none).

    ``delta`` is never less than asked for: where noise is sampled with finitely many bits, that counts.
    ``seconds``: of its training in the clear; None for cofit, whose time is that of a real run (``Ask.timing``).
    """

    accuracy: Figure
    epsilon: float | None
    seconds: float | None
    delta: float | None = None

    @property
    def guarantee(self) -> Figure:
        """The epsilon as an entry of a table, with the delta where there is one."""
        if self.epsilon is None:
            return Figure(None, "text", text="infinite")
        beside = f" (delta {rounded_up(self.delta)})" if self.delta else ""
        return Figure(None, "text", text=f"{_epsilon(self.epsilon)}{beside}")


def _epsilon(number: float) -> str:
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def rounded_up(number: float) -> str:
    """Return a small number with two digits, rounded up."""
    return f"{float(_UPWARDS.create_decimal(repr(number))):.2g}"


class Ask(ABC):
    """Questions about one data set."""

    def __init__(self, data: DataSet, settings: Settings) -> None:
        self.data = data
        self.settings = settings

    @property
    def train_rows(self) -> int:
        """The rows to train on in a fold, about."""
        return len(self.data.labels) * (self.settings.folds - 1) // self.settings.folds

    def answer(self, contender: Contender, owners: int = 2, most_draws: int | None = None) -> Answer:
        """Return the accuracy of a contender, over all folds and draws of noise. most_draws: for what is very slow."""
        s = self.settings
        draws = s.draws if hasattr(contender, "epsilon") else 1
        draws = draws if most_draws is None else min(draws, most_draws)
        cells = [AccuracyCell(self.data.name, contender, owners, s.folds, i, draws, s.seed) for i in range(s.folds)]
        results = [self._result(cell) for cell in cells]
        refused = next((r["refused"] for r in results if r is not None and "refused" in r), None)
        if refused is not None:
            return Answer(Figure(None, "text", text=f"not possible: {refused}"), None, None)
        found = [r for r in results if r is not None]
        if len(found) < len(results):
            return Answer(Figure(None, "text", text="not measured"), None, None)
        accuracies = [accuracy for r in found for accuracy in r["accuracies"]]
        spread = statistics.stdev(accuracies) if len(accuracies) > 1 else None
        claims = [r["epsilon"] for r in found]
        epsilon = None if any(claim is None for claim in claims) else max(claims)
        seconds = (
            None if isinstance(contender, Cofit | Best) else statistics.median(r["seconds_training"] for r in found)
        )
        delta = max(r["delta"] for r in found)
        return Answer(Figure(statistics.fmean(accuracies), "accuracy", spread), epsilon, seconds, delta)

    def accuracy(self, contender: Contender, owners: int = 2) -> Figure:
        """Return the figure of ``answer`` alone."""
        return self.answer(contender, owners).accuracy

    def real_run(self, contender: Best, scheme: str, owners: int = 2) -> tuple[Figure, Figure]:
        """Return the accuracy of one run of the protocol in the first fold, and its seconds."""
        s = self.settings
        result = self._result(RunCell(self.data.name, contender, scheme, owners, s.folds, 0, s.seed))
        if result is None or "refused" in result:
            nothing = Figure(None, "text", text="not measured" if result is None else str(result["refused"]))
            return nothing, nothing
        return Figure(result["accuracies"][0], "accuracy"), Figure(result["seconds"], "seconds")

    def first_fold(self, contender: Best, owners: int = 2) -> Figure:
        """Return the accuracy of the twin in that fold."""
        s = self.settings
        result = self._result(AccuracyCell(self.data.name, contender, owners, s.folds, 0, s.draws, s.seed))
        if result is None or "refused" in result:
            return Figure(None, "text", text="not measured" if result is None else str(result["refused"]))
        found = result["accuracies"]
        return Figure(statistics.fmean(found), "accuracy", statistics.stdev(found) if len(found) > 1 else None)

    def timing(
        self, scheme: str, partition: str = "horizontal", epochs: int | None = None, parties: int | None = None
    ) -> Timing:
        """Return what a real run on all rows costs."""
        count = scheme_named(scheme).info.default_parties if parties is None else parties
        cell = TimingCell(self.data.name, scheme, count, partition, 2, epochs, 1.0, 1.0, self.settings.repetitions)
        result = self._result(cell)
        if result is None or "refused" in result:
            text = "not measured" if result is None else str(result["refused"])
            nothing = Figure(None, "text", text=text)
            return Timing(nothing, nothing, nothing, None)
        return Timing(
            Figure(result["seconds"], "seconds"),
            Figure(result["rounds"], "count"),
            Figure(result["bytes"], "bytes"),
            result["epochs"],
        )

    @abstractmethod
    def _result(self, cell: Cell) -> dict[str, Any] | None:
        """Return a cell's result, or None while there is none."""


class Collecting(Ask):
    """Collects the cells that a table asks for."""

    def __init__(self, data: DataSet, settings: Settings) -> None:
        super().__init__(data, settings)
        self._asked: dict[Cell, None] = {}

    @property
    def cells(self) -> list[Cell]:
        """What was asked for, each once."""
        return list(self._asked)

    def _result(self, cell: Cell) -> None:
        self._asked[cell] = None


class Answering(Ask):
    """Answers from measured cells."""

    def __init__(self, data: DataSet, settings: Settings, load: Callable[[Cell], dict[str, Any] | None]) -> None:
        super().__init__(data, settings)
        self._load = load

    def _result(self, cell: Cell) -> dict[str, Any] | None:
        return self._load(cell)
