"""Ports for servers of tests, and services of a study as threads of this process."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

_FIRST_PORT, _PORTS = 20_000, 12_000
"""Below those that the system gives to who asks for any: a proxy, or a connection that goes out, would take one that
was free a moment ago, and a proxy that gets the port of its own target talks to itself."""
_turn = itertools.count()


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago; processes that test at the same time look in different places."""
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        while len(found) < count:
            port = _FIRST_PORT + (1009 * os.getpid() + next(_turn)) % _PORTS
            one = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                found.append(port)
    return found


class Service(Protocol):
    """What runs until it is stopped."""

    def stop(self) -> None:
        """End it, from any thread."""


S = TypeVar("S", bound=Service)


class Services(Generic[S]):
    """Services by name, each in a thread (``running``)."""

    def __init__(self) -> None:
        self.running: dict[str, tuple[S, threading.Thread]] = {}

    def launch(self, name: str, service: S, work: Callable[[], object]) -> None:
        """Run ``work`` of a service in a thread."""
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self.running[name] = service, thread

    def stop(self, *names: str) -> None:
        """Stop some of them, or all, and wait for their end."""
        for name in names or tuple(self.running):
            self.running[name][0].stop()
        for name in names or tuple(self.running):
            self.running.pop(name)[1].join(20)

    def join(self) -> None:
        """Wait until all that run have ended by themselves."""
        for name in list(self.running):
            thread = self.running.pop(name)[1]
            thread.join(60)
            assert not thread.is_alive(), f"{name} goes on"
