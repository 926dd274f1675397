"""Bits as packed words: 64 to a word of ``BITS``, shared as the scheme shares ring elements.

XOR is the sum of that ring and AND its product, so a scheme that can add and multiply ring elements can compute with
bits. It says beside how words that nobody knows are drawn, and how a bilinear map of words is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack, packed_length, unpack
from cofit.errors import InvalidInputError, ShapeError, parameter_error
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.boolean import Boolean, Rows
from cofit.sharing.shares import BitShare, Share

if TYPE_CHECKING:
    from cofit.sharing.scheme import Scheme


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PackedBits(BitShare):
    """One party's part of shared bits: a share of words, shape (rows, words)."""

    packed: Share
    count: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.packed.shape[0]


def words_of(bits: BitShare) -> Share:
    """Return the shared words of bits that are packed."""
    if not isinstance(bits, PackedBits):
        raise InvalidInputError(f"These bits are not packed words but {type(bits).__name__}, of another scheme.")
    return bits.packed


class PackedBoolean(Boolean):
    """``random_words``: a sharing of uniform words; ``bilinear_words``: of a public bilinear map of shared words."""

    def __init__(
        self,
        scheme: Scheme,
        random_words: Callable[[Shape], Share],
        bilinear_words: Callable[[Share, Share, BitForm, Shape], Share],
    ) -> None:
        self._scheme = scheme
        self._random_words = random_words
        self._bilinear_words = bilinear_words

    def random(self, rows: int, count: int) -> PackedBits:
        return PackedBits(self._random_words((rows, packed_length(count))), count)

    def constant(self, bits: npt.NDArray[np.uint8]) -> PackedBits:
        return PackedBits(self._scheme.constant(BITS, pack(bits)), bits.shape[-1])

    def input(self, source: int, bits: npt.NDArray[np.uint8] | None, rows: int, count: int) -> PackedBits:
        shape = (rows, packed_length(count))
        return PackedBits(self._scheme.input(source, None if bits is None else pack(bits), BITS, shape), count)

    def open(self, bits: BitShare, to: Sequence[int] | None = None) -> npt.NDArray[np.uint8] | None:
        words = self._scheme.open(words_of(bits), to)
        return None if words is None else unpack(words, bits.count)

    def xor(self, a: BitShare, b: BitShare) -> PackedBits:
        return PackedBits(self._scheme.add(words_of(a), words_of(b)), common_count(a, b))

    def not_(self, a: BitShare) -> PackedBits:
        return PackedBits(self._scheme.add_public(words_of(a), pack(np.ones((1, a.count), np.uint8))), a.count)

    def and_(self, a: BitShare, b: BitShare) -> PackedBits:
        return PackedBits(self._scheme.mul(words_of(a), words_of(b)), common_count(a, b))

    def bilinear(self, a: BitShare, b: BitShare, form: BitForm) -> PackedBits:
        count = common_count(a, b)
        shape = (form.rows(a.rows, b.rows), packed_length(count))
        with self._scheme.agreeing_on(repr(form.facts)):
            return PackedBits(self._bilinear_words(words_of(a), words_of(b), form, shape), count)

    def select_rows(self, a: BitShare, rows: Rows) -> PackedBits:
        return PackedBits(words_of(a).map(lambda part: part[rows]), a.count)

    def stack_rows(self, pieces: Sequence[BitShare]) -> PackedBits:
        count = common_count(*pieces)
        parts = zip(*(words_of(piece).parts for piece in pieces), strict=True)
        return PackedBits(Share(BITS, tuple(np.concatenate(part) for part in parts)), count)

    def gather_rows(self, pieces: Sequence[tuple[BitShare, Rows]]) -> PackedBits:
        count = common_count(*(bits for bits, _ in pieces))
        parts = zip(*(words_of(bits).parts for bits, _ in pieces), strict=True)
        chosen = [rows for _, rows in pieces]
        gathered = (np.concatenate([x[rows] for x, rows in zip(part, chosen, strict=True)]) for part in parts)
        return PackedBits(Share(BITS, tuple(gathered)), count)

    def fold(self, a: BitShare, groups: int) -> PackedBits:
        count = folded_count(a, groups)
        return PackedBits(words_of(a).linear(lambda part: part.reshape(a.rows * groups, -1)), count)


def common_count(*bits: BitShare) -> int:
    """Return the number of bits in a row of all operands, or raise ShapeError."""
    counts = {b.count for b in bits}
    if len(counts) != 1:
        raise ShapeError(f"Operands hold rows of different lengths: {sorted(counts)} bits.")
    return counts.pop()


def folded_count(a: BitShare, groups: int) -> int:
    """Return the length of the rows that ``fold`` leaves."""
    count = a.count // groups
    if count * groups != a.count or count % 64:
        raise parameter_error("groups", "fold", "such that rows of a multiple of 64 bits are left", groups)
    return count
