"""One port for everything: authenticates whoever connects, and leads it to the mesh or to a conversation."""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from cofit.errors import InvalidInputError, TransportError, parameter_error
from cofit.transport.attempt import Attempt, Own
from cofit.transport.authentication import (
    MESH_PROTOCOL,
    RESUME_PROTOCOL,
    SERVICE_PROTOCOL,
    Authentication,
    DroppedError,
    Peer,
    tls_context,
)
from cofit.transport.conversation import Conversation
from cofit.transport.farewell import Departure
from cofit.transport.frames import LINE_VERSION, NO_TAG, Kind, control_frame
from cofit.transport.held import HANG_UP, HeldConnections
from cofit.transport.homecoming import LineRegistry, Welcome
from cofit.transport.identity import Identity, certificate_der
from cofit.transport.link import Link
from cofit.transport.listener import Listener
from cofit.transport.rates import TokenBuckets, network_of
from cofit.transport.refusals import OnRefusal, Refusals, Refused, kind_of
from cofit.transport.service import Handler, Service
from cofit.transport.strangers import MAX_STRANGERS, STRANGER_SECONDS, take_in
from cofit.transport.terms import Refusal, Terms, without_session
from cofit.transport.tls import PollWaiter, TlsLink

_log = logging.getLogger(__name__)
_POLL_SECONDS = 1.0
_DEPARTURE_SECONDS = 1.0
_CLOSE_SECONDS = 2.0
_PAUSE_SECONDS = 0.05
"""How long no connection is accepted after accepting failed, as it does when there are no more descriptors."""

A = TypeVar("A", Authentication, Attempt, Welcome)


@dataclass(frozen=True)
class Limits:
    """How much a reception takes on. Rates are connections a second, bursts how many may come at once.

    Beyond ``conversations`` in all, a participant that holds fewer than two still gets one.
    Those of an address hold before authentication, and so also for all participants behind that address together.
    """

    conversations: int = 64
    conversations_per_peer: int = 8
    peer_rate: float = 10.0
    peer_burst: int = 40
    address_rate: float = 50.0
    address_burst: int = 200
    strangers: int = MAX_STRANGERS
    stranger_seconds: float = STRANGER_SECONDS

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise parameter_error(name, "Limits", "a positive number", value)


class Reception:
    """Answers at ``listener``, which it owns, in a thread of its own, until it is closed.

    ``participants`` maps the names of all who may connect to their pinned certificates (PEM); those named in
    ``parties`` may also ask for the mesh. By ALPN a connection asks for ``cofit-mesh/1``: it then waits in
    ``mesh_listener`` for ``connect_mesh``; or for ``cofit-resume/1``: it then goes on with one of ``lines``, if it can
    prove that it may (``resume_proof.md``); or for ``cofit-service/1``: after the greeting under ``terms`` (its session
    does not count) ``handler`` is called with the Conversation, in a thread; beyond the ``limits`` the answer is an
    error of kind ``busy``. Everybody else is turned away, learns nothing but our certificate, and can neither hold
    up nor keep out the others.

    ``refusals`` counts who was turned away, by kind (see Refused). ``on_refusal`` is told of each: kind, name if
    authenticated, address. It is called in the reception's threads and must be quick.
    ``timeout``: how many seconds one message of a conversation may take.
    """

    def __init__(
        self,
        listener: Listener,
        identity: Identity,
        participants: Mapping[str, str],
        parties: Collection[str],
        terms: Terms,
        handler: Handler,
        *,
        timeout: float = 60.0,
        limits: Limits | None = None,
        on_refusal: OnRefusal | None = None,
    ) -> None:
        if not timeout > 0:
            raise parameter_error("timeout", "Reception", "a positive number of seconds", timeout)
        if not set(parties) <= participants.keys():
            raise parameter_error("parties", "Reception", "names of participants", sorted(parties))
        self._pins = {certificate_der(pem): Peer(name, "", 0, pem) for name, pem in participants.items()}
        if len(self._pins) != len(participants):
            raise InvalidInputError("Two of the participants have the same certificate pinned.")
        self.host, self.port = listener.host, listener.port
        self._listener = listener
        self._parties = frozenset(parties)
        self._own = Own(identity, without_session(terms))
        self._timeout = timeout
        self._limits = limits or Limits()
        protocols = [MESH_PROTOCOL, SERVICE_PROTOCOL, RESUME_PROTOCOL]
        self._context = tls_context(identity, list(self._pins), server_side=True, protocols=protocols)
        self._refusals = Refusals(on_refusal)
        self._service = Service(
            handler, self._refusals, self._limits.conversations, self._limits.conversations_per_peer
        )
        self._address_rates = TokenBuckets(self._limits.address_rate, self._limits.address_burst)
        self._peer_rates = TokenBuckets(self._limits.peer_rate, self._limits.peer_burst)
        self._strangers: list[Authentication] = []
        self._guests: list[Attempt] = []
        self._returning: list[Welcome] = []
        self.lines = LineRegistry()
        self._departures: list[Departure] = []
        self._accept_after = 0.0
        self._closing = False
        self.mesh_listener = HeldConnections()
        self._alarm, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name=f"reception of {identity.name}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Reception:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Reception({self._own.identity.name!r}, {self.host!r}, {self.port})"

    @property
    def refusals(self) -> Mapping[str, int]:
        """How many were turned away so far, by kind."""
        return self._refusals.counts

    @property
    def running(self) -> bool:
        """Whether anybody can connect: False once it is closed, or an error has stopped it, which the log tells."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop listening, end all conversations and drop what waits for a mesh. Closing twice is fine."""
        if not self._closing:
            self._closing = True
            self._wake.send(b"!")
            if self._thread is not threading.current_thread():
                self._thread.join()
            self._service.close(_CLOSE_SECONDS)
            self._alarm.close()
            self._wake.close()

    # --- the loop ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._closing:
                ready = self._wait(time.monotonic())
                now = time.monotonic()
                self.mesh_listener.drop(ready)
                for stranger in list(self._strangers):
                    if self._step(self._strangers, stranger, ready, now):
                        self._route(stranger, now)
                for guest in list(self._guests):
                    if self._step(self._guests, guest, ready, now):
                        self._receive(guest)
                for welcome in list(self._returning):
                    if self._step(self._returning, welcome, ready, now) and not welcome.resumed:
                        self._departures.append(Departure(welcome.link, now + _DEPARTURE_SECONDS))
                self._departures = [departure for departure in self._departures if not departure.step(now)]
                if self._listener.fileno() in ready:
                    self._take_in(now)
        except BaseException:
            _log.critical("The reception at port %d stopped: nobody can connect any more.", self.port, exc_info=True)
            raise
        finally:
            self._listener.close()
            self.mesh_listener.close()
            for attempt in self._incoming():
                attempt.close()
            for departure in self._departures:
                departure.link.close()

    def _wait(self, now: float) -> set[int]:
        poll = select.poll()
        until = now + _POLL_SECONDS
        poll.register(self._alarm, select.POLLIN)
        if now >= self._accept_after:
            poll.register(self._listener, select.POLLIN)
        else:
            until = self._accept_after
        for descriptor in self.mesh_listener.waiting():
            poll.register(descriptor, HANG_UP)
        for attempt in self._incoming():
            poll.register(attempt, attempt.events)
            until = min(until, attempt.deadline)
        for departure in self._departures:
            poll.register(departure.link, departure.events)
        return {descriptor for descriptor, _ in poll.poll(max(0.0, until - now) * 1000 + 1)}

    def _incoming(self) -> list[Authentication | Welcome]:
        return [*self._strangers, *self._guests, *self._returning]

    def _take_in(self, now: float) -> None:
        def begin(connection: socket.socket) -> Authentication | None:
            deadline = now + self._limits.stranger_seconds
            stranger = Authentication(connection, self._context, self._pins, server_side=True, deadline=deadline)
            if self._address_rates.take(network_of(stranger.address), now):
                return stranger
            self._refuse(stranger, Refused.ADDRESS_RATE)
            return None

        def drop(stranger: Authentication) -> None:
            self._refuse(stranger, Refused.NO_ROOM)

        if not take_in(self._listener, self._strangers, begin, drop, self._limits.strangers):
            self._accept_after = now + _PAUSE_SECONDS

    # --- one connection ------------------------------------------------------------------------------------

    def _step(self, incoming: list[A], attempt: A, ready: Collection[int], now: float) -> bool:
        """Let one connection go on; True when it has got where ``incoming`` leads. It is then no longer there."""
        try:
            done = attempt.fileno() in ready and attempt.step()
            if not done and now >= attempt.deadline:
                raise DroppedError("it did not authenticate and greet in time", Refused.SILENT)
        except DroppedError as dropped:
            kind = dropped.kind
        except TransportError as error:
            kind = kind_of(error)
        except Exception as error:  # one connection, whatever comes over it, must not stop the others
            kind = Refused.FAILED
            if self._refusals.loggable(kind, None if attempt.peer is None else attempt.peer.name):
                _log.error("A connection was dropped after an unexpected %s.", type(error).__name__, exc_info=True)
        else:
            if done:
                incoming.remove(attempt)
            return done
        incoming.remove(attempt)
        self._refuse(attempt, kind, attempt.last_word)
        return False

    def _route(self, stranger: Authentication, now: float) -> None:
        """Lead a participant to where it wants. One that comes too often is hung up on, and dials again later."""
        peer, tls = stranger.peer, stranger.tls
        if peer is None or tls is None:
            return
        if not self._peer_rates.take(peer.name, now):
            self._refuse(stranger, Refused.PEER_RATE)
        elif stranger.protocol == SERVICE_PROTOCOL:
            self._guests.append(
                Attempt(tls, self._context, self._pins, self._own, server_side=True, deadline=stranger.deadline)
            )
        elif stranger.protocol == RESUME_PROTOCOL:
            self._returning.append(Welcome(tls, peer, stranger.address, self.lines, LINE_VERSION, stranger.deadline))
        elif stranger.protocol != MESH_PROTOCOL:
            self._refuse(stranger, Refused.PROTOCOL)
        elif peer.name in self._parties:
            self.mesh_listener.put(peer.name, tls)
        else:
            refusal = bytes([Refusal.NAME])
            self._refuse(
                stranger,
                Refused.NOT_A_PARTY,
                control_frame(Kind.REFUSE, self._own.terms.version, NO_TAG, 1, refusal),
            )

    def _receive(self, guest: Attempt) -> None:
        """Begin the conversation with a participant that has greeted."""
        peer, link, own = guest.peer, guest.link, self._own
        if peer is None or link is None:
            return
        conversation = Conversation(
            link, own.identity.name, peer.name, own.terms, PollWaiter(), timeout=self._timeout, address=guest.address
        )
        if not self._service.admit(conversation):
            conversation.queue_error("busy", f"{own.identity.name!r} holds too many conversations. Try again later.")
            self._refuse(guest, Refused.BUSY)

    def _refuse(self, attempt: Authentication | Welcome, kind: Refused, last_word: bytes = b"") -> None:
        """Count and report a refusal, and close the connection such that the last word arrives, if there is one."""
        self._refusals.add(kind, None if attempt.peer is None else attempt.peer.name, attempt.address)
        link: Link | None = attempt.link
        if link is None and attempt.tls is not None:
            link = TlsLink(attempt.tls)
        crowded = len(self._departures) >= self._limits.strangers
        if link is None or crowded or kind in (Refused.SILENT, Refused.NO_ROOM):
            attempt.close()
            return
        if last_word:
            link.queue([last_word])
        self._departures.append(Departure(link, time.monotonic() + _DEPARTURE_SECONDS))
