"""A share whose parts an engine has: they are multiplied where they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cofit.arithmetic import Place, RingArray, Shape
from cofit.arithmetic.engine import Placed
from cofit.sharing.shares import Share


class PlacedShare(Share):
    """``placed``: the parts, where they are. ``parts`` brings them here, for what is no product."""

    __slots__ = ("_placed",)
    _placed: Placed

    def __init__(self, placed: Placed) -> None:
        object.__setattr__(self, "ring", placed.ring)
        object.__setattr__(self, "_placed", placed)

    @property
    def placed(self) -> Placed:
        """The parts, where they are."""
        return self._placed

    @property
    def parts(self) -> tuple[RingArray, ...]:
        """The parts, brought here."""
        return self._placed.fetch()

    @property
    def shape(self) -> Shape:
        """The shape of the shared array."""
        return self._placed.shape

    def map(self, local: Callable[[RingArray], RingArray]) -> Share:
        """Apply a linear map: the transpose (``np.transpose``) stays where it is, all else is an ordinary share."""
        return PlacedShare(self._placed.transposed()) if local is np.transpose else self.linear(local)

    def block(self, place: Place) -> Share:
        """Return the elements in this place of both axes, where they are."""
        return PlacedShare(self._placed.block(place))
