"""Whatever a party of ``pair`` sends is hidden by draws that the other one lacks. How that is shown: ``pair_masks.py``.

With ideal transfers and ideal encryption; what these hide is looked at in ``test_extension.py``, ``test_hashing.py``,
``test_transfers.py`` and ``rlwe/test_secrecy.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, Generator, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.integers import Words
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.pair import crossing, rules
from cofit.sharing.pair.held import PairHeld
from cofit.sharing.pair.party import Pair
from cofit.sharing.shares import PlacedBits
from support.forms import FORMS, form_of
from support.known import partly_known
from support.schemes import also_slow
from unit.sharing.pair.pair_masks import Change, Draw, exposed, run_scripted

N = 5


@pytest.fixture(autouse=True)
def always_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of a few elements are multiplied under encryption."""
    monkeypatch.setattr(rules, "_FEWEST", 16)


def shared(s: Scheme, ring: Ring, shape: Shape, salt: int) -> Share:
    """A fixed sharing with random-looking summands, made without any message."""
    first, second = (Generator(bytes([100 + salt + i] * 32)).ring(ring, shape) for i in range(2))
    if isinstance(ring, PowerOfTwoRing):  # small values, so that truncation is within its domain
        first = ring.sub(ring.from_int(np.full(shape, 12345 + salt)), second)
    return Share(ring, ((first, second)[s.rank],))


def numbers(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (N,), salt)


def square(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (4, 4), salt)


def words(s: Scheme, salt: int, rows: int = N) -> BitShare:
    return PackedBits(shared(s, BITS, (rows, 1), salt), 64)


def squares(s: Scheme, ring: PowerOfTwoRing) -> None:
    a, rows = numbers(s, ring, 0), shared(s, ring, (3, 4), 20)
    s.mul(a, a)
    s.inner(rows, rows, 9)


def held_products(s: Scheme, ring: PowerOfTwoRing) -> None:
    """Two that are foreseen, one that is not, and one with a matrix."""
    x = s.hold(square(s, ring, 0), 2)
    for salt in (10, 20, 30):
        s.matmul(x, shared(s, ring, (4,), salt))
    s.matmul(x, shared(s, ring, (4, 2), 40))


def held_transposes(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(square(s, ring, 0), 2)
    for salt in (10, 20):
        z = s.matmul(x, shared(s, ring, (4,), salt), 9)
        s.matmul(x.map(np.transpose), z, 9)


def held_norms(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(square(s, ring, 0))
    s.inner(x, x, 9)
    s.inner(x, x)
    s.high_squares(x, 3)


def two_held(s: Scheme, ring: PowerOfTwoRing) -> None:
    for salt in (0, 10):
        s.matmul(s.hold(square(s, ring, salt)), shared(s, ring, (4,), salt + 20))


def held_blocks(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(square(s, ring, 0))
    for rows in (slice(0, 2), slice(2, 4)):
        block = x.block((rows, slice(None)))
        s.matmul(block, shared(s, ring, (4,), 20))
        s.inner(block, block)
    s.inner(x, x)


def known_rows(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(partly_known(s, square(s, ring, 0), axis=0))
    z = s.matmul(x, shared(s, ring, (4,), 10), 9)
    s.matmul(x.map(np.transpose), z, 9)
    s.inner(x, x)


def known_columns(s: Scheme, ring: PowerOfTwoRing) -> None:
    x = s.hold(partly_known(s, square(s, ring, 0), axis=1, unknown=True))
    s.matmul(x, shared(s, ring, (4,), 10))
    s.matmul(x.map(np.transpose), shared(s, ring, (4,), 20), 9)
    s.inner(x, x)


def long_inner(s: Scheme, ring: PowerOfTwoRing) -> None:
    s.inner(shared(s, ring, (20,), 0), shared(s, ring, (20,), 10), 9)


def two_truncations(s: Scheme, ring: PowerOfTwoRing) -> None:
    s.truncate(s.truncate(numbers(s, ring, 0), 9), 3)


def ands(s: Scheme, ring: PowerOfTwoRing) -> None:
    first = s.boolean.and_(words(s, 0), words(s, 10))
    s.boolean.and_(first, words(s, 20))


def digits(s: Scheme, ring: PowerOfTwoRing) -> None:
    s.from_numbers([PlacedBits(0, words(s, 0, 3)), PlacedBits(1, words(s, 10, 2))], ring)


OPERATIONS: dict[str, Callable[[Scheme, PowerOfTwoRing], object]] = {
    "product": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10)),
    "product plus and truncation": lambda s, r: s.mul(numbers(s, r, 0), numbers(s, r, 10), 9, numbers(s, r, 20)),
    "squares": squares,
    "small matrix product": lambda s, r: s.matmul(shared(s, r, (2, 2), 0), shared(s, r, (2,), 10), shift=9),
    "matrix product": lambda s, r: s.matmul(square(s, r, 0), square(s, r, 10), shift=9),
    "inner products": lambda s, r: s.inner(shared(s, r, (2, 3), 0), shared(s, r, (2, 3), 10)),
    "inner product of long vectors": long_inner,
    "squares of rows": lambda s, r: s.inner(x := shared(s, r, (5, 4), 0), x, 9),
    "truncations": two_truncations,
    "products with a held matrix": held_products,
    "held matrix and its transpose": held_transposes,
    "squared norms of a held matrix": held_norms,
    "two held matrices": two_held,
    "blocks of a held matrix": held_blocks,
    "known rows": known_rows,
    "columns known in part": known_columns,
    "ands": ands,
    "groups of ands": lambda s, r: s.boolean.products(words(s, 0), words(s, 10), [([0, 1], [2, 3, 4]), ([1], [0])]),
    "bits to elements": lambda s, r: s.from_bits(words(s, 0, 2), r),
    "digits to elements": digits,
    "elements to bits": lambda s, r: s.to_bits(shared(s, r, (3,), 0), bits=6),
    "signs": lambda s, r: s.sign_bits(shared(s, r, (3,), 0), bits=7),
    "top bits": lambda s, r: s.top_bits(shared(s, r, (3,), 0), r.bits - 6),
    **{f"form: {name}": lambda s, r, name=name: form_of(s, shared, name) for name in FORMS},  # type: ignore[misc]
}
SLOW_IN_Z128 = [(name, Z128) for name in OPERATIONS if "truncation" not in name and "form" not in name]
CASES = [
    *((name, Z64) for name in OPERATIONS),
    ("truncations", Z128),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW_IN_Z128),
]


def work(operation: str, ring: PowerOfTwoRing = Z64) -> Callable[[Pair], object]:
    return lambda s: OPERATIONS[operation](s, ring)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("operation", "ring"), CASES, ids=str)
@pytest.mark.parametrize("honest", [0, 1])
def test_every_message_is_masked_by_a_draw_that_the_receiver_lacks(
    operation: str, ring: PowerOfTwoRing, honest: int
) -> None:
    assert exposed(work(operation, ring), honest) == []


# --- the same check must notice every way to get it wrong ------------------------------------------------

BREAKABLE = (
    "product",
    "product plus and truncation",
    "squares",
    "truncations",
    "matrix product",
    "inner product of long vectors",
    "products with a held matrix",
    "held matrix and its transpose",
    "squared norms of a held matrix",
    "two held matrices",
    "known rows",
    "columns known in part",
    "ands",
    "groups of ands",
    "bits to elements",
    "form: lookup",
    "form: side by side",
)


FEW = ("product", "squares", "truncations", "two held matrices", "squared norms of a held matrix", "ands")
QUICK = also_slow(FEW, *(name for name in BREAKABLE if name not in FEW))


def draws_of(operation: str, honest: int) -> tuple[list[Draw], Any]:
    log = run_scripted(work(operation), honest, Change())
    return [draw for draw in log.draws if draw in log.uses], log.uses


@pytest.mark.parametrize("operation", QUICK)
@pytest.mark.parametrize("honest", [0, 1])
def test_every_draw_that_is_left_out_is_noticed(operation: str, honest: int) -> None:
    draws, _ = draws_of(operation, honest)
    assert draws
    for draw in draws:
        assert exposed(work(operation), honest, Change(zero=draw)), f"{draw} is not needed"


@pytest.mark.parametrize("operation", QUICK)
@pytest.mark.parametrize("honest", [0, 1])
def test_every_draw_that_is_used_twice_is_noticed(operation: str, honest: int) -> None:
    """Among others: transfers of one product for another, B for two products with a matrix, r for two replies."""
    draws, uses = draws_of(operation, honest)
    pairs = [(a, b) for j, b in enumerate(draws) for a in draws[:j] if a.what == b.what and uses[a] == uses[b]]
    for pair in pairs:
        assert exposed(work(operation), honest, Change(repeat=pair)), f"{pair} may be the same"


def test_the_draws_are_those_that_are_broken_above() -> None:
    """B for each product and its transpose; a mask for each reply; and for a truncation one end of a transfer."""
    kinds = [[draw.what for draw in draws_of("held matrix and its transpose", honest)[0]] for honest in (0, 1)]
    for found in kinds:
        assert (found.count("coins"), found.count("encrypted")) == (4, 2)
        assert found.count("sent") + found.count("chosen") == 4
    assert [draw.what for draw in draws_of("ands", 0)[0]] == ["sent", "chosen"] * 2
    assert [[draw.what for draw in draws_of("truncations", honest)[0]] for honest in (0, 1)] == [
        ["chosen", "sent"],
        ["sent", "chosen"],
    ]


# --- copies of the code with a mask left out -------------------------------------------------------------


def without_the_other_string(monkeypatch: pytest.MonkeyPatch) -> None:
    """d = r_0 + v: where the choice is 0, the chooser knows r_0."""

    def of(cls: Any, values: Words, transfers: Any) -> Any:
        zeros, _ = transfers.bits()
        return cls(values, zeros), zeros ^ values

    monkeypatch.setattr(crossing.SentBits, "of", classmethod(of))


def without_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """u = b."""

    def of(cls: Any, bits: Words, transfers: Any) -> Any:
        return cls(transfers.choices, transfers.bits()), bits

    monkeypatch.setattr(crossing.ChosenBits, "of", classmethod(of))


def with_one_string_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every digit of a number takes the strings of the lowest."""
    rows = crossing._rows

    def first(drawn: RingArray, count_rows: int, count: int) -> RingArray:
        return np.repeat(rows(drawn, count_rows, count)[:1], count_rows, axis=0)

    monkeypatch.setattr(crossing, "_rows", first)


def with_values_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """d = v, for bits to elements and truncation."""
    of = crossing.SentValues.of.__func__  # type: ignore[attr-defined]

    def clear(cls: Any, ring: PowerOfTwoRing, values: RingArray, transfers: Any) -> Any:
        return of(cls, ring, values, transfers)[0], values

    monkeypatch.setattr(crossing.SentValues, "of", classmethod(clear))


def with_one_mask_for_all_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """B is not taken off the stock."""
    product = Pair._held_product

    def again(self: Pair, operation: str, ring: Ring, a: PairHeld, right: RingArray, shape: Shape) -> RingArray:
        made = a.ahead.made[a.transposed]
        before = list(made)
        result = product(self, operation, ring, a, right, shape)
        made.extendleft(before[: len(before) - len(made)])
        return result

    monkeypatch.setattr(Pair, "_held_product", again)


def without_masks_of_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """B = 0: every summand is sent as it is."""
    ahead = Pair._make_ahead

    def zeros(self: Pair, ring: PowerOfTwoRing, a: PairHeld, count: int) -> None:
        ahead(self, ring, a, count)
        made = a.ahead.made[a.transposed]
        for i, each in enumerate(made):
            made[i] = each._replace(mask=ring.zeros(each.mask.shape))

    monkeypatch.setattr(Pair, "_make_ahead", zeros)


WEAKENED: Sequence[tuple[Callable[[pytest.MonkeyPatch], None], str]] = [
    (without_the_other_string, "ands"),
    (without_choices, "ands"),
    (without_choices, "signs"),
    (with_one_string_for_all, "product"),
    (with_one_string_for_all, "squares"),
    (with_values_in_the_clear, "truncations"),
    (with_values_in_the_clear, "bits to elements"),
    (with_values_in_the_clear, "digits to elements"),
    (with_one_mask_for_all_products, "products with a held matrix"),
    (without_masks_of_products, "held matrix and its transpose"),
    (without_masks_of_products, "known rows"),
]


@pytest.mark.parametrize(("weaken", "operation"), WEAKENED, ids=lambda each: getattr(each, "__name__", each))
def test_a_weakened_copy_is_noticed(
    weaken: Callable[[pytest.MonkeyPatch], None], operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weaken(monkeypatch)
    assert any(exposed(work(operation), honest) for honest in (0, 1))
