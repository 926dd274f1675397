"""One exchange of small messages among all parties over TLS on loopback."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from functools import partial

from cofit.roles import run_local
from cofit.secret import Party


@dataclass(frozen=True)
class ExchangeResult:
    """What ``cofit bench exchange`` prints."""

    parties: int
    message_bytes: int
    exchanges: int
    repetitions: int
    microseconds_per_exchange: float


def measure_exchange(
    message_bytes: int = 64, exchanges: int = 2000, repetitions: int = 7, scheme: str = "rep3"
) -> ExchangeResult:
    """Every party sends to its left neighbour and receives from its right one; median over the repetitions."""
    program = partial(_program, message_bytes=message_bytes, exchanges=exchanges, repetitions=repetitions)
    run = run_local(program, scheme=scheme, processes=True)
    slowest = [max(times) for times in zip(*run.results.values(), strict=True)]
    per_exchange = 1e6 * statistics.median(slowest) / exchanges
    return ExchangeResult(len(run.results), message_bytes, exchanges, repetitions, per_exchange)


def _program(party: Party, message_bytes: int, exchanges: int, repetitions: int) -> list[float]:
    mesh = party._scheme.mesh
    names = party.parties
    left, right = names[party.rank - 1], names[(party.rank + 1) % len(names)]
    outgoing, incoming = {left: bytearray(message_bytes)}, {right: bytearray(message_bytes)}
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        for _ in range(exchanges):
            mesh.exchange("exchange", outgoing, incoming)
        times.append(time.perf_counter() - start)
    return times
