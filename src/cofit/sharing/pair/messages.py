"""Messages of two parties alone: setup, openings, and arrays both ways in one exchange."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from cofit.arithmetic import Ring, RingArray
from cofit.sharing.additive import Additive
from cofit.sharing.member import SPREAD
from cofit.sharing.pair.transfers import Bytes, Transfers
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.transport import Mesh

PREPARE = "prepare"
"""The label of what is made before it is used: transfers, and products of masks with a matrix."""


class PairMessages(Additive):
    """One of the two parties, with what it sends."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._other = 1 - self.rank
        self._transfers = Transfers(self.rank, self._swap_in_preparation)
        self._turns = 0
        self._noted = 0

    def _common_state(self, rank: int) -> int:
        """The positions of the stream that we have in common, and of the transfers, and what was noted, in 32 bits."""
        if not self._pairs:
            return 0
        spread = (self._pairs[rank].position + self._turns) * SPREAD
        return (spread ^ self._transfers.position ^ self._noted) & 0xFFFFFFFF

    def _note(self, *facts: object) -> None:
        """Put public facts of an operation into the state, which positions alone do not tell apart."""
        self._noted = zlib.crc32(repr(facts).encode(), self._noted)

    def setup(self) -> None:
        """Agree on a seed, and make the base transfers: 2 rounds."""
        mine, heard = self._seed_halves()
        self._transfers.start(self.mesh.terms.session, self._swap_bytes, mine[self._other], heard[self._other])
        self._agree_on_seeds(mine, heard)

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        ring, own = share.ring, share.parts[0]
        receivers = (0, 1) if to is None else to
        theirs = ring.empty(own.shape)
        send = {self._other: [own]} if self._other in receivers else {}
        receive = {self._other: theirs} if self.rank in receivers else {}
        self._exchange("open", send, receive)
        return ring.add(own, theirs) if self.rank in receivers else None

    @contextmanager
    def _preparing(self) -> Iterator[None]:
        """Count the traffic inside as preparation."""
        with self.label(PREPARE):
            yield

    def _swap_bytes(self, operation: str, out: Bytes, heard: Bytes) -> None:
        self._exchange(operation, {self._other: [out]}, {self._other: heard})

    def _swap_in_preparation(self, operation: str, out: Bytes, heard: Bytes) -> None:
        with self._preparing():
            self._swap_bytes(operation, out, heard)

    def _swap(self, operation: str, out: Sequence[RingArray], room: Sequence[RingArray]) -> None:
        """Send arrays to the other party, and fill the arrays ``room`` with what it sends: nothing where there are
        none.
        """
        send = {self._other: out} if out else {}
        if len(room) < 2:
            self._exchange(operation, send, {self._other: room[0]} if room else {})
            return
        joint = np.empty(sum(array.nbytes for array in room), np.uint8)
        self._exchange(operation, send, {self._other: joint})
        start = 0
        for array in room:
            array[...] = joint[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            start += array.nbytes

    def _turn(self) -> bool:
        """Return whether we send in products that one direction is enough for: every party in its turn."""
        self._turns += 1
        return self._turns % 2 == self.rank

    def _constant_of(self, ring: Ring, element: RingArray) -> RingArray:
        """Return our summand of a public element."""
        return element if self.rank == 0 else ring.zeros(())
