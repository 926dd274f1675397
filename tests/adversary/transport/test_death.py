"""Real processes that die in the middle, and a wire that is tampered with."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from cofit.errors import (
    FrameError,
    HandshakeError,
    PeerAbortedError,
    PeerClosedError,
    PeerSilentError,
    TransportError,
)
from cofit.transport import Mesh, Peer, connect_mesh, listen
from unit.transport.cluster import NAMES, TERMS, identity, join_tls, neighbours, run_all

pytestmark = pytest.mark.timeout(60)

VICTIM = """
import os, socket, sys, time
from cofit.transport import Identity, Listener, Peer, Terms, connect_mesh
how, descriptor, *texts = sys.argv[1:]
pems = sys.stdin.read().split("=====")
own = Identity("P2", pems[0], pems[1])
peers = [Peer(n, "127.0.0.1", int(p), c) for n, p, c in zip(("P0", "P1"), texts, pems[2:])]
terms = Terms(b"s" * 16, b"h" * 32, "rep3/z64")
mesh = connect_mesh(own, Listener(socket.socket(fileno=int(descriptor))), peers, [], terms, timeout=5.0)
for step in range(3):
    mesh.exchange("ring", {"P1": bytes(50_000)}, {"P0": bytearray(50_000)})
if how == "exit":
    os._exit(3)
if how == "half":
    mesh._channels["P1"].link.queue([b"cfit" + bytes(20)])
    mesh._channels["P1"].link.pump_send()
    os._exit(3)
print("asleep", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("how", ["exit", "half", "kill", "stop"])
def test_a_process_that_dies_is_noticed_and_named_by_all(how: str) -> None:
    listeners = {name: listen("127.0.0.1") for name in NAMES}
    pems = [identity("P2").certificate_pem, identity("P2").private_key_pem]
    pems += [identity(name).certificate_pem for name in NAMES[:2]]
    victim = subprocess.Popen(
        [
            sys.executable,
            "-c",
            VICTIM,
            how,
            str(listeners["P2"].fileno()),
            *(str(listeners[name].port) for name in NAMES[:2]),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[listeners["P2"].fileno()],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert victim.stdin is not None and victim.stdout is not None
    victim.stdin.write("=====".join(pems).encode())
    victim.stdin.close()
    noticed: dict[str, float] = {}

    def survivor(name: str) -> None:
        with join_tls(name, listeners, timeout=2.0) as mesh:
            left, right = neighbours(mesh)
            try:
                for _ in range(10):
                    mesh.exchange("ring", {left: bytes(50_000)}, {right: bytearray(50_000)})
            finally:
                noticed[name] = time.monotonic()

    def executioner() -> float:
        assert victim.stdout is not None
        victim.stdout.readline()
        if how in {"kill", "stop"}:
            victim.send_signal(signal.SIGKILL if how == "kill" else signal.SIGSTOP)
        return time.monotonic()

    try:
        jobs: dict[str, Callable[[], object]] = {name: partial(survivor, name) for name in ("P0", "P1")}
        outcomes = run_all({**jobs, "victim": executioner})
    finally:
        victim.kill()
        victim.wait()
        victim.stdout.close()
        for listener in listeners.values():
            listener.close()
    death = outcomes["victim"]
    assert isinstance(death, float)
    for name in ("P0", "P1"):
        error = outcomes[name]
        assert isinstance(error, PeerClosedError | PeerSilentError | PeerAbortedError), error
        assert "P2" in (error.culprit if isinstance(error, PeerAbortedError) else error.peer)
        assert noticed[name] - death < (6.0 if how == "stop" else 4.0)


class TamperingWire:
    """Passes bytes between a dialler and a listener, and flips one bit after a number of bytes."""

    def __init__(self, port: int, flip_at: int) -> None:
        self._target = port
        self._flip_at = flip_at
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        inner, _ = self._server.accept()
        outer = socket.create_connection(("127.0.0.1", self._target))
        back = threading.Thread(target=self._copy, args=(outer, inner, -1), daemon=True)
        back.start()
        self._copy(inner, outer, self._flip_at)
        back.join()
        inner.close()
        outer.close()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket, flip_at: int) -> None:
        passed = 0
        try:
            while data := bytearray(source.recv(65536)):
                if passed <= flip_at < passed + len(data):
                    data[flip_at - passed] ^= 1
                passed += len(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self._server.close()
        self._thread.join(5.0)


@pytest.mark.parametrize("flip_at", [50, 1200, 20_000, 60_000])
def test_one_bit_flipped_on_the_wire_is_an_error_at_both_ends(flip_at: int) -> None:
    with listen("127.0.0.1") as listener:
        wire = TamperingWire(listener.port, flip_at)

        def talk(mesh: Mesh) -> None:
            other = mesh.peers[0]
            for _ in range(100):
                got = bytearray(1000)
                mesh.exchange("talk", {other: bytes(1000)}, {other: got})
                assert not any(got), "changed data were accepted"

        def accept() -> None:
            peer = Peer("P1", "", 0, identity("P1").certificate_pem)
            with connect_mesh(identity("P0"), listener, [], [peer], TERMS, timeout=2.0, connect_timeout=1.0) as mesh:
                talk(mesh)

        def dial() -> None:
            peer = Peer("P0", "127.0.0.1", wire.port, identity("P0").certificate_pem)
            with connect_mesh(identity("P1"), None, [peer], [], TERMS, timeout=2.0, connect_timeout=1.0) as mesh:
                talk(mesh)

        outcomes = run_all({"P0": accept, "P1": dial})
        wire.close()
    assert all(isinstance(outcome, TransportError) for outcome in outcomes.values()), outcomes
    if flip_at >= 20_000:
        assert isinstance(outcomes["P0"], FrameError)
    else:
        assert isinstance(outcomes["P0"], HandshakeError | PeerSilentError | FrameError)
