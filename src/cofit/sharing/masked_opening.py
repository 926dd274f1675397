"""Opening a number under a mask, and taking the mask off again where it has wrapped: the algebra of all schemes.

**Truncation.** z is to be divided by 2^s in Z_2^k, with 0 <= z + 2^(k-2) < 2^(k-1). r is uniform; c = z + 2^(k-2) + r
is opened to those who do not know r. The sum wrapped exactly if r has its top bit set and c has not, so

    z / 2^s = (c >> s) - (r >> s) + (1 - top(c)) top(r) 2^(k-s) - 2^(k-2-s)

up to the carry out of the low bits, which is 0 or 1 (1 with probability frac(z / 2^s) for one mask: unbiased; where it
is a sum of several with digits of their own, as in ``shamir``, the law is another one). Given c the right
side is linear in r >> s and top(r), and in u top(r) with u = 1 - top(c). Why it never fails: ``rep3/proof.md``.

**Numbers from digits.** The same for T < 2^(K-1) and r of K digits, c = T + r modulo 2^K (``numbers.py``):

    T = c - r + 2^K top(r) (1 - top(c)).

Where summands of r >> s and of top(r) are at hand, ``PowerOfTwoRing.unmask`` computes the first line in one pass.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray
from cofit.arithmetic.bits import unpack

Digits = npt.NDArray[np.uint8]


@functools.cache
def power(ring: Ring, exponent: int) -> RingArray:
    """Return the element 2^exponent."""
    return ring.from_int(np.asarray(1 << exponent, dtype=object))


def raised(ring: PowerOfTwoRing, masked: RingArray) -> RingArray:
    """Return c from z + r."""
    return ring.add(masked, power(ring, ring.bits - 2))


def top(ring: PowerOfTwoRing, values: RingArray) -> RingArray:
    """Return the top bits, as elements 0 and 1."""
    return ring.shr(values, ring.bits - 1)


def no_top(ring: PowerOfTwoRing, opened: RingArray) -> RingArray:
    """Return u = 1 - top(c)."""
    return ring.sub(power(ring, 0), top(ring, opened))


def parts_of_mask(ring: PowerOfTwoRing, mask: RingArray, shift: int) -> RingArray:
    """Return r >> s and top(r), as two rows."""
    both = ring.empty((2, *mask.shape))
    both[0, ...], both[1, ...] = ring.shr(mask, shift), top(ring, mask)
    return both


def public_part(ring: PowerOfTwoRing, opened: RingArray, shift: int) -> RingArray:
    """Return (c >> s) - 2^(k-2-s)."""
    return ring.sub(ring.shr(opened, shift), power(ring, ring.bits - 2 - shift))


def of_wrap(ring: PowerOfTwoRing, wrapped: RingArray, shift: int) -> RingArray:
    """Return u top(r) 2^(k-s), or a summand of it."""
    return ring.shl(wrapped, ring.bits - shift)


def without_wrap(ring: IntegerRing, top_digit: RingArray, masked_top: RingArray, width: int) -> RingArray:
    """Return our summand of 2^K top(r) (1 - top(c)), from that of top(r) and from top(c)."""
    return ring.shl(ring.sub(top_digit, ring.mul(top_digit, masked_top)), width)


# --- digits, where a mask is a sum of several ------------------------------------------------------------


def top_digit(ring: PowerOfTwoRing, values: RingArray, width: int) -> Digits:
    """Return the numbers that the top bits make, at most eight of them."""
    return _small(ring, ring.shr(values, ring.bits - width))


def low_digit(ring: PowerOfTwoRing, values: RingArray, shift: int, width: int) -> Digits:
    """Return the top digit of what lies below ``shift``; of fewer bits, with zeros after them."""
    mask, missing = np.uint8((1 << width) - 1), width - shift
    if missing > 0:
        return (_small(ring, values) << np.uint8(missing)) & mask
    return _small(ring, ring.shr(values, shift - width)) & mask


def top_digit_of_planes(planes: RingArray, width: int, count: int) -> Digits:
    """Return the number that the top digits of every element make; of fewer digits, with zeros after them."""
    total = np.zeros(count, np.uint8)
    for place, row in enumerate(planes[-width:], max(0, width - len(planes))):
        total |= unpack(row[None], count)[0] << np.uint8(place)
    return total


def _small(ring: PowerOfTwoRing, values: RingArray) -> Digits:
    """Return the lowest eight bits."""
    return (values if ring.words == 1 else values["lo"]).astype(np.uint8)
