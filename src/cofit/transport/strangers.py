"""Taking in connections from anybody, without giving strangers the power to keep others out."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import TypeVar

from cofit.transport.authentication import Authentication
from cofit.transport.listener import Acceptor

STRANGER_SECONDS = 5.0
"""How long an incoming connection may take to authenticate and greet."""
MAX_STRANGERS = 512
"""How many incoming connections may be unauthenticated at once; beyond that one of them, at random, is dropped."""
_ACCEPTS_IN_A_ROW = 128

A = TypeVar("A", bound=Authentication)


def take_in(
    acceptor: Acceptor,
    incoming: list[A],
    begin: Callable[[socket.socket], A | None],
    drop: Callable[[A], object],
    most: int,
) -> int:
    """Take in who has connected, and make room for it if need be. Returns how many connections there were.

    Who has authenticated keeps its place. Of the others, at most ``most``, a random one has to go, whoever came
    first: so strangers can neither take all places for long nor push out a peer for sure, and a peer that had
    to go dials again. ``begin`` makes an entry of ``incoming`` from a connection, or closes it and returns None;
    ``drop`` closes one that is no longer in it.
    """
    strangers = [attempt for attempt in incoming if attempt.peer is None]
    for number in range(_ACCEPTS_IN_A_ROW):
        connection = acceptor.accept()
        if connection is None:
            return number
        attempt = begin(connection)
        if attempt is None:
            continue
        if len(strangers) >= most:
            unlucky = strangers.pop(secrets.randbelow(len(strangers)))
            incoming.remove(unlucky)
            drop(unlucky)
        elif len(incoming) >= 2 * most:
            attempt.close()
            continue
        strangers.append(attempt)
        incoming.append(attempt)
    return _ACCEPTS_IN_A_ROW
