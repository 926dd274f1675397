"""What a corrupted party of a study may do with one message of a session: lies for ``repn_bench``.

Sequence numbers and tags of the transport are right, as a corrupted party would have them, but where messages are
left out or come twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from adversary.protocol.repn_lies import CHANGES, Change, add
from adversary.study.repn_bench import Lie, Message, Pieces, Script
from cofit.errors import PeerClosedError

Messages = dict[str, Pieces]
_SOME = ("lowest bit", "middle bit", "top bit", "plus 1", "minus 1", "plus 2^32", "plus 2^63", "plus much", "swap")


def believed(change: Change, piece: int) -> Lie:
    """Tell all receivers the same, and go on with it where it is a value: only a proof can show it."""

    def lie(message: Message, sent: Messages, script: Script) -> Messages:
        del message, script
        done: dict[int, memoryview] = {}
        return {peer: _changed(pieces, piece, change, done) for peer, pieces in sent.items()}

    return lie


def to_one(change: Change, piece: int) -> Lie:
    """Tell one receiver something else than is true, and than others hear."""

    def lie(message: Message, sent: Messages, script: Script) -> Messages:
        del script
        copies = [memoryview(bytearray(one)) for one in sent[message.receiver]]
        return {**sent, message.receiver: _changed(copies, piece, change, {})}

    return lie


def _changed(pieces: Pieces, piece: int, change: Change, done: dict[int, memoryview]) -> Pieces:
    """Change one piece where it is, once, if it can be written to; else a copy, the same for all."""
    if not any(map(len, pieces)):
        return pieces
    filled = [i for i, one in enumerate(pieces) if len(one)]
    at = filled[piece % len(filled)]
    place = np.frombuffer(pieces[at], np.uint8).ctypes.data
    if place not in done:
        done[place] = pieces[at] if not pieces[at].readonly else memoryview(bytearray(pieces[at]))
        change(np.frombuffer(done[place], np.uint8))
    return [*pieces[:at], done[place], *pieces[at + 1 :]]


def whole(change: Callable[[Message, dict[str, bytes], Script], bytes]) -> Lie:
    """Send one receiver other bytes."""

    def lie(message: Message, sent: Messages, script: Script) -> Messages:
        joined = {peer: b"".join(pieces) for peer, pieces in sent.items()}
        return {**sent, message.receiver: [memoryview(change(message, joined, script))]}

    return lie


def _replayed(message: Message, joined: dict[str, bytes], script: Script) -> bytes:
    """The last message of the same size, to whomever."""
    own = joined[message.receiver]
    earlier = [old for sent in script.before[message.sender][:-1] for old in sent.values() if len(old) == len(own)]
    return earlier[-1] if earlier else own


def _rotated(message: Message, joined: dict[str, bytes], script: Script) -> bytes:
    """What another receiver gets, in this exchange or before, cut or filled up."""
    own = joined[message.receiver]
    others = [data for sent in [*script.before[message.sender][:-1], joined] for peer, data in sent.items()
              if peer != message.receiver]  # fmt: skip
    return ((others[-1] if others else b"") + bytes(len(own)))[: len(own)]


def left_out(message: Message, sent: Messages, script: Script) -> Messages:
    del script
    return {peer: pieces for peer, pieces in sent.items() if peer != message.receiver}


def gone(message: Message, sent: Messages, script: Script) -> Messages:
    """Hang up without a word."""
    for channel in script.meshes[message.sender]._channels.values():
        channel.link.close()
    raise PeerClosedError(message.sender, "It has hung up.")


def twice(message: Message, sent: Messages, script: Script) -> Messages:
    """The second one is early for the exchange after it."""
    script.early(message, sent[message.receiver])
    return sent


def late(message: Message, sent: Messages, script: Script) -> Messages:
    del message, script
    time.sleep(0.03)
    return sent


WHOLE = {
    "replay": whole(_replayed),
    "rotate": whole(_rotated),
    "zeros": whole(lambda message, joined, script: bytes(len(joined[message.receiver]))),
    "shorter": whole(lambda message, joined, script: joined[message.receiver][:-1]),
    "longer": whole(lambda message, joined, script: joined[message.receiver] + b"\0"),
    "half": whole(lambda message, joined, script: joined[message.receiver][: len(joined[message.receiver]) // 2]),
    "left out": left_out,
    "gone": gone,
    "twice": twice,
    "late": late,
}
KINDS = (
    *(f"believed: {name}" for name in _SOME),
    *(f"to one: {name}" for name in _SOME),
    "believed: other coin",
    "to one: other coin",
    *WHOLE,
)
"""What may be done with a message."""
SILENT = ("left out", "gone", "shorter", "half")
"""After which others may wait in vain."""


def lie_of(kind: str, salt: int) -> Lie:
    """The lie of this kind; ``salt`` says in which array of the message, and in which element of it."""
    how, _, name = kind.partition(": ")
    if not name:
        return WHOLE[how]
    change = add(1 + salt, 4) if name == "other coin" else CHANGES[name]  # a nonce comes after a digest of four words
    elsewhere = {"plus 1": add(1, salt), "minus 1": add(-1, salt), "plus 2^63": add(1 << 63, salt)}
    return (believed if how == "believed" else to_one)(elsewhere.get(name, change), salt)
