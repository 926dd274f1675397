"""Messages of a party of ``semi2k``: common seeds, inputs and openings, with what travels for the correlations."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.errors import PeerClosedError
from cofit.sharing.correlations import Demand
from cofit.sharing.member import SPREAD, as_bytes
from cofit.sharing.operands import own_values
from cofit.sharing.semi2k.inputs import DealtToParties
from cofit.sharing.semi2k.sources import SOURCES
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.transport import Mesh


class Openings(DealtToParties):
    """One of the computing parties, with what it sends and draws."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._others = [rank for rank in range(len(self.names)) if rank != self.rank]
        self._constant_part = 0 if self.rank == 0 else None
        self._pairs: dict[int, Generator] = {}
        self._coins = Generator(fresh_seed())
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
        """Agree on seeds with every other party, k_ij = HKDF(half of i, half of j; session); the source begins too."""
        mine = {rank: fresh_seed() for rank in self._others}
        heard = {rank: np.empty(SEED_BYTES, np.uint8) for rank in self._others}
        self._exchange_all("setup", {rank: [np.frombuffer(half, np.uint8)] for rank, half in mine.items()}, heard)
        session = self.mesh.terms.session
        for rank in self._others:
            halves = (mine[rank], heard[rank].tobytes())
            low, high = min(rank, self.rank), max(rank, self.rank)
            ordered = halves if self.rank == low else halves[::-1]
            self._pairs[rank] = Generator(derive_seed(b"".join(ordered) + session, f"semi2k seed {low} {high}"))
        self._source.start(session)

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
            own = as_bytes(receive[rank])
            own[:] = arrived[: len(own)].data
            as_bytes(back[rank])[:] = arrived[len(own) :].data

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        """The others' summands come from the seeds that the source shares with them."""
        if self.rank != source:
            return Share(ring, (self._pairs[source].ring(ring, shape),))
        given = own_values(self.mesh.name, ring, values, shape)
        drawn = (self._pairs[rank].ring(ring, shape) for rank in self._others)
        return Share(ring, (functools.reduce(ring.sub, drawn, given),))

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

    def _zero(self, ring: Ring, shape: Shape) -> RingArray:
        """Return our summand of a random sharing of zero: of every two parties one adds and one subtracts a draw."""
        total = ring.zeros(shape)
        for rank in self._others:
            drawn = self._pairs[rank].ring(ring, shape)
            total = ring.add(total, drawn) if self.rank < rank else ring.sub(total, drawn)
        return total

    def refresh(self, share: Share) -> Share:
        """Add a sharing of zero. Nothing is sent."""
        return Share(share.ring, (share.ring.add(share.parts[0], self._zero(share.ring, share.shape)),))

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
