"""Measure one cell."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.baselines.method import Method, Part
from cofit.errors import CofitError
from cofit.experiments.best import best_accuracies, best_claims, best_draws, plan_best
from cofit.experiments.cells import AccuracyCell, Best, Cell, Cofit, RunCell, TimingCell
from cofit.experiments.coordinates import UnitRows, as_they_are
from cofit.experiments.datasets import DataSet
from cofit.experiments.folds import among_owners, folds
from cofit.experiments.twin import TWIN, twin_draws
from cofit.experiments.unlabelled import referenced_accuracies, smoothed_accuracies
from cofit.learn.facts import training_facts
from cofit.learn.plan import Plan
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.roles.local.progress import PROGRAM, SHARE, START
from cofit.roles.local.tables import OwnerTable
from cofit.roles.local.training import run_training
from cofit.sharing import Spec, scheme_named, scheme_of
from cofit.units import size

Reals = npt.NDArray[np.float64]
_SAME_NOISE = ("raw", "smooth", "reference")
_TIMEOUT = 3600.0
_MEMORY_SHARE = 0.6
_MOST_PARTS = 3  # of a share of X at one party, where its scheme does not say more: rep4


def measure(cell: Cell, data: DataSet) -> dict[str, Any]:
    """Return the result of a cell; {"refused": reason} where the contender cannot do what the cell asks for."""
    try:
        if isinstance(cell, TimingCell):
            return _timing(cell, data)
        return _accuracy(cell, data) if isinstance(cell, AccuracyCell) else _real_run(cell, data)
    except CofitError as error:
        return {"refused": str(error)}


# --- accuracy --------------------------------------------------------------------------------------------


def _accuracy(cell: AccuracyCell, data: DataSet) -> dict[str, Any]:
    fold = folds(data, cell.folds, cell.seed)[cell.fold]
    owned = among_owners(data, fold.train, cell.owners, cell.seed)
    began = time.perf_counter()
    if isinstance(cell.contender, Best):
        if cell.contender.reference is not None:
            found, plan = referenced_accuracies(
                data, fold, cell.contender, cell.draws, lambda: _generator(cell, "noise")
            )
            return {"accuracies": found, "seconds": time.perf_counter() - began, **best_claims(plan)}
        plan = plan_best(data, len(fold.train), cell.contender, TWIN)
        released = best_draws(plan, data, fold.train, cell.draws, _generator(cell, "noise"))
        if cell.contender.smooth:
            found = smoothed_accuracies(plan, released, data, fold.test)
        else:
            found = best_accuracies(plan, released, data, fold.test, raw=cell.contender.raw)
        return {"accuracies": found, "seconds": time.perf_counter() - began, **best_claims(plan)}
    if isinstance(cell.contender, Cofit):
        weights, rows, claimed = _cofit(cell.contender, data, owned, fold.test, cell.draws)
    else:
        weights, rows, claimed = _baseline(cell.contender, data, owned, fold.test, cell)
    predicted = rows @ weights.T > 0
    hits = (predicted == (data.labels[fold.test] == 1)[:, np.newaxis]).mean(axis=0)
    return {"accuracies": hits.tolist(), "seconds": time.perf_counter() - began, **claimed}


def _cofit(
    contender: Cofit, data: DataSet, owned: list[npt.NDArray[np.int64]], test: npt.NDArray[np.int64], draws: int
) -> tuple[Reals, Reals, dict[str, Any]]:
    rows = np.concatenate(owned)
    plan = _plan(data, len(rows), contender.partition, contender.epsilon, contender.l2, TWIN, None, contender)
    owners = _tables(data, owned, contender.partition)
    weights = twin_draws(plan, owners, draws)
    claimed = {
        "epsilon": contender.epsilon,
        "delta": float(plan.total_delta),
        "why": f"{plan.mechanism.name} noise for the sensitivity {float(plan.mechanism.sensitivity):.4g}",
        "mechanism": plan.mechanism.name,
    }
    return weights, plan.comparable_rows(data.features[test]), claimed


def _baseline(
    method: Method,
    data: DataSet,
    owned: list[npt.NDArray[np.int64]],
    test: npt.NDArray[np.int64],
    cell: AccuracyCell,
) -> tuple[Reals, Reals, dict[str, Any]]:
    unit = _unit_rows(data, method)
    parts = [Part(unit.rows[rows], data.labels[rows], unit.unseen) for rows in owned]
    guarantee = method.guarantee([len(rows) for rows in owned])
    began = time.perf_counter()
    trained = method.train(parts)
    first = trained.draws(1, _generator(cell, "first"))
    seconds = time.perf_counter() - began  # some methods train when they draw
    weights = np.vstack([first, trained.draws(cell.draws - 1, _generator(cell, "others"))]) if cell.draws > 1 else first
    claimed = {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "why": guarantee.why,
        "seconds_training": seconds,
    }
    return weights, unit.rows[test], claimed


def _unit_rows(data: DataSet, method: Method) -> UnitRows:
    if method.prepared == "centred":
        return data.centred
    return data.unit if method.turns else as_they_are(data.features)


def _generator(cell: AccuracyCell, use: str) -> np.random.Generator:
    """Return a generator of the cell's own, from its seed and all else that training and noise depend on."""
    settings = {name: value for name, value in vars(cell.contender).items() if name not in _SAME_NOISE}
    text = json.dumps([type(cell.contender).__name__, settings, cell.owners, cell.fold, use], sort_keys=True)
    return np.random.default_rng([cell.seed, *hashlib.sha256(text.encode()).digest()])


def _real_run(cell: RunCell, data: DataSet) -> dict[str, Any]:
    fold = folds(data, cell.folds, cell.seed)[cell.fold]
    owned = among_owners(data, fold.train, cell.owners, cell.seed)
    plan = plan_best(data, len(fold.train), cell.contender, cell.scheme)
    if short := _too_large(plan, scheme_named(cell.scheme).info.default_parties):
        return {"refused": short}
    tables = _tables(data, owned, cell.contender.partition)
    done = run_training(plan, tables, processes=True, timeout=_TIMEOUT)
    return {
        "accuracies": best_accuracies(plan, done.weights[np.newaxis], data, fold.test, raw=cell.contender.raw),
        "seconds": done.run.seconds[SHARE] + done.run.seconds[PROGRAM],
        **best_claims(plan),
    }


# --- cost ------------------------------------------------------------------------------------------------


def _timing(cell: TimingCell, data: DataSet) -> dict[str, Any]:
    rows = np.arange(len(data.labels))
    owned = among_owners(data, rows, cell.owners, 1)
    plan = _plan(data, len(rows), cell.partition, cell.epsilon, cell.l2, cell.scheme, cell.epochs, None)
    if short := _too_large(plan, cell.parties):
        return {"refused": short}
    owners = _tables(data, owned, cell.partition)
    runs = [
        run_training(plan, owners, parties=_names(cell.parties), processes=True, timeout=_TIMEOUT).run
        for _ in range(cell.repetitions)
    ]
    parties = list(runs[0].results)
    totals = [counts.total for counts in runs[0].traffic.values()]
    return {
        "seconds": statistics.median(run.seconds[SHARE] + run.seconds[PROGRAM] for run in runs),
        "seconds_start": statistics.median(run.seconds[START] for run in runs),
        "rounds": max(runs[0].traffic[name].total.rounds for name in parties),
        "bytes": sum(total.bytes_sent for total in totals),
        "epochs": plan.epochs,
        "cores": os.cpu_count(),
    }


def _names(parties: int) -> list[str]:
    return [f"party-{i + 1}" for i in range(parties)]


def _too_large(plan: Plan, parties: int) -> str | None:
    """Return why all parties of this run do not fit this one machine, or None."""
    table = plan.facts.rows * plan.cols * plan.formats.ring.element_bytes
    parts = max(_MOST_PARTS, _parts(plan.facts.spec(parties), plan))
    needed = table * (parts * parties + _MOST_PARTS)  # with the owners and their tables in the clear
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed <= _MEMORY_SHARE * memory:
        return None
    return f"needs about {size(needed)} with all parties on one machine"


def _parts(spec: Spec, plan: Plan) -> int:
    """Return how many arrays of the size of X a party holds at most: pieces that it is dealt, or multiplies with."""
    layout = scheme_of(spec).inputs(spec).layout(plan.formats.ring, (1,))
    return min(sum(0 in facts.ranks for facts in layout), scheme_of(spec).costs(spec).product_terms)


# --- both ------------------------------------------------------------------------------------------------


def _plan(
    data: DataSet,
    rows: int,
    partition: str,
    epsilon: float,
    l2: float,
    scheme: str,
    epochs: int | None,
    contender: Cofit | None,
) -> MinimiserPlan:
    """Where the parties normalise, the largest magnitude in the data set is taken as its public bound."""
    noise = (
        {}
        if contender is None
        else {"delta": contender.delta, "mechanism": contender.mechanism, "sensitivity": contender.sensitivity}
    )
    ends = (
        float(data.features.min()),
        float(data.features.max()),
    )  # the least integer of a type has no magnitude in it
    bound = max(-ends[0], ends[1], 1e-9) if partition == "vertical" else 1.0
    facts = training_facts(
        rows,
        data.features.shape[1],
        partition=partition,
        recipe="paper",
        epsilon=epsilon,
        l2=l2,
        scheme=scheme,
        epochs="auto" if epochs is None else epochs,
        fit_intercept=False,
        feature_bound=bound,
        **noise,  # type: ignore[arg-type]
    )
    return plan_minimiser(facts)


def _tables(data: DataSet, owned: list[npt.NDArray[np.int64]], partition: str) -> dict[str, OwnerTable]:
    """Return a table for each entry of ``owned``: of its rows, or of a block of columns of all of them."""
    if partition == "horizontal":
        return {f"owner-{i + 1}": OwnerTable(data.features[rows], data.labels[rows]) for i, rows in enumerate(owned)}
    rows = np.sort(np.concatenate(owned))
    blocks = np.array_split(data.features[rows], len(owned), axis=1)
    return {
        f"owner-{i + 1}": OwnerTable(block, data.labels[rows] if i == 0 else None) for i, block in enumerate(blocks)
    }
