"""Bits of one party times values of the other, from random transfers, in one round: what all products are made of.

The sender has values v (of any group), the chooser bits b. From a random transfer the sender has r_0 and r_1, the
chooser a random bit c and r_c. At once the sender sends d = r_0 - r_1 + v and the chooser u = b XOR c. With b = u + (1
- 2 u) c,

    v b = u v + (1 - 2 u) v c,    v c = (r_c + c d) - r_0:

the chooser's summand is (1 - 2 u)(r_c + c d), the sender's u v - (1 - 2 u) r_0. d is masked by r_(1-c), which the
chooser lacks, and u by c, which the sender lacks. Over bits plus and minus are XOR: r_c XOR c d, and u v XOR r_0.

Products of numbers: b is a digit, j places up, so that v need only be right modulo 2^(k-j): d_j has (k - j) bits, sent
in whole bytes. Source: Gilboa, "Two party RSA key generation", CRYPTO 1999, section 4.1; random transfers adjusted as
in Beaver, "Precomputing oblivious transfer", CRYPTO 1995.

Every class here is one side of such products: ``of`` gives what we keep and our message, ``finish`` our summands, when
the other party's message is there.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import PowerOfTwoRing, RingArray
from cofit.arithmetic.bits import flipped_by_bits, from_planes, packed_length, to_planes, unpack
from cofit.arithmetic.integers import Words
from cofit.sharing.pair.transfers import Choosing, Sending

Bytes = npt.NDArray[np.uint8]
_BYTE = 8


class OneSide(Protocol):
    """What a party keeps of products until the other one's message is there."""

    def finish(self, heard: RingArray) -> RingArray:
        """Return our summands."""


@dataclass(frozen=True, eq=False, repr=False)
class SentBits:
    """Words of bits that the other party's bits choose from, one by one."""

    values: Words
    zeros: Words

    @classmethod
    def of(cls, values: Words, transfers: Sending) -> tuple[SentBits, Words]:
        """Return what we keep, and d."""
        zeros, ones = transfers.bits()
        return cls(values, zeros), zeros ^ ones ^ values

    def finish(self, heard: Words) -> Words:
        """Return our summand, given u."""
        return (heard & self.values) ^ self.zeros


@dataclass(frozen=True, eq=False, repr=False)
class ChosenBits:
    """Words of bits that choose."""

    choices: Words
    chosen: Words

    @classmethod
    def of(cls, bits: Words, transfers: Choosing) -> tuple[ChosenBits, Words]:
        """Return what we keep, and u."""
        return cls(transfers.choices, transfers.bits()), bits ^ transfers.choices

    def finish(self, heard: Words) -> Words:
        """Return our summand, given d."""
        return self.chosen ^ (self.choices & heard)


@dataclass(frozen=True, eq=False, repr=False)
class SentValues:
    """Elements of a ring, each times a bit of the other party: shape (rows, count)."""

    ring: PowerOfTwoRing
    values: RingArray
    zeros: RingArray

    @classmethod
    def of(cls, ring: PowerOfTwoRing, values: RingArray, transfers: Sending) -> tuple[SentValues, RingArray]:
        """Return what we keep, and d."""
        rows, count = values.shape
        zeros, ones = (_rows(drawn, rows, count) for drawn in transfers.elements(ring))
        return cls(ring, values, zeros), ring.signed_sum([zeros, values], [ones])

    def finish(self, heard: Words) -> RingArray:
        """Return our summand, given u."""
        ring = self.ring
        taken = ring.mul(ring.from_int(unpack(heard, self.values.shape[1])), self.values)
        return ring.sub(taken, flipped_by_bits(ring, heard, self.zeros, adds_bits=False))


@dataclass(frozen=True, eq=False, repr=False)
class ChosenValues:
    """Bits, packed in rows, each times an element of the other party."""

    ring: PowerOfTwoRing
    flips: Words
    choices: Words
    chosen: RingArray

    @classmethod
    def of(cls, ring: PowerOfTwoRing, bits: Words, count: int, transfers: Choosing) -> tuple[ChosenValues, Words]:
        """Return what we keep, and u; ``count``: bits in a row."""
        choices = transfers.choices.reshape(bits.shape)
        chosen = _rows(transfers.elements(ring), len(bits), count)
        return cls(ring, bits ^ choices, choices, chosen), bits ^ choices

    def finish(self, heard: RingArray) -> RingArray:
        """Return our summand, given d."""
        sums = _chosen_sum(self.ring, self.chosen, self.choices, heard)
        return flipped_by_bits(self.ring, self.flips, sums, adds_bits=False)


@dataclass(frozen=True, eq=False, repr=False)
class SentNumbers:
    """Numbers of a ring, each times a number of the other party."""

    ring: PowerOfTwoRing
    values: RingArray
    zeros: RingArray

    @classmethod
    def of(cls, ring: PowerOfTwoRing, values: RingArray, transfers: Sending) -> tuple[SentNumbers, Bytes]:
        """Return what we keep, and d."""
        count = len(values)
        zeros, ones = (_rows(drawn, ring.bits, count) for drawn in transfers.elements(ring))
        differences = ring.sub(zeros, ones)
        return cls(ring, values, zeros), _narrowed(ring, ring.add(differences, values))

    def finish(self, heard: Words) -> RingArray:
        """Return our summand, given u."""
        ring, count = self.ring, len(self.values)
        taken = ring.mul(from_planes(ring, heard, count), self.values)
        return ring.sub(taken, _placed(ring, flipped_by_bits(ring, heard, self.zeros, adds_bits=False)))


@dataclass(frozen=True, eq=False, repr=False)
class ChosenNumbers:
    """Numbers of a ring, by their digits, each times a number of the other party."""

    ring: PowerOfTwoRing
    flips: Words
    choices: Words
    chosen: RingArray

    @classmethod
    def of(cls, ring: PowerOfTwoRing, numbers: RingArray, transfers: Choosing) -> tuple[ChosenNumbers, Words]:
        """Return what we keep, and u."""
        digits = to_planes(ring, numbers)
        choices = transfers.choices.reshape(digits.shape)
        flips = digits ^ choices
        return cls(ring, flips, choices, _rows(transfers.elements(ring), ring.bits, len(numbers))), flips

    def finish(self, heard: Bytes) -> RingArray:
        """Return our summand, given d."""
        ring = self.ring
        differences = _widened(ring, heard, self.chosen.shape[1])
        sums = _chosen_sum(ring, self.chosen, self.choices, differences)
        return _placed(ring, flipped_by_bits(ring, self.flips, sums, adds_bits=False))


# --- digits that need fewer bits the higher they are -----------------------------------------------------


def number_bytes(ring: PowerOfTwoRing, count: int) -> int:
    """Return the bytes of d for so many numbers: of eight digits at a time as many bytes as the lowest of them
    needs.
    """
    size = ring.element_bytes
    return count * _BYTE * size * (size + 1) // 2


def number_words(ring: PowerOfTwoRing, count: int) -> int:
    """Return the words of u, and of transfers, for so many numbers."""
    return ring.bits * packed_length(count)


def _narrowed(ring: PowerOfTwoRing, rows: RingArray) -> Bytes:
    size = ring.element_bytes
    octets = np.ascontiguousarray(rows).view(np.uint8).reshape(ring.bits // _BYTE, _BYTE, -1, size)
    return np.concatenate([octets[i, :, :, : size - i].reshape(-1) for i in range(len(octets))])


def _widened(ring: PowerOfTwoRing, octets: Bytes, count: int) -> RingArray:
    size = ring.element_bytes
    rows = np.zeros((ring.bits // _BYTE, _BYTE, count, size), np.uint8)
    start = 0
    for i in range(len(rows)):
        end = start + _BYTE * count * (size - i)
        rows[i, :, :, : size - i] = octets[start:end].reshape(_BYTE, count, size - i)
        start = end
    return rows.reshape(-1).view(ring.dtype).reshape(ring.bits, count)


def _placed(ring: PowerOfTwoRing, rows: RingArray) -> RingArray:
    """Return the sum of 2^j times row j."""
    total: RingArray = ring.matmul(_powers(ring), np.ascontiguousarray(rows))[0]
    return total


@functools.cache
def _powers(ring: PowerOfTwoRing) -> RingArray:
    """Return 2^j for every digit, as one row."""
    signed = [1 << j for j in range(ring.bits - 1)] + [-(1 << (ring.bits - 1))]
    return ring.from_int(np.array([signed], dtype=object))


def _chosen_sum(ring: PowerOfTwoRing, chosen: RingArray, choices: Words, heard: RingArray) -> RingArray:
    """Return r_c + c d."""
    return ring.add(chosen, ring.mul(ring.from_int(unpack(choices, chosen.shape[1])), heard))


def _rows(drawn: RingArray, rows: int, count: int) -> RingArray:
    """Return what the transfers of packed rows gave, without the padding."""
    return np.ascontiguousarray(drawn.reshape(rows, -1)[:, :count])
