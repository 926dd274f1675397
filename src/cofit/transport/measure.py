"""How fast the lines of a mesh are: measured by all members together when a session begins.

First everybody sends a byte to everybody, then to the next one in a ring (by name), a few times each: schemes do both,
so the mean of these rounds is what a round takes, also on lines that jitter. Then everybody sends ``_BULK_BYTES`` to
the next one. The shortest of a few such times, less the shortest round, tells the rate: what came late by chance does
not. What was measured is for forecasts alone: nothing that is computed depends on it.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from cofit.transport.mesh import Mesh

LABEL = "lines"
_ROUNDS = 4
_BULKS = 3
_BULK_BYTES = 1 << 17
_BY_CHANCE = 3
"""So many times the median: a round that takes longer was held up by something else, and does not count."""
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
    """Measure; every member of a mesh in which all are linked with all must call it at the same step. 13 rounds."""
    names = sorted((mesh.name, *mesh.peers))
    at = names.index(mesh.name)
    before, after = names[at - 1], names[(at + 1) % len(names)]
    all_peers = tuple(mesh.peers)

    def seconds(to: tuple[str, ...], of: tuple[str, ...], size: int) -> float:
        start = time.monotonic()
        mesh.exchange(LABEL, dict.fromkeys(to, bytes(size)), {peer: bytearray(size) for peer in of})
        return time.monotonic() - start

    seconds(all_peers, all_peers, 1)  # all are here
    rounds = [seconds(all_peers, all_peers, 1) for _ in range(_ROUNDS)]
    rounds += [seconds((after,), (before,), 1) for _ in range(_ROUNDS)]
    bulk = min(seconds((after,), (before,), _BULK_BYTES) for _ in range(_BULKS))
    seconds(all_peers, all_peers, 1)  # nobody goes on while another one measures
    usual = _BY_CHANCE * statistics.median(rounds)
    latency = statistics.mean(one for one in rounds if one <= usual)
    return LineSpeed(latency, _BULK_BYTES / max(bulk - min(rounds), _SHORTEST))
