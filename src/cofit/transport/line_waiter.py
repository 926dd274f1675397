"""Waiting for lines: as for sockets, but a line may have no connection, or wait for acknowledgements alone."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Sequence

from cofit.transport.line import Line
from cofit.transport.link import Link
from cofit.transport.tls import PollWaiter, Question


class Alarm:
    """A descriptor that wakes a thread out of its poll. Ringing twice is fine, from any thread."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._lock = threading.Lock()
        self._closed = False

    def fileno(self) -> int:
        """What to poll for POLLIN."""
        return self._out

    def ring(self) -> None:
        """Wake the thread, now or when it next polls."""
        with self._lock, contextlib.suppress(BlockingIOError):
            if not self._closed:
                os.write(self._in, b"!")

    def quiet(self) -> None:
        """Take the rings back."""
        with contextlib.suppress(BlockingIOError):
            while len(os.read(self._out, 4096)) == 4096:
                pass

    def close(self) -> None:
        """Give the descriptors back."""
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._in)
                os.close(self._out)


class LineWaiter(PollWaiter):
    """Waits for lines. ``change`` is to be called, from any thread, when a line has lost or got a connection.

    While nothing changes it waits as for sockets. A change, and so does its ring, makes it forget all questions, so
    that the next wait comes to ``_ask_first``.
    """

    def __init__(self, spin: float, lines: Sequence[Line]) -> None:
        self._alarm = Alarm()
        super().__init__(spin, bell=self._alarm.fileno())
        self._lines = lines
        self._changed = True

    def change(self) -> None:
        """Look at the lines again, now or at the next wait."""
        self._changed = True
        self._questions.clear()
        self._alarm.ring()

    def _ask_first(
        self, key: object, receiving: Sequence[Link], sending: Sequence[Link], seconds: float
    ) -> Question | None:
        """Wait here and now where a line has no connection, or something is to be sent."""
        self._alarm.quiet()  # before the look at the lines: a ring that comes later is for the next wait
        if self._changed:
            self._changed = False
            return None
        if not sending and all(line.connected for line in self._lines):
            question = super()._ask_first(key, receiving, sending, seconds)
            if self._changed:  # while the question was noted, which is out of date then
                self._questions.clear()
            return question
        poll = select.poll()
        poll.register(self._alarm.fileno(), select.POLLIN)
        for line in self._lines:
            line.reading = line in receiving
            descriptor = line.fileno()  # asked once: another thread may let the connection go
            if descriptor >= 0 and (line.reading or line in sending):
                poll.register(descriptor, line.events(receiving=line.reading, sending=line in sending))
        poll.poll(max(0.0, seconds) * 1000)
        return None

    def close(self) -> None:
        """Wait no more."""
        self._alarm.close()
