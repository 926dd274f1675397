"""The samplers at the size of a model, over TLS on loopback: seconds, rounds, bytes, and what a draw takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from cofit.arithmetic import Z128, FixedPoint
from cofit.roles import run_local
from cofit.sampling.discrete_gaussian import discrete_gaussian
from cofit.sampling.discrete_laplace import discrete_laplace
from cofit.sampling.exponential import exponential
from cofit.sampling.gamma import gamma
from cofit.sampling.gaussian import gaussian
from cofit.sampling.knorm import knorm
from cofit.sampling.sphere import unit_vector
from cofit.secret import Party, SecretArray
from cofit.sharing import meter_of, scheme_named
from cofit.transport import LabelCounts

_FORMAT = FixedPoint(52, Z128)
_SCALE = 1 << 20

_SAMPLERS: dict[str, Callable[[Party, int], SecretArray]] = {
    "exponential": lambda party, d: exponential(party, (d,), _FORMAT),
    "gamma": lambda party, d: gamma(party, (1,), d, _FORMAT),
    "gaussian": lambda party, d: gaussian(party, (d,), _FORMAT),
    "unit_vector": lambda party, d: unit_vector(party, d, _FORMAT),
    "knorm": lambda party, d: knorm(party, d, _FORMAT),
    "discrete_laplace": lambda party, d: discrete_laplace(party, (d,), _SCALE),
    "discrete_gaussian": lambda party, d: discrete_gaussian(party, (d,), _SCALE),
}


@dataclass(frozen=True)
class SamplingResult:
    """One line of ``cofit bench sampling``; bytes are those of all parties together.

    ``ands_per_draw`` and ``bytes_per_draw``: for one of ``count`` coordinates (Gamma: for one of its terms); an AND is
    one result of a product of secret bits.
    """

    sampler: str
    count: int
    scheme: str
    ring: str
    seconds: float
    rounds: int
    bytes: int
    ands_per_draw: float
    bytes_per_draw: float


def measure_sampling(count: int = 1874, repetitions: int = 5, scheme: str = "rep3") -> list[SamplingResult]:
    """Every sampler for ``count`` coordinates (or Gamma(count)); medians of the repetitions, the slowest party counts.

    The continuous ones in Z_2^128 with 52 fractional bits; discrete Laplace and Gaussian of scale and sigma 2^20.
    """
    run = run_local(partial(_program, count=count, repetitions=repetitions), scheme=scheme, processes=True)
    outcomes = list(run.results.values())
    results = []
    for name in _SAMPLERS:
        slowest = [max(times) for times in zip(*(outcome[name][0] for outcome in outcomes), strict=True)]
        traffic = [outcome[name][1] for outcome in outcomes]
        sent = sum(t.bytes_sent for t in traffic)
        results.append(
            SamplingResult(
                sampler=name,
                count=count,
                scheme=scheme,
                ring=outcomes[0][name][2],
                seconds=statistics.median(slowest),
                rounds=max(t.rounds for t in traffic),
                bytes=sent,
                ands_per_draw=_ands(name, count, scheme) / count,
                bytes_per_draw=sent / count,
            )
        )
    return results


def _ands(sampler: str, count: int, scheme: str) -> int:
    meter = meter_of(scheme_named(scheme))
    _SAMPLERS[sampler](Party(meter, {}), count)
    return meter.tally.ands


def _program(party: Party, count: int, repetitions: int) -> dict[str, tuple[list[float], LabelCounts, str]]:
    mesh = party._scheme.mesh
    measured = {}
    for name, sampler in _SAMPLERS.items():
        ring = sampler(party, count).format.ring.name  # computes and caches tables and polynomials, and warms up
        times = []
        for _ in range(repetitions):
            before = mesh.counts
            start = time.perf_counter()
            sampler(party, count)
            times.append(time.perf_counter() - start)
        measured[name] = (times, (mesh.counts - before).total, ring)
    return measured
