"""The set-up that most tests of ``pair`` start from gives what the real one gives, and costs what it costs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic.prg import fresh_seed
from cofit.sharing.pair import base_ot, trees
from cofit.sharing.pair.extension import QUANTUM, Chooser, Sender
from support.ideal_transfers import ideal_transfers

Bytes = npt.NDArray[np.uint8]
Swapped = tuple[Bytes, Bytes, Bytes, list[int]]


def set_up(delta: Bytes, label: bytes) -> Swapped:
    """One direction, as ``Transfers.start`` makes it: leaves of chooser and sender, Delta, sizes of messages."""
    offer, message = base_ot.offered(trees.base_choices(delta))
    pairs, reply = base_ot.replied(message, label)
    leaves, sums = trees.grown(pairs)
    keys = base_ot.received(offer, reply, label)
    return leaves, trees.punctured(delta, keys, sums), delta, [len(message), len(reply), len(sums)]


def ideal(delta: Bytes, label: bytes) -> Swapped:
    with ideal_transfers("test_of_something_else.py"):
        return set_up(delta, label)


@pytest.mark.parametrize("kind", [set_up, ideal])
def test_the_sender_has_all_leaves_but_those_at_delta(
    kind: Callable[[Bytes, bytes], Swapped], rng: np.random.Generator
) -> None:
    leaves, punctured, delta, sizes = kind(rng.integers(0, 2, 128, dtype=np.uint8), fresh_seed() + b"\0")
    numbers = np.pad(delta, (0, 2)).reshape(26, 5) @ [1, 2, 4, 8, 16]
    expected = leaves.copy()
    expected[np.arange(26), numbers] = 0
    assert (punctured == expected).all()
    assert len(np.unique(leaves.reshape(-1, 16), axis=0)) == 26 * 32
    assert sizes == [base_ot.OFFER_BYTES, base_ot.REPLY_BYTES, trees.SUMS_BYTES]
    rows, choices, corrections = Chooser(leaves).extend(QUANTUM)
    sender = Sender(punctured, delta)
    bits = np.unpackbits(choices.view(np.uint8), bitorder="little").astype(bool)
    assert (sender.extend(QUANTUM, corrections) == np.where(bits[:, None], rows ^ sender.delta, rows)).all()


def test_directions_and_sessions_differ(rng: np.random.Generator) -> None:
    delta = rng.integers(0, 2, 128, dtype=np.uint8)
    session = fresh_seed()
    labels = (session + b"\0", session + b"\1", fresh_seed() + b"\0")
    first, second, third = (ideal(delta, label)[0] for label in labels)
    assert not any((a == b).all(axis=-1).any() for a, b in ((first, second), (first, third), (second, third)))
