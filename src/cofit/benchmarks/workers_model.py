"""What training on many workers would take: counts of the forecast, times constants that were measured here.

**Counted**, for the size that is asked for: rounds, bytes and multiply-adds of the session of one shard
(``learn.forecast``). **Measured**, at a size that fits this machine: processor seconds. The constants are fitted to
them, without negative ones and by relative errors:

    a worker   a (multiply-adds) + b (bytes that it sends) + c (rounds)
    a head     g + h (workers) + k (workers times columns): it tells each worker, and adds up what they send

**Modelled**: a session of shards takes a (multiply-adds) / cores + b (bytes) + c (rounds) of processor time, its bytes
over the line of a worker, and a latency for each round; the heads' part comes on top. Multiply-adds in Z_2^128 take so
much longer than in Z_2^64 as the constants of the reference machine say. What a dealer sends counts as if the workers
sent it, over whose lines it comes. Not in it: how the rows come to the parties and to their workers, which
``share_bytes`` counts; contention for memory between the cores of a worker; the slowest of many machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.benchmarks.made_up_study import OWNERS
from cofit.benchmarks.workers import Scaling, WorkersRun
from cofit.learn.facts import Facts, training_facts
from cofit.learn.forecast import Forecast, forecast
from cofit.learn.plan import plan_training
from cofit.learn.reference_machine import MULTIPLY_ADDS_PER_SECOND, WIDE_MULTIPLY_ADDS_PER_SECOND
from cofit.sharing.tally import Tally

_WIDE = MULTIPLY_ADDS_PER_SECOND / WIDE_MULTIPLY_ADDS_PER_SECOND
_AFTER_SHARING = ("check", "train", "noise", "release")


@dataclass(frozen=True)
class Constants:
    """What was fitted, in seconds: of a worker for a multiply-add, a byte and a round; of a head for a whole run.

    ``worker_off``, ``head_off``: the largest relative error of the fits.
    """

    multiply_add: float
    byte: float
    round: float
    head: float
    head_worker: float
    head_worker_column: float
    worker_off: float
    head_off: float


@dataclass(frozen=True)
class Estimate:
    """A run that was not made. Rounds and bytes are counted, seconds are modelled.

    ``seconds``: from the rows in place to the noisy weights: ``seconds_workers`` at work, ``seconds_heads`` likewise,
    ``seconds_transfer`` of a worker's bytes over its line, ``seconds_latency``. ``forecast_seconds``: what ``cofit
    plan`` says of the same with its own constants; ``share_bytes``: what owners send before, in all.
    """

    scheme: str
    rows: int
    cols: int
    workers: int
    cores: int
    line: float
    latency: float
    ring: str
    steps: int
    rounds: int
    worker_bytes: int
    worker_memory_bytes: int
    share_bytes: int
    seconds: float
    seconds_workers: float
    seconds_heads: float
    seconds_transfer: float
    seconds_latency: float
    forecast_seconds: float


def counted(run: WorkersRun) -> Forecast:
    """Return the forecast of a run of the benchmark that had workers."""
    facts = training_facts(
        run.rows, run.cols, scheme=run.scheme, shards=run.workers, feature_bound=1.0, feature_lower=0.0
    )
    return _forecast(facts, len(OWNERS))


def session(cost: Forecast) -> Tally:
    """Return what the session of the shard that sends most does, from the rows in place to the release."""
    return sum((cost.counted.phases[name].shard for name in _AFTER_SHARING), Tally())


def fitted(scaling: Scaling) -> Constants:
    """Return the constants of what was measured."""
    runs = [*(run for run in scaling.runs if run.workers), scaling.fewer_rows, scaling.wider]
    sessions = [session(counted(run)) for run in runs]
    parts = [_parts(one, run.parties) for one, run in zip(sessions, runs, strict=True)]
    (add, byte, each_round), worker_off = _fit(parts, [run.mean_worker_processor for run in runs])
    heads = [(1.0, run.workers, run.workers * run.cols) for run in runs]
    (head, each, column), head_off = _fit(heads, [run.head_processor for run in runs])
    return Constants(add, byte, each_round, head, each, column, worker_off, head_off)


def estimate(
    constants: Constants, scheme: str, rows: int, cols: int, workers: int, cores: int, line: float, latency: float
) -> Estimate:
    """Return what so many workers a party would take, each with so many cores and a line of so many bytes a second.

    The plan is that of ``cofit plan --shards``, with a shard for every worker.
    """
    facts = training_facts(rows, cols, scheme=scheme, shards=workers)
    cost = _forecast(facts, len(OWNERS), workers=workers, cores=cores, line=line, latency=latency)
    one, parties = session(cost), cost.spec.parties
    adds, sent, rounds = _parts(one, parties)
    head_rounds = sum(cost.counted.phases[name].head.rounds for name in _AFTER_SHARING)
    at_work = constants.multiply_add * adds / cores + constants.byte * sent + constants.round * rounds
    heads = constants.head + workers * (constants.head_worker + cols * constants.head_worker_column)
    transfer, waits = sent / line, (one.rounds + head_rounds) * latency
    plan = plan_training(facts)
    return Estimate(
        scheme=scheme,
        rows=rows,
        cols=cols,
        workers=workers,
        cores=cores,
        line=line,
        latency=latency,
        ring=plan.formats.ring.name,
        steps=plan.epochs,
        rounds=one.rounds + head_rounds,
        worker_bytes=round(sent),
        worker_memory_bytes=cost.memory.in_memory,
        share_bytes=cost.share.bytes,
        seconds=at_work + heads + transfer + waits,
        seconds_workers=at_work,
        seconds_heads=heads,
        seconds_transfer=transfer,
        seconds_latency=waits,
        forecast_seconds=cost.total.seconds - cost.share.seconds,
    )


def _forecast(facts: Facts, owners: int, **places: Any) -> Forecast:
    return forecast(plan_training(facts), owners=owners, **places)


def _parts(one: Tally, parties: int) -> tuple[float, float, float]:
    """Multiply-adds of a worker, as if all were in Z_2^64; bytes that it sends, on average; rounds."""
    return one.multiply_adds + _WIDE * one.wide_multiply_adds, one.bytes / parties, one.rounds


def _fit(parts: Sequence[Sequence[float]], seconds: Sequence[float]) -> tuple[list[float], float]:
    """Return constants that are not negative, by least squares of relative errors, and the largest of these errors."""
    from scipy.optimize import nnls  # noqa: PLC0415 - for this benchmark only

    measured = np.asarray(seconds, dtype=np.float64)
    relative: npt.NDArray[np.float64] = np.asarray(parts, dtype=np.float64) / measured[:, None]
    scale = np.abs(relative).max(axis=0)
    found = nnls(relative / scale, np.ones(len(measured)))[0] / scale
    return [float(one) for one in found], float(np.abs(relative @ found - 1).max())
