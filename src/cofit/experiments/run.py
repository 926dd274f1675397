"""Run experiments: collect the cells of the tables asked for, measure those that are missing, write the tables.

Accuracy cells run in several processes, or with one worker in this one; real runs come after them, one at a time, so
that nothing else slows them.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofit import kernels
from cofit.errors import CofitError, InvalidInputError
from cofit.experiments.ask import Answering, Ask, Collecting
from cofit.experiments.cells import AccuracyCell, Best, CellStore, Cofit, RunCell, key_of
from cofit.experiments.cells import Cell as SharedCell
from cofit.experiments.datasets import DataSet, load_data_set
from cofit.experiments.folds import folds
from cofit.experiments.learners.measured import PROBLEMS, LearnerAsk, LearnerCell, measure_learner
from cofit.experiments.measure import measure
from cofit.experiments.render import to_csv, to_markdown
from cofit.experiments.result import TableResult
from cofit.experiments.settings import Settings
from cofit.experiments.tables.accuracy import table1, table2, table4, table5, table6
from cofit.experiments.tables.best import table9
from cofit.experiments.tables.cost import table3, table8
from cofit.experiments.tables.data_sets import table7
from cofit.experiments.tables.learners import table10
from cofit.roles.files.durable import write_durably

EACH: Mapping[str, Callable[[Ask], TableResult]] = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": table5,
    "table6": table6,
    "table8": table8,
    "table9": table9,
}
"""Tables of one data set."""
ACROSS: Mapping[str, Callable[[Sequence[Ask]], TableResult]] = {"table7": table7}
"""Tables over all data sets."""
OWN: Mapping[str, Callable[[LearnerAsk], TableResult]] = {"table10": table10}
"""Tables that have data sets of their own, whatever else is asked for."""
TABLES = tuple(sorted({**EACH, **ACROSS, **OWN}, key=lambda name: int(name.removeprefix("table"))))


Cell = SharedCell | LearnerCell


@dataclass(frozen=True)
class Source:
    """Where a data set comes from: ``load_data_set`` with these arguments."""

    spec: str
    label: str | None = None
    group: str | None = None

    def load(self) -> DataSet:
        """Load it."""
        return load_data_set(self.spec, label=self.label, group=self.group)


@dataclass(frozen=True)
class Advance:
    """How far an experiment is: cells done of all; ``what`` is the one that was finished, or begins."""

    done: int
    total: int
    what: str


def run_experiments(
    tables: Sequence[str],
    sources: Sequence[Source],
    settings: Settings,
    out: Path,
    *,
    workers: int = 2,
    advance: Callable[[Advance], None] = lambda _: None,
) -> list[TableResult]:
    """Measure what is missing in ``out``, write all tables there, and return them.

    Interrupted, it keeps every finished cell, and the same call goes on. ``out``/cells has the cells; a table is
    ``out``/tableN-DATA.json, .md and .csv; ``out``/tables.md has all of them.
    """
    unknown = sorted(set(tables) - set(TABLES))
    if unknown or not tables or not sources:
        raise InvalidInputError(f"Name at least one data set, and tables of {list(TABLES)}. Got {unknown or 'none'}.")
    sets = {source: source.load() for source in dict.fromkeys(sources)}
    if len({data.name for data in sets.values()}) < len(sets):
        raise InvalidInputError("Two data sets have the same name. Give their files different names.")
    for data in sets.values():
        folds(data, settings.folds, settings.seed)  # what cannot be divided is refused before anything is measured
    digests = {data.name: data.digest for data in sets.values()}
    store = CellStore(out / "cells")
    refused: dict[Cell, dict[str, Any]] = {}

    def load(cell: Cell) -> dict[str, Any] | None:
        return refused.get(cell) or store.load(_key(cell, digests))

    collectors = [Collecting(data, settings) for data in sets.values()]
    learned: dict[LearnerCell, None] = {}
    for _ in _assembled(tables, collectors, LearnerAsk(settings, learned.setdefault)):
        pass
    cells: list[Cell] = list(dict.fromkeys(cell for collector in collectors for cell in collector.cells))
    cells += learned
    missing = [cell for cell in cells if load(cell) is None]
    done = len(cells) - len(missing)
    advance(Advance(done, len(cells), "found" if done else "begins"))
    for cell, result in _measured(missing, list(sets), {d.name: d for d in sets.values()}, workers):
        if "refused" in result:
            refused[cell] = result
        else:
            store.save(_key(cell, digests), result)
        done += 1
        advance(Advance(done, len(cells), _described(cell)))
    answering = [Answering(data, settings, load) for data in sets.values()]
    finished = list(_assembled(tables, answering, LearnerAsk(settings, load)))
    _write(out, finished)
    return finished


def _key(cell: Cell, digests: Mapping[str, str]) -> dict[str, Any]:
    return key_of(cell, PROBLEMS[cell.data].digest if isinstance(cell, LearnerCell) else digests[cell.data])


def _assembled(tables: Sequence[str], asks: Sequence[Ask], learners: LearnerAsk) -> Iterator[TableResult]:
    for name in [name for name in TABLES if name in tables]:
        if name in OWN:
            yield OWN[name](learners)
        elif name in ACROSS:
            yield ACROSS[name](asks)
        else:
            for ask in asks:
                yield EACH[name](ask)


# --- measuring -------------------------------------------------------------------------------------------


def _measured(
    cells: Sequence[Cell], sources: Sequence[Source], sets: Mapping[str, DataSet], workers: int
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    apart = [cell for cell in cells if isinstance(cell, AccuracyCell | LearnerCell) and workers > 1]
    if apart:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(workers, context, initializer=_prepare, initargs=(tuple(sources),))
        try:
            futures = {pool.submit(_in_worker, cell): cell for cell in apart}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise CofitError(
                "A process that measured died, probably for want of memory. Run the same command again with "
                "--workers 1."
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
    for cell in cells:
        if cell not in apart:
            yield cell, measure_learner(cell) if isinstance(cell, LearnerCell) else measure(cell, sets[cell.data])


_SETS: dict[str, DataSet] = {}


def _prepare(sources: tuple[Source, ...]) -> None:
    """Set up a worker: one thread, as there are several workers; the launcher alone reacts to an interrupt."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - of scikit-learn, in workers only

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernels.set_threads(1)
    threadpool_limits(1)
    _SETS.update({data.name: data for data in (source.load() for source in sources)})


def _in_worker(cell: Cell) -> dict[str, Any]:
    return measure_learner(cell) if isinstance(cell, LearnerCell) else measure(cell, _SETS[cell.data])


def _described(cell: Cell) -> str:
    if isinstance(cell, LearnerCell):
        return f"{cell.data}: {cell.contender}, fold {cell.fold + 1}"
    if isinstance(cell, AccuracyCell):
        who = "cofit" if isinstance(cell.contender, Cofit | Best) else cell.contender.name
        return f"{cell.data}: {who}, fold {cell.fold + 1}"
    if isinstance(cell, RunCell):
        return f"{cell.data}: a run of recipe best with {cell.scheme}"
    return f"{cell.data}: a timed run with {cell.scheme}, {cell.parties} parties, {cell.partition}"


# --- writing ---------------------------------------------------------------------------------------------


def _write(out: Path, tables: Sequence[TableResult]) -> None:
    try:
        _write_files(out, tables)
    except OSError as error:
        raise InvalidInputError(
            f"A table cannot be written to '{out}': {error.strerror}. What was measured is kept: run it again."
        ) from None


def _write_files(out: Path, tables: Sequence[TableResult]) -> None:
    texts = []
    for table in tables:
        stem = table.name if table.name in (*ACROSS, *OWN) else f"{table.name}-{table.data.partition(':')[0]}"
        markdown = to_markdown(table)
        texts.append(markdown)
        for suffix, text in ((".json", table.to_json()), (".md", markdown), (".csv", to_csv(table))):
            write_durably(out / f"{stem}{suffix}", text.encode(), mode=0o644)
    write_durably(out / "tables.md", "\n".join(texts).encode(), mode=0o644)
