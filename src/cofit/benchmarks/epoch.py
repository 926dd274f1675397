"""The two secure matrix-vector products of one training epoch, against the bare kernel work.

Every party alternates, in the same process and on the same memory, between phases without any communication (the local
kernel calls of both products and nothing else) and phases of the whole protocol (products, resharing, truncation). A
barrier starts each phase, so that both are measured with all parties at work at once, and the slowest party counts.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from cofit.arithmetic import FixedPoint, ring_of_bits
from cofit.benchmarks.kernel_calls import kernel_calls, time_kernel_calls
from cofit.roles import Contribution, run_local
from cofit.secret import Party, SecretArray
from cofit.transport import LabelCounts

_WARM_UP = 2  # epochs; nothing is made ahead for more of them, so that what it takes is measured
_FRACTION_BITS = {64: 24, 128: 48}


@dataclass(frozen=True)
class EpochResult:
    """What ``cofit bench epoch`` prints."""

    scheme: str
    ring: str
    rows: int
    cols: int
    epochs: int
    repetitions: int
    threads: int
    seconds: float
    seconds_per_epoch: float
    kernel_seconds_per_epoch: float
    ratio: float
    rounds_per_epoch: float
    bytes_per_epoch: float


@dataclass(frozen=True)
class _Phase:
    kernel: float
    secure: float


def measure_epoch(
    rows: int = 1713,
    cols: int = 1874,
    epochs: int = 20,
    repetitions: int = 7,
    scheme: str = "rep3",
    ring_bits: int = 64,
    threads: int = 2,
) -> EpochResult:
    """Measure with every party in a process of its own, over TLS on loopback."""
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((rows, cols))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    weights = rng.standard_normal(cols)
    weights /= np.linalg.norm(weights)
    format = FixedPoint(_FRACTION_BITS[ring_bits], ring_of_bits(ring_bits))
    owners = {"owner": {"X": Contribution(matrix, 1.0, format), "w": Contribution(weights, 1.0, format)}}
    program = partial(_program, epochs=epochs, repetitions=repetitions)
    run = run_local(program, scheme=scheme, owners=owners, processes=True, threads=threads)
    outcomes = list(run.results.values())
    phases = [
        _Phase(max(o[0][i].kernel for o in outcomes), max(o[0][i].secure for o in outcomes)) for i in range(repetitions)
    ]
    secure = statistics.median(p.secure for p in phases)
    kernel = statistics.median(p.kernel for p in phases)
    traffic = [o[1] for o in outcomes]
    total_epochs = epochs * repetitions
    return EpochResult(
        scheme=scheme,
        ring=format.ring.name,
        rows=rows,
        cols=cols,
        epochs=epochs,
        repetitions=repetitions,
        threads=threads,
        seconds=secure,
        seconds_per_epoch=secure / epochs,
        kernel_seconds_per_epoch=kernel / epochs,
        ratio=statistics.median(p.secure / p.kernel for p in phases),
        rounds_per_epoch=max(t.rounds for t in traffic) / total_epochs,
        bytes_per_epoch=sum(t.bytes_sent for t in traffic) / total_epochs,
    )


def _program(party: Party, epochs: int, repetitions: int) -> tuple[list[_Phase], LabelCounts]:
    x, w = party.joined([("owner", "X")], 0, held=_WARM_UP), party.input("owner", "w")
    mesh = party._scheme.mesh
    phases = []
    traffic = LabelCounts()
    if not party.deals:
        kernel_calls(x, _WARM_UP)
    _secure_phase(x, w, _WARM_UP)
    for _ in range(repetitions):
        kernel = time_kernel_calls(party, x, epochs)
        party.barrier("barrier")
        before = mesh.counts
        start = time.perf_counter()
        _secure_phase(x, w, epochs)
        secure = time.perf_counter() - start
        traffic += (mesh.counts - before).total
        phases.append(_Phase(kernel, secure))
    return phases, traffic


def _secure_phase(x: SecretArray, w: SecretArray, epochs: int) -> None:
    """z = X w and g = X^T z, again and again. |z| <= 1 and |g_j| <= ||X^T z|| <= rows by Cauchy-Schwarz."""
    for _ in range(epochs):
        z = x @ w
        z = z.with_bound(min(z.bound, 1.0 + 2.0**-10))
        x.T @ z
