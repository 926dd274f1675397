"""Party programs that a fresh process can import."""

from __future__ import annotations

import os
import random
import secrets
import signal
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit import FixedPoint, Party
from cofit.arithmetic.prg import fresh_seed
from cofit.errors import DisputeError, TransportError

SILENCE = 4.0
"""How long ``fall_silent`` sleeps, seconds: much longer than the time-outs of the tests."""


class TestError(Exception):
    """An error of a program's own."""

    __test__ = False


class AwkwardError(Exception):
    """An error that can be pickled but not unpickled, as many in the wild."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{text} ({code})")


def meet(party: Party) -> npt.NDArray[Any]:
    """Open something, so that every party needs every other one, directly or not."""
    return party.open(party.random_bits((3,)), reason="a meeting point")


def total(party: Party) -> list[float]:
    """Open the sum of two owners' values."""
    a, b = party.input("north", "x"), party.input("south", "x")
    with party.label("sum"):
        result = party.open((a + b).sum(axis=0), reason="joint sum")
    return [float(v) for v in result]


def who_am_i(party: Party) -> tuple[str, int, int]:
    """Return what differs between the parties."""
    meet(party)
    return party.name, party.rank, os.getpid()


def fail_at_b(party: Party) -> list[int]:
    """Fail at one party before the others need it."""
    meet(party)
    if party.name == "party-b":
        raise TestError("on purpose")
    return [int(v) for _ in range(3) for v in meet(party)]


def dispute_at_b(party: Party) -> None:
    """Let party-b find out that two others say different things."""
    meet(party)
    if party.name == "party-b":
        raise DisputeError("They differ.", ("party-a", "party-c"))
    meet(party)


def fail_awkwardly_at_b(party: Party) -> None:
    """Fail with an error that does not survive its journey."""
    if party.name == "party-b":
        raise AwkwardError(7, "on purpose")
    meet(party)


def fail_unpicklably_at_b(party: Party) -> None:
    """Fail with an error that cannot even be sent."""
    if party.name == "party-b":
        error = TestError("on purpose")
        error.args = ("on purpose", lambda: None)
        raise error
    meet(party)


def return_unpicklable(party: Party) -> object:
    """Return what cannot travel to the launcher."""
    meet(party)
    return lambda: party


def exit_at_b(party: Party) -> None:
    """End the process of one party without a word."""
    meet(party)
    if party.name == "party-b":
        os._exit(3)
    for _ in range(3):
        meet(party)


def kill_c(party: Party) -> None:
    """Kill the process of one party."""
    meet(party)
    if party.name == "party-c":
        os.kill(os.getpid(), signal.SIGKILL)
    for _ in range(3):
        meet(party)


def fall_silent(party: Party) -> tuple[str, str, float]:
    """One party sleeps; the others return the error that they got, whom it blames, and after how many seconds."""
    meet(party)
    start = time.monotonic()
    if party.name == "party-b":
        time.sleep(SILENCE)
    try:
        meet(party)
        meet(party)
    except TransportError as error:
        return type(error).__name__, str(error), time.monotonic() - start
    return "", "", time.monotonic() - start


def sleep_long(party: Party) -> None:
    """One party sleeps much longer than anybody wants to wait."""
    meet(party)
    if party.name == "party-b":
        time.sleep(9)
    meet(party)
    meet(party)


def kernel_threads(party: Party) -> int:
    """Return how many threads the kernels of this process use."""
    from cofit import kernels

    meet(party)
    return kernels.threads()


def report_steps(party: Party) -> int:
    """Report three steps, the middle one many times; return how many reports it made."""
    party.progress("prepare", 0, 1)
    time.sleep(0.2)
    for done in range(1001):
        party.progress("train", done, 1000)
    time.sleep(0.05)
    party.progress("release", 0, 1)
    meet(party)
    return 1003


def report_for_long(party: Party) -> None:
    """Report and meet for much longer than anybody wants to wait."""
    for done in range(100):
        party.progress("train", done, 100)
        time.sleep(0.1)
        meet(party)


def hold_memory(party: Party) -> None:
    """One party touches 100 MB."""
    if party.rank == 1:
        np.ones(100_000_000, np.uint8)
    meet(party)


WORK_SECONDS = 0.5


def work_at_party_b(party: Party) -> None:
    """One party takes so much of the processor."""
    if party.rank == 1:
        until = time.process_time() + WORK_SECONDS
        while time.process_time() < until:
            pass
    meet(party)


def square(party: Party) -> float:
    """Return a result that every party must agree on up to nothing."""
    x = party.constant(np.full(4, 1.5), FixedPoint(24))
    return float(party.open((x * x).sum(), reason="square"))


in_a_lambda = lambda party: 1  # noqa: E731


def large_products(party: Party) -> list[int]:
    """What descent does with a large matrix: products both ways, lengths, sums, and squares of some rows at a time."""
    x = party.joined([("north", "x"), ("south", "x")], 0, held=2)
    rows, cols = x.shape
    w, r = (party.constant(np.ones(n, np.int64), FixedPoint(0)) for n in (cols, rows))
    step = rows // 20
    squares = [x[i : i + step].squared_distances(w, 4).sum(axis=0) for i in range(0, rows, step)]
    found = [(x @ w).sum(), (x.T @ r).sum(), x.inner(x).sum(), x.sum(axis=1).sum(), squares[3].sum()]
    return [int(party.open(value, reason="test")) for value in found]


def draw(party: Party) -> tuple[bytes, ...]:
    """Return what each source of randomness gives here."""
    rng = np.random.default_rng()
    return fresh_seed(), secrets.token_bytes(16), os.urandom(16), random.randbytes(16), rng.bytes(16)
