"""Where a check of repn might miss something: single rows and vectors of matrices, forms that are cut into pieces,
integers as large as they get, memory that is used again.

Each error here is one element of one relation. A cheat adds it to what it deals, and believes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

from adversary.protocol.repn_cheats import Results, everything, problem, run
from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.sharing.bit_forms import BitForm, Dot, Lookup, Outer, SideBySide, Spread
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.repn import products
from cofit.sharing.repn.party import Repn
from cofit.sharing.repn.relations import Noted, Parts, Relations
from cofit.sharing.shares import Share

Program = Callable[[Repn], Results]


def cheating(method: str, where: Any, call: int = 0) -> type[Repn]:
    """A party whose summand in one call of a method is wrong in one place."""

    class Cheating(Repn):
        calls = 0

        def __getattribute__(self, name: str) -> Any:
            found = super().__getattribute__(name)
            return self._wrong(found) if name == method else found

        def _wrong(self, honest: Callable[..., RingArray]) -> Callable[..., RingArray]:
            def summand(*arguments: Any) -> RingArray:
                value = np.array(honest(*arguments))
                self.calls += 1
                if self.calls == call + 1:
                    element = value.reshape(-1).view(np.uint64) if value.dtype.names else value
                    element[where] ^= np.uint64(1 << 63)
                return value

            return summand

    return Cheating


def all_end(program: Program, *cheats: type[Repn]) -> bool:
    """Whether the honest parties of three stop, whatever the cheat; without one they do not."""
    honest = run(program)
    assert not honest.errors(range(3)), honest.results
    return all(len(run(program, kinds={1: cheat}).errors([0, 2])) == 2 for cheat in cheats)


def alike(ring: PowerOfTwoRing, shape: tuple[int, ...], p: Repn, value: int = 12345) -> Share:
    """A value whose summands are all the same integer."""
    parts = ring.from_int(np.full(shape, value, dtype=object))
    return Share(ring, tuple(parts.copy() for _ in range(p._part_count)))


# --- matrices --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ring", [Z64, Z128])
@pytest.mark.parametrize(("rows", "cols"), [(1, 3), (67, 5), (5, 67), (129, 17)])
def test_an_error_in_any_row_is_found(rows: int, cols: int, ring: PowerOfTwoRing) -> None:
    """Products with the matrix and with its transpose, many of them; the first, a middle or the last is wrong."""

    def program(p: Repn) -> Results:
        held = p.hold(alike(ring, (rows, cols), p))
        turned = held.map(np.transpose)
        for _ in range(3):
            z = p.matmul(held, alike(ring, (cols,), p, 77))
            p.matmul(turned, z)
        p.verify()
        return {}

    cheats = []
    for call in (0, 1, 2, 5):
        size = cols if call % 2 else rows
        for place in {0, min(31, size - 1), size - 1}:
            cheats.append(cheating("_matmul_summand", place * ring.words + ring.words - 1, call))
    assert all_end(program, *cheats)


def test_an_error_in_any_column_of_a_product_of_matrices_is_found() -> None:
    def program(p: Repn) -> Results:
        p.matmul(p.hold(alike(Z64, (9, 4), p)), alike(Z64, (4, 5), p))
        p.verify()
        return {}

    assert all_end(program, *(cheating("_matmul_summand", (row, column)) for row in (0, 8) for column in range(5)))


# --- forms -----------------------------------------------------------------------------------------------

_WORDS = 7
_TABLE = [(3, np.array([[1, 2], [3, 0]], np.uint64)), (4, np.array([[2, 2], [0, 1]], np.uint64))]
FORMS: dict[str, tuple[BitForm, int, int]] = {
    "outer": (Outer(), 2, 2),
    "spread": (Spread(2), 2, 4),
    "dot": (Dot(2), 4, 4),
    "table": (Lookup(2, _TABLE), 2, 2),
    "side by side": (SideBySide(((2, 2, Lookup(2, _TABLE)), (1, 2, Outer()))), 3, 4),
}


class WrongForms(Repn):
    """Deals a form with one wrong word."""

    row, word, seen = 0, 0, 0

    def _summed(self, ring: Ring, shape: Any, dealers: Any, own: RingArray | None) -> Any:
        if ring is BITS and self._label == "" and own is not None:
            start, self.seen = self.seen, self.seen + shape[1]
            if start <= self.word < self.seen:
                own = own.copy()
                own[self.row % shape[0], self.word - start] ^= np.uint64(1)
        return super()._summed(ring, shape, dealers, own)


@pytest.mark.parametrize("most", [64, 600, 1 << 20])
@pytest.mark.parametrize("name", FORMS)
def test_an_error_in_any_piece_of_a_form_is_found(name: str, most: int) -> None:
    form, left, right = FORMS[name]

    def program(p: Repn) -> Results:
        a, b = (PackedBits(p._random_words((rows, _WORDS)), 64 * _WORDS) for rows in (left, right))
        p.boolean.bilinear(a, b, form)
        p.verify()
        return {}

    with mock.patch.object(products, "most_form_bits", lambda parts: most):
        cheats = (type("Wrong", (WrongForms,), {"row": 5 * word, "word": word}) for word in range(_WORDS))
        assert all_end(program, *cheats)


# --- large integers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ring", [Z64, Z128])
@pytest.mark.parametrize(("count", "terms"), [(3, 1), (1, 70_000), (70_000, 1), (300, 130)])
def test_claims_hold_the_largest_sums(ring: PowerOfTwoRing, count: int, terms: int) -> None:
    """All summands are 2^k - 1, in more products than the kernels add up at a time: nothing wraps, no error is lost."""

    def program(p: Repn) -> Results:
        x = alike(ring, (count, terms), p, -1)
        p.inner(x, x)
        p.verify()
        return {}

    assert all_end(program, cheating("_inner_summand", -1))


@pytest.mark.parametrize("ring", [Z64, Z128])
def test_claims_of_matrices_hold_the_largest_sums(ring: PowerOfTwoRing) -> None:
    def program(p: Repn) -> Results:
        p.matmul(p.hold(alike(ring, (200, 300), p, -1)), alike(ring, (300,), p, -1))
        p.verify()
        return {}

    assert all_end(program, cheating("_matmul_summand", -1))


# --- memory ----------------------------------------------------------------------------------------------


class Remembering(Relations):
    """Notes a digest of all memory that a relation is about, and compares it when that is checked."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[int, tuple[RingArray, bytes]] = {}

    def noted(self) -> None:
        for array in self._arrays(Noted(self._products, {}, self._bits, self._zero_bits), self._matrices.values()):
            self.seen.setdefault(id(array), (array, _digest(array)))

    def taken(self, matrices: bool = True) -> Noted:
        self.noted()
        for array, digest in self.seen.values():
            assert _digest(array) == digest, "something noted was written over before it was checked"
        if matrices:
            self.seen = {}
        return super().taken(matrices)

    def _arrays(self, noted: Noted, matrices: Any) -> list[RingArray]:
        found: list[Parts | None] = [*noted.zero_bits]
        for products_ in noted.products.values():
            found += [side for item in products_ for side in (item.x, item.y, item.z)]
        found += [side for item in noted.bits for side in (item.a, item.b, item.z)]
        for matrix in matrices:
            found += [matrix.placed.fetch(), *matrix.vectors, *matrix.results]
        return [part for parts in found if parts is not None for part in parts]


def _digest(array: RingArray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest()


class Watching(Repn):
    """Looks after every operation at what it noted."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.relations: Remembering = Remembering()

    def _verify_if_many(self) -> None:
        self.relations.noted()
        super()._verify_if_many()


@pytest.mark.parametrize("parties", [3, 5])
def test_nothing_that_was_noted_is_written_over(parties: int) -> None:
    outcome = run(everything, parties, kind=Watching)
    assert problem(outcome, []) == "" and not outcome.errors(range(parties)), outcome.results
