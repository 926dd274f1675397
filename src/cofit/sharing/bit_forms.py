"""Bilinear maps of shared bits with public coefficients: what one exchange of a Boolean circuit computes.

A form takes the rows of two operands to new rows, each a sum (XOR) of products (AND) of one row of either; every
element of a row stands for itself. Whatever the sums are, a scheme sends for results only (where it opens operands
under masks: for each operand row once, in however many products it takes part). So a table that is looked up by two
secret numbers costs as many ANDs as its entries have bits, not as many as it has entries.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cofit import kernels
from cofit.arithmetic import RingArray
from cofit.arithmetic.integers import Words
from cofit.errors import ShapeError

_ALL = slice(None)
_GATHERED = 256  # rows that a kernel takes at once


class Weighted(NamedTuple):
    """One row of the left operand, and the rows of the right one with which it is multiplied, each with a weight: in
    these words of every row.
    """

    words: slice
    left: int
    rights: list[int]
    weights: Words


class BitForm(ABC):
    """A public bilinear map over GF(2) of packed rows."""

    @abstractmethod
    def rows(self, left: int, right: int) -> int:
        """Return how many rows result, or raise ShapeError where the operands do not fit."""

    @abstractmethod
    def apply(self, left: RingArray, right: RingArray) -> RingArray:
        """Return the map of plain rows, shapes (rows, words)."""

    @property
    def facts(self) -> tuple[int, ...]:
        """Public numbers that tell this form from others of the same shapes."""
        return (zlib.crc32(repr(self).encode()),)

    @abstractmethod
    def weighted(self, left: int, right: int, weights: Words) -> list[Weighted]:
        """Return what the sum of all resulting rows is made of, each times its weight: 64-bit words under XOR."""

    @abstractmethod
    def reached(self, left: int, right: int) -> list[Sequence[int]]:
        """Return, for every row of the left operand, in which rows of the result it takes part."""

    @abstractmethod
    def factors(self, row: int, left: int, right: RingArray) -> RingArray:
        """Return by what a row of the left operand is multiplied there, of plain rows of the right one."""

    def part(self, words: slice) -> BitForm:
        """Return the form of these words of every row alone."""
        del words
        return self

    def lefts(self, left: int, right: int, words: int) -> int:
        """Return how many bits of the left operand ``weighted`` names, for rows of so many words."""
        ones = np.ones(self.rows(left, right), np.uint64)
        return sum(64 * len(range(words)[each.words]) for each in self.weighted(left, right, ones))

    def sum(self, left: Sequence[RingArray], right: Sequence[RingArray]) -> RingArray:
        """Return the sum of the maps of several pairs."""
        total = self.apply(left[0], right[0])
        for a, b in zip(left[1:], right[1:], strict=True):
            np.bitwise_xor(total, self.apply(a, b), out=total)
        return total


@dataclass(frozen=True)
class Each(BitForm):
    """Row by row: a_i b_i."""

    def rows(self, left: int, right: int) -> int:
        return _fitting(left, left == right, self, left, right)

    def apply(self, left: RingArray, right: RingArray) -> RingArray:
        return np.bitwise_and(left, right)

    def reached(self, left: int, right: int) -> list[Sequence[int]]:
        return [[i] for i in range(left)]

    def factors(self, row: int, left: int, right: RingArray) -> RingArray:
        return right[row : row + 1]

    def weighted(self, left: int, right: int, weights: Words) -> list[Weighted]:
        return [Weighted(_ALL, i, [i], weights[i : i + 1]) for i in range(left)]


@dataclass(frozen=True)
class Outer(BitForm):
    """Every row with every row: a_i b_j, in the order of i, then j."""

    def rows(self, left: int, right: int) -> int:
        return left * right

    def apply(self, left: RingArray, right: RingArray) -> RingArray:
        products = np.bitwise_and(left[:, None, :], right[None, :, :])
        return products.reshape(len(left) * len(right), left.shape[1])

    def reached(self, left: int, right: int) -> list[Sequence[int]]:
        return [range(i * right, (i + 1) * right) for i in range(left)]

    def factors(self, row: int, left: int, right: RingArray) -> RingArray:
        return right

    def weighted(self, left: int, right: int, weights: Words) -> list[Weighted]:
        return [Weighted(_ALL, i, list(range(right)), weights[right * i : right * (i + 1)]) for i in range(left)]


@dataclass(frozen=True)
class Spread(BitForm):
    """Each row of the left with its own ``times`` rows of the right: a_i b_(times i + j)."""

    times: int

    def rows(self, left: int, right: int) -> int:
        return _fitting(right, right == left * self.times, self, left, right)

    def apply(self, left: RingArray, right: RingArray) -> RingArray:
        groups = right.reshape(len(left), self.times, right.shape[1])
        return np.bitwise_and(left[:, None, :], groups).reshape(right.shape)

    def reached(self, left: int, right: int) -> list[Sequence[int]]:
        return [range(i * self.times, (i + 1) * self.times) for i in range(left)]

    def factors(self, row: int, left: int, right: RingArray) -> RingArray:
        return right[row * self.times : (row + 1) * self.times]

    def weighted(self, left: int, right: int, weights: Words) -> list[Weighted]:
        own = [range(self.times * i, self.times * (i + 1)) for i in range(left)]
        return [Weighted(_ALL, i, list(rows), weights[rows.start : rows.stop]) for i, rows in enumerate(own)]


@dataclass(frozen=True)
class Dot(BitForm):
    """Inner products of groups of ``terms`` rows: the sum over j of a_(terms i + j) b_(terms i + j)."""

    terms: int

    def rows(self, left: int, right: int) -> int:
        return _fitting(left // self.terms, left == right and left % self.terms == 0, self, left, right)

    def apply(self, left: RingArray, right: RingArray) -> RingArray:
        products = np.bitwise_and(left, right).reshape(-1, self.terms, left.shape[1])
        return np.asarray(np.bitwise_xor.reduce(products, axis=1))

    def reached(self, left: int, right: int) -> list[Sequence[int]]:
        return [[i // self.terms] for i in range(left)]

    def factors(self, row: int, left: int, right: RingArray) -> RingArray:
        return right[row : row + 1]

    def weighted(self, left: int, right: int, weights: Words) -> list[Weighted]:
        places = [i // self.terms for i in range(left)]
        return [Weighted(_ALL, i, [i], weights[place : place + 1]) for i, place in enumerate(places)]


class Lookup(BitForm):
    """Sums of products a_p b_q that public matrices choose: bit q of matrix[r, p] says whether a_p b_q is in row r.

    ``matrices``: one for each range of words, which follow one another from word 0; matrices have one shape.
    """

    def __init__(self, rights: int, matrices: Sequence[tuple[int, Words]]) -> None:
        self._rights = rights
        self._matrices = tuple(matrices)
        self._forms, self._lefts = matrices[0][1].shape
        self._facts = (rights, *(zlib.crc32(matrix.tobytes(), words) for words, matrix in matrices))

    def __repr__(self) -> str:
        return f"Lookup({self._facts})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lookup) or (self._rights, self._facts) != (other._rights, other._facts):
            return False
        return all(np.array_equal(a, b) for (_, a), (_, b) in zip(self._matrices, other._matrices, strict=True))

    def __hash__(self) -> int:
        return hash(self._facts)

    @property
    def facts(self) -> tuple[int, ...]:
        """A digest of every matrix."""
        return self._facts

    def rows(self, left: int, right: int) -> int:
        return _fitting(self._forms, (left, right) == (self._lefts, self._rights), self, left, right)

    def apply(self, left: RingArray, right: RingArray) -> RingArray:
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        if sum(words for words, _ in self._matrices) != left.shape[1]:
            raise ShapeError(f"{self} is of other words than the {left.shape[1]} of its operands.")
        out = np.empty((self._forms, left.shape[1]), np.uint64)
        start = 0
        for words, matrix in self._matrices:
            kernels.bit_forms(matrix, left, right, out, start, start + words)
            start += words
        return out

    def reached(self, left: int, right: int) -> list[Sequence[int]]:
        named = np.logical_or.reduce([matrix != 0 for _, matrix in self._matrices])
        return [np.flatnonzero(named[:, i]).tolist() for i in range(left)]

    def factors(self, row: int, left: int, right: RingArray) -> RingArray:
        alone = Lookup(self._rights, [(words, matrix[:, row : row + 1].copy()) for words, matrix in self._matrices])
        every = np.full((1, right.shape[1]), np.iinfo(np.uint64).max, np.uint64)
        return alone.apply(every, right)[self.reached(left, len(right))[row]]

    def weighted(self, left: int, right: int, weights: Words) -> list[Weighted]:
        found, start = [], 0
        for words, matrix in self._matrices:
            sums = np.zeros((left, 64), np.uint64)
            for row in range(0, self._forms, _GATHERED):
                rows, some = slice(row, row + _GATHERED), np.empty(64 * left, np.uint64)
                kernels.bit_gather(np.ascontiguousarray(matrix[rows]), np.ascontiguousarray(weights[rows]), some)
                sums ^= some.reshape(left, 64)
            for i, named in enumerate(np.bitwise_or.reduce(matrix, axis=0).tolist()):
                rights = [j for j in range(right) if named >> j & 1]
                if rights:
                    found.append(Weighted(slice(start, start + words), i, rights, sums[i, rights]))
            start += words
        return found

    def part(self, words: slice) -> Lookup:
        start, matrices = 0, []
        for wide, matrix in self._matrices:
            inside = min(start + wide, words.stop) - max(start, words.start)
            if inside > 0:
                matrices.append((inside, matrix))
            start += wide
        return Lookup(self._rights, matrices)

    def lefts(self, left: int, right: int, words: int) -> int:
        return sum(64 * wide * int((matrix != 0).any(axis=0).sum()) for wide, matrix in self._matrices)


@dataclass(frozen=True)
class SideBySide(BitForm):
    """Several forms at once, each of its own rows of either operand: how many those are, and the form."""

    parts: tuple[tuple[int, int, BitForm], ...]

    def rows(self, left: int, right: int) -> int:
        fits = left == sum(a for a, _, _ in self.parts) and right == sum(b for _, b, _ in self.parts)
        return _fitting(sum(form.rows(a, b) for a, b, form in self.parts), fits, self, left, right)

    def apply(self, left: RingArray, right: RingArray) -> RingArray:
        results = []
        start, begin = 0, 0
        for a, b, form in self.parts:
            results.append(form.apply(left[start : start + a], right[begin : begin + b]))
            start, begin = start + a, begin + b
        return np.concatenate(results)

    def part(self, words: slice) -> SideBySide:
        return SideBySide(tuple((a, b, form.part(words)) for a, b, form in self.parts))

    def reached(self, left: int, right: int) -> list[Sequence[int]]:
        found: list[Sequence[int]] = []
        place = 0
        for a, b, form in self.parts:
            found += [[place + row for row in rows] for rows in form.reached(a, b)]
            place += form.rows(a, b)
        return found

    def factors(self, row: int, left: int, right: RingArray) -> RingArray:
        begin = 0
        for a, b, form in self.parts:
            if row < a:
                return form.factors(row, a, right[begin : begin + b])
            row, begin = row - a, begin + b
        raise ShapeError(f"{self} has no such row on the left.")

    def weighted(self, left: int, right: int, weights: Words) -> list[Weighted]:
        found: list[Weighted] = []
        start = begin = place = 0
        for a, b, form in self.parts:
            rows = form.rows(a, b)
            found += [
                Weighted(words, start + i, [begin + j for j in rights], own)
                for words, i, rights, own in form.weighted(a, b, weights[place : place + rows])
            ]
            start, begin, place = start + a, begin + b, place + rows
        return found


def pieces(form: BitForm, left: int, right: int, words: int, most: int) -> list[slice]:
    """Return ranges of words, in each of which a form has about ``most`` bits of the left operand, or fewer."""
    count = max(1, -(-form.lefts(left, right, words) // most))
    step = max(1, -(-words // count))
    return [slice(start, min(start + step, words)) for start in range(0, words, step)] or [slice(0, 0)]


def _fitting(rows: int, fits: bool, form: BitForm, left: int, right: int) -> int:
    if not fits:
        raise ShapeError(f"{form} takes no operands of {left} and {right} rows.")
    return rows
