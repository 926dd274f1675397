"""How long a counted piece of work takes, on the reference machine (2 cores with AVX2; ``benchmarks/README.md``).

The constants come from the processor time of runs of different shapes; a slow test holds them to a factor of 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from cofit.sharing.tally import Tally

MULTIPLY_ADDS_PER_SECOND = 2.1e9  # Z_2^64: `cofit bench kernels`, less a third because cores share the memory
WIDE_MULTIPLY_ADDS_PER_SECOND = 4.3e8  # Z_2^128, likewise
SECONDS_PER_OPERATION = 1.5e-5
SECONDS_PER_ROUND = 3e-4
SECONDS_PER_BYTE = 2e-9
SECONDS_PER_TRANSFORM = 3e-5  # of 8192 coefficients: `cofit bench rlwe`
SECONDS_PER_TRANSFER = 4e-8  # at either end, hashes and all: `cofit bench kernels`


@dataclass(frozen=True)
class Phase:
    """Rounds, payload bytes of owners and parties together, and estimated seconds."""

    rounds: int
    bytes: int
    seconds: float

    def __add__(self, other: Phase) -> Phase:
        return Phase(self.rounds + other.rounds, self.bytes + other.bytes, self.seconds + other.seconds)


@dataclass(frozen=True)
class Machines:
    """Where the processes of a run are: so many parties, whose processes share ``processors`` cores.

    latency: seconds a message. bandwidth: bytes a second, of all members together. processes: how many there are, of
    all parties; those of several shards can use more cores than one for each party.
    """

    parties: int
    latency: float
    bandwidth: float
    processors: int
    processes: int

    def seconds(self, tally: Tally, waits: int | None = None) -> float:
        """Return how long it takes. ``waits``: rounds that take a latency, where not all of them do."""
        kernels = tally.multiply_adds / MULTIPLY_ADDS_PER_SECOND
        kernels += tally.wide_multiply_adds / WIDE_MULTIPLY_ADDS_PER_SECOND
        steps = tally.operations * SECONDS_PER_OPERATION + tally.rounds * SECONDS_PER_ROUND
        local = self.parties * kernels / self.processors
        at_once = min(self.processors, self.processes)
        local += (self.parties * steps + tally.bytes * SECONDS_PER_BYTE) / at_once
        prepared = tally.transforms * SECONDS_PER_TRANSFORM + tally.transfers * SECONDS_PER_TRANSFER
        local += prepared / at_once
        waiting = (tally.rounds if waits is None else waits) * self.latency
        return local + waiting + tally.bytes / self.bandwidth
