"""Products of two parties' summands: the cross terms, from transfers, in one exchange; see ``crossing.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cofit.arithmetic import PowerOfTwoRing, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, unpack
from cofit.arithmetic.integers import Words
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.pair.crossing import (
    ChosenBits,
    ChosenNumbers,
    ChosenValues,
    OneSide,
    SentBits,
    SentNumbers,
    SentValues,
    number_bytes,
    number_words,
)
from cofit.sharing.pair.messages import PairMessages
from cofit.sharing.pair.transfers import MOST, WORD

MOST_WORDS = MOST // WORD
"""Words of transfers that are taken at once."""
MOST_PLANES = 128
"""Bits of the two strings of a transfer."""


def pieces(count: int, most: int) -> list[slice]:
    """Return ranges of at most so many."""
    return [slice(start, min(start + most, count)) for start in range(0, count, most)]


def number_pieces(ring: PowerOfTwoRing, count: int) -> list[slice]:
    """Return which numbers take their transfers at once, of so many."""
    return pieces(count, MOST // ring.bits)


class Part(NamedTuple):
    """A row of the left operand of a form, and some of the rows of the result in which it takes part."""

    row: int
    piece: slice

    @property
    def bits(self) -> int:
        """How many of these there are."""
        return int(self.piece.stop - self.piece.start)

    def reached(self, rows: Sequence[Sequence[int]]) -> Sequence[int]:
        """Return them."""
        return rows[self.row][self.piece]


def batches(reached: Sequence[Sequence[int]], words: int) -> list[list[Part]]:
    """Return what transfers are taken for at once in a form of rows of so many words: parts of as many bits each."""
    by_bits: dict[int, list[Part]] = {}
    for row, rows in enumerate(reached):
        for piece in pieces(len(rows), MOST_PLANES):
            part = Part(row, piece)
            by_bits.setdefault(part.bits, []).append(part)
    most = max(1, MOST_WORDS // max(1, words))
    return [parts[piece] for parts in by_bits.values() for piece in pieces(len(parts), most)]


class PairProducts(PairMessages):
    """One of the two parties, with products of what it and the other party have."""

    def _crossed_words(self, operation: str, a: Words, b: Words) -> Words:
        """Return our share of a_0 b_1 XOR a_1 b_0, of flat arrays of words."""
        sent, chosen = [], []
        d, u = np.empty_like(a), np.empty_like(b)
        for piece in pieces(len(a), MOST_WORDS):
            words = piece.stop - piece.start
            sending, choosing = self._transfers.take(words, words)
            kept, d[piece] = SentBits.of(a[piece], sending)
            sent.append(kept)
            other, u[piece] = ChosenBits.of(b[piece], choosing)
            chosen.append(other)
        their_d, their_u = np.empty_like(d), np.empty_like(u)
        self._swap(operation, [d, u], [their_d, their_u])
        total = np.empty_like(a)
        for i, piece in enumerate(pieces(len(a), MOST_WORDS)):
            total[piece] = sent[i].finish(their_u[piece]) ^ chosen[i].finish(their_d[piece])
        return total

    def _own_words(self, operation: str, own: Words) -> Words:
        """Return our share of x_0 x_1, of flat arrays of words that each party has one of."""
        sends, message, heard = self._turn(), np.empty_like(own), np.empty_like(own)
        kept: list[OneSide] = []
        for piece in pieces(len(own), MOST_WORDS):
            words = piece.stop - piece.start
            sending, choosing = self._transfers.take(words * sends, words * (not sends))
            side: tuple[OneSide, Words] = (
                SentBits.of(own[piece], sending) if sends else ChosenBits.of(own[piece], choosing)
            )
            kept.append(side[0])
            message[piece] = side[1]
        self._swap(operation, [message], [heard])
        for side_, piece in zip(kept, pieces(len(own), MOST_WORDS), strict=True):
            heard[piece] = side_.finish(heard[piece])
        return heard

    def _crossed_form(self, operation: str, form: BitForm, left: Words, right: Words) -> Words:
        """Return our share of form(a_0, b_1) XOR form(a_1, b_0): every row of the left operand chooses among strings of
        as many bits as it takes part in rows of the result.
        """
        reached, words = form.reached(len(left), len(right)), left.shape[1]
        total = BITS.zeros((form.rows(len(left), len(right)), words))
        d, u, kept = [], [], []
        for batch in batches(reached, words):
            bits = batch[0].bits
            sending, choosing = self._transfers.take(len(batch) * words, len(batch) * words)
            zeros, ones = (_by_row(strings, len(batch)) for strings in sending.planes(bits))
            taken = _by_row(choosing.planes(bits), len(batch))
            factors = np.stack([form.factors(part.row, len(left), right)[part.piece] for part in batch])
            choices = choosing.choices.reshape(len(batch), words)
            for part, own in zip(batch, zeros ^ taken, strict=True):
                total[list(part.reached(reached))] ^= own
            d.append(np.ascontiguousarray(zeros ^ ones ^ factors))  # NumPy may reuse the memory of a transposed one
            u.append(left[[part.row for part in batch]] ^ choices)
            kept.append((batch, factors, choices))
        their_d, their_u = [np.empty_like(each) for each in d], [np.empty_like(each) for each in u]
        self._swap(operation, [*d, *u], [*their_d, *their_u])
        for (batch, factors, choices), heard_d, heard_u in zip(kept, their_d, their_u, strict=True):
            summands = (choices[:, None] & heard_d) ^ (factors & heard_u[:, None])
            for part, own in zip(batch, summands, strict=True):
                total[list(part.reached(reached))] ^= own
        return total

    def _crossed_numbers(self, operation: str, ring: PowerOfTwoRing, a: RingArray, b: RingArray) -> RingArray:
        """Return our share of a_0 b_1 + a_1 b_0, of flat arrays of elements."""
        kept, d, u = [], [], []
        for piece in number_pieces(ring, len(a)):
            words = number_words(ring, len(a[piece]))
            sending, choosing = self._transfers.take(words, words)
            sent, own_d = SentNumbers.of(ring, a[piece], sending)
            chosen, own_u = ChosenNumbers.of(ring, b[piece], choosing)
            kept.append((sent, chosen))
            d.append(own_d)
            u.append(own_u)
        their_d, their_u = [np.empty_like(each) for each in d], [np.empty_like(each) for each in u]
        self._swap(operation, [*d, *u], [*their_d, *their_u])
        sides = zip(kept, their_d, their_u, strict=True)
        sums = [ring.add(sent.finish(heard_u), chosen.finish(heard_d)) for (sent, chosen), heard_d, heard_u in sides]
        return np.concatenate(sums) if sums else ring.zeros((0,))

    def _own_numbers(self, operation: str, ring: PowerOfTwoRing, own: RingArray) -> RingArray:
        """Return our share of x_0 x_1, of flat arrays of elements that each party has one of."""
        sends = self._turn()
        kept: list[OneSide] = []
        out: list[RingArray] = []
        room: list[RingArray] = []
        for piece in number_pieces(ring, len(own)):
            count = len(own[piece])
            words = number_words(ring, count)
            sending, choosing = self._transfers.take(words * sends, words * (not sends))
            side: tuple[OneSide, RingArray] = (
                SentNumbers.of(ring, own[piece], sending) if sends else ChosenNumbers.of(ring, own[piece], choosing)
            )
            u_room = np.empty((ring.bits, packed_length(count)), np.uint64)
            kept.append(side[0])
            out.append(side[1])
            room.append(u_room if sends else np.empty(number_bytes(ring, count), np.uint8))
        self._swap(operation, out, room)
        sums = [side.finish(heard) for side, heard in zip(kept, room, strict=True)]
        return np.concatenate(sums) if sums else ring.zeros((0,))

    def _own_bits(self, operation: str, ring: PowerOfTwoRing, own: Words, count: int) -> RingArray:
        """Return our share of m_0 m_1 as elements, (rows, count), of packed rows of bits that each party has one of."""
        if self._turn():
            values = ring.from_int(unpack(own, count))
            return self._met(
                operation, SentValues.of(ring, values, self._transfers.take(own.size, 0)[0]), np.empty_like(own)
            )
        side = ChosenValues.of(ring, own, count, self._transfers.take(0, own.size)[1])
        return self._met(operation, side, ring.empty((len(own), count)))

    def _met(self, operation: str, side: tuple[OneSide, RingArray], room: RingArray) -> RingArray:
        """Send our message of one side of a product, and finish with the other party's."""
        kept, message = side
        self._swap(operation, [message], [room])
        return kept.finish(room)


def _by_row(planes: Words, rows: int) -> Words:
    """Return planes of several rows side by side as (rows, planes, words)."""
    return planes.reshape(len(planes), rows, -1).swapaxes(0, 1)
