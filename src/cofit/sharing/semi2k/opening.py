"""Messages of a party of ``semi2k``: common seeds, inputs and openings, with what travels for the correlations."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from cofit.arithmetic import Ring, RingArray
from cofit.errors import PeerClosedError
from cofit.sharing.additive import Additive
from cofit.sharing.correlations import Demand
from cofit.sharing.member import SPREAD, room_in
from cofit.sharing.semi2k.sources import SOURCES
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.transport import Mesh


class Openings(Additive):
    """One of the computing parties, with what it sends and draws."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._source = SOURCES[self.spec.correlations](self._exchange, self.rank, len(self.names))

    def _common_state(self, rank: int) -> int:
        """The positions of the streams that we share with that member, spread over 32 bits."""
        if not self._pairs:
            return 0
        if rank == len(self.names):
            return self._source.position(rank)
        return (self._pairs[rank].position * SPREAD ^ self._source.position(rank)) & 0xFFFFFFFF

    def _exchange(
        self,
        operation: str,
        send: Mapping[int, Sequence[RingArray]] | None = None,
        receive: Mapping[int, RingArray] | None = None,
    ) -> None:
        """As every scheme does; a dealer that left may have come to the end of a program with fewer steps."""
        try:
            super()._exchange(operation, send, receive)
        except PeerClosedError as error:
            if not self.spec.dealer or error.peer != self._members[-1]:
                raise
            raise PeerClosedError(
                error.peer,
                f"{error} If it did not fail, its program ended before ours: the dealer sees no opened value, so a "
                "program must not branch on one.",
            ) from error

    def setup(self) -> None:
        """Agree on seeds with every other party; the source begins too."""
        mine, heard = self._seed_halves()
        self._exchange_all("setup", {rank: [half] for rank, half in mine.items()}, heard)
        self._agree_on_seeds(mine, heard)
        self._source.start(self.mesh.terms.session)

    def prepare(self, demand: Demand) -> None:
        """Rounds: at the last party, a message from the dealer for every chunk; nothing at the others."""
        self._source.prepare(demand)

    def _exchange_all(
        self, operation: str, send: Mapping[int, Sequence[RingArray]], receive: Mapping[int, RingArray]
    ) -> None:
        """Exchange arrays with ranks, and take along what travels for the source of correlations."""
        out, back = self._source.travelling()
        joint = {rank: [*send.get(rank, ()), *out.get(rank, ())] for rank in {**send, **out}}
        both = {rank: np.empty(receive[rank].nbytes + back[rank].nbytes, np.uint8) for rank in receive if rank in back}
        self._exchange(operation, joint, {**receive, **back, **both})
        for rank, arrived in both.items():
            own = room_in(receive[rank])
            own[:] = arrived[: len(own)].data
            room_in(back[rank])[:] = arrived[len(own) :].data

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        ring, receivers = share.ring, range(len(self.names)) if to is None else to
        own = share.parts[0]
        if len(self.names) > 2:
            own = ring.add(own, self._zero(ring, share.shape))
        return self._reveal("open", ring, own, receivers)

    def _reveal(self, operation: str, ring: Ring, own: RingArray, receivers: Sequence[int]) -> RingArray | None:
        """Add up everybody's summand at the receivers, and take what the source of correlations still awaits."""
        theirs = {rank: ring.empty(own.shape) for rank in self._others} if self.rank in receivers else {}
        send = {rank: [own] for rank in self._others if rank in receivers}
        self._exchange_all(operation, send, theirs)
        return functools.reduce(ring.add, theirs.values(), own) if self.rank in receivers else None

    def _opened(self, operation: str, ring: Ring, own: Sequence[RingArray]) -> list[RingArray]:
        """Open several masked values to everybody in one exchange."""
        if not own:
            self._exchange_if_due(operation)
            return []
        joint = own[0].reshape(-1) if len(own) == 1 else np.concatenate([array.reshape(-1) for array in own])
        opened = self._reveal(operation, ring, joint, range(len(self.names)))
        assert opened is not None  # noqa: S101 - for the type checker: everybody receives
        ends = np.cumsum([array.size for array in own])
        return [opened[end - array.size : end].reshape(array.shape) for array, end in zip(own, ends, strict=True)]

    def _exchange_if_due(self, operation: str) -> None:
        """Exchange what travels for the source, if there is anything."""
        out, back = self._source.travelling()
        if out or back:
            self._exchange(operation, out, back)
