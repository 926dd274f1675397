"""Training with the rows of every party on several workers: what the busiest worker and the heads cost, as the number
of workers grows, beside a party that is one process.

Every run is a study from its beginning to its release, with real processes and TLS everywhere (``study_members``). All
of them share this machine: bytes, rounds and processor seconds are what machines of their own would have; the clock is
not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cofit.benchmarks.made_up_study import MadeUpStudy
from cofit.benchmarks.study_members import BEGUN, ENDED, STEPPED, STEPPING, Moment, Reading, Watch, run_members
from cofit.errors import parameter_error
from cofit.roles.local.progress import Listener, Progress, silent
from cofit.transport import LabelCounts

_FEWER = 4
"""The part of the rows of a second run, which shows what depends on them."""
MOST_WORKERS = 64


@dataclass(frozen=True)
class WorkersRun:
    """One study. ``workers``: of each party, with a shard each; 0: every party is one process, which is its head, too.

    Of one step of training, the first one left out: ``step_seconds`` by the clock, ``step_rounds`` that the party waits
    for which waits most; ``step_worker_bytes`` that the busiest worker sends, ``step_worker_processor`` its seconds;
    the same of the busiest head. ``worker_bytes`` and so on: from the rows in place to the noisy weights.
    ``session_bytes``: what all parties, and the dealer, send then in the session of one shard, the one that sends most;
    ``mean_worker_processor``: seconds of a worker, on average.
    """

    scheme: str
    parties: int
    rows: int
    cols: int
    threads: int
    workers: int
    steps: int
    step_seconds: float
    step_rounds: float
    step_worker_bytes: float
    step_worker_processor: float
    step_head_bytes: float
    step_head_processor: float
    seconds: float
    worker_bytes: int
    worker_processor: float
    head_bytes: int
    head_processor: float
    session_bytes: int
    mean_worker_processor: float


@dataclass(frozen=True)
class Scaling:
    """What ``cofit bench scale --workers`` finds.

    ``runs``: one process, and each number of workers; ``fewer_rows``: a quarter of the rows, and ``wider``: these with
    four times the columns, both with the first number of workers that is above 1, if there is one.
    ``bytes_off``, ``processor_off``: how far the bytes and the processor seconds of the busiest worker in a step are
    from 1 / workers of those of one worker, at most. ``one_worker_processor``, ``one_worker_seconds``: a step with one
    worker (and its head) over one with one process. ``head_bytes_ratio``, ``head_processor_ratio``: a step of a head
    with all rows over one with a quarter of them. ``rounds_added``: to a step, by shards.
    """

    runs: tuple[WorkersRun, ...]
    fewer_rows: WorkersRun
    wider: WorkersRun
    bytes_off: float
    processor_off: float
    one_worker_processor: float
    one_worker_seconds: float
    head_bytes_ratio: float
    head_processor_ratio: float
    rounds_added: float


def check_workers(workers: Sequence[int]) -> tuple[int, ...]:
    """Return numbers of workers, or raise InvalidInputError."""
    found = tuple(workers)
    if not found or found[0] != 1 or list(found) != sorted(set(found)) or found[-1] > MOST_WORKERS:
        allowed = f"1, and more numbers in ascending order, up to {MOST_WORKERS}, such as 1,2,4,8"
        raise parameter_error("workers", "bench scale", allowed, ",".join(map(str, found)))
    return found


def measure_workers(
    rows: int,
    cols: int,
    workers: Sequence[int],
    scheme: str = "rep3",
    threads: int = 1,
    directory: str | Path | None = None,
    progress: Listener = silent,
) -> Scaling:
    """Train with recipe 'best' in studies on this machine: one process a party, then so many workers a party.

    threads: of the kernels, in each process that holds rows. directory: on whose disk states and shares lie.
    """
    workers = check_workers(workers)
    if rows < 2 * _FEWER * workers[-1]:
        least = 2 * _FEWER * workers[-1]
        raise parameter_error("rows", "bench scale", f"at least {least}: every worker has rows of each owner", rows)
    some = next((number for number in workers if number > 1), 1)
    shapes = [(rows, cols, 0), *((rows, cols, number) for number in workers)]
    shapes += [(rows // _FEWER, cols, some), (rows // _FEWER, _FEWER * cols, some)]
    runs = []
    for number, (n, d, w) in enumerate(shapes):
        what = "one process" if w == 0 else "1 worker" if w == 1 else f"{w} workers"
        title = f"{n:,} x {d:,}, {what} a party ({number + 1} of {len(shapes)})"
        with tempfile.TemporaryDirectory(prefix="cofit-workers-", dir=directory) as place:
            study = MadeUpStudy(Path(place), n, d, scheme, w or None)
            watches = run_members(study, w or None, threads, _titled(title, progress))
        runs.append(_measured(study, threads, w, watches))
    return _compared(tuple(runs[:-2]), runs[-2], runs[-1])


def _titled(title: str, progress: Listener) -> Listener:
    return lambda told: progress(Progress(f"{title}: {told.step}", told.done, told.total))


def _measured(study: MadeUpStudy, threads: int, workers: int, noted: Mapping[str, Watch]) -> WorkersRun:
    watches = [noted[name] for name in study.parties]
    members = [_spent(noted[name], BEGUN, ENDED) for name in (*study.parties, *study.dealers)]
    steps = watches[0].epochs - 1
    step, run = ([_spent(watch, *ends) for watch in watches] for ends in ((STEPPING, STEPPED), (BEGUN, ENDED)))
    rounds = max(head.rounds + max((w.rounds for w in those), default=0) for head, those in map(_sent, step))
    by_shard = zip(*(those for _, those in map(_sent, members)), strict=True)
    everywhere = [w.processor_seconds for one in run for w in (one.workers or (one.head,))]
    return WorkersRun(
        scheme=study.scheme,
        parties=len(watches),
        rows=study.rows,
        cols=study.cols,
        threads=threads,
        workers=workers,
        steps=steps,
        step_seconds=step[0].clock / steps,
        step_rounds=rounds / steps,
        step_worker_bytes=_busiest(step, _bytes) / steps,
        step_worker_processor=_busiest(step, _processor) / steps,
        step_head_bytes=max(_bytes(one.head) for one in step) / steps,
        step_head_processor=max(one.head.processor_seconds for one in step) / steps,
        seconds=run[0].clock,
        worker_bytes=int(_busiest(run, _bytes)),
        worker_processor=_busiest(run, _processor),
        head_bytes=max(_bytes(one.head) for one in run),
        head_processor=max(one.head.processor_seconds for one in run),
        session_bytes=max((sum(w.bytes_sent for w in shard) for shard in by_shard), default=0)
        or sum(_bytes(one.head) for one in members),
        mean_worker_processor=sum(everywhere) / len(everywhere),
    )


def _spent(watch: Watch, begin: str, end: str) -> Moment:
    """Return what was spent from one moment to another."""
    first, last = watch.moments[begin], watch.moments[end]
    return Moment(
        last.clock - first.clock,
        _less(last.head, first.head),
        tuple(_less(*two) for two in zip(last.workers, first.workers, strict=True)),
    )


def _less(last: Reading, first: Reading) -> Reading:
    return Reading(last.traffic - first.traffic, last.processor_seconds - first.processor_seconds)


def _sent(one: Moment) -> tuple[LabelCounts, list[LabelCounts]]:
    return one.head.traffic.total, [worker.traffic.total for worker in one.workers]


def _bytes(one: Reading) -> int:
    return one.traffic.total.bytes_sent


def _processor(one: Reading) -> float:
    return one.processor_seconds


def _busiest(parties: Sequence[Moment], of: Callable[[Reading], float]) -> float:
    """Return the largest of all workers; where there are none, of all parties."""
    return max(of(worker) for one in parties for worker in (one.workers or (one.head,)))


def _compared(runs: tuple[WorkersRun, ...], fewer: WorkersRun, wider: WorkersRun) -> Scaling:
    alone, one, *_ = runs
    several = [run for run in runs if run.workers]
    like = next(run for run in several if run.workers == fewer.workers)

    def off(name: str) -> float:
        return float(max(abs(run.workers * getattr(run, name) / getattr(one, name) - 1) for run in several))

    return Scaling(
        runs=runs,
        fewer_rows=fewer,
        wider=wider,
        bytes_off=off("step_worker_bytes"),
        processor_off=off("step_worker_processor"),
        one_worker_processor=(one.step_worker_processor + one.step_head_processor) / alone.step_worker_processor,
        one_worker_seconds=one.step_seconds / alone.step_seconds,
        head_bytes_ratio=like.step_head_bytes / fewer.step_head_bytes,
        head_processor_ratio=like.step_head_processor / fewer.step_head_processor,
        rounds_added=max(run.step_rounds for run in several) - alone.step_rounds,
    )
