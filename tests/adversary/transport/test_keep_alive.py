"""Firewalls forget connections that are idle, and tell nobody: what keeps ours known to them, and what follows if not.

Lines say something every few seconds. A conversation says nothing while one end works: there the
system speaks for it, with empty packets that a firewall sees and a proxy does not.
"""

from __future__ import annotations

import socket
import struct
import time

import pytest

from adversary.transport.test_lines import PAIR, talk
from cofit.errors import PeerSilentError, TransportError
from cofit.transport import Conversation, Mesh, Peer, authentication, converse
from support.proxy import ShapingProxy
from unit.transport.cluster import NAMES, TERMS, identity, neighbours, results
from unit.transport.desk import at, receiving
from unit.transport.wires import breaks, wires

_SOONER = {socket.TCP_KEEPIDLE: 1, socket.TCP_KEEPINTVL: 1}
LAST_DATA, LAST_ACK = 11, 12
"""Fields of Linux' tcp_info, in milliseconds before now, behind eight bytes."""


def milliseconds(conversation: Conversation, field: int) -> int:
    connection = socket.socket(fileno=socket.dup(conversation._link.fileno()))
    with connection:
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 60)
    value: int = struct.unpack("=8x13I", told)[field]
    return value


def idle_for(seconds: float) -> tuple[int, int]:
    """How long ago data and any packet came, after a conversation was idle for so long."""
    with receiving() as reception, converse(identity("owner-a"), at(reception), TERMS) as conversation:
        conversation.request({"request": "hello"})
        time.sleep(seconds)
        found = milliseconds(conversation, LAST_DATA), milliseconds(conversation, LAST_ACK)
        conversation.request({"request": "still there?"})
        return found


def test_packets_pass_over_a_conversation_that_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    shorter = tuple((level, option, _SOONER.get(option, value)) for level, option, value in authentication._KEPT_ALIVE)
    monkeypatch.setattr(authentication, "_KEPT_ALIVE", shorter)
    data, packet = idle_for(2.6)
    assert data > 2500 and packet < 1500
    monkeypatch.setattr(authentication, "_KEPT_ALIVE", ())
    data, packet = idle_for(1.6)
    assert data > 1500 and packet > 1500, "nothing passes without the option"


def test_the_interval_is_well_below_what_firewalls_wait() -> None:
    options = {option: value for _, option, value in authentication._KEPT_ALIVE}
    assert options[socket.SO_KEEPALIVE] == 1
    assert options[socket.TCP_KEEPIDLE] + options[socket.TCP_KEEPINTVL] <= 30


def test_a_conversation_that_was_forgotten_ends_with_an_error_and_not_never() -> None:
    """Whoever began it begins another one: uploads and fetches go on where they were (``study/test_lines.py``)."""
    with receiving() as reception, ShapingProxy(("127.0.0.1", reception.port)) as proxy:
        proxy.forgets = 0.5
        peer = Peer("P0", "127.0.0.1", proxy.port, identity("P0").certificate_pem)
        with converse(identity("owner-a"), peer, TERMS, timeout=1.5) as conversation:
            conversation.request({"request": "hello"})
            time.sleep(1.0)
            with pytest.raises(PeerSilentError):
                conversation.request({"request": "still there?"})
        with converse(identity("owner-a"), peer, TERMS, timeout=1.5) as conversation:
            assert conversation.request({"request": "again"})[0] == {"request": "again"}


def test_long_local_work_is_no_silence_and_a_firewall_that_forgets_is_fed() -> None:
    def program(mesh: Mesh) -> int:
        talk(mesh, 2)
        if mesh.name == "P1":
            time.sleep(4.0)  # longer than the time-out
        talk(mesh, 2)
        return breaks(mesh)

    with wires(PAIR) as net:
        for proxy in net.proxies.values():
            proxy.forgets = 1.2
        assert results(net.run(program, timeout=2.0)) == {"P0": 0, "P1": 0}


def test_who_waits_for_one_that_waits_for_one_that_computes_goes_on_waiting() -> None:
    def program(mesh: Mesh) -> None:
        one = bytearray(1)
        if mesh.name == "P0":
            mesh.exchange("a", {}, {"P1": one})
        elif mesh.name == "P1":
            mesh.exchange("b", {}, {"P2": one})
            mesh.exchange("a", {"P0": one}, {})
        else:
            time.sleep(4.0)
            mesh.exchange("b", {"P1": one}, {})

    with wires() as net:
        results(net.run(program, timeout=2.0))


def test_parties_that_wait_for_each_other_do_not_keep_each_other_alive() -> None:
    def program(mesh: Mesh) -> None:
        left, _ = neighbours(mesh, NAMES)
        mesh.exchange("ring", {}, {left: bytearray(1)})

    with wires() as net:
        start = time.monotonic()
        outcomes = net.run(program, timeout=2.0)
        assert all(isinstance(error, TransportError) for error in outcomes.values()), outcomes
        assert any(isinstance(error, PeerSilentError) for error in outcomes.values())
        assert time.monotonic() - start < 8.0
