"""The handshake on one link: both ends send HELLO, and each checks the other's before anything else.

Both ends learn the other's terms and name, which are public. Whoever finds a difference says REFUSE with a
code and raises; the other end finds the same difference itself or raises on the REFUSE.
"""

from __future__ import annotations

import contextlib

from cofit.errors import FrameError, HandshakeError
from cofit.transport.frames import HEADER, HEADER_BYTES, MAGIC, NO_TAG, Kind, control_frame
from cofit.transport.link import Link, LinkClosedError, LinkRefusedError, LinkTamperedError
from cofit.transport.terms import (
    HELLO_BYTES,
    REFUSE_BYTES,
    Refusal,
    Terms,
    encode_hello,
    judge_hello,
    refusal_error,
)

_PAYLOAD_BYTES = {Kind.HELLO: HELLO_BYTES, Kind.REFUSE: REFUSE_BYTES}


class NoGreetingError(HandshakeError):
    """The peer closed the connection before a HELLO or REFUSE of its own was heard."""


class Greeting:
    """The handshake with ``peer`` on ``link``, in steps that do not block."""

    def __init__(self, link: Link, name: str, peer: str, terms: Terms) -> None:
        self.link = link
        self._name = name
        self._peer = peer
        self._terms = terms
        self._buffer = memoryview(bytearray(HEADER_BYTES + HELLO_BYTES))
        self._have = 0
        self._kind: Kind | None = None
        self._need = HEADER_BYTES
        self._sent = False
        self._heard = False
        hello = encode_hello(terms, name, peer)
        link.queue([control_frame(Kind.HELLO, terms.version, NO_TAG, 0, hello)])

    @property
    def sending(self) -> bool:
        """Whether our HELLO is not yet fully handed over."""
        return not self._sent

    def step(self) -> bool:
        """Go on as far as possible; True when both ends have greeted and the terms agree."""
        try:
            self._send()
            while not self._heard:
                got = self.link.pump_receive(self._buffer[self._have : self._need])
                if not got:
                    break
                self._have += got
                if self._have == self._need:
                    self._advance()
        except LinkRefusedError:
            raise HandshakeError(
                self._peer,
                f"{self._peer!r} rejected our certificate: it has another one pinned for {self._name!r}, or ours is "
                "not valid now. Check the clocks. "
                "Compare the fingerprints in the study with those of the identities in use.",
            ) from None
        except (LinkClosedError, LinkTamperedError) as error:
            kind = NoGreetingError if isinstance(error, LinkClosedError) else HandshakeError
            raise kind(
                self._peer,
                f"{self._peer!r} closed the connection during the greeting: it refused us, or it stopped. "
                "Its own error message says why.",
            ) from None
        return self._sent and self._heard

    def _send(self) -> None:
        if not self._sent:
            try:
                self._sent = self.link.pump_send()
            except LinkClosedError:
                self._sent = True  # what the peer said before it closed is still to be read

    def _advance(self) -> None:
        if self._kind is None:
            self._kind = self._judge_header()
            self._need = HEADER_BYTES + _PAYLOAD_BYTES[self._kind]
            return
        payload = bytes(self._buffer[HEADER_BYTES : self._need])
        if self._kind is Kind.REFUSE:
            known = payload[0] in Refusal.__members__.values()
            refusal = Refusal(payload[0]) if known else Refusal.MALFORMED
            raise refusal_error(self._peer, refusal, by_peer=True)
        found = judge_hello(payload, self._terms, self._name, self._peer)
        if found is not None:
            self._refuse(found)
        self._heard = True

    def _judge_header(self) -> Kind:
        magic, version, kind, reserved, label, tag, sequence, length = HEADER.unpack(self._buffer[:HEADER_BYTES])
        if magic == MAGIC and version != self._terms.version:
            self._refuse(Refusal.VERSION)
        size = {int(k): n for k, n in _PAYLOAD_BYTES.items()}.get(kind)
        if magic != MAGIC or size != length or reserved or label or tag != NO_TAG:
            raise FrameError(
                self._peer,
                f"{self._peer!r} did not begin with a greeting: it is not cofit, or the connection is "
                "damaged. Check the address.",
            )
        if sequence != (0 if kind == Kind.HELLO else 1):
            raise FrameError(self._peer, f"The greeting of {self._peer!r} has a wrong sequence number.")
        return Kind(kind)

    def _refuse(self, refusal: Refusal) -> None:
        frame = control_frame(Kind.REFUSE, self._terms.version, NO_TAG, 1, bytes([refusal]))
        with contextlib.suppress(LinkClosedError, LinkRefusedError, LinkTamperedError):
            self.link.queue([frame])
            self.link.pump_send()
        raise refusal_error(self._peer, refusal, by_peer=False)
