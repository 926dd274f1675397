"""How fast the lines of a mesh are: measured by all members together when a session begins.

First everybody sends a byte to everybody, a few times: such a round takes as long as the slowest line. Then everybody
stands in a ring (by name), sends ``_BULK_BYTES`` to the next one and takes the time until those of the one before have
come. What was measured is for forecasts alone: nothing that is computed depends on it.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from cofit.transport.mesh import Mesh

LABEL = "lines"
_ROUNDS = 3
_BULK_BYTES = 1 << 17
_SHORTEST = 1e-5
"""Seconds below which a difference of two times says nothing."""


@dataclass(frozen=True)
class LineSpeed:
    """``latency``: seconds until a small message has come, on the slowest line. ``rate``: bytes a second, one way."""

    latency: float
    rate: float

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers."""
        return {"latency": self.latency, "bytes_per_second": self.rate}


def measure_lines(mesh: Mesh) -> LineSpeed:
    """Measure; every member of a mesh in which all are linked with all must call it at the same step. 6 rounds."""
    names = sorted((mesh.name, *mesh.peers))
    at = names.index(mesh.name)
    before, after = names[at - 1], names[(at + 1) % len(names)]
    small, large = bytes(1), bytes(_BULK_BYTES)

    def meet() -> float:
        start = time.monotonic()
        mesh.exchange(LABEL, dict.fromkeys(mesh.peers, small), {peer: bytearray(1) for peer in mesh.peers})
        return time.monotonic() - start

    meet()  # all are here
    latency = statistics.median(meet() for _ in range(_ROUNDS))
    start = time.monotonic()
    mesh.exchange(LABEL, {after: large}, {before: bytearray(_BULK_BYTES)})
    seconds = time.monotonic() - start
    meet()  # nobody goes on while another one measures
    return LineSpeed(latency, _BULK_BYTES / max(seconds - latency, _SHORTEST))
