"""Parties in threads whose connections pass through proxies, each with a reception: what the tests of lines run on."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from cofit.transport import Conversation, Mesh, Peer, Reception, connect_mesh, listen
from support.proxy import Shape, ShapingProxy
from unit.transport.cluster import NAMES, TERMS, identity, run_all

R = TypeVar("R")
GOOD = Shape()


def _nobody(conversation: Conversation) -> None:
    conversation.receive()


class Wires:
    """A reception for each party, and a proxy in front of it: whoever dials P passes ``proxies[P]``."""

    def __init__(self, names: Sequence[str], shape: Shape, stack: ExitStack) -> None:
        self.names = names
        self.receptions: dict[str, Reception] = {}
        self.proxies: dict[str, ShapingProxy] = {}
        pins = {name: identity(name).certificate_pem for name in names}
        for name in names:
            self.receptions[name] = stack.enter_context(
                Reception(listen("127.0.0.1"), identity(name), pins, names, TERMS, _nobody)
            )
            target = ("127.0.0.1", self.receptions[name].port)
            self.proxies[name] = stack.enter_context(ShapingProxy(target, shape))

    def join(self, name: str, timeout: float = 5.0, connect_timeout: float = 10.0) -> Mesh:
        """Connect one party with all others: it dials those before it."""
        peers = [Peer(n, "127.0.0.1", self.proxies[n].port, identity(n).certificate_pem) for n in self.names]
        at = list(self.names).index(name)
        reception = self.receptions[name]
        return connect_mesh(
            identity(name),
            reception.mesh_listener,
            peers[:at],
            peers[at + 1 :],
            TERMS,
            timeout=timeout,
            connect_timeout=connect_timeout,
            lines=reception.lines,
        )

    def run(
        self, program: Callable[[Mesh], R], timeout: float = 5.0, limit: float = 40.0
    ) -> dict[str, R | BaseException]:
        """Run ``program`` at every party; return results or errors by name."""

        def member(name: str) -> R:
            with self.join(name, timeout) as mesh:
                return program(mesh)

        return run_all({name: functools.partial(member, name) for name in self.names}, limit)

    def cut(self) -> int:
        """Cut every connection."""
        return sum(proxy.cut() for proxy in self.proxies.values())


@contextmanager
def wires(names: Sequence[str] = NAMES, shape: Shape = GOOD) -> Iterator[Wires]:
    """Receptions and proxies that end with the block."""
    with ExitStack() as stack:
        yield Wires(names, shape, stack)


def breaks(mesh: Mesh) -> int:
    """How many connections of this party have broken so far."""
    assert mesh._keeper is not None
    return sum(line.breaks for line in mesh._keeper.lines.values())


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for a condition, or fail."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)
