"""How owners share values among parties that hold one summand each, and how what they dealt is put together.

An owner outside deals seeds to all parties but the first, which gets the rest (where there is a dealer, the last one
hears from it already). An owner that is a party keeps its values there and deals nothing: see ``semi2k/proof.md``,
"Parts that a party knows".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cofit.arithmetic import Place, Ring, RingArray, Shape
from cofit.errors import InvalidInputError
from cofit.sharing.regions import KnownShare, joined_regions
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import DealtShare, Share
from cofit.sharing.spec import Spec
from cofit.sharing.summands import DealtSummands, SummandInputs


@dataclass(frozen=True)
class AdditiveInputs(SummandInputs):
    """Every party holds one summand, and an owner that is a party may keep its values as they are."""

    def known(self, ring: Ring, shape: Shape, rank: int, holder: int, values: RingArray | None) -> DealtShare:
        """The holder's summand is the value, and those of the others are zero."""
        if (values is not None) != (rank == holder):
            raise InvalidInputError(f"Only the party of rank {holder} may have values that it alone knows; not {rank}.")
        if values is not None and values.shape != shape:
            raise InvalidInputError(f"The values must have shape {shape}; got {values.shape}.")
        return DealtSummands(ring, shape, (values,), holder)


class DealtToParties(Scheme):
    """A party that holds one summand, with what owners deal to it."""

    @classmethod
    def inputs(cls, spec: Spec) -> AdditiveInputs:
        """Seeds of all summands but x_0, which is in full."""
        return AdditiveInputs(cls.info.name, tuple((rank,) for rank in range(spec.parties)), 0)

    def expand_joined(
        self,
        ring: Ring,
        shape: Shape,
        pieces: Iterable[tuple[DealtShare, Place]],
        constant: tuple[RingArray, Place] | None = None,
    ) -> Share:
        """As every scheme does, with the regions that parties know; the constant goes to whoever knows its rows."""
        holders: list[tuple[Place, int | None]] = []
        share = super().expand_joined(ring, shape, _noted(pieces, holders), constant)
        regions = joined_regions(shape, holders, None if constant is None else constant[1])
        if regions is None:
            return share
        (own,) = share.parts
        if constant is not None:
            element, (_, column) = constant
            for region in regions:
                rows, columns = region.place
                if region.holder is not None and columns.stop == column.stop:
                    own[rows, column] = element if self.rank == region.holder else ring.zeros(())
        return KnownShare(ring, (own,), regions)


def _noted(
    pieces: Iterable[tuple[DealtShare, Place]], holders: list[tuple[Place, int | None]]
) -> Iterator[tuple[DealtShare, Place]]:
    """Hand on the pieces, one by one, and note who knows them."""
    for dealt, place in pieces:
        holders.append((place, dealt.holder if isinstance(dealt, DealtSummands) else None))
        yield dealt, place
