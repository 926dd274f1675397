"""A share that is held for many products: a public part, opened once, and a share of the mask that hides the value.

X = E + A, where E = X - A is known to all parties and A is additively shared. Every product with X then opens its other
operand only. ``parts`` are those of an ordinary share, worked out when something else than a product asks for them.
"""

from __future__ import annotations

from collections.abc import Callable

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.sharing.shares import Share


class HeldShare(Share):
    """``public``: E. ``mask``: our share of A. ``adds_public``: whether E belongs to our ordinary share."""

    __slots__ = ("adds_public", "mask", "public")
    public: RingArray
    mask: RingArray
    adds_public: bool

    def __init__(self, ring: Ring, public: RingArray, mask: RingArray, *, adds_public: bool) -> None:
        object.__setattr__(self, "ring", ring)
        object.__setattr__(self, "public", public)
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "adds_public", adds_public)

    @property
    def parts(self) -> tuple[RingArray, ...]:
        """Our ordinary share."""
        return (self.ring.add(self.mask, self.public),) if self.adds_public else (self.mask,)

    @property
    def shape(self) -> Shape:
        """The shape of the shared array."""
        return self.mask.shape

    def map(self, local: Callable[[RingArray], RingArray]) -> HeldShare:
        """Apply an indexing, a transposition or another linear map to both."""
        return HeldShare(self.ring, local(self.public), local(self.mask), adds_public=self.adds_public)
