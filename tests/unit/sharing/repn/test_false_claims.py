"""One wrong relation among many is found by the check, wherever it is and whatever it is; right ones pass.

All parties are honest here but for what they note: a relation that is not true of the values that they share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, Ring, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.errors import DisputeError
from cofit.sharing.repn.party import Repn
from support.forms import FORMS
from support.schemes import also_slow
from unit.sharing.repn.repn_runs import drawn, run, shared

Noting = Callable[[Repn], object]
CAUGHT = "not what the parties dealt"


def passes(note: Noting, parties: int = 3) -> bool:
    """Whether all parties accept what they noted; they must agree."""

    def program(p: Repn) -> None:
        note(p)
        p.verify()

    try:
        run(program, parties)
    except DisputeError as error:
        assert CAUGHT in str(error)
        return False
    return True


def off(ring: Ring, values: RingArray, at: int | None, error: int) -> RingArray:
    """The values, with an error in one place."""
    changed = values.copy().reshape(-1)
    if at is not None:
        one = ring.from_int(np.array([error])) if ring is not BITS else np.array([error], np.uint64)
        changed[at : at + 1] = ring.add(changed[at : at + 1], one)
    return changed.reshape(values.shape)


def noting(kind: str, ring: Ring, count: int, at: int | None, error: int) -> Noting:
    """Relations of elements, one of them wrong."""
    x, y = (drawn(ring, (count, 3), f"{kind} {salt}") for salt in range(2))

    def note(p: Repn) -> None:
        if kind == "zeros":
            p.relations.note_zero(shared(p, ring, off(ring, ring.zeros((count,)), at, error)))
            return
        a, b = shared(p, ring, x, 1), shared(p, ring, y, 2)
        product = ring.mul(x, y)
        if kind == "inner":
            p.relations.note("inner", a, b, shared(p, ring, off(ring, ring.sum(product, 1), at, error), 3))
        elif kind == "held":
            vector = ring.from_int(np.arange(3))
            z = off(ring, ring.matmul(x, vector), at, error)
            p.relations.note("matmul", p.hold(a), shared(p, ring, vector, 4), shared(p, ring, z, 3))
        else:
            p.relations.note("mul", a, b, shared(p, ring, off(ring, product, at, error), 3))

    return note


KINDS = ["mul", "inner", "held", "zeros"]


@pytest.mark.parametrize("parties", also_slow([3, 5], 7))
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_one_wrong_relation_of_elements(kind: str, ring: Ring, parties: int) -> None:
    assert passes(noting(kind, ring, 7, None, 0), parties)
    for at, error in ((0, 1), (6, -1), (3, 1 << 62), (2, -(1 << 63))):
        assert not passes(noting(kind, ring, 7, at, error), parties), (at, error)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 64, 65, 200])
def test_any_number_of_relations(count: int) -> None:
    assert passes(noting("inner", Z64, count, None, 0))
    assert not passes(noting("inner", Z64, count, count - 1, 1))


def test_products_in_a_prime_field() -> None:
    assert passes(noting("mul", F61, 7, None, 0))
    assert passes(noting("inner", F61, 7, None, 0))
    for at in (0, 6):
        assert not passes(noting("mul", F61, 7, at, 1))
        assert not passes(noting("inner", F61, 7, at, -5))
        assert not passes(noting("zeros", F61, 7, at, 3))


def test_all_at_once() -> None:
    right = [noting(kind, ring, 5, None, 0) for kind in KINDS for ring in (Z64, Z128)]
    right.append(noting("mul", F61, 4, None, 0))

    def all_of(p: Repn, wrong: Noting | None = None) -> None:
        for note in right:
            note(p)
        if wrong is not None:
            wrong(p)

    assert passes(all_of)
    for kind, ring in (("mul", Z64), ("held", Z128), ("zeros", Z64), ("mul", F61)):
        assert not passes(lambda p, k=kind, r=ring: all_of(p, noting(k, r, 5, 2, 1)))  # type: ignore[misc]


# --- bits ------------------------------------------------------------------------------------------------


def ands(words: int, at: int | None, error: int) -> Noting:
    a, b = (drawn(BITS, (words,), f"ands {salt}") for salt in range(2))

    def note(p: Repn) -> None:
        parts = (shared(p, BITS, a, 1), shared(p, BITS, b, 2), shared(p, BITS, off(BITS, a & b, at, error), 3))
        p.relations.note_form(parts[0], parts[1], None, parts[2])

    return note


@pytest.mark.parametrize("words", [1, 3, 16, 17, 33])
def test_one_wrong_bit_of_an_and(words: int) -> None:
    assert passes(ands(words, None, 0))
    for at in sorted({0, words // 2, words - 1}):
        for bit in (0, 31, 63):
            assert not passes(ands(words, at, 1 << bit)), (at, bit)


@pytest.mark.parametrize("parties", also_slow([3, 5], 7))
def test_one_wrong_bit_of_zeros(parties: int) -> None:
    def zeros(at: int | None, error: int) -> Noting:
        return lambda p: p.relations.note_zero(shared(p, BITS, off(BITS, BITS.zeros((5, 1)), at, error)))

    assert passes(zeros(None, 0), parties)
    for at, bit in ((0, 0), (4, 63), (2, 17)):
        assert not passes(zeros(at, 1 << bit), parties)


@pytest.mark.parametrize("parties", also_slow([3, 5], 7))
@pytest.mark.parametrize("name", FORMS)
def test_one_wrong_bit_of_a_form(name: str, parties: int) -> None:
    form, left, right = FORMS[name]
    a, b = drawn(BITS, (left, 1), "left"), drawn(BITS, (right, 1), "right")
    z = form.apply(a, b)

    def noted(at: int | None, error: int) -> Noting:
        def note(p: Repn) -> None:
            parts = (shared(p, BITS, a, 1), shared(p, BITS, b, 2), shared(p, BITS, off(BITS, z, at, error), 3))
            p.relations.note_form(parts[0], parts[1], form, parts[2])

        return note

    assert passes(noted(None, 0), parties)
    for at, bit in ((0, 0), (z.size - 1, 63), (z.size // 2, 40)):
        assert not passes(noted(at, 1 << bit), parties), (at, bit)


def test_bits_beside_elements() -> None:
    for wrong in (None, 1):
        for first in (True, False):

            def note(p: Repn, wrong: Any = wrong, first: bool = first) -> None:
                ands(20, wrong if first else None, 1)(p)
                noting("mul", Z64, 6, None if first else wrong, 1)(p)

            assert passes(note) == (wrong is None)
