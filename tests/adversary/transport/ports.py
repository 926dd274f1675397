"""Listeners of the parties, and peers at them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cofit.errors import TransportError
from cofit.transport import Identity, Listener, Mesh, Peer, listen


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
