"""What honest parties note is true: all their summands added up, in the clear. And what is noted is needed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, PowerOfTwoRing
from cofit.arithmetic.bit_words import BITS
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.repn.party import Repn
from cofit.sharing.repn.relations import Relations, expanded
from cofit.sharing.shares import PlacedBits, Share
from support.forms import FORMS
from support.schemes import also_slow
from unit.sharing.repn.repn_runs import drawn, noted_by, run, shared, untrue

VALUES = np.array([5, -7, 0, 12345, -(1 << 30), 1 << 30, 1, -1, 77])
Operation = Callable[[Repn, PowerOfTwoRing], object]


def numbers(p: Repn, ring: PowerOfTwoRing, salt: int = 0) -> Share:
    return shared(p, ring, ring.from_int(VALUES), salt)


def bits(p: Repn, rows: int, salt: int = 0) -> PackedBits:
    return PackedBits(shared(p, BITS, drawn(BITS, (rows, 1), f"bits {salt}"), salt), 64)


def held(p: Repn, ring: PowerOfTwoRing) -> Share:
    return p.hold(shared(p, ring, ring.from_int(np.arange(45).reshape(5, 9) - 20), 3))


def both_ways(p: Repn, ring: PowerOfTwoRing) -> None:
    matrix = held(p, ring)
    forward = p.matmul(matrix, numbers(p, ring))
    p.matmul(matrix.map(np.transpose), forward, 3)
    p.matmul(matrix, numbers(p, ring, 5), 2)


OPERATIONS: dict[str, Operation] = {
    "product": lambda p, r: p.mul(numbers(p, r), numbers(p, r, 1)),
    "square": lambda p, r: p.mul(a := numbers(p, r), a),
    "truncated product": lambda p, r: p.mul(numbers(p, r), numbers(p, r, 1), 9, numbers(p, r, 2)),
    "truncation": lambda p, r: p.truncate(numbers(p, r), 5),
    "truncation by one": lambda p, r: p.truncate(numbers(p, r), 1),
    "inner": lambda p, r: p.inner(numbers(p, r), numbers(p, r, 1), 4),
    "matrices": both_ways,
    "no held matrix": lambda p, r: p.matmul(
        shared(p, r, r.from_int(np.arange(6).reshape(2, 3))), shared(p, r, r.from_int(np.arange(6).reshape(3, 2)))
    ),
    "fresh": lambda p, r: p.refresh(numbers(p, r)),
    "signs": lambda p, r: p.sign_bits(numbers(p, r)),
    "to bits": lambda p, r: p.to_bits(numbers(p, r)),
    "from bits": lambda p, r: p.from_bits(bits(p, 3), r),
    "from numbers": lambda p, r: p.from_numbers([PlacedBits(1, bits(p, 5)), PlacedBits(0, bits(p, 2, 1))], r),
    "from one digit": lambda p, r: p.from_numbers([PlacedBits(0, bits(p, 1))], r),
    "high squares": lambda p, r: p.high_squares(shared(p, r, r.from_int(VALUES.reshape(3, 3))), 5),
    "forms": lambda p, r: [p.boolean.bilinear(bits(p, a), bits(p, b, 1), form) for form, a, b in FORMS.values()],
}


@pytest.mark.parametrize("parties", also_slow([3, 5], 7))
@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_honest_parties_note_is_true(operation: str, ring: PowerOfTwoRing, parties: int) -> None:
    kept = noted_by(lambda p: OPERATIONS[operation](p, ring), parties)
    checks = list(zip(*kept, strict=True))
    assert checks, "something is checked"
    for notes in checks:
        wrong = dict(untrue(list(notes)))
        assert wrong.pop("all") > 0
        assert not any(wrong.values()), wrong


def test_relations_in_a_prime_field_are_true() -> None:
    values = F61.from_int(np.arange(5) * 10**9)
    (notes,) = zip(*noted_by(lambda p: p.mul(shared(p, F61, values), shared(p, F61, values, 1)), 3), strict=True)
    assert untrue(list(notes)) == {"all": 5, "products": 0, "matrices": 0, "bits": 0, "zeros": 0}


def test_the_instrument_finds_what_is_untrue() -> None:
    def program(p: Repn) -> None:
        a = numbers(p, Z64)
        p.mul(a, a)
        p.relations.note("mul", a, a, a)
        p.verify()

    kept = {}

    class Lost(Repn):
        def _check(self, noted: object) -> None:
            kept[self.rank] = noted

    run(program, 3, Lost)
    found = untrue([kept[rank] for rank in range(3)])  # type: ignore[misc]
    assert found["products"] == (VALUES * VALUES != VALUES).sum() and found["all"] == 2 * len(VALUES)


def test_what_is_taken_is_gone_and_matrices_may_stay() -> None:
    relations = Relations()
    parts = tuple(Z64.from_int(np.arange(4)) for _ in range(2))
    share = Share(Z64, parts)
    relations.note("mul", share, share, share)
    relations.note_zero(share)
    assert relations.any and relations.elements == 8
    taken = relations.taken(matrices=False)
    assert [item.count for item in taken.products[Z64]] == [4, 4] and taken.lengths == {"integers": 4}
    assert not relations.any and not relations.elements and not relations.taken().any


def test_small_matrices_are_checked_element_by_element() -> None:
    small, large = (Share(Z64, (Z64.zeros((rows, 200)),) * 2) for rows in (3, 200))
    assert expanded(small, 3, 200, 1) and not expanded(large, 200, 200, 1)


def test_nothing_is_noted_of_nothing() -> None:
    relations = Relations()
    empty = Share(Z64, (Z64.zeros((0,)),) * 2)
    relations.note("mul", empty, empty, empty)
    assert not relations.any
