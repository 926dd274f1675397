"""A line between two machines, on this one: delay, rate, jitter, stalls, cuts, half-open connections, and tampering.

Addresses of a study point at a proxy, and the party listens behind it. Nothing here knows what passes: it is TLS.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

UP, DOWN = "up", "down"
"""From who dialled to who listens, and back."""
Meddle = Callable[["Connection", str, int, bytes], bytes]
"""Called with the connection, the direction, how many bytes passed before, and the next ones; returns what passes."""
_CHUNK = 1 << 14
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Shape:
    """One way: seconds of delay, up to so many more at random, and bytes a second (None: no limit)."""

    delay: float = 0.0
    jitter: float = 0.0
    rate: float | None = None


@dataclass(eq=False)
class Connection:
    """One connection that passes the proxy: the number of it, and what has passed."""

    number: int
    inner: socket.socket
    outer: socket.socket
    passed: dict[str, int] = field(default_factory=lambda: {UP: 0, DOWN: 0})
    last: float = field(default_factory=time.monotonic)
    born: float = field(default_factory=time.monotonic)
    frozen: bool = False
    closed: bool = False

    def cut(self, *, reset: bool = True) -> None:
        """End it at both ends, at once; ``reset``: as a firewall does, else as a process that closes."""
        self.closed = True
        for end in (self.inner, self.outer):
            with contextlib.suppress(OSError):
                if reset:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class ShapingProxy:
    """Passes connections on to ``target``. All attributes may be changed while it runs.

    ``life``: how many seconds a connection lives. ``most_bytes``: how many bytes pass, both ways together, before one
    is cut. ``forgets``: after so many idle seconds a connection is forgotten, as firewalls do: it passes nothing more,
    and nobody is told. ``stalled``: directions in which nothing passes. ``refuses``: whether new ones are refused.
    """

    def __init__(self, target: tuple[str, int], shape: Shape | None = None, port: int = 0) -> None:
        self.target = target
        self.shape = shape or Shape()
        self.life: float | None = None
        self.most_bytes: int | None = None
        self.forgets: float | None = None
        self.stalled: set[str] = set()
        self.refuses = False
        self.meddle: Meddle | None = None
        self.connections: list[Connection] = []
        self.count = 0
        self._random = random.Random(7)
        self._closing = False
        self._server = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port: int = self._server.getsockname()[1]
        for work in (self._accept, self._watch):
            threading.Thread(target=work, name=f"proxy {self.port}", daemon=True).start()

    def __enter__(self) -> ShapingProxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cut everything, and listen no more."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.cut()

    def cut(self, *, reset: bool = True) -> int:
        """Cut all connections; return how many there were."""
        alive = self.alive
        for connection in alive:
            connection.cut(reset=reset)
        return len(alive)

    def freeze(self) -> int:
        """Make all connections half-open: they pass nothing more, and neither end is told."""
        alive = self.alive
        for connection in alive:
            connection.frozen = True
        return len(alive)

    @property
    def alive(self) -> list[Connection]:
        """The connections that are not cut."""
        self.connections = [connection for connection in self.connections if not connection.closed]
        return list(self.connections)

    @property
    def passed(self) -> int:
        """How many bytes have passed over the connections that are alive."""
        return sum(sum(connection.passed.values()) for connection in self.alive)

    # --- threads -------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while not self._closing:
            try:
                inner, _ = self._server.accept()
            except OSError:
                continue
            try:
                if self.refuses:
                    raise OSError
                outer = socket.create_connection(self.target, timeout=5.0)
            except OSError:
                inner.close()
                continue
            outer.settimeout(None)
            for end in (inner, outer):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self.count, inner, outer)
            self.count += 1
            self.connections.append(connection)
            _Way(self, connection, UP, inner, outer).start()
            _Way(self, connection, DOWN, outer, inner).start()

    def _watch(self) -> None:
        while not self._closing:
            time.sleep(0.01)
            now = time.monotonic()
            for connection in self.alive:
                if self.life is not None and now - connection.born > self.life:
                    connection.cut()
                if self.forgets is not None and now - connection.last > self.forgets:
                    connection.frozen = True


class _Way:
    """One direction of one connection: one thread reads, another writes when the bytes are due."""

    def __init__(
        self, proxy: ShapingProxy, connection: Connection, name: str, source: socket.socket, sink: socket.socket
    ) -> None:
        self._proxy = proxy
        self._connection = connection
        self._name = name
        self._source = source
        self._sink = sink
        self._queue: deque[tuple[float, bytes]] = deque()
        self._queued = 0
        self._news = threading.Condition()
        self._free_at = self._due = 0.0

    def start(self) -> None:
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def _read(self) -> None:
        shape = self._proxy.shape
        room = (1 << 16) + int((shape.rate or 1e8) * (shape.delay + shape.jitter))
        try:
            while True:
                with self._news:
                    self._news.wait_for(lambda: self._queued < room or self._connection.closed)
                data = self._source.recv(_CHUNK)
                now = time.monotonic()
                self._connection.last = now
                shape = self._proxy.shape
                self._free_at = max(now, self._free_at) + (len(data) / shape.rate if shape.rate else 0.0)
                late = self._proxy._random.uniform(0, shape.jitter) if shape.jitter else 0.0
                self._due = max(self._due, self._free_at + shape.delay + late)
                with self._news:
                    self._queue.append((self._due, data))
                    self._queued += len(data)
                    self._news.notify_all()
                if not data:
                    return
        except OSError:
            self._connection.cut()
            with self._news:
                self._news.notify_all()

    def _write(self) -> None:
        connection, proxy = self._connection, self._proxy
        try:
            while True:
                with self._news:
                    self._news.wait_for(lambda: self._queue or connection.closed)
                    if connection.closed:
                        return
                    due, data = self._queue.popleft()
                time.sleep(max(0.0, due - time.monotonic()))
                while (connection.frozen or self._name in proxy.stalled) and not connection.closed:
                    time.sleep(0.01)
                if not data:
                    self._sink.shutdown(socket.SHUT_WR)
                    return
                size = len(data)
                if proxy.meddle is not None:
                    data = proxy.meddle(connection, self._name, connection.passed[self._name], data)
                connection.passed[self._name] += size
                self._sink.sendall(data)
                with self._news:
                    self._queued -= size
                    self._news.notify_all()
                if proxy.most_bytes is not None and sum(connection.passed.values()) >= proxy.most_bytes:
                    connection.cut()
        except OSError:
            connection.cut()
            with self._news:
                self._news.notify_all()
