"""Reaching a peer whose first answer never comes."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from cofit.errors import PeerSilentError
from cofit.transport import Peer, converse
from cofit.transport.attempt import Attempt, Dial
from unit.transport.cluster import TERMS, identity
from unit.transport.desk import answers, receiving


@contextlib.contextmanager
def crowded() -> Iterator[socket.socket]:
    """A listener whose queue is full: the system answers nobody there, and refuses nobody."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        place = listener.getsockname()
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(place)
        with pytest.raises(TimeoutError):
            socket.create_connection(place, timeout=0.2)
        yield listener


def leads_to(monkeypatch: pytest.MonkeyPatch, *answers: list[Any]) -> list[int]:
    """Make every host name lead to these addresses, answer after answer; returns how often it was asked for."""
    asked = [0]

    def found(*_: object, **__: object) -> list[tuple[int, int, int, str, Any]]:
        places = answers[asked[0] % len(answers)]
        asked[0] += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    return asked


def peer_at(port: int, host: str = "two.example") -> Peer:
    return Peer("P0", host, port, identity("P0").certificate_pem)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short waits, so that many attempts fit into a test."""
    monkeypatch.setattr(Dial, "SHORT_SECONDS", (0.1, 0.2))
    monkeypatch.setattr(Dial, "LONG_SECONDS", 0.4)
    monkeypatch.setattr(Dial, "HANDSHAKE_SECONDS", 0.4)


@pytest.mark.parametrize("rotates", [False, True])
def test_the_next_address_of_a_host_is_tried_when_the_first_does_not_answer(
    rotates: bool, hasty: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with crowded() as silent, receiving() as reception:
        places = [silent.getsockname(), ("127.0.0.1", reception.port)]
        leads_to(monkeypatch, places, *([places[::-1]] if rotates else []))
        with converse(identity("owner-a"), peer_at(1), TERMS, connect_timeout=30.0) as conversation:
            assert conversation.request({"who": "there"}) == ({"who": "there"}, bytearray())
        monkeypatch.undo()
        assert answers(reception)


def test_the_next_address_is_tried_when_the_first_answers_without_tls(
    hasty: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, receiving() as reception:
        leads_to(monkeypatch, [mute.getsockname(), ("127.0.0.1", reception.port)])
        with converse(identity("owner-a"), peer_at(1), TERMS, connect_timeout=30.0) as conversation:
            conversation.request({})


def test_a_queue_that_is_full_is_asked_often(hasty: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system would repeat the one attempt, ever more seldom."""
    with crowded() as silent:
        asked = leads_to(monkeypatch, [silent.getsockname()])
        with pytest.raises(PeerSilentError, match="nothing answered"):
            converse(identity("owner-a"), peer_at(1), TERMS, connect_timeout=3.0)
        assert asked[0] >= 5


def test_a_slow_look_up_takes_nothing_from_the_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that comes after 0.3 s, behind a look-up of 2.5 s: longer than any short attempt."""
    with receiving() as reception:
        places = leads_to(monkeypatch, [("127.0.0.1", reception.port)])
        quick = socket.getaddrinfo
        connected = Attempt._connect
        begun: dict[int, float] = {}

        def slow(*given: Any, **more: Any) -> Any:
            time.sleep(2.5)
            return quick(*given, **more)

        def late(attempt: Attempt) -> bool:
            first = begun.setdefault(id(attempt), time.monotonic())
            return time.monotonic() - first > 0.3 and connected(attempt)

        monkeypatch.setattr(socket, "getaddrinfo", slow)
        monkeypatch.setattr(Attempt, "_connect", late)
        with converse(identity("owner-a"), peer_at(1), TERMS, connect_timeout=30.0) as conversation:
            conversation.request({})
        assert places == [1]


@pytest.mark.parametrize("host", ["127.0.0.1", "two.example"], ids=["said", "found by its name"])
def test_a_peer_that_must_be_elsewhere_is_not_dialled_here(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name may lead to several addresses, some of them here: only the others are dialled."""
    with receiving() as reception:
        leads_to(monkeypatch, [("127.0.0.1", reception.port)])
        peer = peer_at(reception.port, host)
        with converse(identity("owner-a"), peer, TERMS, connect_timeout=30.0) as conversation:
            conversation.request({})
        dialled: list[Any] = []
        honest = socket.socket.connect_ex

        def connect_ex(self: socket.socket, address: Any) -> int:
            dialled.append(address)
            return honest(self, address)

        monkeypatch.setattr(socket.socket, "connect_ex", connect_ex)
        elsewhere = replace(peer, may_be_near=False)
        with pytest.raises(PeerSilentError, match="one of this machine itself"):
            converse(identity("owner-a"), elsewhere, TERMS, connect_timeout=1.0)
        assert dialled == []
        leads_to(monkeypatch, [("127.0.0.1", reception.port), ("192.0.2.1", 9)])
        with pytest.raises(PeerSilentError):
            converse(identity("owner-a"), elsewhere, TERMS, connect_timeout=1.0)
        assert {place for place, _ in dialled} == {"192.0.2.1"}


def test_a_far_peer_gets_the_time_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers take longer than a short attempt, and shorter than a long one."""
    monkeypatch.setattr(Dial, "SHORT_SECONDS", (0.1, 0.2))
    monkeypatch.setattr(Dial, "LONG_SECONDS", 5.0)
    connected = Attempt._connect
    begun: dict[Attempt, float] = {}

    def late(attempt: Attempt) -> bool:
        first = begun.setdefault(attempt, time.monotonic())
        return attempt._server_side or (time.monotonic() - first > 0.6 and connected(attempt))

    with receiving() as reception:
        monkeypatch.setattr(Attempt, "_connect", late)
        peer = peer_at(reception.port, "127.0.0.1")
        with converse(identity("owner-a"), peer, TERMS, connect_timeout=30.0) as conversation:
            conversation.request({})
    assert sum(not attempt._server_side for attempt in begun) == Dial.LONG_EVERY


def test_who_never_answers_is_given_up_in_time_and_named() -> None:
    with crowded() as listener:
        peer = peer_at(listener.getsockname()[1], "127.0.0.1")
        start = time.monotonic()
        with pytest.raises(PeerSilentError, match="P0 did not join within 3 s: nothing answered") as caught:
            converse(identity("owner-a"), peer, TERMS, connect_timeout=3.0)
        assert caught.value.peer == "P0"
        assert 2.9 < time.monotonic() - start < 6.0


def test_silence_does_not_hide_what_was_wrong_before(hasty: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = closed.getsockname()
    with crowded() as silent:
        asked = leads_to(monkeypatch, [nobody], *[[silent.getsockname()]] * 50)
        with pytest.raises(PeerSilentError, match="Connection refused"):
            converse(identity("owner-a"), peer_at(1), TERMS, connect_timeout=2.0)
        assert 2 < asked[0] < 50
