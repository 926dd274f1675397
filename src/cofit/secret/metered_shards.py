"""The shards of a party that only counts: those with as many rows of every owner as another one are counted once.

Every kind of shard is a party of its own, on a meter. What a function does to the rows of one shard it does to those of
all shards of its kind, so it runs once for a kind; what comes to the head comes from every shard, as it would. Arrays
that go from one session to another are counted where they come to lie (``sharing/live.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from cofit.secret.array import SecretArray
from cofit.secret.party import Party
from cofit.secret.shards import Shards, Shared, Split, shared
from cofit.secret.sums import PartOfSum
from cofit.sharing import Share
from cofit.sharing.live import Live
from cofit.sharing.meter import Meter


class MeteredShards(Shards):
    """The shards of one party on meters, one for each kind of them."""

    def __init__(self, head: Party, kinds: Sequence[Party], of_shard: Sequence[int]) -> None:
        """kinds: a party on a meter for each kind of shard. of_shard: which kind every shard is."""
        super().__init__(head, kinds)
        self._kinds, self._of_shard = tuple(kinds), tuple(of_shard)

    def each(self, do: Callable[..., object], arguments: Sequence[Any]) -> Split:
        """Run it once for every kind, and count it under the label that the head has at that time."""
        label, found = self.head._scheme._label.rstrip("/"), []
        for k, party in enumerate(self._kinds):
            with party.label(label) if label else nullcontext():
                found.append(do(*(self._at(k, argument) for argument in arguments)))
        return Split(self, found)

    def brought(self, pieces: Split) -> list[Any]:
        live = _live(self.head)
        return [_copied(pieces.pieces[kind], live) for kind in self._of_shard]

    def sent(self, pieces: Sequence[SecretArray]) -> Split:
        first = [self._of_shard.index(kind) for kind in range(len(self._kinds))]
        return Split(self, [self._at(k, pieces[shard]) for k, shard in enumerate(first)])

    def _at(self, k: int, argument: Any) -> Any:
        if isinstance(argument, Split):
            return argument.pieces[k]
        if not isinstance(argument, SecretArray):
            return argument
        there: Shared = _copied(shared(argument), _live(self._kinds[k]))
        return there.at(self._kinds[k])


def _live(party: Party) -> Live:
    scheme = party._scheme
    if not isinstance(scheme, Meter):
        raise TypeError("Only a meter counts for several shards at once.")
    return scheme.live


def _copied(value: Any, live: Live) -> Any:
    """Return the same value without values, which comes to lie elsewhere."""
    if isinstance(value, list):
        return [_copied(one, live) for one in value]
    if isinstance(value, PartOfSum):
        partial = value.partial
        parts = tuple(live.array(partial.ring, part.shape) for part in partial.parts)
        return value._replace(partial=partial._replace(parts=parts))
    if isinstance(value, Shared):
        return value._replace(share=Share(value.share.ring, (live.array(value.share.ring, value.share.shape),)))
    return value
