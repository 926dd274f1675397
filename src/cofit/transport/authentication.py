"""Knowing who is at the other end of a connection: TCP, TLS 1.3, the pinned certificate."""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from cofit.errors import CertificateError, HandshakeError
from cofit.transport.identity import Identity, load_identity
from cofit.transport.link import Link
from cofit.transport.refusals import Refused
from cofit.transport.terms import check_name

MESH_PROTOCOL = "cofit-mesh/1"
"""What a dialler of the training mesh asks for by ALPN. A plain listener, which serves nothing else, ignores it."""
SERVICE_PROTOCOL = "cofit-service/1"
"""What a dialler asks for by ALPN who wants a conversation; the other end must confirm it."""
RESUME_PROTOCOL = "cofit-resume/1"
"""What a dialler asks for by ALPN who goes on with a line of a session."""

_KEPT_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 20),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6),
)
"""The system speaks for a connection that is idle for 20 seconds: firewalls forget one after a minute."""
_INVALID_NOW = {9: "is not valid yet", 10: "has expired"}
"""OpenSSL's X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED."""


@dataclass(frozen=True)
class Peer:
    """Another party: name, where it listens (unused for a peer that dials us), and pinned certificate.

    may_be_near: whether its address may be one that means this machine itself, or its link (``reach``).
    """

    name: str
    host: str
    port: int
    certificate_pem: str
    may_be_near: bool = True

    def __post_init__(self) -> None:
        check_name("name", "Peer", self.name)


class DroppedError(Exception):
    """The connection came to nothing, but that is no reason to give up: a stranger, or a peer not up yet."""

    def __init__(self, reason: str, kind: Refused = Refused.CLOSED) -> None:
        super().__init__(reason)
        self.kind = kind


def tls_context(
    identity: Identity, pinned: list[bytes], *, server_side: bool, protocols: Sequence[str] = ()
) -> ssl.SSLContext:
    """Return a context for TLS 1.3 only that demands one of the pinned certificates (DER) of the other end.

    The certificate must also be valid now: OpenSSL looks at its dates in every handshake.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the pin is stricter: the certificate must be equal byte for byte
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=b"".join(pinned))
    if server_side:
        context.num_tickets = 0  # no resumption: every connection authenticates anew
    if protocols:
        context.set_alpn_protocols(list(protocols))
    load_identity(context, identity)
    return context


class Authentication:
    """One connection until its other end is known, in steps that do not block.

    ``pins`` maps the acceptable certificates (DER) to peers: one for a connection that we dial. At the listening
    end ``peer`` is set when the other end has shown one of them. ``events`` says what to poll for, and
    ``address`` where the other end is, if it was there from the beginning. ``last_word`` is what to say if it is
    refused, ``link`` what to say it on. A connection that is a TLS socket already has its handshake behind it.
    """

    def __init__(
        self,
        connection: socket.socket,
        context: ssl.SSLContext,
        pins: dict[bytes, Peer],
        *,
        server_side: bool,
        deadline: float,
    ) -> None:
        self._connection = connection
        self._context = context
        self._pins = pins
        self._server_side = server_side
        self._tls: ssl.SSLSocket | None = connection if isinstance(connection, ssl.SSLSocket) else None
        self.address = _address_of(connection)
        self.authentic = False
        self.deadline = deadline
        self.link: Link | None = None
        self.last_word = b""
        self.peer: Peer | None = None if server_side else next(iter(pins.values()))
        self.events = select.POLLIN if server_side and self._tls is None else select.POLLOUT

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self._connection.fileno() if self._tls is None else self._tls.fileno()

    @property
    def tls(self) -> ssl.SSLSocket | None:
        """The TLS socket, as soon as there is one."""
        return self._tls

    @property
    def protocol(self) -> str | None:
        """What both ends agreed on by ALPN."""
        return None if self._tls is None else self._tls.selected_alpn_protocol()

    def step(self) -> bool:
        """Go on as far as possible; True when the other end is known. Raises DroppedError or a TransportError."""
        if not self.authentic:
            self.authentic = (self._tls is not None or self._connect()) and self._authenticate()
        return self.authentic

    def close(self) -> None:
        """Give the connection up."""
        if self._tls is not None:
            self._tls.close()
        self._connection.close()

    def _connect(self) -> bool:
        connection = self._connection
        try:
            connection.getpeername()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for level, option, value in _KEPT_ALIVE:
                connection.setsockopt(level, option, value)
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
        except ssl.SSLCertVerificationError as error:
            raise self._wrong_certificate(_INVALID_NOW.get(error.verify_code)) from None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError):
            # the last: reset at a moment when OpenSSL has no more of it to tell; no word against who answers
            raise DroppedError("it closed the connection during the TLS handshake") from None
        except ssl.SSLError as error:
            raise self._tls_failure(error.reason or "unknown") from None
        except OSError as error:
            raise DroppedError(os.strerror(error.errno or 0)) from None
        der = tls.getpeercert(binary_form=True)
        if der is None or der not in self._pins:
            raise self._wrong_certificate()
        self.peer = self._pins[der]
        return True

    def _wrong_certificate(self, invalid: str | None = None) -> Exception:
        if self._server_side or self.peer is None:
            if invalid:
                return DroppedError(f"a connection with a certificate that {invalid} was refused", Refused.EXPIRED)
            return DroppedError("a connection with a certificate that is not pinned was refused", Refused.CERTIFICATE)
        who = f"{self.peer.name!r} at {self.peer.host}:{self.peer.port}"
        if invalid:
            return CertificateError(
                self.peer.name,
                f"The certificate of who answers for {who} {invalid}. Check the clocks of both machines; else its "
                "owner needs a new certificate, and everybody the new study.",
            )
        return CertificateError(
            self.peer.name,
            f"Who answers for {who} has another certificate than the pinned one. Check the address, and compare the "
            "fingerprints.",
        )

    def _tls_failure(self, reason: str) -> Exception:
        if self._server_side or self.peer is None:
            if "ALERT" in reason and ("CERT" in reason or "UNKNOWN_CA" in reason):
                return DroppedError("one that connected rejected our certificate", Refused.OUR_CERTIFICATE)
            return DroppedError(
                "a connection that does not speak TLS 1.3 with a certificate was refused", Refused.NO_TLS
            )
        return HandshakeError(
            self.peer.name,
            f"No TLS 1.3 connection with {self.peer.name!r} at {self.peer.host}:{self.peer.port} came about "
            f"({reason}). Check that the address belongs to a cofit party.",
        )


def _address_of(connection: socket.socket) -> str:
    try:
        return str(connection.getpeername()[0])
    except (OSError, IndexError):
        return ""
