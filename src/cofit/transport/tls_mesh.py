"""A mesh of mutually authenticated TLS 1.3 connections between processes or machines.

Each end pins the other's certificate byte for byte, so no authority and no host name is trusted. Whoever
connects without a pinned certificate is turned away and learns nothing but our certificate.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from cofit.errors import (
    CertificateError,
    HandshakeError,
    InvalidInputError,
    PeerClosedError,
    PeerSilentError,
    SessionMismatchError,
    TransportError,
    parameter_error,
)
from cofit.transport.attempt import Attempt, Dial, Own
from cofit.transport.authentication import DroppedError, Peer, tls_context
from cofit.transport.channel import Channel
from cofit.transport.farewell import part
from cofit.transport.frames import LINE_VERSION, MAX_FRAME_BYTES
from cofit.transport.held import HANG_UP
from cofit.transport.homecoming import LineRegistry
from cofit.transport.identity import Identity, certificate_der
from cofit.transport.keeper import Keeper
from cofit.transport.line import Line
from cofit.transport.line_waiter import LineWaiter
from cofit.transport.link import Link, Wrap
from cofit.transport.listener import Acceptor
from cofit.transport.mesh import Mesh
from cofit.transport.strangers import MAX_STRANGERS, STRANGER_SECONDS, take_in
from cofit.transport.terms import Terms
from cofit.transport.tls import DEFAULT_SPIN, PollWaiter

_POLL_SECONDS = 0.25
_FAREWELL_SECONDS = 0.5
_PAUSE_SECONDS = 0.005


def connect_mesh(
    identity: Identity,
    listener: Acceptor | None,
    dial: Sequence[Peer],
    accept: Sequence[Peer],
    terms: Terms,
    *,
    connect_timeout: float = 30.0,
    timeout: float = 60.0,
    spin: float = DEFAULT_SPIN,
    max_frame_bytes: int = MAX_FRAME_BYTES,
    wrap: Wrap | None = None,
    members: Collection[str] = (),
    lines: LineRegistry | None = None,
) -> Mesh:
    """Connect to all peers and greet them; the parties may start in any order.

    We dial the peers in ``dial`` until they answer, and wait on ``listener`` for those in ``accept``; strangers
    there are dropped without disturbing the others. It may be the ``mesh_listener`` of a Reception: connections of
    other sessions, which may have waited there for long, are then dropped too. ``wrap`` may replace links (to
    inject faults). The listener stays open and is the caller's to close. ``members``: the parties of the run that
    we have no link to; peers may blame them. ``lines``: those of our Reception; with it connections that break are
    brought back (``resume_proof.md``), for as long as a peer is not away for ``timeout`` seconds. All parties of a mesh
    must give it, or none.

    Raises CertificateError or another HandshakeError naming the peer, or PeerSilentError if one is not there
    after ``connect_timeout`` seconds. Peers that were already connected are told.
    """
    if not 0 <= spin <= 1:
        raise parameter_error("spin", "connect_mesh", "a number of seconds from 0 to 1", spin)
    names = [peer.name for peer in (*dial, *accept)]
    if len({identity.name, *names}) != len(names) + 1:
        raise InvalidInputError(f"Party names must differ. Got {[identity.name, *names]} instead.")
    if accept and listener is None:
        raise InvalidInputError("The 'listener' parameter of connect_mesh must be given to accept peers.")
    if lines is not None:
        terms = replace(terms, version=LINE_VERSION)
    together = lines is not None  # then all measure their lines first
    links = Connector(Own(identity, terms, wrap), listener, dial, accept, connect_timeout, together=together).links()
    ordered = {name: links[name] for name in names}
    waiter, keeper = PollWaiter(spin), None
    if lines is not None:
        dialled = {peer.name for peer in dial}
        drawn = {n: Line(link, identity.name, n, terms, dials=n in dialled) for n, link in ordered.items()}
        waiter = LineWaiter(spin, list(drawn.values()))
        peers = {peer.name: peer for peer in (*dial, *accept)}
        keeper = Keeper(identity, peers, drawn, terms, waiter, lines, timeout)
        ordered = {**drawn}
    return Mesh(
        identity.name,
        ordered,
        terms,
        waiter,
        timeout=timeout,
        max_frame_bytes=max_frame_bytes,
        members=members,
        keeper=keeper,
    )


class Connector:
    """The loop that brings all connections up without blocking on any of them.

    ``together``: whether nobody leaves before all have met. Who has greeted us and leaves has then given the session
    up, and so do we, at once: else we would wait for those who have left too, and be late for the next session, and
    for every one after it.
    """

    def __init__(
        self,
        own: Own,
        listener: Acceptor | None,
        dial: Sequence[Peer],
        accept: Sequence[Peer],
        connect_timeout: float,
        *,
        together: bool = False,
    ) -> None:
        self._own = own
        self._together = together
        self._seconds = connect_timeout
        self._deadline = time.monotonic() + connect_timeout
        self._dials = [Dial(peer, own, self._deadline) for peer in dial]
        self._expected = {peer.name for peer in accept}
        self._pins = {certificate_der(peer.certificate_pem): peer for peer in accept}
        if len(self._pins) != len(accept):
            raise InvalidInputError("Two of the peers to accept have the same certificate pinned.")
        self._listener = listener if accept else None
        if accept:
            self._context = tls_context(own.identity, list(self._pins), server_side=True)
        self._incoming: list[Attempt] = []
        self._ready: set[int] = set()
        self._refused: dict[str, int] = {}
        self._links: dict[str, Link] = {}

    def links(self) -> dict[str, Link]:
        """Return the greeted link to every peer. On an error all that were reached are told, and closed."""
        try:
            return self._run()
        except TransportError as error:
            self._give_up(error.peer, str(error))
            raise
        except BaseException:
            name = self._own.identity.name
            self._give_up(name, f"{name!r} was interrupted while connecting.")
            raise

    def _run(self) -> dict[str, Link]:
        while True:
            now = time.monotonic()
            for dial in self._dials:
                if dial.peer.name not in self._links and (link := dial.step(now)) is not None:
                    self._links[dial.peer.name] = link
            for attempt in list(self._incoming):
                self._step_incoming(attempt, now)
            if self._listener is not None:
                self._accept_all(self._listener, now)
            missing = [d.peer.name for d in self._dials if d.peer.name not in self._links]
            missing += sorted(self._expected - self._links.keys())
            if not missing:
                self._drop_strangers()
                return self._links
            if now >= self._deadline:
                raise self._absent(missing)
            self._wait(now)
            for name, link in self._links.items():
                if link.fileno() in self._ready:
                    raise PeerClosedError(name, f"{name!r} left while {', '.join(missing)} did not join yet.")

    def _give_up(self, culprit: str, reason: str) -> None:
        """Tell the peers why, and close everything.

        A peer that we are just greeting is greeted to the end: it then learns at once what is wrong between us,
        or that we give up, instead of waiting for us in vain.
        """
        attempts = [dial.attempt for dial in self._dials if dial.attempt is not None] + self._incoming
        until = time.monotonic() + _FAREWELL_SECONDS
        while (unfinished := [a for a in attempts if a.under_way]) and time.monotonic() < until:
            for attempt in unfinished:
                with contextlib.suppress(DroppedError, TransportError):
                    if attempt.step() and attempt.peer is not None and attempt.link is not None:
                        self._links.setdefault(attempt.peer.name, attempt.link)
            time.sleep(_PAUSE_SECONDS)
        for name, link in self._links.items():
            Channel(link, self._own.identity.name, name, self._own.terms).queue_abort(culprit, reason)
        open_links = list(self._links.values())
        open_links += [a.link for a in attempts if a.link is not None and a.link not in open_links]
        part(open_links, PollWaiter(), _FAREWELL_SECONDS)
        for attempt in attempts:
            attempt.close()

    def _accept_all(self, listener: Acceptor, now: float) -> None:
        def begin(connection: socket.socket) -> Attempt:
            deadline = now + STRANGER_SECONDS
            return Attempt(connection, self._context, self._pins, self._own, server_side=True, deadline=deadline)

        def drop(attempt: Attempt) -> None:
            self._count("a connection was dropped for want of room")
            attempt.close()

        take_in(listener, self._incoming, begin, drop, MAX_STRANGERS)

    def _step_incoming(self, attempt: Attempt, now: float) -> None:
        try:
            done = attempt.fileno() in self._ready and attempt.step()
            if not done and now >= attempt.deadline:
                raise DroppedError("a connection that said nothing was closed")
            if attempt.peer is not None and attempt.peer.name in self._links:
                raise DroppedError("a second connection of a peer was refused")
        except DroppedError as dropped:
            self._drop(attempt, str(dropped))
            return
        if done and attempt.peer is not None and attempt.link is not None:
            self._incoming.remove(attempt)
            self._links[attempt.peer.name] = attempt.link

    def _drop(self, attempt: Attempt, reason: str) -> None:
        self._count(reason)
        self._incoming.remove(attempt)
        attempt.close()

    def _count(self, reason: str) -> None:
        self._refused[reason] = self._refused.get(reason, 0) + 1

    def _drop_strangers(self) -> None:
        for attempt in self._incoming:
            attempt.close()
        self._incoming.clear()

    def _wait(self, now: float) -> None:
        poll = select.poll()
        until = min(self._deadline, now + _POLL_SECONDS)
        if self._listener is not None:
            poll.register(self._listener, select.POLLIN)
        for attempt in self._incoming:
            poll.register(attempt, attempt.events)
        for link in self._links.values() if self._together else ():
            poll.register(link, HANG_UP)
        for dial in self._dials:
            if dial.peer.name in self._links:
                continue
            until = min(until, dial.due)
            if dial.attempt is not None:
                poll.register(dial.attempt, dial.attempt.events)
        self._ready = {descriptor for descriptor, _ in poll.poll(max(0.0, until - now) * 1000 + 1)}

    def _absent(self, missing: list[str]) -> TransportError:
        peer = missing[0]
        problems = {d.peer.name: d.problem for d in self._dials}
        seen = "; ".join(f"{reason} ({times}x)" for reason, times in self._refused.items())
        detail = problems.get(peer) or seen or "nobody connected"
        message = (
            f"{', '.join(missing)} did not join within {self._seconds:g} s: {detail}. "
            "Check that it runs, the addresses, and the pinned certificates."
        )
        if peer not in problems:
            if "not pinned" in seen:
                return CertificateError(peer, message)
            if "another session" in seen:
                return SessionMismatchError(peer, message)
            if "rejected our certificate" in seen:
                return HandshakeError(peer, message)
        return PeerSilentError(peer, message)
