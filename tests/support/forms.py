"""Public bilinear forms of shared bits, one of every kind, with the rows of their operands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cofit.arithmetic import Ring, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.bit_forms import BitForm, Dot, Each, Lookup, Outer, SideBySide, Spread
from cofit.sharing.packed_bits import PackedBits

CHOSEN = np.random.default_rng(5).integers(0, 1 << 5, (2, 4, 3), dtype=np.uint64)

FORMS: dict[str, tuple[BitForm, int, int]] = {
    "each": (Each(), 3, 3),
    "outer": (Outer(), 3, 2),
    "spread": (Spread(3), 2, 6),
    "dot": (Dot(4), 8, 8),
    "lookup": (Lookup(5, [(1, CHOSEN[0])]), 3, 5),
    "side by side": (SideBySide(((2, 2, Each()), (1, 3, Outer()), (4, 4, Dot(2)))), 7, 9),
}
"""By name: the form, and how many rows its left and its right operand have; for rows of one word."""


def form_of(s: Scheme, shared: Callable[[Scheme, Ring, Shape, int], Share], name: str) -> BitShare:
    """The form of two shared operands, which ``shared`` makes of a ring, a shape and a number."""
    form, left, right = FORMS[name]
    a, b = (PackedBits(shared(s, BITS, (rows, 1), salt), 64) for rows, salt in ((left, 0), (right, 10)))
    return s.boolean.bilinear(a, b, form)
