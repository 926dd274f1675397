"""The two streams of a line over the connection of the moment: what goes out, what comes in, and waiting for either.

What comes in is read by ``incoming.py``, what goes out is kept by ``outgoing.py``; ``line.py`` replaces connections.
Most messages are short and go at once: ``send_frame``, ``has_unread`` and ``pump_receive`` are written for them, since
what these do is all that lines cost where nothing breaks.
"""

from __future__ import annotations

import select
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cofit.transport.incoming import MOST_AHEAD_BYTES, Incoming
from cofit.transport.link import Link, LinkClosedError, LinkFaultyError
from cofit.transport.outgoing import Outgoing
from cofit.transport.passage import BROKEN, Passage
from cofit.transport.records import ACK, BYTES, MOST_RECORD_BYTES, RECORD, RECORD_BYTES, FaultyRecordError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_ACK_BYTES = MOST_RECORD_BYTES
"""After so many received bytes an acknowledgement is sent, unless the stream carries one."""
_pack = RECORD.pack


class Stream(ABC):
    """The streams to and from one peer, on ``link`` and on the connections that replace it.

    ``changed`` is called, under the lock, when the connection is lost or there is a new one, and when the line has
    failed. ``reading``: whether the program itself receives here while it sends, so that nothing need be read ahead.
    """

    def __init__(self, link: Link, changed: Callable[[], object]) -> None:
        self.changed = changed
        self.lock = threading.RLock()
        self.failed = False
        self.reading = False
        self._fault = ""
        self._passage = passage = Passage(link, self._lose)
        self._out = Outgoing()
        self._in = Incoming(passage, self._out, self._take)
        self._told = 0
        self._look_at = _ACK_BYTES
        self._ending = False

    @abstractmethod
    def _take(self, kind: int, value: int, content: bytes) -> None:
        """Act on a record that is no part of the stream."""

    @abstractmethod
    def _lose(self) -> None:
        """Let go of the connection, which is of no more use."""

    @abstractmethod
    def give_up(self) -> None:
        """The line has failed."""

    # --- sending -------------------------------------------------------------------------------------------

    @property
    def sent_bytes(self) -> int:
        """Grows as the stream goes on; see Outgoing.moved."""
        return self._out.moved

    def queue(self, pieces: Sequence[Buffer]) -> None:
        """Add one frame."""
        with self.lock:
            for piece in pieces:
                self._out.add(piece)

    def send_frame(self, pieces: Sequence[bytes | memoryview], size: int) -> bool:
        """Add one frame and send what goes at once; one that fits into a record is copied here, and may change."""
        lock, out, passage = self.lock, self._out, self._passage
        with lock:
            link, begin = passage.link, out.end
            if link is None or passage.pending or out.handed != begin or size > MOST_RECORD_BYTES:
                return self._send_later(pieces, size)
            self._told = received = self._in.received
            record = b"".join((_pack(BYTES, size, begin, received), *pieces))
            room = out.add_handed(record, size)
            try:
                sent = link.send_frame((record,), RECORD_BYTES + size)
            except BROKEN:
                self._lose()
                return False
            if sent:
                if begin < self._look_at:
                    return room
            else:
                passage.pending = True
            return self._look() and sent

    def _send_later(self, pieces: Sequence[bytes | memoryview], size: int) -> bool:
        """Add one frame behind others, or of several records."""
        if size > MOST_RECORD_BYTES:
            self.queue(pieces)
        else:
            self._out.add(b"".join(pieces), borrowed=False)
        return self.pump_send()

    def pump_send(self) -> bool:
        """Send what the connection accepts; True when everything is handed over and little enough unacknowledged."""
        with self.lock:
            out, passage = self._out, self._passage
            passage.pump()
            turn = 0
            while passage.free and out.handed != out.end and turn < _ACK_BYTES:
                position, parts = out.hand_over()
                size = out.handed - position
                turn += size
                self._told = self._in.received
                passage.say(_pack(BYTES, size, position, self._told), parts)
            done = passage.free and out.handed == out.end
            if not (self._look() and done) and not self.reading:
                self._read_ahead()
            done = done and passage.link is not None and not out.full
            if self.failed and not done:
                raise LinkClosedError
            if done:
                out.own()
            return done

    def _look(self) -> bool:
        """Look for acknowledgements, where the program only sends: what they free need not be kept.

        Return whether there is still a connection, and no more kept than may be.
        """
        if self._out.end >= self._look_at:
            self._look_at = self._out.end + _ACK_BYTES
            if not self._in.ahead_bytes:
                self._guarded(lambda: self._in.next_record(0))
        return self._passage.link is not None and not self._out.full

    def _tell(self, kind: int, value: int = 0) -> bool:
        """Send a record without content, if nothing is in the way."""
        self._passage.pump()
        if not self._passage.free:
            return False
        self._told = self._in.received
        self._passage.say(_pack(kind, 0, value, self._told))
        return True

    # --- receiving -----------------------------------------------------------------------------------------

    def pump_receive(self, into: memoryview, enough: int = 0) -> int:
        """Receive what is there, at most to the end of ``into``."""
        lock, incoming, done = self.lock, self._in, 0
        with lock:
            if self._ending:
                return self._drop(into)
            try:
                done = incoming.read_at_once(into)
                if done < 0:
                    done = incoming.take_ahead(into)
                    while done < len(into) and (got := incoming.receive(into[done:])):
                        done += got
                        if incoming.unfinished:
                            break
            except BROKEN:
                self._lose()
            except FaultyRecordError as error:
                self._fail(str(error))
            if incoming.received - self._told >= _ACK_BYTES:
                self._tell(ACK)
            if not done:
                self._nothing(len(into))
            return done

    def _nothing(self, wanted: int) -> None:
        """Nothing has come: nor will it, where the line has failed."""
        if self._in.interrupted:
            self.changed()  # more may be there than a poll would tell
        if wanted and self.failed and not self._in.buffered:
            if self._fault:
                raise LinkFaultyError(self._fault)
            raise LinkClosedError

    def _guarded(self, work: Callable[[], object]) -> bool:
        """Read something, and let a connection go that fails, or give the line up; whether there was something."""
        try:
            return bool(work())
        except BROKEN:
            self._lose()
        except FaultyRecordError as error:
            self._fail(str(error))
        return False

    def _read_ahead(self) -> None:
        """Read what is there for when the program asks for it; acknowledgements take effect."""
        if not self._ending:
            self._guarded(self._in.read_ahead)
            if self._in.received - self._told >= _ACK_BYTES:
                self._tell(ACK)

    def _drop(self, into: memoryview) -> int:
        """After the half-close: what still comes in is of no use."""
        link = self._passage.link
        if link is None:
            raise LinkClosedError
        return link.pump_receive(into)

    def _fail(self, fault: str) -> None:
        """Give the line up."""
        self._fault = fault
        self.give_up()

    # --- waiting -------------------------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        """Whether there is a connection."""
        return self._passage.link is not None

    def has_unread(self) -> bool:
        """Whether something may be receivable that no poll would report."""
        if self._in.settled:
            return False
        with self.lock:  # another thread may be reading, or closing, the connection
            link = self._passage.link
            return self.failed or self._in.buffered or (link is not None and link.has_unread())

    def events(self, *, receiving: bool, sending: bool) -> int:
        """What to poll the connection for."""
        with self.lock:
            blocked = self._passage.pending or self._out.handed != self._out.end
            events = select.POLLOUT if sending and blocked else 0
            hungry = self._in.ahead_bytes < MOST_AHEAD_BYTES
            return events | (select.POLLIN if receiving or (sending and hungry) else 0)

    def fileno(self) -> int:
        """The descriptor of the connection."""
        link = self._passage.link
        return -1 if link is None else link.fileno()
