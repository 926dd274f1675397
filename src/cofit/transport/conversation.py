"""Requests and answers over one link: frames with a JSON header and an optional binary payload.

The two ends have authenticated and greeted each other. Both learn what the other sends, and nothing else. Every
wait has an end: a header must be complete within the time-out, and so must the payload after it, however the
bytes are spread; so a peer that drips is treated as one that is silent.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cofit.errors import (
    FrameError,
    InvalidInputError,
    OversizedFrameError,
    PeerClosedError,
    PeerSilentError,
    TransportError,
    parameter_error,
)
from cofit.transport.buffers import byte_view
from cofit.transport.channel import SMALL_BYTES, judge_frame, refusal_of
from cofit.transport.farewell import part
from cofit.transport.frames import HEADER, HEADER_BYTES, MAGIC, Kind, channel_tag
from cofit.transport.link import Link, LinkClosedError, LinkRefusedError, LinkTamperedError, Waiter
from cofit.transport.strict_json import MAX_HEADER_BYTES, decode_header, encode_header
from cofit.transport.terms import Terms

if TYPE_CHECKING:
    from cofit.transport.buffers import Bytes

MAX_PAYLOAD_BYTES = 4 << 20
"""The largest payload of one message."""
PIECE_BYTES = 1 << 20
"""The largest piece in which a payload is streamed."""
_MAX_ERROR_TEXT = 1000
_LONGEST_RETRY = 60.0
_WAKE_SECONDS = 0.25
"""How often a waiting conversation looks whether it was interrupted."""

Sink = Callable[[memoryview], object]
"""Called with one piece of a payload after the other. The piece is overwritten after the call."""


class RequestRefusedError(TransportError):
    """The peer answered with an error. ``kind`` is a word for programs, ``text`` what the peer says, for people.

    ``retry_after``: in how many seconds, 60 at most, the peer may be asked again; 0 if it did not say.
    """

    def __init__(self, peer: str, kind: str, text: str, retry_after: float = 0.0) -> None:
        super().__init__(peer, f"{peer!r} refused the request: {text}")
        self.kind = kind
        self.text = text
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type[TransportError], tuple[Any, ...]]:
        return type(self), (self.peer, self.kind, self.text, self.retry_after)


class Conversation:
    """Messages between ``name`` (us) and ``peer``, in turn; for one thread.

    ``timeout`` is how many seconds one message may take, in either direction. After an error in one direction
    nothing more goes in that direction. ``address`` is where the peer connected from, if it did.
    """

    def __init__(
        self, link: Link, name: str, peer: str, terms: Terms, waiter: Waiter, *, timeout: float, address: str = ""
    ) -> None:
        if not timeout > 0:
            raise parameter_error("timeout", "Conversation", "a positive number of seconds", timeout)
        self.name = name
        self.peer = peer
        self.address = address
        self.timeout = timeout
        self._link = link
        self._waiter = waiter
        self._version = terms.version
        self._send_tag = channel_tag(terms.session, terms.study, name, peer)
        self._receive_tag = channel_tag(terms.session, terms.study, peer, name)
        self._send_turn = 1
        self._receive_turn = 1
        self._unread = 0
        self._send_failure: TransportError | None = None
        self._receive_failure: TransportError | None = None
        self._interrupted = False
        self._closed = False

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Conversation({self.name!r} with {self.peer!r}, {'closed' if self._closed else 'open'})"

    def ended_by(self, error: BaseException) -> bool:
        """Whether this is the very error that ended the conversation in one direction."""
        return error is self._receive_failure or error is self._send_failure

    # --- sending -------------------------------------------------------------------------------------------

    def send(self, header: Mapping[str, object], payload: Bytes | None = None) -> None:
        """Send one message. On return it is handed to the system.

        If the peer has closed the connection and said why, that is raised as RequestRefusedError.
        """
        self._check_open(self._send_failure)
        self._queue(header, payload)
        deadline = time.monotonic() + self.timeout
        try:
            while not self._link.pump_send():
                self._wait(deadline, sending=True)
        except (LinkClosedError, LinkRefusedError, LinkTamperedError):
            self._send_failure = self._why_closed()
            raise self._send_failure from None
        except TransportError as error:  # a part may be sent: nothing can follow it
            self._send_failure = error
            raise

    def send_error(self, kind: str, message: str) -> None:
        """Answer with an error: a word for programs and a text for people, without any secret."""
        self.send({"error": {"kind": kind, "message": message}})

    def queue_error(self, kind: str, message: str) -> None:
        """Queue such an answer on the link, for whoever closes it, without sending anything yet."""
        self._queue({"error": {"kind": kind, "message": message}}, None)

    def _queue(self, header: Mapping[str, object], payload: Bytes | None) -> None:
        raw = encode_header(header)
        content = memoryview(b"") if payload is None else byte_view(payload)
        if len(content) > MAX_PAYLOAD_BYTES:
            must_be = f"at most {MAX_PAYLOAD_BYTES} bytes long"
            raise parameter_error("payload", "Conversation.send", must_be, f"{len(content)} bytes")
        size = len(raw) + len(content)
        head = HEADER.pack(MAGIC, self._version, Kind.MESSAGE, 0, len(raw), self._send_tag, self._send_turn, size)
        self._send_turn += 1
        self._link.queue((b"".join((head, raw, content)),) if size <= SMALL_BYTES else (head + raw, content))

    # --- receiving -----------------------------------------------------------------------------------------

    def receive(
        self, limit: int = MAX_PAYLOAD_BYTES, *, timeout: float | None = None
    ) -> tuple[dict[str, object], bytearray]:
        """Return header and payload (empty if there is none) of the next message.

        Raises OversizedFrameError, before anything is allocated, if the payload is longer than ``limit``.
        """
        header, size = self.receive_header(limit, timeout=timeout)
        payload = bytearray(size)
        self.receive_payload(payload)
        return header, payload

    def receive_header(
        self, limit: int = MAX_PAYLOAD_BYTES, *, timeout: float | None = None
    ) -> tuple[dict[str, object], int]:
        """Return the header of the next message and the length of its payload.

        The payload may then be had with ``receive_payload`` or ``stream_payload``; what is left of it when the next
        message is asked for is dropped.
        """
        if not 0 <= limit <= MAX_PAYLOAD_BYTES:
            raise parameter_error("limit", "Conversation.receive", f"from 0 to {MAX_PAYLOAD_BYTES}", limit)
        self._check_open(self._receive_failure)
        try:
            self.drop_payload()
            deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
            head = bytearray(HEADER_BYTES)
            self._fill(memoryview(head), deadline, "between two messages")
            header_size, payload_size = self._judge(head, limit, deadline)
            raw = bytearray(header_size)
            self._fill(memoryview(raw), deadline, "within a message")
            header = self._decode(bytes(raw))
        except TransportError as error:
            self._receive_failure = error
            raise
        self._receive_turn += 1
        self._unread = payload_size
        return header, payload_size

    def receive_payload(self, into: Bytes) -> None:
        """Fill the buffer ``into`` with the payload of the message whose header came last. It must fit exactly."""
        view = byte_view(into)
        if view.readonly or len(view) != self._unread:
            must_be = f"a writable buffer of {self._unread} bytes"
            raise parameter_error("into", "Conversation.receive_payload", must_be, f"{len(view)} bytes")
        self._receive_piece(view, time.monotonic() + self.timeout)

    def stream_payload(self, sink: Sink) -> None:
        """Hand the payload to ``sink`` in pieces of at most 1 MiB; nothing is kept here.

        The peer's time does not run while the sink works.
        """
        if not self._unread:
            return
        scratch = memoryview(bytearray(min(self._unread, PIECE_BYTES)))
        left = self.timeout
        while self._unread:
            piece = scratch[: min(self._unread, PIECE_BYTES)]
            start = time.monotonic()
            self._receive_piece(piece, start + left)
            left -= time.monotonic() - start
            sink(piece)

    def drop_payload(self) -> None:
        """Receive what is left of the payload, and keep nothing of it."""
        self.stream_payload(len)

    def request(
        self,
        header: Mapping[str, object],
        payload: Bytes | None = None,
        *,
        limit: int = MAX_PAYLOAD_BYTES,
        timeout: float | None = None,
    ) -> tuple[dict[str, object], bytearray]:
        """Send a request and return the answer. An error answer is raised as RequestRefusedError."""
        self.send(header, payload)
        return self.receive_answer(limit, timeout=timeout)

    def receive_answer(
        self, limit: int = MAX_PAYLOAD_BYTES, *, timeout: float | None = None
    ) -> tuple[dict[str, object], bytearray]:
        """Return the answer to the oldest request that is not answered yet, or raise as ``request`` does."""
        answer, content = self.receive(limit, timeout=timeout)
        refused = self._refused(answer)
        if refused is not None:
            raise refused
        return answer, content

    def _judge(self, head: bytearray, limit: int, deadline: float) -> tuple[int, int]:
        """Return the lengths of header and payload, both within the limits."""
        kind, header_size, length = judge_frame(head, self.peer, self._version, self._receive_tag, self._receive_turn)
        if kind == Kind.REFUSE:
            code = bytearray(length)
            self._fill(memoryview(code), deadline, "within a message")
            raise refusal_of(self.peer, bytes(code))
        if kind != Kind.MESSAGE:
            raise FrameError(self.peer, f"{self.peer!r} sent a frame of kind {kind}, which is not due here.")
        if header_size > MAX_HEADER_BYTES or length > header_size + limit:
            raise OversizedFrameError(
                self.peer,
                f"{self.peer!r} announced a message of {length} bytes with a header of {header_size}; at most "
                f"{MAX_HEADER_BYTES} are allowed in a header and {limit} after it. Nothing was allocated for it.",
            )
        if length < header_size:
            raise FrameError(self.peer, f"A message of {self.peer!r} is announced shorter than its own header.")
        return header_size, length - header_size

    def _decode(self, raw: bytes) -> dict[str, object]:
        try:
            return decode_header(raw)
        except (ValueError, RecursionError):
            raise FrameError(
                self.peer,
                f"The header of a message of {self.peer!r} is no JSON object as the wire format demands. Run the same "
                "cofit release everywhere.",
            ) from None

    def _receive_piece(self, piece: memoryview, deadline: float) -> None:
        self._check_open(self._receive_failure)
        try:
            self._fill(piece, deadline, "within a message")
        except TransportError as error:
            self._receive_failure = error
            raise
        self._unread -= len(piece)

    def _fill(self, view: memoryview, deadline: float, where: str) -> None:
        have = 0
        try:
            while have < len(view):
                got = self._link.pump_receive(view[have:])
                have += got
                if not got:
                    self._wait(deadline)
        except (LinkClosedError, LinkRefusedError):
            raise PeerClosedError(
                self.peer, f"{self.peer!r} closed the connection {where if not have else 'within a message'}."
            ) from None
        except LinkTamperedError:
            raise FrameError(
                self.peer,
                f"The connection to {self.peer!r} failed the integrity check of TLS: it was tampered with or damaged "
                "on the way. Check the network.",
            ) from None

    def _refused(self, answer: Mapping[str, object]) -> TransportError | None:
        """Return the error that an answer carries, if it does; the peer's words are made printable and cut."""
        if "error" not in answer:
            return None
        error = answer["error"]
        kind, text = (error.get("kind"), error.get("message")) if isinstance(error, dict) else (None, None)
        if not isinstance(kind, str) or not isinstance(text, str):
            return FrameError(self.peer, f"{self.peer!r} answered with an error that says nothing.")
        later = error.get("retry_after") if isinstance(error, dict) else None
        numeric = isinstance(later, int | float) and not isinstance(later, bool)
        wait = float(max(0, min(later, _LONGEST_RETRY))) if numeric and later is not None else 0.0
        return RequestRefusedError(self.peer, _printable(kind)[:64], _printable(text), wait)

    # --- waiting and the end -------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """End the conversation from another thread: what waits here fails soon with PeerClosedError."""
        self._interrupted = True

    def close(self, farewell: float = 0.0) -> None:
        """Close. What was sent last still arrives; ``farewell``: how many seconds the peer has to close as well."""
        if not self._closed:
            self._closed = True
            part([self._link], self._waiter, farewell)

    def _check_open(self, failure: TransportError | None) -> None:
        if self._closed:
            raise InvalidInputError(f"The conversation with {self.peer!r} is closed.")
        if failure is not None:
            raise failure

    def _wait(self, deadline: float, *, sending: bool = False) -> None:
        if self._interrupted:
            raise PeerClosedError(self.peer, f"The conversation with {self.peer!r} was ended at this end.")
        left = deadline - time.monotonic()
        if left <= 0:
            raise PeerSilentError(
                self.peer,
                f"{self.peer!r} did not {'take' if sending else 'send'} a whole message in the time allowed. Check "
                "that it still runs and can be reached; on a slow network, raise the time-out.",
            )
        links = [self._link]
        self._waiter.wait([] if sending else links, links if sending else [], min(left, _WAKE_SECONDS))

    def _why_closed(self) -> TransportError:
        """Sending failed: return what the peer said before it closed, or else that it closed."""
        with contextlib.suppress(TransportError):
            refused = self._refused(self.receive_header(timeout=_WAKE_SECONDS)[0])
            if refused is not None:
                return refused
        return PeerClosedError(self.peer, f"{self.peer!r} closed the connection before it had heard the message.")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:_MAX_ERROR_TEXT])
