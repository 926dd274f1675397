"""What corrupted parties of repn may do with their messages: lies for ``repn_cheats.run``."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from adversary.protocol.repn_cheats import GoneError, Lie, Send
from cofit.arithmetic import RingArray
from cofit.sharing.member import as_bytes
from cofit.sharing.repn.party import Repn

Change = Callable[[npt.NDArray[np.uint8]], None]
"""Changes the bytes of an array in place."""


# --- changes of an array ---------------------------------------------------------------------------------


def flip(bit: int, element: int = 0) -> Change:
    """Flip a bit of an element: of eight bytes, or of fewer in a short message."""

    def change(data: npt.NDArray[np.uint8]) -> None:
        size = min(8, len(data))
        start = 8 * (element % max(1, len(data) // 8))
        data[start + bit // 8 % size] ^= np.uint8(1 << bit % 8)

    return change


def add(error: int, element: int = 0) -> Change:
    """Add to an element, modulo 2^64."""

    def change(data: npt.NDArray[np.uint8]) -> None:
        start, size = 8 * (element % max(1, len(data) // 8)), min(8, len(data))
        word = int.from_bytes(data[start : start + size].tobytes(), "little") + error
        data[start : start + size] = np.frombuffer((word % (1 << 8 * size)).to_bytes(size, "little"), np.uint8)

    return change


def swap(data: npt.NDArray[np.uint8]) -> None:
    """Swap the first and the last element; where there is one, its halves."""
    size = min(8, len(data) // 2)
    first = data[:size].copy()
    data[:size] = data[-size:]
    data[-size:] = first


CHANGES: dict[str, Change] = {
    "lowest bit": flip(0),
    "middle bit": flip(31, 1),
    "top bit": flip(63),
    "plus 1": add(1),
    "minus 1": add(-1, 2),
    "plus 2^32": add(1 << 32, 1),
    "plus 2^63": add(1 << 63),
    "plus much": add(0x0123456789ABCDEF, 5),
    "swap": swap,
}


# --- lies ------------------------------------------------------------------------------------------------


def consistent(number: int, change: Change) -> Lie:
    """Tell all receivers the same, and believe it where it is a value; what all receivers get is changed."""

    def lie(party: Repn, at: int, name: str, send: Send) -> Send:
        del party, name
        if at != number:
            return send
        done: dict[int, RingArray] = {}
        return {rank: [_changed(array, change, done) for array in arrays] for rank, arrays in send.items()}

    return lie


def _changed(array: RingArray, change: Change, done: dict[int, RingArray]) -> RingArray:
    """Change an array where it is, once, if it can be written to; else a copy, the same for all."""
    if id(array) not in done:
        own = array if array.flags.writeable and array.flags.c_contiguous else np.ascontiguousarray(array).copy()
        if own.nbytes:
            change(own.reshape(-1).view(np.uint8))
        done[id(array)] = own
    return done[id(array)]


def different(number: int, change: Change, which: int = 0) -> Lie:
    """Tell one of the receivers something else than the others."""

    def lie(party: Repn, at: int, name: str, send: Send) -> Send:
        del party, name
        if at != number:
            return send
        rank = sorted(send)[which % len(send)]
        return {**send, rank: [_changed(array.copy(), change, {}) for array in send[rank]]}

    return lie


def whole(number: int, change: Callable[[dict[int, bytes], list[dict[int, bytes]]], dict[int, bytes]]) -> Lie:
    """Change messages as bytes, by receiver; the second argument: all that was sent before."""
    before: list[dict[int, bytes]] = []

    def lie(party: Repn, at: int, name: str, send: Send) -> Send:
        del party, name
        messages = {
            rank: b"".join(np.ascontiguousarray(array).tobytes() for array in arrays) for rank, arrays in send.items()
        }
        if at == number:
            told = change(messages, before)
            return {rank: [np.frombuffer(data, np.uint8)] for rank, data in told.items()}
        before.append(messages)
        return send

    return lie


def _replayed(messages: dict[int, bytes], before: list[dict[int, bytes]]) -> dict[int, bytes]:
    """The last message of the same size to the same receiver, or to another, comes again."""
    found = dict(messages)
    for rank, data in messages.items():
        earlier = [old for sent in before for old in (sent.get(rank), *sent.values()) if old and len(old) == len(data)]
        found[rank] = earlier[-1] if earlier else data
    return found


def _rotated(messages: dict[int, bytes], before: list[dict[int, bytes]]) -> dict[int, bytes]:
    """Receivers get each other's messages, cut or filled up to their length."""
    del before
    ranks = sorted(messages)
    return {
        rank: (messages[ranks[i - 1]] + bytes(len(messages[rank])))[: len(messages[rank])]
        for i, rank in enumerate(ranks)
    }


WHOLE: dict[str, Callable[[dict[int, bytes], list[dict[int, bytes]]], dict[int, bytes]]] = {
    "replay": _replayed,
    "rotate": _rotated,
    "zeros": lambda messages, before: {rank: bytes(len(data)) for rank, data in messages.items()},
    "shorter": lambda messages, before: {rank: data[:-1] for rank, data in messages.items()},
    "longer": lambda messages, before: {rank: data + b"\0" for rank, data in messages.items()},
    "half": lambda messages, before: {rank: data[: len(data) // 2] for rank, data in messages.items()},
}


def gone(number: int) -> Lie:
    """Say nothing any more."""

    def lie(party: Repn, at: int, name: str, send: Send) -> Send:
        del party, name
        if at == number:
            raise GoneError
        return send

    return lie


def twice(number: int) -> Lie:
    """Send a message twice: the second one is early for the exchange after it."""

    def lie(party: Repn, at: int, name: str, send: Send) -> Send:
        if at == number:
            told = {party.names[rank]: list(map(as_bytes, arrays)) for rank, arrays in send.items()}
            party.mesh.exchange(name, told, {})
        return send

    return lie


def late(number: int, seconds: float = 0.02) -> Lie:
    """Send a message late."""

    def lie(party: Repn, at: int, name: str, send: Send) -> Send:
        del party, name
        if at == number:
            time.sleep(seconds)
        return send

    return lie
