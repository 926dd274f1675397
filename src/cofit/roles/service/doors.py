"""How often each participant may ask, and whose request is answered next.

- Requests: ``_RATE`` a second in the long run, ``_BURST`` at once. Pieces of an owner's upload do not count here,
  because their size is fixed by the study.
- Failed requests, of every kind, pieces and broken frames too: ``_FAILURE_RATE`` and ``_FAILURE_BURST``. Whoever has
  used them up is told to be back in a second or so, whatever it asks. A request leaves a deposit while it is answered,
  so asking in parallel gains nothing; it gets the deposit back unless it failed by its own fault.
- Sessions: ``_SESSION_RATE`` and ``_SESSION_BURST``, whoever calls for them: each leaves lines in the log and a fact.
  Those that answer clients have a count of their own, ``_QUERY_RATE`` and ``_QUERY_BURST``.

Every participant has its own count, so nobody is told to wait because of another. To be told so is no failure: it would
never end. Of those who wait to be answered, uploads of owners that have not failed lately come first (``turns``). What
is kept is a few numbers for each participant, and ends with the process.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cofit.errors import CofitError, InvalidInputError, StateError
from cofit.roles.service.turns import Turns
from cofit.transport import Refused, TokenBuckets

_RATE, _BURST = 10.0, 100
"""How many requests a second, in the long run and at once, are answered to each participant."""
_FAILURE_RATE, _FAILURE_BURST = 1.0, 50
"""How many of them may fail."""
_SESSION_RATE, _SESSION_BURST = 1 / 60, 60
"""How many sessions a second, in the long run and at once, begin here."""
_QUERY_RATE, _QUERY_BURST = 0.5, 120
"""How many sessions a second, in the long run and at once, answer clients."""
_LINE_RATE, _LINE_BURST = 1 / 600, 50
"""How many lines a second, in the long run and at once, the program logs about one thing and participant."""
_GOOD_SECONDS = 60.0
"""How long after a failed request a peer's uploads do not come first."""
BUSY_SECONDS = 0.1
"""How long the answer that somebody asks too often is held back: until then that conversation asks nothing more."""
_FAULTS = frozenset(
    {
        Refused.PROTOCOL,
        Refused.NOT_A_PARTY,
        Refused.VERSION,
        Refused.STUDY,
        Refused.SCHEME,
        Refused.SESSION,
        Refused.GREETING,
        Refused.FRAME,
    }
)
"""Refused connections that count as failed requests."""


class RefusedError(CofitError):
    """A request that this participant may not make, or not now."""


class BusyError(RefusedError):
    """A request too many in a short time; the same may be asked again after ``retry_after`` seconds."""

    def __init__(self, who: str, why: str, retry_after: float) -> None:
        self.retry_after = float(max(1, math.ceil(retry_after)))
        super().__init__(f"{who} is busy: {why}. Try again in {self.retry_after:.0f} s.")


class Doors:
    """The limits of one process. Safe to call from several threads. ``who``: "This party", for texts."""

    def __init__(self, who: str, clock: Callable[[], float]) -> None:
        self._who = who
        self._clock = clock
        self._lock = threading.Lock()
        self._requests = TokenBuckets(_RATE, _BURST)
        self._failures = TokenBuckets(_FAILURE_RATE, _FAILURE_BURST)
        self._sessions = TokenBuckets(_SESSION_RATE, _SESSION_BURST)
        self._queries = TokenBuckets(_QUERY_RATE, _QUERY_BURST)
        self._lines = TokenBuckets(_LINE_RATE, _LINE_BURST)
        self._turns = Turns()
        self._failed_at: dict[str, float] = {}

    @contextmanager
    def request(self, peer: str, *, upload: bool = False, counted: bool = True, alone: bool = True) -> Iterator[None]:
        """Count a request of ``peer``, and answer it in the block when it is its turn; BusyError if it is one too many.

        upload: it is part of a contribution, by somebody who may make one. counted: not a piece of it. alone: it keeps
        its turn to the end; otherwise others are answered meanwhile.
        """
        with self._lock:
            now = self._clock()
            if wait := self._failures.wait(peer, now):
                raise BusyError(self._who, "too many of your requests failed", wait)
            if counted and not self._requests.take(peer, now):
                wait = self._requests.wait(peer, now)
                raise BusyError(self._who, "too many requests in a short time", wait)
            self._failures.take(peer, now)
            favoured = upload and now - self._failed_at.get(peer, -math.inf) >= _GOOD_SECONDS
        failed = False
        try:
            with contextlib.ExitStack() as turn:
                turn.enter_context(self._turns.turn(peer, favoured=favoured))
                if not alone:
                    turn.close()
                yield
        except (RefusedError, InvalidInputError, StateError) as error:  # other errors are ours
            failed = not isinstance(error, BusyError)
            raise
        finally:
            with self._lock:
                if failed:
                    self._failed_at[peer] = now
                else:
                    self._failures.give_back(peer)

    def turned_away(self, kind: str, peer: str | None) -> None:
        """Count a refused connection or a broken frame of a participant as a failed request."""
        if peer is not None and kind in _FAULTS:
            with self._lock:
                now = self._clock()
                self._failures.take(peer, now)
                self._failed_at[peer] = now

    def session(self) -> None:
        """Count a session that is to begin; BusyError where it is one too many."""
        self._begin(self._sessions, "too many sessions in a short time")

    def query(self) -> None:
        """Count a session that is to answer a client; BusyError where it is one too many."""
        self._begin(self._queries, "too many queries in a short time")

    def _begin(self, buckets: TokenBuckets, why: str) -> None:
        with self._lock:
            now = self._clock()
            if not buckets.take("", now):
                raise BusyError(self._who, why, buckets.wait("", now))

    def loggable(self, topic: str, peer: str = "") -> bool:
        """Whether a line about this may be logged now; asking uses it up."""
        with self._lock:
            return self._lines.take(f"{topic} {peer}", self._clock())


def shown(text: object) -> str:
    """Return what a peer sent as it may stand in a log: 64 printable ASCII characters at most."""
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in str(text)[:64])


def answerable(error: Exception) -> dict[str, Any] | None:
    """Return what may be told of an error to the other end; None for those that say nothing but that one happened."""
    if isinstance(error, RefusedError | InvalidInputError | StateError):
        told: dict[str, Any] = {"kind": type(error).__name__, "message": str(error)[:2000]}
        if isinstance(error, BusyError):
            told |= {"kind": "busy", "retry_after": error.retry_after}
        return {"error": told}
    return None
