"""How long a counted piece of work takes, on the reference machine (2 cores with AVX2; ``benchmarks/README.md``).

The constants come from the processor time of runs of different shapes; a slow test holds them to a factor of 3. How
long it takes on another machine is these constants times its ``Pace``.
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
class Pace:
    """How many times as long as the reference machine another one takes: for kernels, such as products of matrices; for
    bytes that are masked, encrypted, sent and copied; and for steps in Python and messages. ``placed``: seconds for
    each byte of the shares of the data, which are written once; the forecast that everybody makes leaves them out.
    """

    kernels: float = 1.0
    bytes: float = 1.0
    steps: float = 1.0
    placed: float = 0.0


REFERENCE = Pace()


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
    all parties; those of several shards can use more cores than one for each party. pace: of each core.
    """

    parties: int
    latency: float
    bandwidth: float
    processors: int
    processes: int
    pace: Pace = REFERENCE

    def placing(self, matrix: int) -> float:
        """Return how long it takes each process to write so many bytes of shares of the data, once."""
        return self.processes * matrix * self.pace.placed / min(self.processors, self.processes)

    def seconds(self, tally: Tally, waits: int | None = None) -> float:
        """Return how long it takes. ``waits``: rounds that take a latency, where not all of them do."""
        pace = self.pace
        kernels = tally.multiply_adds / MULTIPLY_ADDS_PER_SECOND
        kernels += tally.wide_multiply_adds / WIDE_MULTIPLY_ADDS_PER_SECOND
        steps = pace.steps * (tally.operations * SECONDS_PER_OPERATION + tally.rounds * SECONDS_PER_ROUND)
        local = self.parties * pace.kernels * kernels / self.processors
        at_once = min(self.processors, self.processes)
        local += (self.parties * steps + tally.bytes * pace.bytes * SECONDS_PER_BYTE) / at_once
        prepared = tally.transforms * SECONDS_PER_TRANSFORM + tally.transfers * SECONDS_PER_TRANSFER
        prepared *= pace.kernels
        local += prepared / at_once
        waiting = (tally.rounds if waits is None else waits) * self.latency
        return local + waiting + tally.bytes / self.bandwidth
