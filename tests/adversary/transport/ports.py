"""Listeners of the parties, peers at them, and floods of strangers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import pytest

from cofit.errors import TransportError
from cofit.transport import Identity, Listener, Mesh, Peer, connect_mesh, listen
from unit.transport.cluster import TERMS, identity


@contextmanager
def listening(*names: str) -> Iterator[dict[str, Listener]]:
    listeners = {name: listen("127.0.0.1") for name in names}
    try:
        yield listeners
    finally:
        for listener in listeners.values():
            listener.close()


def peer(name: str, listeners: dict[str, Listener], pinned: Identity) -> Peer:
    return Peer(name, "127.0.0.1", listeners[name].port if name in listeners else 0, pinned.certificate_pem)


def ended(mesh: Mesh) -> BaseException:
    """Use a mesh whose other end refused us: it must say so on first use."""
    with mesh, pytest.raises(TransportError) as caught:
        mesh.exchange("x", {}, {mesh.peers[0]: bytearray(1)})
    return caught.value


_FLOOD = """
import socket, sys, time
held, count, begin = [], 0, time.monotonic()
while True:
    count += 1
    time.sleep(max(0.0, begin + count / 4000 - time.monotonic()))
    try:
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", int(sys.argv[1])))
        held.append(connection)
    except OSError:
        pass
    if len(held) > 900:
        kept = []
        for connection in held:
            try:
                connection.recv(1)
                connection.close()
            except BlockingIOError:
                kept.append(connection)
            except OSError:
                connection.close()
        held = kept
"""


@contextmanager
def flooded(port: int) -> Iterator[None]:
    """4000 strangers a second, who say nothing: they fill all places within 0.13 s, and stay.

    More than can be accepted would test the system's queue instead, which drops whom it likes.
    """
    flood = subprocess.Popen([sys.executable, "-c", _FLOOD, str(port)])
    try:
        yield
    finally:
        flood.kill()
        flood.wait()


def accepting(
    own: Identity, listeners: dict[str, Listener], peers: Sequence[str] = ("P1",), seconds: float = 1.0
) -> Callable[[], Mesh]:
    """What P0 does: it waits for these peers to connect."""
    expected = [peer(name, listeners, identity(name)) for name in peers]
    return partial(connect_mesh, own, listeners["P0"], [], expected, TERMS, connect_timeout=seconds)


def dialling(
    own: Identity, listeners: dict[str, Listener], pinned: Identity, seconds: float = 5.0
) -> Callable[[], Mesh]:
    """What somebody does who connects to P0, whose certificate should be the pinned one."""
    return partial(connect_mesh, own, None, [peer("P0", listeners, pinned)], [], TERMS, connect_timeout=seconds)
