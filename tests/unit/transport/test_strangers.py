from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from cofit.transport.authentication import Authentication, Peer, tls_context
from cofit.transport.identity import certificate_der
from cofit.transport.strangers import take_in
from unit.transport.cluster import identity


class Queue:
    """Hands over the connections that it was given."""

    def __init__(self, waiting: list[socket.socket]) -> None:
        self._waiting = waiting

    def accept(self) -> socket.socket | None:
        return self._waiting.pop(0) if self._waiting else None

    def fileno(self) -> int:
        return -1


@contextmanager
def entries(number: int) -> Iterator[list[Authentication]]:
    der = certificate_der(identity("P1").certificate_pem)
    context = tls_context(identity("P0"), [der], server_side=True)
    peer = Peer("P1", "", 0, identity("P1").certificate_pem)
    made = [
        Authentication(socket.socket(), context, {der: peer}, server_side=True, deadline=0.0) for _ in range(number)
    ]
    try:
        yield made
    finally:
        for each in made:
            each.close()


def test_when_there_is_no_room_a_random_stranger_goes_and_the_newcomer_stays() -> None:
    with entries(9) as made:
        gone: Counter[int] = Counter()
        for _ in range(400):
            incoming, newcomer = made[:8], made[8]
            dropped: list[Authentication] = []
            taken = take_in(Queue([socket.socket()]), incoming, partial(closed, newcomer), dropped.append, 8)
            assert taken == 1 and len(dropped) == 1
            assert newcomer in incoming and len(incoming) == 8
            gone[made.index(dropped[0])] += 1
    assert set(gone) == set(range(8))
    assert max(gone.values()) < 130, "50 each on average"


def closed(entry: Authentication, connection: socket.socket) -> Authentication:
    connection.close()
    return entry


def nobody(entry: Authentication) -> None:
    pytest.fail(f"{entry} was dropped")


def test_who_has_authenticated_keeps_its_place_but_places_are_limited() -> None:
    with entries(9) as made:
        for each in made[:8]:
            each.peer = Peer("P1", "", 0, identity("P1").certificate_pem)
        incoming = made[:8]
        take_in(Queue([socket.socket()]), incoming, partial(closed, made[8]), nobody, 4)
        assert incoming == made[:8], "twice as many as may be strangers"
        incoming = made[:7]
        take_in(Queue([socket.socket()]), incoming, partial(closed, made[8]), nobody, 4)
        assert incoming == [*made[:7], made[8]]
