"""Training on more rows, or columns, than fit the memory of a party: seconds, traffic and peak memory, against what the
plan forecasts.

The rows are made up from a seed, a block at a time, where they are shared: nobody ever has all of them, owners neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cofit.benchmarks.apart import PREPARE
from cofit.benchmarks.made_up_study import made_up_tables
from cofit.benchmarks.this_machine import pace_of_this_machine, processors_here
from cofit.benchmarks.train import sent_under
from cofit.learn.contribution import prepared_blocks
from cofit.learn.facts import training_facts
from cofit.learn.forecast import Forecast, forecast
from cofit.learn.inputs import FEATURES, LABELS, Holders
from cofit.learn.plan import Plan, plan_training
from cofit.learn.private_training import private_training
from cofit.roles import Contribution, LocalRun, run_local
from cofit.roles.files.release_store import MemoryStore
from cofit.roles.local.disk import disk_of
from cofit.roles.local.progress import PROGRAM, SHARE, Progress
from cofit.roles.local.run import party_names
from cofit.secret.stored import ReleaseStore
from cofit.sharing import Spec

_OWNERS = 2
_TIMEOUT = 3600.0


@dataclass(frozen=True)
class ScaleResult:
    """What ``cofit bench scale`` prints.

    ``seconds``: from connected processes to the released weights, at the party of rank 0; ``forecast_seconds``: of the
    plan, for this machine with its cores free: constants of the reference machine times ``pace_kernels``,
    ``pace_bytes`` and ``pace_steps``, which are measured before the run (``this_machine``); ``reference_seconds``: for
    the reference machine, as ``cofit plan`` says; ``forecast_ratio``: measured over forecast.
    ``processor_seconds``: of all members together; over ``processors``, the cores that they can use, it is what they
    need at least, whoever else is there, and ``forecast_processor_ratio`` is that over the forecast. ``bytes_total``:
    sent by parties and owners; ``bytes_without_check``: less the check of rows. ``memory_bytes``: the limit, 0 for
    none; ``peak_bytes``: resident at the largest party, everything included; ``forecast_peak_bytes``: what the plan
    says.
    ``on_disk``: whether the shares of the data, ``matrix_bytes`` at each party, were in files.
    """

    scheme: str
    parties: int
    rows: int
    cols: int
    threads: int
    ring: str
    epochs: int
    seconds: float
    forecast_seconds: float
    forecast_ratio: float
    reference_seconds: float
    pace_kernels: float
    pace_bytes: float
    pace_steps: float
    processors: int
    processor_seconds: float
    forecast_processor_ratio: float
    seconds_share: float
    seconds_prepare: float
    seconds_check: float
    seconds_train: float
    seconds_noise: float
    rounds: int
    bytes_total: int
    bytes_without_check: int
    memory_bytes: int
    peak_bytes: int
    forecast_peak_bytes: int
    matrix_bytes: int
    on_disk: bool


def measure_scale(
    rows: int,
    cols: int,
    memory: int | None = None,
    scheme: str = "rep3",
    threads: int = 1,
    directory: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ScaleResult:
    """Train with recipe 'best', every member a process of its own, over TLS, as a study of this size would.

    memory: the most that a party may use, in bytes; None: no limit. directory: on whose disk files of shares lie.
    """
    facts = training_facts(rows, cols, scheme=scheme, feature_bound=1.0, feature_lower=0.0, memory=memory)
    plan, spec = plan_training(facts), facts.spec()
    cost = forecast(plan, owners=_OWNERS, processors=processors_here(spec.parties), pace=pace_of_this_machine())
    with disk_of(plan, spec.parties, _OWNERS, directory) as disk:
        run = _train(plan, spec, threads, disk, progress)
    return _result(plan, spec, threads, cost, run, disk is not None)


def _train(
    plan: Plan, spec: Spec, threads: int, disk: Path | None, progress: Callable[[Progress], None] | None
) -> LocalRun[npt.NDArray[np.float64]]:
    names, owners = party_names(spec.parties), _contributions(plan)
    stores: dict[str, ReleaseStore] = {name: MemoryStore() for name in names}
    holders = Holders(tuple(owners), tuple(owners))
    return run_local(
        partial(private_training, plan=plan, holders=holders, stores=stores, key="scale"),
        scheme=spec.name,
        parties=names,
        owners=owners,
        processes=True,
        threads=threads,
        timeout=_TIMEOUT,
        progress=progress,
        disk=disk,
    )


def _contributions(plan: Plan) -> dict[str, Mapping[str, Contribution]]:
    """Return what every owner shares: an equal part of the rows, with labels."""
    facts, formats = plan.facts, plan.formats
    shared: dict[str, Mapping[str, Contribution]] = {}
    for i, (table, labels) in enumerate(made_up_tables(facts.rows, facts.cols, _OWNERS)):
        shared[f"owner-{i + 1}"] = {
            FEATURES: Contribution(prepared_blocks(plan, table), 1.0, formats.of(formats.data)),
            LABELS: Contribution(labels, plan.target.bound, plan.target.format(formats.ring)),
        }
    return shared


def _result(
    plan: Plan,
    spec: Spec,
    threads: int,
    cost: Forecast,
    run: LocalRun[npt.NDArray[np.float64]],
    on_disk: bool,
) -> ScaleResult:
    facts, seconds, memory = plan.facts, run.seconds, cost.memory
    total = math.fsum((seconds[SHARE], seconds[PROGRAM]))
    spent = math.fsum(run.processor_seconds.values())
    sent = sum(counts.total.bytes_sent for counts in run.traffic.values())
    return ScaleResult(
        scheme=spec.name,
        parties=spec.parties,
        rows=facts.rows,
        cols=facts.cols,
        threads=threads,
        ring=plan.formats.ring.name,
        epochs=plan.epochs,
        seconds=total,
        forecast_seconds=cost.total.seconds,
        forecast_ratio=total / cost.total.seconds,
        reference_seconds=forecast(plan, owners=_OWNERS).total.seconds,
        pace_kernels=cost.pace.kernels,
        pace_bytes=cost.pace.bytes,
        pace_steps=cost.pace.steps,
        processors=cost.processors,
        processor_seconds=spent,
        forecast_processor_ratio=spent / cost.processors / cost.total.seconds,
        seconds_share=seconds[SHARE],
        seconds_prepare=seconds.get(PREPARE, 0.0),
        seconds_check=seconds["check"],
        seconds_train=seconds["train"],
        seconds_noise=seconds["noise"],
        rounds=max(run.traffic[name].total.rounds for name in run.results),
        bytes_total=sent,
        bytes_without_check=sent - sent_under(run.traffic.values(), "check", "coin"),
        memory_bytes=facts.memory or 0,
        peak_bytes=max(run.peak_memory[name] for name in run.results),
        forecast_peak_bytes=memory.on_disk if on_disk else memory.in_memory,
        matrix_bytes=memory.matrix,
        on_disk=on_disk,
    )
