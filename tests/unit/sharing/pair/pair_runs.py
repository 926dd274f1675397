"""Programs of ``pair`` on summands that are chosen by hand, and what they should give by Python integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofit.arithmetic import PowerOfTwoRing, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.pair.party import Pair
from support.runs import Run, run_scheme

Integers = NDArray[Any]
Bits = NDArray[np.uint8]


def edges(ring: PowerOfTwoRing) -> list[int]:
    """Numbers at the ends of the signed and of the unsigned range, and about the middle words."""
    top, half = 1 << ring.bits, 1 << (ring.bits - 1)
    found = {0, 1, 2, half - 1, half, half + 1, top - 2, top - 1, 1 << 63, (1 << 64) - 1, (1 << 64) % top}
    return sorted(found)


def some(rng: np.random.Generator, ring: PowerOfTwoRing, *shape: int) -> Integers:
    """Random numbers below 2^bits."""
    drawn = [int.from_bytes(rng.bytes(ring.element_bytes), "little") for _ in range(int(np.prod(shape)))]
    return np.array(drawn, dtype=object).reshape(shape)


def elements(ring: PowerOfTwoRing, numbers: Integers | Sequence[int]) -> RingArray:
    """Numbers modulo 2^bits, as the ring has them."""
    half = 1 << (ring.bits - 1)
    return ring.from_int((np.asarray(numbers, dtype=object) + half) % (2 * half) - half)


def numbers(ring: PowerOfTwoRing, array: RingArray) -> Integers:
    """The inverse of ``elements``: from 0 to 2^bits - 1."""
    return np.asarray(ring.to_int(array).astype(object) % (1 << ring.bits), dtype=object)


def given(s: Scheme, ring: Ring, *summands: RingArray) -> Share:
    """The sharing with these summands, one for each party; no message."""
    return Share(ring, (np.ascontiguousarray(summands[s.rank]),))


def given_bits(s: Scheme, *summands: Bits) -> BitShare:
    """The same of bits, shape (rows, count)."""
    return PackedBits(given(s, BITS, *(pack(each) for each in summands)), summands[0].shape[1])


def of_rank(s: Scheme) -> Pair:
    assert isinstance(s, Pair)
    return s


def both(program: Callable[[Pair], RingArray], ring: Ring) -> RingArray:
    """The sum of what the two parties have at the end."""
    first, second = run_scheme("pair", lambda s: program(of_rank(s))).results
    return ring.add(first, second)


def run_pair(program: Callable[[Pair], Any]) -> Run[Any]:
    return run_scheme("pair", lambda s: program(of_rank(s)))
