"""What a party has computed and not yet checked: relations among shared values that hold if everybody was honest.

    products   sum over the last axis of x y = z, for every element of z; one term each for element-wise products
    matrices   X w = z for one matrix and many vectors: checked together, however many they are
    forms      bits: a public bilinear map of rows a and b is z
    zeros      z = 0

All parties note the same in the same order. What is noted is kept until it has been checked (``check.py``); matrices
are not copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.engine import Placed
from cofit.arithmetic.power_of_two import SUBSETS
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.placed import PlacedShare
from cofit.sharing.shares import Share

Parts = tuple[RingArray, ...]
CHECKS = SUBSETS
"""D: the bits of every relation (``lifted.py``)."""
_MOST_WORDS = 6 << 20
_FEW = 1 << 14  # terms of a matrix product that are checked one by one


def most_elements(parts: int) -> int:
    """Return how many elements of a field are checked at once, or a few more: they and what was noted take memory."""
    return _MOST_WORDS // parts


def most_form_bits(parts: int) -> int:
    """Return how many bits of a form are computed at once: they become as many elements of a field."""
    return most_elements(parts) // 2


@dataclass
class Products:
    """Relations with ``terms`` terms each: flat parts of x and y, and of z."""

    x: Parts | None
    y: Parts | None
    z: Parts
    terms: int

    @property
    def count(self) -> int:
        """How many relations."""
        return self.z[0].size

    @property
    def length(self) -> int:
        """How many products of elements."""
        return 0 if self.x is None else self.count * self.terms


@dataclass
class Matrix:
    """X w = z: the parts of X, where they are, and those of every w and z, (cols,) and (rows,)."""

    placed: Placed
    vectors: list[Parts] = field(default_factory=list)
    results: list[Parts] = field(default_factory=list)


@dataclass
class Bits:
    """A form of rows of words is z."""

    a: Parts
    b: Parts
    form: BitForm | None
    z: Parts

    @property
    def length(self) -> int:
        """How many products of field elements a form is, beside ANDs of words."""
        if self.form is None:
            return 0
        return self.form.lefts(self.a[0].shape[0], self.b[0].shape[0], self.a[0].shape[1])


@dataclass
class Noted:
    """Relations that are checked together."""

    products: dict[Ring, list[Products]]
    matrices: dict[Ring, list[Matrix]]
    bits: list[Bits]
    zero_bits: list[Parts]

    @property
    def any(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.products or self.matrices or self.has_bits)

    @property
    def has_bits(self) -> bool:
        """Whether there are relations of bits."""
        return bool(self.bits or self.zero_bits)

    @property
    def integer_rings(self) -> list[PowerOfTwoRing]:
        """The rings of 2^k elements, in a fixed order."""
        rings = {*self.products, *self.matrices}
        return sorted((ring for ring in rings if isinstance(ring, PowerOfTwoRing)), key=lambda ring: ring.bits)

    @property
    def prime_rings(self) -> list[IntegerRing]:
        """The prime fields."""
        return [r for r in self.products if isinstance(r, IntegerRing) and not isinstance(r, PowerOfTwoRing)]

    @property
    def lengths(self) -> dict[str, int]:
        """How long the vectors are, in each field."""
        found: dict[str, int] = {}
        if self.integer_rings:
            terms = sum(item.length for ring in self.integer_rings for item in self.products.get(ring, []))
            rows = sum(CHECKS * m.placed.shape[1] for ring in self.integer_rings for m in self.matrices.get(ring, []))
            found["integers"] = max(1, terms + rows)
        if self.has_bits:
            words = sum(item.z[0].size for item in self.bits if item.form is None)
            forms = sum(item.length for item in self.bits)
            found["bits"] = 64 * max(1, -(-words // 16)) + forms
        for ring in self.prime_rings:
            found[ring.name] = max(1, sum(item.length for item in self.products[ring]))
        return found


class Relations:
    """The list of one party."""

    def __init__(self) -> None:
        self._clear()
        self._matrices: dict[tuple[Ring, tuple[object, ...]], Matrix] = {}

    def _clear(self) -> None:
        self._products: dict[Ring, list[Products]] = {}
        self._bits: list[Bits] = []
        self._zero_bits: list[Parts] = []
        self.elements = 0

    @property
    def any(self) -> bool:
        """Whether there is anything to check."""
        return bool(self._products or self._matrices or self._bits or self._zero_bits)

    def taken(self, matrices: bool = True) -> Noted:
        """Return all that was noted, with or without matrices, and forget it."""
        of_rings: dict[Ring, list[Matrix]] = {}
        if matrices:
            for (ring, _), matrix in self._matrices.items():
                of_rings.setdefault(ring, []).append(matrix)
            self._matrices = {}
        noted = Noted(self._products, of_rings, self._bits, self._zero_bits)
        self._clear()
        return noted

    def note(self, kind: str, a: Share, b: Share, z: Share) -> None:
        """Note that z is the product of a and b of this kind: 'mul', 'inner' or 'matmul'."""
        if z.ring is BITS:
            self.note_form(a, b, None, z)
        elif kind == "matmul":
            self._note_matmul(a, b, z)
        elif kind == "inner":
            self._note_products(z.ring, _flat(a.parts, a.shape), _flat(b.parts, b.shape), z, a.shape[-1])
        else:
            x = _flat(a.parts, z.shape)
            self._note_products(z.ring, x, x if b is a else _flat(b.parts, z.shape), z, 1)

    def note_zero(self, z: Share) -> None:
        """Note that z is 0."""
        if not math.prod(z.shape):
            return
        if z.ring is BITS:
            self._zero_bits.append(_flat(z.parts, z.shape))
            self.elements += math.prod(z.shape)
        else:
            self._note_products(z.ring, None, None, z, 1)

    def note_form(self, a: Share, b: Share, form: BitForm | None, z: Share) -> None:
        """Note that z is a bilinear map of bits; None: word by word."""
        if not math.prod(z.shape):
            return
        if form is None:
            parts = (_flat(a.parts, z.shape), _flat(b.parts, z.shape), _flat(z.parts, z.shape))
            self._bits.append(Bits(parts[0], parts[1], None, parts[2]))
            self.elements += 4 * math.prod(z.shape)
        else:
            item = Bits(a.parts, b.parts, form, z.parts)
            self._bits.append(item)
            self.elements += item.length

    def _note_products(self, ring: Ring, x: Parts | None, y: Parts | None, z: Share, terms: int) -> None:
        if not math.prod(z.shape):
            return
        flat = _flat(z.parts, z.shape)
        if not terms:
            x = y = None
        self._products.setdefault(ring, []).append(Products(x, y, flat, max(1, terms)))
        self.elements += flat[0].size * max(1, terms)

    def _note_matmul(self, a: Share, b: Share, z: Share) -> None:
        if not math.prod(z.shape):
            return
        if len(a.shape) == 1 and len(b.shape) == 2:  # x B = B^T x
            a, b = b.map(np.transpose), a
        elif len(a.shape) == 1:
            self._note_products(z.ring, _flat(a.parts, a.shape), _flat(b.parts, b.shape), z, a.shape[0])
            return
        rows, cols = (1, *a.shape)[-2:]
        columns = math.prod(b.shape[1:])
        if expanded(a, rows, cols, columns):
            left = _flat(tuple(_repeated(part.reshape(rows, cols), columns) for part in a.parts), None)
            right = _flat(tuple(_tiled(part.reshape(cols, columns), rows) for part in b.parts), None)
            self._note_products(z.ring, left, right, z, cols)
            return
        placed = a.placed
        matrix = self._matrices.setdefault((z.ring, placed.origin), Matrix(placed))
        for column in range(columns):
            matrix.vectors.append(tuple(part.reshape(cols, columns)[:, column] for part in b.parts))
            matrix.results.append(tuple(part.reshape(rows, columns)[:, column] for part in z.parts))


def expanded(a: Share, rows: int, cols: int, columns: int) -> bool:
    """Return whether the product of a matrix and so many vectors is checked element by element."""
    if not isinstance(a.ring, PowerOfTwoRing):
        return True
    return not isinstance(a, PlacedShare) and rows * cols * columns <= _FEW


def _flat(parts: Parts, shape: Shape | None) -> Parts:
    """Return the parts as flat arrays, spread over ``shape``."""
    return tuple(
        np.ascontiguousarray(part if shape is None or part.shape == shape else np.broadcast_to(part, shape)).reshape(-1)
        for part in parts
    )


def _repeated(rows: RingArray, times: int) -> RingArray:
    return np.repeat(rows[:, None, :], times, axis=1)


def _tiled(columns: RingArray, times: int) -> RingArray:
    return np.repeat(np.ascontiguousarray(columns.T)[None], times, axis=0)
