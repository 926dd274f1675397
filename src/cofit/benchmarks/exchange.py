"""One exchange of small messages among all parties over TLS on loopback, against a bare ring of TLS sockets.

The parties stand in a ring: everyone sends to its left neighbour and receives from its right one. The same ring is
measured three ways in turn, over the same connections: as the mesh exchanges bytes, as a scheme exchanges arrays, and
with nothing but blocking ``send`` and ``recv`` of Python's TLS sockets, without frames, checks or time-outs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cofit.errors import InvalidInputError
from cofit.roles import run_local
from cofit.secret import Party
from cofit.transport import Mesh
from cofit.transport.tls import TlsLink

_WARM_UP = 100


@dataclass(frozen=True)
class ExchangeResult:
    """What ``cofit bench exchange`` prints: medians over the repetitions, of the slowest party in each.

    ``microseconds_per_exchange``: of the mesh; ``microseconds_per_array``: of a scheme, for an array of as many bytes;
    ``ring_microseconds``: of the bare ring; ``ratio``: of the scheme's exchange to the ring's, in one repetition.
    """

    parties: int
    message_bytes: int
    exchanges: int
    repetitions: int
    microseconds_per_exchange: float
    microseconds_per_array: float
    ring_microseconds: float
    ratio: float


def measure_exchange(
    message_bytes: int = 64, exchanges: int = 2000, repetitions: int = 7, scheme: str = "rep3"
) -> ExchangeResult:
    """Every party sends to its left neighbour and receives from its right one, in each of the three ways."""
    program = partial(_program, message_bytes=message_bytes, exchanges=exchanges, repetitions=repetitions)
    run = run_local(program, scheme=scheme, processes=True)
    times = [times for times in run.results.values() if times]
    slowest = [
        [1e6 * max(each) / exchanges for each in zip(*ways, strict=True)]  # of the parties, one number a repetition
        for ways in zip(*(zip(*party, strict=True) for party in times), strict=True)
    ]
    mesh, arrays, ring = (statistics.median(values) for values in slowest)
    ratio = statistics.median(a / b for a, b in zip(slowest[1], slowest[2], strict=True))
    return ExchangeResult(len(times), message_bytes, exchanges, repetitions, mesh, arrays, ring, ratio)


def _program(party: Party, message_bytes: int, exchanges: int, repetitions: int) -> list[list[float]]:
    """Return the seconds of every repetition, each way; nothing at a dealer, which has no place in the ring."""
    ways = [] if party.deals else _ways(party, message_bytes)
    times: list[list[float]] = []
    for repetition in range(repetitions + 1):
        if ways:
            times.append([])
        for number in range(3):
            party.barrier("barrier")
            if ways:
                count = exchanges if repetition else _WARM_UP
                start = time.perf_counter()
                ways[number](count)
                times[-1].append(time.perf_counter() - start)
    return times[1:]


def _ways(party: Party, message_bytes: int) -> list[Callable[[int], None]]:
    scheme, count = party._scheme, len(party.parties)
    mesh = scheme.mesh
    left, right = (party.rank - 1) % count, (party.rank + 1) % count
    outgoing = {party.parties[left]: bytearray(message_bytes)}
    incoming = {party.parties[right]: bytearray(message_bytes)}
    array, filled = np.zeros(message_bytes, np.uint8), np.empty(message_bytes, np.uint8)

    def of_mesh(exchanges: int) -> None:
        for _ in range(exchanges):
            mesh.exchange("exchange", outgoing, incoming)

    def of_scheme(exchanges: int) -> None:
        for _ in range(exchanges):
            scheme._exchange("exchange", {left: [array]}, {right: filled})

    return [of_mesh, of_scheme, partial(_ring, mesh, party.parties[left], party.parties[right], message_bytes)]


def _ring(mesh: Mesh, left: str, right: str, message_bytes: int, exchanges: int) -> None:
    """The bare ring, on the mesh's own sockets; every byte sent is received, so that the mesh can go on afterwards."""
    links = [mesh._channels[name].link for name in (left, right)]
    if not all(isinstance(link, TlsLink) for link in links):
        raise InvalidInputError("Only connections over TLS can be compared with a ring of TLS sockets.")
    to_left, from_right = (link._tls for link in links if isinstance(link, TlsLink))
    message, buffer = bytes(message_bytes), bytearray(message_bytes)
    for tls in (to_left, from_right):
        tls.settimeout(mesh.timeout)
    for _ in range(exchanges):
        to_left.sendall(message)
        received = 0
        while received < message_bytes:
            received += from_right.recv_into(memoryview(buffer)[received:])
    for tls in (to_left, from_right):
        tls.setblocking(False)
