"""Private predictions: a client's rows to answers under its mask, against the bare kernels on the same shares."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from cofit.arithmetic import FixedPoint
from cofit.arithmetic.prg import SEED_BYTES
from cofit.benchmarks.kernel_calls import time_kernel_calls
from cofit.learn.facts import training_facts
from cofit.learn.inference.cost import query_cost
from cofit.learn.inference.plan import MASK, ROWS, InferencePlan, plan_inference
from cofit.learn.inference.program import blank_weights, secret_answers
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.formats import towards_zero
from cofit.roles.local.member import Contribution
from cofit.roles.local.run import run_local
from cofit.secret import Party
from cofit.secret.common_coin import MemoryCoinStore, common_coin
from cofit.secret.masked import masked
from cofit.sharing import scheme_named

_TRAINED_ON = 1713


@dataclass(frozen=True)
class PredictResult:
    """What ``cofit bench predict`` prints. ``seconds``: from the client's first message to the last opened answer, of
    all batches; ``seconds_share``: of these, until the parties hold the shares. ``kernel_seconds``: one product of all
    rows with a vector and one with their transpose, without a message."""

    scheme: str
    answers: str
    rows: int
    cols: int
    batches: int
    repetitions: int
    seconds: float
    seconds_share: float
    seconds_answer: float
    kernel_seconds: float
    ratio: float
    rounds_of_a_batch: int
    bytes_of_a_batch: int
    error: float


def measure_predict(
    rows: int = 10_000,
    cols: int = 1874,
    repetitions: int = 3,
    scheme: str = "rep3",
    answers: str = "probabilities",
    threads: int = 1,
) -> PredictResult:
    """Answer all rows in batches, with shared weights of recipe 'best', among processes over TLS; medians."""
    plan = _plan(cols, scheme)
    batch = min(rows, plan.batch_rows)
    sizes = [min(batch, rows - start) for start in range(0, rows, batch)]
    times = [[_measured(plan, size, cols, scheme, answers, threads) for size in sizes] for _ in range(repetitions)]
    totals = [tuple(sum(one[i] for one in batches) for i in range(3)) for batches in times]
    share, answer, kernel = (statistics.median(total[i] for total in totals) for i in range(3))
    spec = scheme_named(scheme).info.spec()
    cost, error = query_cost(plan, spec, batch, answers), plan.error(answers)
    return PredictResult(
        scheme=scheme,
        answers=answers,
        rows=rows,
        cols=cols,
        batches=len(sizes),
        repetitions=repetitions,
        seconds=statistics.median(total[0] + total[1] for total in totals),
        seconds_share=share,
        seconds_answer=answer,
        kernel_seconds=kernel,
        ratio=statistics.median(total[1] / total[2] for total in totals),
        rounds_of_a_batch=cost.rounds,
        bytes_of_a_batch=cost.bytes,
        error=0.0 if error is None else float(error),
    )


def _plan(cols: int, scheme: str) -> InferencePlan:
    return plan_inference(plan_training(training_facts(_TRAINED_ON, cols, scheme=scheme, shared_model=True)))


def _measured(
    plan: InferencePlan, rows: int, cols: int, scheme: str, answers: str, threads: int
) -> tuple[float, float, float]:
    """Return the seconds of sharing one batch, of answering it, and of the bare kernels."""
    rng = np.random.default_rng(rows)
    values = rng.standard_normal((rows, cols))
    values = towards_zero(values / np.linalg.norm(values, axis=1, keepdims=True), plan.row_bits)
    inputs = plan.inputs(rows, answers)
    mask = rng.integers(-(1 << 60), 1 << 60, inputs[MASK].shape)
    given = {
        ROWS: Contribution(values, inputs[ROWS].bound, inputs[ROWS].format),
        MASK: Contribution(mask, 1 << 61, FixedPoint(0, plan.ring)),
    }
    program = partial(_answered, cols=cols, scheme=scheme, answers=answers)
    run = run_local(program, scheme=scheme, owners={"client": given}, processes=True, threads=threads)
    answer, kernel = (max(result[i] for result in run.results.values()) for i in range(2))
    return run.seconds["share"], answer, kernel


def _answered(party: Party, cols: int, scheme: str, answers: str) -> tuple[float, float]:
    plan = _plan(cols, scheme)
    rows = party.input("client", ROWS)
    party.barrier("barrier")
    start = time.perf_counter()
    coin = common_coin(party, MemoryCoinStore(), bytes(SEED_BYTES))
    found = secret_answers(party, plan, answers, rows, blank_weights(party, plan), coin)
    party.open(masked(party, found, "client", MASK), reason="what the client would unmask")
    seconds = time.perf_counter() - start
    return seconds, time_kernel_calls(party, rows, 1)
