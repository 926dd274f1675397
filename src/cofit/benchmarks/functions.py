"""The secure functions on many elements at once, over TLS on loopback: seconds, rounds and bytes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cofit.arithmetic import FixedPoint, ring_of_bits
from cofit.protocols import (
    cosine,
    divide,
    exponential,
    inverse_square_root,
    is_negative,
    logarithm,
    sigmoid,
    sigmoid_polynomial,
    sine,
    square_root,
)
from cofit.roles import Contribution, run_local
from cofit.secret import Party, SecretArray
from cofit.transport import LabelCounts

_FUNCTIONS: dict[str, Callable[[SecretArray], SecretArray]] = {
    "is_negative": is_negative,
    "logarithm": logarithm,
    "square_root": square_root,
    "inverse_square_root": inverse_square_root,
    "sine": sine,
    "cosine": cosine,
    "exponential": exponential,
    "sigmoid_polynomial": sigmoid_polynomial,
    "sigmoid": sigmoid,
    "divide": lambda x: divide(x, x, quotient_bound=2),
}


@dataclass(frozen=True)
class FunctionResult:
    """One line of ``cofit bench functions``; bytes are those of all parties together."""

    function: str
    scheme: str
    ring: str
    fraction_bits: int
    count: int
    seconds: float
    rounds: int
    bytes: int


def measure_functions(
    count: int = 2000, repetitions: int = 5, scheme: str = "rep3", ring_bits: int = 128, fraction_bits: int = 52
) -> list[FunctionResult]:
    """Every function on ``count`` elements in (0, 1]; medians over the repetitions, the slowest party counts."""
    format = FixedPoint(fraction_bits, ring_of_bits(ring_bits))
    values = np.random.default_rng(1).uniform(2.0**-10, 1, count)
    owners = {"owner": {"x": Contribution(values, 1.0, format)}}
    run = run_local(partial(_program, repetitions=repetitions), scheme=scheme, owners=owners, processes=True)
    outcomes = list(run.results.values())
    results = []
    for name in _FUNCTIONS:
        slowest = [max(times) for times in zip(*(outcome[name][0] for outcome in outcomes), strict=True)]
        traffic = [outcome[name][1] for outcome in outcomes]
        results.append(
            FunctionResult(
                function=name,
                scheme=scheme,
                ring=format.ring.name,
                fraction_bits=fraction_bits,
                count=count,
                seconds=statistics.median(slowest),
                rounds=max(t.rounds for t in traffic),
                bytes=sum(t.bytes_sent for t in traffic),
            )
        )
    return results


def _program(party: Party, repetitions: int) -> dict[str, tuple[list[float], LabelCounts]]:
    x = party.input("owner", "x")
    mesh = party._scheme.mesh
    measured = {}
    for name, function in _FUNCTIONS.items():
        function(x)  # computes and caches the polynomials, and warms up
        times = []
        for _ in range(repetitions):
            before = mesh.counts
            start = time.perf_counter()
            function(x)
            times.append(time.perf_counter() - start)
        measured[name] = (times, (mesh.counts - before).total)
    return measured
