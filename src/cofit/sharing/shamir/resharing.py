"""From summands that some parties have to shares that all have: the one step that products, inputs and fresh sharings
take. ``proof.md`` says why its messages show nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.sharing.group_streams import Group
from cofit.sharing.operands import own_values
from cofit.sharing.shamir.streams import Streams
from cofit.sharing.shares import Share
from cofit.sharing.spec import KING
from cofit.sharing.steps import Messages, Protocol, Steps

_KING = 0  # who adds up, where messages go through one party


class Masks(NamedTuple):
    """What a sender adds to its summand and takes off, and all of our draws for groups, which are in the sum."""

    plus: list[RingArray]
    minus: list[RingArray]
    drawn: dict[Group, RingArray]


class Resharing(Steps, Streams):
    """One party, with what it sends to share a sum."""

    @property
    def _relay(self) -> int | None:
        return _KING if self.spec.route == KING else None

    def _masks(self, ring: Ring, shape: Shape, senders: Group, relay: int | None) -> Masks:
        """Draw what hides the summands of ``senders``: a sharing of zero among them, and draws of groups."""
        hiding = self.geometry.hiding(senders, relay)
        drawn = self._drawn(hiding, ring, shape)
        plus: list[RingArray] = []
        minus: list[RingArray] = []
        if self.rank in senders:
            plus = [draw for group, draw in drawn.items() if hiding[group] == self.rank]
            for rank in senders:
                if rank != self.rank:
                    (plus if self.rank < rank else minus).append(self._pairs[rank].ring(ring, shape))
        return Masks(plus, minus, drawn)

    def _shared(
        self,
        ring: Ring,
        shape: Shape,
        senders: Group,
        masked: RingArray | None,
        drawn: Mapping[Group, RingArray],
        relay: int | None,
    ) -> Protocol[Share]:
        """Return a sharing of the sum of the senders' summands; ``masked``: ours with the masks, in which are ``drawn``
        of groups.

        Every sender tells its own group its masked summand, which is then a value that this group knows; so is the
        draw of every group in the masks, which comes off. 1 round; through a relay 2, with fewer messages.
        """
        if relay is not None:
            masked = yield from self._through(ring, shape, senders, masked, relay)
            senders = (relay,)
        known = yield from self._told(ring, shape, senders, masked)
        terms = [(self.geometry.own_groups[sender], 1) for sender in known]
        terms += [(group, -1) for group in drawn]
        return self._from_groups(ring, terms, [*known.values(), *drawn.values()])

    def _through(
        self, ring: Ring, shape: Shape, senders: Group, masked: RingArray | None, relay: int
    ) -> Protocol[RingArray | None]:
        """Send masked summands to the relay, which returns their sum; the others return nothing."""
        if self.rank != relay:
            yield Messages({relay: [masked]} if masked is not None else {}, {})
            return None
        heard = {rank: ring.empty(shape) for rank in senders if rank != relay}
        yield Messages({}, heard)
        return ring.signed_sum([*([] if masked is None else [masked]), *heard.values()])

    def _told(
        self, ring: Ring, shape: Shape, senders: Sequence[int], own: RingArray | None
    ) -> Protocol[dict[int, RingArray]]:
        """Every sender tells its group a value; return those that we know, by sender, ours among them."""
        groups = {sender: self.geometry.own_groups[sender] for sender in senders}
        heard = {rank: ring.empty(shape) for rank, group in groups.items() if rank != self.rank and self.rank in group}
        yield Messages({} if own is None else {r: [own] for r in groups[self.rank] if r != self.rank}, heard)
        known = heard if own is None else {**heard, self.rank: own}
        return {rank: known[rank] for rank in groups if rank in known}

    def _reshared(self, ring: Ring, summand: RingArray | None, shape: Shape, senders: Group) -> Protocol[Share]:
        """Return a fresh sharing of the sum of summands that ``senders`` have. 1 round."""
        masks = self._masks(ring, shape, senders, None)
        masked = None if summand is None else ring.signed_sum([summand, *masks.plus], masks.minus)
        return (yield from self._shared(ring, shape, senders, masked, masks.drawn, None))

    # --- values that parties know ------------------------------------------------------------------------

    def _given(
        self, ring: Ring, shape: Shape, sources: Sequence[int], own: RingArray | None
    ) -> Protocol[dict[int, Share]]:
        """Share a value of each of the sources; ``own``: ours, if we are one. 1 round.

        x is the sum of a draw for every group that the source is in, but of its own group's: that one is the rest of
        x, and the source tells it to them.
        """
        draws: dict[int, dict[Group, RingArray]] = {}
        for source in sources:
            rest = self.geometry.own_groups[source]
            groups = [g for g in self._own_groups if source in g and g != rest]
            draws[source] = self._drawn(groups, ring, shape)
        left = None if own is None else ring.signed_sum([own], list(draws[self.rank].values()))
        known = yield from self._told(ring, shape, sources, left)
        shares = {}
        for source in sources:
            terms, values = [(g, 1) for g in draws[source]], list(draws[source].values())
            if source in known:
                terms.append((self.geometry.own_groups[source], 1))
                values.append(known[source])
            shares[source] = self._from_groups(ring, terms, values)
        return shares

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        """1 round; the value under draws, to the n - t - 1 others of the source's own group."""
        own = own_values(self.mesh.name, ring, values, shape) if self.rank == source else None
        return self._run("input", self._given(ring, shape, [source], own))[source]

    def refresh(self, share: Share) -> Share:
        """Reshare the summands of the openers. 1 round, (t + 1)(n - t - 1) elements."""
        own = self._summand(share, self.geometry.openers) if self.rank in self.geometry.openers else None
        return self._run("refresh", self._reshared(share.ring, own, share.shape, self.geometry.openers))

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        """Every receiver gets the summands of the t parties after it. 1 round, t elements for each."""
        ring, receivers = share.ring, range(len(self.names)) if to is None else to
        send = {
            rank: [self._summand(share, self.geometry.readers(rank))]
            for rank in receivers
            if rank != self.rank and self.rank in self.geometry.readers(rank)
        }
        heard: dict[int, RingArray] = {}
        if self.rank in receivers:
            heard = {rank: ring.empty(share.shape) for rank in self.geometry.readers(self.rank)[1:]}
        self._exchange("open", send, heard)
        if self.rank not in receivers:
            return None
        return ring.signed_sum([self._summand(share, self.geometry.readers(self.rank)), *heard.values()])
