"""Frames to and from one peer over one link: numbering, checking, and typed errors for link trouble."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NoReturn

from cofit.errors import (
    FrameError,
    HandshakeError,
    OversizedFrameError,
    PeerAbortedError,
    PeerClosedError,
    SequenceError,
    TransportError,
    VersionMismatchError,
)
from cofit.transport.frames import (
    HEADER,
    HEADER_BYTES,
    MAGIC,
    MAX_CONTROL_BYTES,
    NO_TAG,
    Kind,
    channel_tag,
    control_frame,
    pack_blame,
    unpack_blame,
)
from cofit.transport.link import Link, LinkClosedError, LinkFaultyError, LinkRefusedError, LinkTamperedError
from cofit.transport.terms import REFUSE_BYTES, Refusal, Terms, refusal_error

SMALL_BYTES = 16384 - HEADER_BYTES
"""Up to here header and payload travel in one TLS record, and arrive with one read."""

MAX_NOTICES = 64
"""How many notices are read in a row before the clock is looked at; see Channel.interrupted."""
_LAST_LOOKS = 16
"""How many times that many notices are read in search of the last word of a peer that has gone."""

_DATA = int(Kind.DATA)
_NOTHING = memoryview(bytearray())
_pack = HEADER.pack


def judge_frame(raw: bytes | bytearray, peer: str, version: int, tag: bytes, turn: int) -> tuple[int, int, int]:
    """Return kind, label field and payload length of the header at the start of ``raw``; raise what is wrong with it.

    Checked are magic, version, channel tag and sequence number: what all frames after the greeting have in common.
    A REFUSE is returned only where one may come: as the first frame after the greeting.
    """
    magic, its_version, kind, reserved, label, its_tag, its_turn, length = HEADER.unpack_from(raw)
    who = repr(peer)
    if magic != MAGIC or reserved:
        raise FrameError(peer, f"What came from {who} is no frame: the stream is damaged. Start anew.")
    if its_version != version:
        raise VersionMismatchError(peer, f"{who} sent a frame of another protocol version ({its_version}).")
    if kind == Kind.REFUSE and its_tag == NO_TAG and its_turn == turn == 1 and length == REFUSE_BYTES:
        return kind, label, length
    if its_tag != tag:
        raise FrameError(peer, f"A frame from {who} belongs to another session or to another pair of parties.")
    if its_turn != turn:
        raise SequenceError(
            peer,
            f"{who} sent frame {its_turn} where frame {turn} was due: one was repeated, lost or reordered. Start anew.",
        )
    if kind == Kind.REFUSE:
        raise FrameError(peer, f"{who} sent a refusal where none is due.")
    return kind, label, length


def refusal_of(peer: str, payload: bytes) -> HandshakeError:
    """Return the error that the payload of a REFUSE frame means."""
    known = len(payload) == REFUSE_BYTES and payload[0] in Refusal.__members__.values()
    return refusal_error(peer, Refusal(payload[0]) if known else Refusal.MALFORMED, by_peer=True)


class Channel:
    """The frames between this party and ``peer``.

    ``members`` are the names that a peer may blame; any other name is only quoted.

    ``progress`` is set when a part of a DATA frame moved (a notice is no progress, nor is the beginning of a
    header, which may become one); ``waits_for`` is the party that ``peer`` said it is itself waiting for, if it
    said so since the last message. ``interrupted`` says that receiving stopped after many notices: more may
    have come in that no waiter would report.
    """

    __slots__ = (
        "_awaiting",
        "_body",
        "_done",
        "_expected",
        "_have",
        "_head_need",
        "_in",
        "_label",
        "_label_tag",
        "_link_frame",
        "_link_receive",
        "_link_send",
        "_members",
        "_need",
        "_notices",
        "_raw",
        "_receive_tag",
        "_receive_turn",
        "_send_tag",
        "_send_turn",
        "_target",
        "_version",
        "interrupted",
        "last",
        "link",
        "name",
        "peer",
        "progress",
        "waits_for",
    )

    def __init__(self, link: Link, name: str, peer: str, terms: Terms, members: Collection[str] = ()) -> None:
        self.link = link
        self.name = name
        self.peer = peer
        self.last = 0.0
        self.progress = False
        self.interrupted = False
        self.waits_for: str | None = None
        self._members = members
        self._version = terms.version
        self._send_tag = channel_tag(terms.session, terms.study, name, peer)
        self._receive_tag = channel_tag(terms.session, terms.study, peer, name)
        self._send_turn = 1
        self._receive_turn = 1
        self._raw = bytearray(HEADER_BYTES + SMALL_BYTES)
        self._in = memoryview(self._raw)
        self._have = 0
        self._need = self._head_need = HEADER_BYTES
        self._expected = b""
        self._label = ""
        self._label_tag = 0
        self._target = _NOTHING
        self._body = False
        self._done = 0
        self._notices = 0
        self._awaiting = False
        self._link_frame = link.send_frame
        self._link_send = link.pump_send
        self._link_receive = link.pump_receive

    # --- sending -------------------------------------------------------------------------------------------

    def send(self, tag: int, pieces: Sequence[memoryview], size: int) -> bool:
        """Queue one DATA frame and send what goes at once; True when that is all of it."""
        header = _pack(MAGIC, self._version, _DATA, 0, tag, self._send_tag, self._send_turn, size)
        self._send_turn += 1
        try:
            return self._link_frame((header, *pieces), HEADER_BYTES + size)
        except (LinkClosedError, LinkRefusedError, LinkTamperedError):
            self._fail_sending()

    def pump_send(self) -> bool:
        """Go on sending; True when everything is handed over."""
        link = self.link
        before = link.sent_bytes
        try:
            finished = self._link_send()
        except (LinkClosedError, LinkRefusedError, LinkTamperedError):
            self._fail_sending()
        if link.sent_bytes != before:
            self.progress = True
        return finished

    def queue_waiting(self, culprit: str) -> None:
        """Tell the peer that we are alive and wait for ``culprit``."""
        self._queue_control(Kind.WAITING, pack_blame(culprit, ""))

    def queue_abort(self, culprit: str, reason: str) -> None:
        """Tell the peer that we give up, whom we blame and why."""
        self._queue_control(Kind.ABORT, pack_blame(culprit, reason))

    def _queue_control(self, kind: Kind, payload: bytes) -> None:
        frame = control_frame(kind, self._version, self._send_tag, self._send_turn, payload)
        self._send_turn += 1
        self.link.queue((frame,))

    # --- receiving -----------------------------------------------------------------------------------------

    def expect(self, label: str, tag: int, target: memoryview) -> None:
        """Await one DATA frame whose payload fills ``target`` exactly."""
        size = len(target)
        self._label = label
        self._label_tag = tag
        self._target = target
        self._head_need = self._need = HEADER_BYTES + size if size <= SMALL_BYTES else HEADER_BYTES
        self._have = self._done = 0
        self._body = False
        self._awaiting = True
        self._expected = _pack(MAGIC, self._version, _DATA, 0, tag, self._receive_tag, self._receive_turn, size)

    def _expect_turn(self) -> None:
        self._expected = _pack(
            MAGIC,
            self._version,
            _DATA,
            0,
            self._label_tag,
            self._receive_tag,
            self._receive_turn,
            len(self._target),
        )

    def pump_receive(self) -> bool:
        """Go on receiving; True when the awaited frame is complete."""
        self._notices = 0
        self.interrupted = False
        try:
            while not self._body:
                got = self._link_receive(self._in[self._have : self._need])
                if not got:
                    return False
                self._have += got
                if self._have >= HEADER_BYTES and self._receive_head():
                    return True
                if self._notices >= MAX_NOTICES and not self._body:
                    self.interrupted = True
                    return False
            return self._receive_body()
        except (LinkClosedError, LinkRefusedError):
            raise self._closed() from None
        except LinkFaultyError as error:
            raise FrameError(
                self.peer, f"{self.peer!r} sent {error}: it is broken or misbehaves. Look at its log, then start anew."
            ) from None
        except LinkTamperedError:
            raise FrameError(
                self.peer,
                f"The connection to {self.peer!r} failed the integrity check of TLS: it was tampered with "
                "or damaged on the way. Check the network between the two parties.",
            ) from None

    def _receive_head(self) -> bool:
        """Look at the scratch, which begins with a header; True when the awaited frame is complete."""
        while self._have >= HEADER_BYTES:
            if self._raw.startswith(self._expected):
                self.progress = True
                if self._head_need == HEADER_BYTES and len(self._target):
                    self._body = True
                elif self._have == self._head_need:
                    self._target[:] = self._in[HEADER_BYTES : self._head_need]
                    self._complete()
                    return True
                return False
            kind, length = self._judge_header()
            total = HEADER_BYTES + length
            if self._have < total:
                self._need = max(self._need, total)
                return False
            self._receive_control(kind, bytes(self._in[HEADER_BYTES:total]))
            rest = bytes(self._in[total : self._have])
            self._have = len(rest)
            self._in[: self._have] = rest
            self._need = self._head_need
        return False

    def _receive_body(self) -> bool:
        got = self._link_receive(self._target[self._done :])
        if got:
            self.progress = True
            self._done += got
            if self._done == len(self._target):
                self._complete()
                return True
        return False

    def _complete(self) -> None:
        self._receive_turn += 1
        self._awaiting = False
        self._target = _NOTHING
        self.waits_for = None

    def _receive_control(self, kind: Kind, payload: bytes) -> None:
        if kind is Kind.REFUSE:
            raise refusal_of(self.peer, payload)
        try:
            culprit, reason = unpack_blame(payload)
        except ValueError:
            raise FrameError(
                self.peer,
                f"{self.peer!r} sent a notice that names no party: it is broken or misbehaves. Look at its log, "
                "then start anew.",
            ) from None
        if kind is Kind.ABORT:
            raise self._aborted(culprit, reason)
        self.waits_for = culprit
        self._notices += 1
        self._receive_turn += 1
        self._expect_turn()

    def _judge_header(self) -> tuple[Kind, int]:
        """Return kind and payload length of a control frame; raise what is wrong with any other frame."""
        kind, label, length = judge_frame(self._raw, self.peer, self._version, self._receive_tag, self._receive_turn)
        if kind == Kind.REFUSE:
            return Kind.REFUSE, length
        who = repr(self.peer)
        if kind in (Kind.ABORT, Kind.WAITING) and not label:
            if length > MAX_CONTROL_BYTES:
                raise OversizedFrameError(
                    self.peer,
                    f"{who} announced a notice of {length} bytes; at most {MAX_CONTROL_BYTES} are allowed.",
                )
            return Kind(kind), length
        if kind != Kind.DATA:
            raise FrameError(self.peer, f"{who} sent a frame of kind {kind}, which is not due here.")
        if label != self._label_tag:
            raise SequenceError(
                self.peer,
                f"{who} is at another step of the program: its message does not belong to {self._label!r}. "
                "Run the same program with the same public inputs at every party; where there is a dealer, which sees "
                "no opened value, a program must not branch on one.",
            )
        kind_of_error = OversizedFrameError if length > len(self._target) else FrameError
        raise kind_of_error(
            self.peer,
            f"{who} announced {length} bytes for {self._label!r} where {len(self._target)} were due; "
            "nothing was allocated for it. Run the same program with the same public inputs at every party.",
        )

    # --- trouble -------------------------------------------------------------------------------------------

    def _aborted(self, culprit: str, reason: str) -> PeerAbortedError:
        """The peer gave up. It answers itself for the blame of one that is no member as far as we know."""
        if culprit == self.peer:
            blamed = ""
        elif culprit == self.name:
            blamed = " and blames this party"
        elif culprit in self._members:
            blamed = f" because of {culprit!r}"
        else:
            blamed = f" because of {culprit!r}, whom this party does not know"
            culprit = self.peer
        return PeerAbortedError(self.peer, f"{self.peer!r} stopped the run{blamed}: {reason}", culprit)

    def _closed(self) -> PeerClosedError:
        return PeerClosedError(
            self.peer,
            f"{self.peer!r} closed the connection in the middle of the run: it stopped or died. "
            "Look at its log, then start anew.",
        )

    def _fail_sending(self) -> NoReturn:
        """Sending failed. If the peer said why before it closed, raise that, else that it closed."""
        try:
            if not self._awaiting:
                self.expect("", 0, _NOTHING)
            for _ in range(_LAST_LOOKS):
                if self.pump_receive() or not self.interrupted:
                    break
        except PeerAbortedError:
            raise
        except TransportError:
            pass
        raise self._closed()
