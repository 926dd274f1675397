"""One connection on its way to being a link: authenticated, then greeted; and the repeated try to reach a peer."""

from __future__ import annotations

import errno
import os
import secrets
import select
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from cofit.errors import HandshakeError, SessionMismatchError, TransportError
from cofit.transport.authentication import (
    MESH_PROTOCOL,
    Authentication,
    DroppedError,
    Peer,
    tls_context,
)
from cofit.transport.greeting import Greeting, NoGreetingError
from cofit.transport.identity import Identity, certificate_der
from cofit.transport.link import Link, Wrap
from cofit.transport.reach import is_near
from cofit.transport.refusals import Refused
from cofit.transport.terms import Terms
from cofit.transport.tls import TlsLink

_random = secrets.SystemRandom()
_Place = tuple[int, int, int, str, Any]
"""What getaddrinfo tells of one address."""


class Opening(Protocol):
    """What the two ends say first on an authenticated connection, in steps that do not block."""

    @property
    def sending(self) -> bool:
        """Whether our part is not yet fully handed over."""

    def step(self) -> bool:
        """Go on as far as possible; True when the link may be used."""


@dataclass(frozen=True)
class Own:
    """What we bring to every connection: who we are, our terms, a replacement for links, and what we dial for.

    ``opening`` is what we say first; None: the greeting.
    """

    identity: Identity
    terms: Terms
    wrap: Wrap | None = None
    protocol: str = MESH_PROTOCOL
    opening: Callable[[Link], Opening] | None = None


class Attempt(Authentication):
    """One connection being set up, in steps that do not block.

    ``link`` is set when the other end has authenticated. A connection that comes with its TLS handshake complete may
    have waited for us for long: if its other end has gone, or belongs to another session, that is no failure of
    this one, and it is dropped.
    """

    def __init__(
        self,
        connection: socket.socket,
        context: ssl.SSLContext,
        pins: dict[bytes, Peer],
        own: Own,
        *,
        server_side: bool,
        deadline: float,
    ) -> None:
        super().__init__(connection, context, pins, server_side=server_side, deadline=deadline)
        self._own = own
        self._may_be_stale = self._tls is not None
        self._greeting: Opening | None = None
        self.ready = False
        self.failed = False

    @property
    def under_way(self) -> bool:
        """Whether the other end is there, and the connection neither ready nor failed."""
        return self._tls is not None and not self.ready and not self.failed

    def step(self) -> bool:
        """Go on as far as possible; True when the link is ready. Raises DroppedError or a TransportError."""
        try:
            if not super().step():
                return False
            if self._greeting is None and self.peer is not None and self._tls is not None:
                self._greeting = self._begin_greeting(self.peer, self._tls)
            self.ready = self._greeting is not None and self._greet(self._greeting)
        except (TransportError, DroppedError):
            self.failed = True
            raise
        return self.ready

    def close(self) -> None:
        """Give the connection up."""
        if self.link is not None:
            self.link.close()
        super().close()

    def _begin_greeting(self, peer: Peer, tls: ssl.SSLSocket) -> Opening:
        own = self._own
        if not self._server_side and own.protocol not in (MESH_PROTOCOL, self.protocol):
            raise HandshakeError(
                peer.name,
                f"{peer.name!r} takes no requests at {peer.host}:{peer.port}. Check the address, and that the same "
                "cofit release runs everywhere.",
            )
        link: Link = TlsLink(tls)
        self.link = link if own.wrap is None else own.wrap(peer.name, link)
        if own.opening is not None:
            return own.opening(self.link)
        return Greeting(self.link, own.identity.name, peer.name, own.terms)

    def _greet(self, greeting: Opening) -> bool:
        try:
            done = greeting.step()
        except NoGreetingError:
            if self._server_side and not self._may_be_stale:
                raise
            # It may have been too busy with strangers to hear us out; whoever refuses us says so.
            raise DroppedError("it closed the connection before it greeted; its own log may say why") from None
        except SessionMismatchError:
            if not self._may_be_stale:
                raise
            raise DroppedError("a connection of another session was refused", Refused.SESSION) from None
        self.events = select.POLLIN | (select.POLLOUT if greeting.sending else 0)
        return done


class Dial:
    """The repeated attempt to reach one peer that may not be up yet.

    An attempt to which no answer comes is given up after a moment, for the next one may do better: at another address
    of the host, or in a queue that was full (the system itself would repeat the first one ever more seldom, so that a
    flood of strangers could keep us out for a minute). All addresses get a short time, of random length, twice, and
    then a long one, in which a far peer or a slow network can answer; and so on. Who answers and then does not
    complete the TLS handshake is given up too.
    """

    FIRST_PAUSE = 0.01
    LONGEST_PAUSE = 0.25
    SHORT_SECONDS = (0.5, 2.0)
    LONG_SECONDS = 8.0
    LONG_EVERY = 3
    HANDSHAKE_SECONDS = 10.0

    def __init__(self, peer: Peer, own: Own, deadline: float) -> None:
        der = certificate_der(peer.certificate_pem)
        self.peer = peer
        self.problem = "nothing answered"
        self.attempt: Attempt | None = None
        self._next_try = 0.0
        self._pins = {der: peer}
        self._context = tls_context(own.identity, [der], server_side=False, protocols=[own.protocol])
        self._own = own
        self._deadline = deadline
        self._pause = self.FIRST_PAUSE
        self._places: list[_Place] = []
        self._passes = 0
        self._answer_by = 0.0
        self._handshake_by: float | None = None

    @property
    def due(self) -> float:
        """When there is something to do, whether or not anything arrives."""
        if self.attempt is None:
            return self._next_try
        return self._answer_by if self._handshake_by is None else self._handshake_by

    def step(self, now: float) -> Link | None:
        """Begin the next attempt if it is due, and go on with it; returns the link when it is ready."""
        if self.attempt is None and now >= self._next_try:
            self._start()
        if self.attempt is None:
            return None
        try:
            if self.attempt.step():
                return self.attempt.link
        except DroppedError as dropped:
            self._postpone(str(dropped))
            return None
        if self._handshake_by is None and self.attempt.tls is not None:
            self._handshake_by = now + self.HANDSHAKE_SECONDS
        if self.attempt.authentic:
            self._handshake_by = self._deadline
        elif now >= self.due:
            self._postpone(None if self.attempt.tls is None else "it answered, but not with a TLS handshake")
        return None

    def _start(self) -> None:
        """Begin the next attempt; on failure it is due again after a pause."""
        try:
            if not self._places:  # addresses may have changed, and may come in another order: each has its turn
                found = socket.getaddrinfo(self.peer.host, self.peer.port, type=socket.SOCK_STREAM)
                self._places = [one for one in found if self.peer.may_be_near or not is_near(str(one[4][0]))]
                self._passes += 1
            if not self._places:
                self._postpone("its address is one of this machine itself")
                return
            family, kind, protocol, _, address = self._places.pop(0)
            connection = socket.socket(family, kind, protocol)
        except OSError as error:
            self._postpone(error.strerror or "unknown host")
            return
        connection.setblocking(False)
        self.attempt = Attempt(
            connection, self._context, self._pins, self._own, server_side=False, deadline=self._deadline
        )
        long = self._passes % self.LONG_EVERY == 0
        seconds = self.LONG_SECONDS if long else _random.uniform(*self.SHORT_SECONDS)
        self._answer_by, self._handshake_by = time.monotonic() + seconds, None  # the look-up may have taken its time
        code = connection.connect_ex(address)
        if code not in (0, errno.EINPROGRESS):
            self._postpone(os.strerror(code))

    def _postpone(self, problem: str | None) -> None:
        """Drop the current attempt and try again later. Silence (None) tells less than what was wrong before."""
        if self.attempt is not None:
            self.attempt.close()
            self.attempt = None
        self.problem = problem or self.problem
        self._next_try = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, self.LONGEST_PAUSE)
