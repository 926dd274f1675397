"""Shared bits: what a scheme computes with them. A part of its own, which need not share as the scheme shares numbers.

Bits come in arrays of shape (rows, count); every element of a row stands for itself, and row b usually holds bit b of
``count`` values. What a party holds of them (``BitShare``) is the business of the part alone: packed words under XOR
(``packed_bits.py``), elements of an extension of GF(2), or anything else that has the operations below. Numbers and
bits meet in the scheme's conversions (``conversion.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cofit.sharing.bit_forms import BitForm
from cofit.sharing.shares import BitShare

Rows = slice | Sequence[int]
"""Which rows: NumPy's rules for one axis."""


class Boolean(ABC):
    """One party's side of a sharing of bits. All parties call the same methods in the same order."""

    # --- values in and out -------------------------------------------------------------------------------

    @abstractmethod
    def random(self, rows: int, count: int) -> BitShare:
        """Return shared uniform bits that nobody knows."""

    @abstractmethod
    def constant(self, bits: npt.NDArray[np.uint8]) -> BitShare:
        """Return the trivial sharing of public bits, shape (rows, count)."""

    @abstractmethod
    def input(self, source: int, bits: npt.NDArray[np.uint8] | None, rows: int, count: int) -> BitShare:
        """Share bits, shape (rows, count), that the party of rank ``source`` holds (it alone passes them)."""

    @abstractmethod
    def open(self, bits: BitShare, to: Sequence[int] | None = None) -> npt.NDArray[np.uint8] | None:
        """Reveal bits to the ranks in ``to`` (by default all); the others get None."""

    # --- operations --------------------------------------------------------------------------------------

    @abstractmethod
    def xor(self, a: BitShare, b: BitShare) -> BitShare:
        """Return a XOR b; a single row goes with every row. Local."""

    @abstractmethod
    def not_(self, a: BitShare) -> BitShare:
        """Return NOT a. Local."""

    @abstractmethod
    def and_(self, a: BitShare, b: BitShare) -> BitShare:
        """Return a AND b; a single row goes with every row."""

    @abstractmethod
    def bilinear(self, a: BitShare, b: BitShare, form: BitForm) -> BitShare:
        """Return a public bilinear map of two shared arrays of bits; messages are for its results, as for ANDs."""

    def products(self, a: BitShare, b: BitShare, groups: Sequence[tuple[Sequence[int], Sequence[int]]]) -> BitShare:
        """Return a_i AND b_j for all rows i and j of a group, j by j for each i, group by group; messages as for
        ANDs.
        """
        chosen = [(i, j) for rows, others in groups for i in rows for j in others]
        left, right = ([both[side] for both in chosen] for side in (0, 1))
        return self.and_(self.select_rows(a, left), self.select_rows(b, right))

    # --- rows --------------------------------------------------------------------------------------------

    @abstractmethod
    def select_rows(self, a: BitShare, rows: Rows) -> BitShare:
        """Return some rows of shared bits. Local."""

    @abstractmethod
    def gather_rows(self, pieces: Sequence[tuple[BitShare, Rows]]) -> BitShare:
        """Return some rows of each piece, in order. Local."""

    def stack_rows(self, pieces: Sequence[BitShare]) -> BitShare:
        """Return the rows of all pieces, in order. Local."""
        return self.gather_rows([(piece, slice(None)) for piece in pieces])

    @abstractmethod
    def fold(self, a: BitShare, groups: int) -> BitShare:
        """Return the same bits in ``groups`` times as many rows of as many times fewer, a multiple of 64. Local.

        Row r becomes the rows r groups, ..., r groups + groups - 1.
        """
