"""One connection on its way to being a link: TCP, TLS 1.3, the pinned certificate, the greeting."""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
from dataclasses import dataclass

from cofit.errors import CertificateError, HandshakeError, TransportError
from cofit.transport.greeting import Greeting, NoGreetingError
from cofit.transport.identity import Identity, certificate_der, load_identity
from cofit.transport.link import Link, Wrap
from cofit.transport.terms import Terms, check_name
from cofit.transport.tls import TlsLink


@dataclass(frozen=True)
class Peer:
    """Another party: name, where it listens (unused for a peer that dials us), and pinned certificate."""

    name: str
    host: str
    port: int
    certificate_pem: str

    def __post_init__(self) -> None:
        check_name("name", "Peer", self.name)


@dataclass(frozen=True)
class Own:
    """What we bring to every connection: who we are, our terms, and a replacement for links, if any."""

    identity: Identity
    terms: Terms
    wrap: Wrap | None


class DroppedError(Exception):
    """The connection came to nothing, but that is no reason to give up: a stranger, or a peer not up yet."""


def tls_context(identity: Identity, pinned: list[bytes], *, server_side: bool) -> ssl.SSLContext:
    """Return a context for TLS 1.3 only that demands one of the pinned certificates (DER) of the other end."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the pin is stricter: the certificate must be equal byte for byte
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=b"".join(pinned))
    if server_side:
        context.num_tickets = 0  # no resumption: every connection authenticates anew
    load_identity(context, identity)
    return context


class Attempt:
    """One connection being set up, in steps that do not block.

    ``pins`` maps the acceptable certificates (DER) to peers: one for a connection that we dial. ``link`` and
    ``peer`` are set when ``step`` returned True. ``events`` says what to poll for.
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
        self._connection = connection
        self._context = context
        self._pins = pins
        self._own = own
        self._server_side = server_side
        self._tls: ssl.SSLSocket | None = None
        self._greeting: Greeting | None = None
        self.deadline = deadline
        self.peer: Peer | None = None if server_side else next(iter(pins.values()))
        self.link: Link | None = None
        self.ready = False
        self.failed = False
        self.events = select.POLLIN if server_side else select.POLLOUT

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self._connection.fileno() if self._tls is None else self._tls.fileno()

    @property
    def under_way(self) -> bool:
        """Whether the other end is there, and the connection neither ready nor failed."""
        return self._tls is not None and not self.ready and not self.failed

    def step(self) -> bool:
        """Go on as far as possible; True when the link is ready. Raises DroppedError or a TransportError."""
        try:
            if self._tls is None and not self._connect():
                return False
            if self._greeting is None and not self._authenticate():
                return False
            self.ready = self._greeting is not None and self._greet(self._greeting)
        except (TransportError, DroppedError):
            self.failed = True
            raise
        return self.ready

    def close(self) -> None:
        """Give the connection up."""
        if self.link is not None:
            self.link.close()
        elif self._tls is not None:
            self._tls.close()
        self._connection.close()

    def _connect(self) -> bool:
        connection = self._connection
        try:
            connection.getpeername()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._tls = self._context.wrap_socket(
                connection, server_side=self._server_side, do_handshake_on_connect=False
            )
        except OSError as error:
            problem = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error.errno == errno.ENOTCONN and not problem and not self._server_side:
                return False
            raise DroppedError(os.strerror(problem or error.errno or 0)) from None
        return True

    def _authenticate(self) -> bool:
        tls = self._tls
        if tls is None:
            return False
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            self.events = select.POLLIN
            return False
        except ssl.SSLWantWriteError:
            self.events = select.POLLOUT
            return False
        except ssl.SSLCertVerificationError:
            raise self._wrong_certificate() from None
        except ssl.SSLEOFError:
            raise DroppedError("it closed the connection during the TLS handshake") from None
        except ssl.SSLError as error:
            raise self._tls_failure(error.reason or "unknown") from None
        except OSError as error:
            raise DroppedError(os.strerror(error.errno or 0)) from None
        der = tls.getpeercert(binary_form=True)
        if der is None or der not in self._pins:
            raise self._wrong_certificate()
        self.peer = self._pins[der]
        link: Link = TlsLink(tls)
        own = self._own
        self.link = link if own.wrap is None else own.wrap(self.peer.name, link)
        self._greeting = Greeting(self.link, own.identity.name, self.peer.name, own.terms)
        return True

    def _greet(self, greeting: Greeting) -> bool:
        try:
            done = greeting.step()
        except NoGreetingError:
            if self._server_side:
                raise
            # It may have been too busy with strangers to hear us out; whoever refuses us says so.
            raise DroppedError("it closed the connection before it greeted; its own log may say why") from None
        self.events = select.POLLIN | (select.POLLOUT if greeting.sending else 0)
        return done

    def _wrong_certificate(self) -> Exception:
        if self._server_side or self.peer is None:
            return DroppedError("a connection with a certificate that is not pinned was refused")
        return CertificateError(
            self.peer.name,
            f"Who answers for {self.peer.name!r} at {self.peer.host}:{self.peer.port} has another "
            "certificate than the pinned one (or it has expired). Check the address, and compare the fingerprints.",
        )

    def _tls_failure(self, reason: str) -> Exception:
        if self._server_side or self.peer is None:
            refused = "CERT" in reason or "UNKNOWN_CA" in reason
            return DroppedError(
                "one that connected rejected our certificate"
                if refused
                else "a connection that does not speak TLS 1.3 with a certificate was refused"
            )
        return HandshakeError(
            self.peer.name,
            f"No TLS 1.3 connection with {self.peer.name!r} at {self.peer.host}:{self.peer.port} came about "
            f"({reason}). Check that the address belongs to a cofit party.",
        )


class Dial:
    """The repeated attempt to reach one peer that may not be up yet."""

    FIRST_PAUSE = 0.01
    LONGEST_PAUSE = 0.25

    def __init__(self, peer: Peer, own: Own, deadline: float) -> None:
        der = certificate_der(peer.certificate_pem)
        self.peer = peer
        self.problem = "nothing answered"
        self.next_try = 0.0
        self.attempt: Attempt | None = None
        self._pins = {der: peer}
        self._context = tls_context(own.identity, [der], server_side=False)
        self._own = own
        self._deadline = deadline
        self._pause = self.FIRST_PAUSE
        self._tries = 0

    def start(self, now: float) -> None:
        """Begin the next attempt; on failure it is due again after a pause."""
        try:
            found = socket.getaddrinfo(self.peer.host, self.peer.port, type=socket.SOCK_STREAM)
            family, kind, protocol, _, address = found[self._tries % len(found)]
            self._tries += 1
            connection = socket.socket(family, kind, protocol)
        except OSError as error:
            self.postpone(now, error.strerror or "unknown host")
            return
        connection.setblocking(False)
        self.attempt = Attempt(
            connection, self._context, self._pins, self._own, server_side=False, deadline=self._deadline
        )
        code = connection.connect_ex(address)
        if code not in (0, errno.EINPROGRESS):
            self.postpone(now, os.strerror(code))

    def postpone(self, now: float, problem: str) -> None:
        """Drop the current attempt and try again later."""
        if self.attempt is not None:
            self.attempt.close()
            self.attempt = None
        self.problem = problem
        self.next_try = now + self._pause
        self._pause = min(2 * self._pause, self.LONGEST_PAUSE)
