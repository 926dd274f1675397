"""The keeper of a mesh's lines: a thread that sends beats, notices broken connections, and brings new ones.

It works also while the program computes for long, so that neither a firewall nor a peer takes that for silence. When
the program has ended it stays until everything has arrived, or the peer has been away for the time-out.
"""

from __future__ import annotations

import contextlib
import logging
import select
import threading
import time
from collections.abc import Mapping
from functools import partial

from cofit.errors import TransportError
from cofit.transport.attempt import Dial, Own
from cofit.transport.authentication import RESUME_PROTOCOL, Peer
from cofit.transport.held import HANG_UP
from cofit.transport.homecoming import LineRegistry, Return
from cofit.transport.identity import Identity
from cofit.transport.line import Line
from cofit.transport.line_waiter import Alarm, LineWaiter
from cofit.transport.link import Link
from cofit.transport.resume import Ticket
from cofit.transport.terms import Terms

_log = logging.getLogger(__name__)

BEAT_SECONDS = 10.0
"""How often a party says that it lives, at least: firewalls forget connections that are idle for a minute."""
BEATS_IN_TIMEOUT = 6
"""At least so many beats fit into the time-out."""
_QUIET_BEATS = 3
"""After so many intervals without a word a connection is taken for dead."""
_ASK_AFTER, _ASK_EVERY = 1.0, 2.0
_ATTEMPT_SECONDS = (2.0, 10.0)
"""A third of the time-out, within these limits: then an attempt is given up, which may be half-open."""
_PAUSE_SECONDS = 0.25


class Keeper:
    """Keeps ``lines`` (by peer) alive. ``waiter`` is told when a line changes.

    ``waits_since``: None while the program computes; else when the last thing happened that it knows of, along the
    chain of who waits for whom. The mesh sets it.
    """

    def __init__(
        self,
        identity: Identity,
        peers: Mapping[str, Peer],
        lines: Mapping[str, Line],
        terms: Terms,
        waiter: LineWaiter,
        registry: LineRegistry,
        timeout: float,
    ) -> None:
        self.lines = lines
        self.waiter = waiter
        self.waits_since: float | None = None
        self._identity = identity
        self._peers = peers
        self._terms = terms
        self._registry = registry
        self._timeout = timeout
        self._beat = min(BEAT_SECONDS, timeout / BEATS_IN_TIMEOUT)
        self._patience = min(max(_ATTEMPT_SECONDS[0], timeout / 3), _ATTEMPT_SECONDS[1])
        self._alarm = Alarm()
        self._dials: dict[str, Dial] = {}
        self._dial_after: dict[str, float] = {}
        self._dial_until: dict[str, float] = {}
        self._told: dict[str, float | None] = {}
        self._stopped = False
        self._leaving = False
        for line in lines.values():
            line.changed = self._change
            registry.add(line)
        self._thread = threading.Thread(target=self._run, name=f"lines of {identity.name}", daemon=True)
        self._thread.start()

    def news(self, peer: str) -> float:
        """Return when the peer was last known to do anything."""
        return self.lines[peer].news

    def away(self, peer: str) -> bool:
        """Whether there is no connection to the peer."""
        return peer in self.lines and not self.lines[peer].connected

    def gone(self) -> str | None:
        """Return a peer that has given the session up, or was away for the time-out; None: there is none.

        One that has ended it in good order, as who is done first may, has not.
        """
        now = time.monotonic()
        for peer, line in self.lines.items():
            lost_at = line.lost_at
            if line.failed or (lost_at is not None and now - lost_at > self._timeout):
                return peer
        return None

    def interrupt(self) -> None:
        """Let no line go on: whoever waits for one is told so."""
        for line in self.lines.values():
            line.give_up()

    def leave(self) -> None:
        """The program has ended well: see, in the background, that all that was sent arrives; then stop."""
        self._leaving = True
        self._alarm.ring()

    def stop(self) -> None:
        """Keep nothing any more; the lines are closed by whoever calls this."""
        self._stopped = True
        for line in self.lines.values():
            self._registry.remove(line)
        self._alarm.ring()

    def _change(self) -> None:
        self.waiter.change()
        self._alarm.ring()

    # --- the loop ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopped and not (self._leaving and self._left()):
                now = time.monotonic()
                for line in self.lines.values():
                    self._step(line, now)
                self._wait(now)
        except Exception:
            _log.exception("The keeper of the lines of '%s' stopped. Please report this.", self._identity.name)
            for line in self.lines.values():
                line.give_up()
        finally:
            self.stop()
            for dial in self._dials.values():
                if dial.attempt is not None:
                    dial.attempt.close()
            if self._leaving:
                for line in self.lines.values():
                    line.close()
            self.waiter.close()
            self._alarm.close()

    def _left(self) -> bool:
        """Go on with the farewell; True when every line is done with."""
        now = time.monotonic()
        done = [line.settle() or now - max(line.heard, line.news) > self._timeout for line in self.lines.values()]
        return all(done)

    def _step(self, line: Line, now: float) -> None:
        self._tell(line)
        if line.over:
            self._hang_up(line)
        elif not line.connected:
            if line.peer_ended and self._leaving:
                return
            self._bring(line, now)
        else:
            self._hang_up(line)
            line.push()
            if now - line.said >= self._beat:
                since = self.waits_since
                line.beat(0.0 if since is None else max(0.0, now - since), now)
            if line.listen(now):
                self.waiter.change()
            if now - line.heard > _QUIET_BEATS * self._beat:
                line.hang_up()

    def _bring(self, line: Line, now: float) -> None:
        """Dial the peer, or ask it whether it still knows the line."""
        dial = self._dials.get(line.peer)
        ticket, peer = line.ticket, self._peers[line.peer]
        if ticket is None or not peer.port:
            return
        if dial is None:
            first = 0.0 if line.dials else (line.lost_at or now) + _ASK_AFTER
            if now < max(first, self._dial_after.get(line.peer, 0.0)):
                return
            opening = partial(_opening, line, ticket)
            own = Own(self._identity, self._terms, protocol=RESUME_PROTOCOL, opening=opening)
            until = self._dial_until[line.peer] = now + self._patience
            dial = self._dials[line.peer] = Dial(peer, own, until)
        pause = _PAUSE_SECONDS if line.dials else _ASK_EVERY
        try:
            done = dial.step(now) is not None
        except TransportError as error:
            _log.debug("'%s' was not reached again: %s", line.peer, error)
            done = False
            self._hang_up(line)
            self._dial_after[line.peer] = now + pause
        if not done and now >= self._dial_until[line.peer]:
            self._hang_up(line)
        if done or line.failed:
            self._hang_up(line)
            self._dial_after[line.peer] = 0.0 if line.dials else now + pause

    def _hang_up(self, line: Line) -> None:
        """Dial no more."""
        dial = self._dials.pop(line.peer, None)
        if dial is not None and dial.attempt is not None and not (line.dials and line.connected):
            dial.attempt.close()

    def _tell(self, line: Line) -> None:
        """Log breaks and returns."""
        before, now = self._told.get(line.peer), line.lost_at
        if now != before:
            self._told[line.peer] = now
            if now is not None and not self._leaving:
                _log.info("the connection to '%s' broke: it is brought back", line.peer)
            elif now is None:
                _log.info("the connection to '%s' is back: the session goes on", line.peer)

    def _wait(self, now: float) -> None:
        poll = select.poll()
        poll.register(self._alarm.fileno(), select.POLLIN)
        until = now + min(1.0, self._beat / 2)
        watched: dict[int, Line] = {}
        for line in self.lines.values():
            if line.connected:
                descriptor = line.fileno()
                if descriptor >= 0 and not line.over:
                    watched[descriptor] = line
                    hungry = self._leaving or line.ticket is None  # without the key no break can be survived
                    poll.register(descriptor, HANG_UP | (select.POLLIN if hungry else 0))
            elif (dial := self._dials.get(line.peer)) is not None:
                until = min(until, dial.due)
                if dial.attempt is not None:
                    poll.register(dial.attempt, dial.attempt.events)
            elif not line.over:
                until = min(until, now + _PAUSE_SECONDS)
        ready = poll.poll(max(0.0, until - now) * 1000 + 1)
        for descriptor, events in ready:
            if descriptor == self._alarm.fileno():
                self._alarm.quiet()
            elif descriptor in watched and events & ~select.POLLIN and not self._stopped:
                with contextlib.suppress(OSError):
                    self._ended(watched[descriptor], descriptor)

    def _ended(self, line: Line, descriptor: int) -> None:
        with line.lock:
            if line.fileno() == descriptor:  # else it was replaced meanwhile
                line.hang_up()


def _opening(line: Line, ticket: Ticket, link: Link) -> Return:
    return Return(link, line, ticket, asks=not line.dials)
