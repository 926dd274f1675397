"""Reaching a peer whose first answer never comes."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from cofit.errors import PeerSilentError
from cofit.transport import Peer, converse
from unit.transport.cluster import TERMS, identity
from unit.transport.desk import answers, receiving


@contextlib.contextmanager
def crowded() -> Iterator[tuple[str, int]]:
    """Where a listener is whose queue is full: the system answers nobody there, and refuses nobody."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        place = listener.getsockname()
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(place)
        with pytest.raises(TimeoutError):
            socket.create_connection(place, timeout=0.2)
        yield place


def test_the_next_address_of_a_host_is_tried_when_the_first_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with crowded() as silent, receiving() as reception:
        places = [silent, ("127.0.0.1", reception.port)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        peer = Peer("P0", "two.example", 1, identity("P0").certificate_pem)
        with converse(identity("owner-a"), peer, TERMS, connect_timeout=30.0) as conversation:
            assert conversation.request({"who": "there"}) == ({"who": "there"}, bytearray())
        monkeypatch.undo()
        assert answers(reception)


def test_who_never_answers_is_given_up_in_time_and_named() -> None:
    with crowded() as (host, port):
        peer = Peer("P0", host, port, identity("P0").certificate_pem)
        start = time.monotonic()
        with pytest.raises(PeerSilentError, match="P0 did not join within 3 s: nothing answered") as caught:
            converse(identity("owner-a"), peer, TERMS, connect_timeout=3.0)
        assert caught.value.peer == "P0"
        assert 2.9 < time.monotonic() - start < 6.0
