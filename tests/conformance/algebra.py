"""Operands of every scheme and ring, and programs on their shares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from cofit.arithmetic import F61, INTEGER_RINGS, Z64, Z128, IntegerRing, RingArray
from cofit.sharing import Scheme, Share
from support.runs import run_scheme
from support.schemes import EVERY, with_rings

EXAMPLES = settings(max_examples=6, deadline=None)
POWERS_OF_TWO = [one for one in with_rings(EVERY, (Z64, Z128)) if one not in (("repn", Z128), ("pair", Z128))]
"""Without what tests of their own have."""
ANY_RING = [one for one in with_rings(EVERY, tuple(INTEGER_RINGS.values())) if one != ("pair", F61)]
"""Two parties alone multiply modulo powers of two: strings of transfers are bits, and digits lose what wraps."""
SCHEME_AND_RING = [*POWERS_OF_TWO, ("clear", F61)]
"""Of the schemes so far only ``clear`` truncates and takes bits in a prime field."""


def integers(ring: IntegerRing, count: int) -> st.SearchStrategy[list[int]]:
    low, high = ring.lowest, ring.highest
    interesting = st.sampled_from([0, 1, -1, high, low, 1 << (ring.bits // 2)])
    return st.lists(st.integers(low, high) | interesting, min_size=count, max_size=count)


def signed(ring: IntegerRing, value: int) -> int:
    reduced = value % ring.modulus
    return reduced - ring.modulus if 2 * reduced >= ring.modulus else reduced


def on_shares(
    scheme: str, ring: IntegerRing, inputs: list[RingArray], formula: Callable[[Scheme, list[Share]], Share]
) -> list[int]:
    def program(s: Scheme) -> RingArray | None:
        shares = [
            s.input(i % len(s.names), values if s.rank == i % len(s.names) else None, ring, values.shape)
            for i, values in enumerate(inputs)
        ]
        return s.open(formula(s, shares))

    opened = run_scheme(scheme, program).results
    decoded = [[int(v) for v in ring.to_int(o).flat] for o in opened if o is not None]
    assert len(decoded) == len(opened)
    assert all(d == decoded[0] for d in decoded), "parties opened different values"
    return decoded[0]


def elements(ring: IntegerRing, values: list[int], shape: tuple[int, ...]) -> RingArray:
    return ring.from_int(np.array([signed(ring, v) for v in values], dtype=object).reshape(shape))
