"""How long this machine takes beside the reference machine, found in half a second: for forecasts that fit it.

Three small pieces of work are timed, of which ``benchmarks/README.md`` says how long the reference machine takes:

    kernels   X w and X^T e of ``cofit bench kernels`` at 1713 x 1874, on the best instruction set
    steps     64 bytes over TLS on loopback, sent and received by one thread: Python, mostly
    bytes     a megabyte over TLS on loopback, both ends together

To write the shares of the data for the first time takes as much longer, or shorter, as bytes do.

It is processor time, and the quickest of several turns counts: others on the machine make work slower, never quicker.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from cofit import kernels
from cofit.learn.reference_machine import Pace
from cofit.transport import Mesh, Peer, Terms, connect_mesh, generate_identity, listen
from cofit.transport.terms import SESSION_BYTES, STUDY_BYTES

_KERNEL_SECONDS, _SMALL_SECONDS, _MEGABYTE_SECONDS = 4.0e-3, 17e-6, 1.5e-3  # on the reference machine
_PLACED_SECONDS = 1.5e-9  # a byte, likewise: from 1 to 2 milliseconds a megabyte
_ROWS, _COLS = 1713, 1874
_SMALL, _LARGE = 64, 10**6
_TURNS = 9
_MESSAGES, _MEGABYTES = 300, 6
_LOOPBACK = "127.0.0.1"
_NAMES = ("here", "there")


def pace_of_this_machine() -> Pace:
    """Return how many times as long as the reference machine this one takes."""
    with _connected() as (here, there):
        small, large = bytearray(_SMALL), bytearray(_LARGE)
        _in_turn(here, there, small, _MESSAGES)
        steps = _quickest(lambda: _in_turn(here, there, small, _MESSAGES)) / _MESSAGES
        moved = _quickest(lambda: _at_once(here, there, large, _MEGABYTES)) / _MEGABYTES
    of_bytes = moved / _MEGABYTE_SECONDS
    return Pace(_kernel_seconds() / _KERNEL_SECONDS, of_bytes, steps / _SMALL_SECONDS, of_bytes * _PLACED_SECONDS)


def processors_here(processes: int) -> int:
    """Return how many cores of this machine so many processes, with a thread each, can use."""
    return min(processes, len(os.sched_getaffinity(0)))


def _quickest(work: Callable[[], None]) -> float:
    seconds = []
    for _ in range(_TURNS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _kernel_seconds() -> float:
    random = np.random.default_rng(1)
    shares = [random.integers(0, 1 << 63, (_ROWS, _COLS), dtype=np.uint64) for _ in range(2)]
    tall, wide = ([random.integers(0, 1 << 63, size, dtype=np.uint64) for _ in range(2)] for size in (_ROWS, _COLS))
    down, across = np.empty_like(tall[0]), np.empty_like(wide[0])

    def both() -> None:
        kernels.matvec(shares, wide, down, 1, 1)
        kernels.matvec_t(shares, tall, across, 1, 1)

    threads = kernels.threads()
    kernels.set_threads(1)
    try:
        return _quickest(both)
    finally:
        kernels.set_threads(threads)


@contextlib.contextmanager
def _connected() -> Iterator[tuple[Mesh, Mesh]]:
    """Connect this process to itself, by TLS."""
    first, second = map(generate_identity, _NAMES)
    terms = Terms(bytes(SESSION_BYTES), bytes(STUDY_BYTES), "calibration")
    found: list[Mesh] = []
    with listen(_LOOPBACK, 0) as listener:
        peer = Peer(first.name, _LOOPBACK, listener.port, first.certificate_pem)
        dialling = threading.Thread(
            target=lambda: found.append(connect_mesh(second, None, dial=[peer], accept=[], terms=terms))
        )
        dialling.start()
        pinned = Peer(second.name, _LOOPBACK, listener.port, second.certificate_pem)
        here = connect_mesh(first, listener, dial=[], accept=[pinned], terms=terms)
        dialling.join()
    try:
        yield here, found[0]
    finally:
        closing = threading.Thread(target=found[0].close)
        closing.start()
        here.close()
        closing.join()


def _in_turn(here: Mesh, there: Mesh, message: bytearray, times: int) -> None:
    into = bytearray(len(message))
    for _ in range(times):
        here.exchange("pace", {there.name: message}, {})
        there.exchange("pace", {}, {here.name: into})


def _at_once(here: Mesh, there: Mesh, message: bytearray, times: int) -> None:
    into = bytearray(len(message))

    def receive() -> None:
        for _ in range(times):
            there.exchange("pace", {}, {here.name: into})

    receiving = threading.Thread(target=receive)
    receiving.start()
    for _ in range(times):
        here.exchange("pace", {there.name: message}, {})
    receiving.join()
