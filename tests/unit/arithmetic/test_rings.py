"""Z_2^64 and Z_2^128 against Python integers."""

from __future__ import annotations

import copy
import operator
import pickle
import re
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofit.arithmetic import (
    F61,
    INTEGER_RINGS,
    Z64,
    Z128,
    Generator,
    IntegerRing,
    PowerOfTwoRing,
    RingArray,
    Shape,
    power_of_two,
    ring_of_bits,
)
from cofit.errors import InvalidInputError, RangeError, RingMismatchError, ShapeError
from unit.arithmetic.reference import Integers, integers, mapped, packed, random_integers, signed, unpacked

RINGS = st.sampled_from(list(INTEGER_RINGS.values()))
POWERS = (Z64, Z128)
BINARY: dict[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
SHAPES: list[tuple[Shape, Shape]] = [
    ((), ()), ((5,), (5,)), ((5,), ()), ((), (5,)), ((3, 4), (4,)), ((4,), (3, 4)), ((3, 1), (1, 4)), ((3, 4), (1, 1)),
    ((1,), (2, 3)), ((0,), (0,)), ((0,), ()), ((), (0,)), ((0, 3), (3,)), ((2, 1, 3), (4, 1)), ((2, 0), (1, 1)),
]  # fmt: skip


def same(ring: IntegerRing, got: RingArray, want: Integers) -> None:
    assert got.shape == want.shape
    assert unpacked(ring, got).tolist() == want.tolist()


@pytest.mark.parametrize("name", BINARY)
def test_binary_operations_broadcast_like_numpy(ring: IntegerRing, name: str) -> None:
    for shapes in SHAPES:
        a, b = (random_integers(ring, shape, seed) for seed, shape in enumerate(shapes))
        got = getattr(ring, name)(packed(ring, a), packed(ring, b))
        same(ring, got, mapped(ring, BINARY[name], a, b))


@given(RINGS, st.data())
def test_binary_operations_on_any_integers(ring: IntegerRing, data: st.DataObject) -> None:
    element = st.integers(ring.lowest, ring.highest)
    pairs = data.draw(st.lists(st.tuples(element, element), min_size=1, max_size=9))
    a, b = (integers([pair[i] for pair in pairs], (len(pairs),)) for i in (0, 1))
    for name, function in BINARY.items():
        got = getattr(ring, name)(packed(ring, a), packed(ring, b))
        same(ring, got, mapped(ring, function, a, b))
    same(ring, ring.neg(packed(ring, a)), mapped(ring, operator.neg, a))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (0, 4)], ids=str)
def test_neg(ring: IntegerRing, shape: Shape) -> None:
    a = random_integers(ring, shape)
    same(ring, ring.neg(packed(ring, a)), mapped(ring, operator.neg, a))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (0, 4)], ids=str)
def test_narrow_keeps_the_low_bits(shape: Shape) -> None:
    a = random_integers(Z128, shape)
    for view, want in ((packed(Z128, a), a), (packed(Z128, a).T, a.T)):
        same(Z64, Z128.narrow(view, Z64), mapped(Z64, lambda value: value, want))
    for ring in INTEGER_RINGS.values():
        b = random_integers(ring, shape)
        same(ring, ring.narrow(packed(ring, b), ring), b)
    for wide, narrow in ((Z64, Z128), (Z64, F61), (Z128, F61), (F61, Z64), (F61, Z128)):
        with pytest.raises(
            RingMismatchError, match=re.escape(f"of {wide.name} cannot be reduced to those of {narrow}")
        ):
            wide.narrow(wide.zeros(shape), narrow)


@pytest.mark.parametrize("shape", [(5,), (0,), (3, 4), (3, 0), (0, 3), (2, 3, 4), (3000, 70), (2, 140_000)], ids=str)
@pytest.mark.parametrize("terms", [1, 3])
def test_inner_sum(ring: IntegerRing, shape: Shape, terms: int) -> None:
    """Also over many chunks of rows, and with rows as long as a chunk."""
    generator = Generator(bytes(32))
    lhs, rhs = ([generator.ring(ring, shape) for _ in range(terms)] for _ in range(2))
    got = ring.inner_sum(lhs, rhs)
    assert got.shape == shape[:-1]
    np.testing.assert_array_equal(got, ring.sum(ring.mul_sum(lhs, rhs), axis=-1))
    if len(shape) == 2:
        views = [[x.T for x in side] for side in (lhs, rhs)]
        np.testing.assert_array_equal(ring.inner_sum(*views), ring.sum(ring.mul_sum(*views), axis=-1))


def test_inner_sum_allocates_no_matrix(ring: IntegerRing) -> None:
    a = ring.zeros((4000, 500))
    tracemalloc.start()
    ring.inner_sum([a, a, a], [a, a, a])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < a.nbytes / 2


@pytest.mark.parametrize("name", BINARY)
def test_inputs_need_not_be_contiguous(ring: IntegerRing, name: str) -> None:
    a, b = random_integers(ring, (6, 8), 1), random_integers(ring, (4, 3), 2)
    views = packed(ring, a)[::-2, 1::2], packed(ring, b).T
    got = getattr(ring, name)(*views)
    same(ring, got, mapped(ring, BINARY[name], a[::-2, 1::2], b.T))
    same(ring, ring.neg(views[0]), mapped(ring, operator.neg, a[::-2, 1::2]))


@pytest.mark.parametrize("name", BINARY)
def test_results_are_new_arrays(ring: IntegerRing, name: str) -> None:
    a, b = random_integers(ring, (3,), 1), random_integers(ring, (3,), 2)
    x, y = packed(ring, a), packed(ring, b)
    got = getattr(ring, name)(x, y)
    assert not np.shares_memory(got, x)
    assert not np.shares_memory(got, y)
    same(ring, x, a)
    same(ring, y, b)


@pytest.mark.parametrize("terms", [1, 2, 3, 8])
@pytest.mark.parametrize("shapes", [((5,), (5,)), ((3, 4), (4,)), ((2, 3), ()), ((), ()), ((0,), (0,))], ids=str)
def test_mul_sum(ring: IntegerRing, terms: int, shapes: tuple[Shape, Shape]) -> None:
    lhs = [random_integers(ring, shapes[0], 2 * t) for t in range(terms)]
    rhs = [random_integers(ring, shapes[1], 2 * t + 1) for t in range(terms)]
    got = ring.mul_sum([packed(ring, x) for x in lhs], [packed(ring, x) for x in rhs])
    want = mapped(ring, lambda *v: sum(x * y for x, y in zip(v[:terms], v[terms:], strict=True)), *lhs, *rhs)
    same(ring, got, want)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((6,), None), ((6,), 0), ((3, 4), None), ((3, 4), 0), ((3, 4), 1), ((3, 4), -1), ((2, 3, 4), 1), ((), None),
     ((0,), None), ((0, 3), 0), ((3, 0), 1), ((3, 0), 0), ((300,), 0)],
)  # fmt: skip
def test_sum(ring: IntegerRing, shape: Shape, axis: int | None) -> None:
    a = random_integers(ring, shape)
    zero = integers([0], ())
    total = np.asarray(np.add.reduce(a, axis=axis, initial=0) if a.ndim else a, dtype=object)
    same(ring, ring.sum(packed(ring, a), axis), mapped(ring, operator.add, total, zero))


def test_sum_carries_through_every_limb() -> None:
    """All ones, 1000 times: every 32-bit limb overflows."""
    same(Z128, Z128.sum(packed(Z128, integers([-1] * 1000, (1000,)))), integers([-1000], ()))
    largest = (1 << 127) - 1
    got = Z128.sum(packed(Z128, integers([largest] * 5, (5,))))
    same(Z128, got, integers([signed(Z128, 5 * largest)], ()))


def test_sum_of_a_view(ring: IntegerRing) -> None:
    a = random_integers(ring, (6, 5))
    got = ring.sum(packed(ring, a).T[::2], 1)
    same(ring, got, mapped(ring, operator.pos, np.asarray(a.T[::2].sum(axis=1), dtype=object)))


@given(RINGS, st.data())
def test_shifts(ring: IntegerRing, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(ring.lowest, ring.highest), max_size=5))
    bits = data.draw(st.integers(0, ring.bits - 1))
    a = integers(values, (len(values),))
    array = packed(ring, a)
    same(ring, ring.shl(array, bits), mapped(ring, lambda v: v << bits, a))
    same(ring, ring.sar(array, bits), mapped(ring, lambda v: v >> bits, a))
    if isinstance(ring, PowerOfTwoRing):
        same(ring, ring.shr(array, bits), mapped(ring, lambda v: (v % (1 << ring.bits)) >> bits, a))


@pytest.mark.parametrize("bits", [0, 1, 31, 32, 63, 64, 65, 127])
def test_shifts_at_word_edges(bits: int) -> None:
    a = random_integers(Z128, (3, 4))
    view = packed(Z128, a).T
    same(Z128, Z128.shl(view, bits), mapped(Z128, lambda v: v << bits, a.T))
    same(Z128, Z128.sar(view, bits), mapped(Z128, lambda v: v >> bits, a.T))
    same(Z128, Z128.shr(view, bits), mapped(Z128, lambda v: (v % (1 << 128)) >> bits, a.T))


def test_magnitude(ring: IntegerRing) -> None:
    a = integers([0, 1, -1, ring.highest, -ring.highest, ring.lowest, 5, -(1 << 59)], (2, 4))
    magnitude, negative = ring.magnitude(packed(ring, a))
    same(ring, magnitude, mapped(ring, abs, a))  # -2^(k-1) has the unsigned magnitude 2^(k-1), the same bits
    assert negative.dtype == np.bool_
    assert negative.tolist() == (a < 0).tolist()


def test_magnitude_without_dimensions(ring: IntegerRing) -> None:
    magnitude, negative = ring.magnitude(packed(ring, integers([-7], ())))
    same(ring, magnitude, integers([7], ()))
    assert negative.shape == ()
    assert negative


@given(RINGS, st.data())
def test_largest_magnitude(ring: IntegerRing, data: st.DataObject) -> None:
    top = (1 << (ring.bits - 1)) - 1
    near = st.one_of(st.integers(-top, top), st.sampled_from([1 << 64, -(1 << 64) - 5, (1 << 64) + 3]))
    values = [signed(ring, v) for v in data.draw(st.lists(near, max_size=6))]
    assert ring.largest_magnitude(packed(ring, integers(values, (len(values),)))) == max(map(abs, values), default=0)


def test_largest_magnitude_of_one_element(ring: IntegerRing) -> None:
    assert ring.largest_magnitude(packed(ring, integers([-7], ()))) == 7


# --- integers in and out -----------------------------------------------------------------------------------


@given(RINGS, st.data())
def test_integers_round_trip(ring: IntegerRing, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(ring.lowest, ring.highest), min_size=1, max_size=8))
    a = integers(values, (len(values),))
    elements = ring.from_int(a)
    same(ring, elements, a)
    assert ring.to_int(elements).tolist() == values


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", ">i4", ">i8"])
def test_every_integer_dtype(ring: IntegerRing, dtype: str) -> None:
    kind = np.dtype(dtype)
    low, high = (0, 1) if kind.kind == "b" else (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    values = [max(low, ring.lowest), 0, 1, min(high, ring.highest, (1 << 63) - 1)]
    elements = ring.from_int(np.array(values, dtype=kind))
    same(ring, elements, integers(values, (4,)))


def test_unsigned_integers_beyond_the_sign() -> None:
    same(Z128, Z128.from_int(np.array([2**64 - 1], dtype=np.uint64)), integers([2**64 - 1], (1,)))
    with pytest.raises(RangeError, match="flat position 1"):
        Z64.from_int(np.array([1, 2**63], dtype=np.uint64))


def test_to_int_types() -> None:
    assert Z64.to_int(Z64.from_int([1, -2])).dtype == np.int64
    wide = Z128.to_int(Z128.from_int([1, -2]))
    assert wide.dtype == object
    assert all(type(v) is int for v in wide)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 3)], ids=str)
def test_integer_shapes(ring: IntegerRing, shape: Shape) -> None:
    values = np.zeros(shape, dtype=np.int64) - 3
    elements = ring.from_int(values)
    assert isinstance(elements, np.ndarray)
    assert elements.shape == shape
    back = ring.to_int(elements)
    assert back.shape == shape
    assert (back == -3).all()


def test_from_int_does_not_alias_its_input(ring: IntegerRing) -> None:
    values = np.array([1, 2, 3])
    elements = ring.from_int(values)
    values[:] = 9
    same(ring, elements, integers([1, 2, 3], (3,)))


def test_integers_out_of_range(ring: IntegerRing) -> None:
    low, high = ring.lowest, ring.highest
    same(ring, ring.from_int([high, low]), integers([high, low], (2,)))
    for value in (high + 1, low - 1):
        with pytest.raises(RangeError, match="flat position 2") as info:
            ring.from_int(integers([0, 1, value], (3,)))
        assert str(abs(value)) not in str(info.value)


@pytest.mark.parametrize(
    "values",
    [[1.0], [0.5], 1.0, ["1"], [None], [1j], [b"a"], np.array([1, 2.5], dtype=object)],
    ids=repr,
)
def test_what_is_no_integer_is_refused(ring: IntegerRing, values: object) -> None:
    with pytest.raises(InvalidInputError, match="Only integers"):
        ring.from_int(values)


# --- what does not fit together ----------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["other ring", "signed", "float"])
def test_other_elements_are_refused(ring: IntegerRing, wrong: str) -> None:
    other = Z64 if ring is Z128 else Z128
    good = ring.zeros((2, 2))
    bad = {
        "other ring": other.zeros((2, 2)), "signed": np.zeros((2, 2), np.int64), "float": np.zeros((2, 2))
    }[wrong]  # fmt: skip
    operations: list[Callable[[], object]] = [
        lambda: ring.add(good, bad),
        lambda: ring.add(bad, good),
        lambda: ring.sub(good, bad),
        lambda: ring.mul(good, bad),
        lambda: ring.mul(bad, good),
        lambda: ring.mul_sum([good, good], [good, bad]),
        lambda: ring.neg(bad),
        lambda: ring.sum(bad),
        lambda: ring.shl(bad, 1),
        lambda: ring.sar(bad, 1),
        lambda: ring.matmul(good, bad),
        lambda: ring.matmul(bad, good),
        lambda: ring.matmul(bad, good[0]),
        lambda: ring.to_int(bad),
        lambda: ring.check(bad),
    ]
    for operation in operations:
        with pytest.raises(RingMismatchError):
            operation()


def test_magnitude_of_other_elements_is_refused() -> None:
    with pytest.raises(RingMismatchError):
        Z128.magnitude(Z64.zeros((2,)))


def test_shapes_that_do_not_broadcast(ring: IntegerRing) -> None:
    a, b = ring.zeros((2, 3)), ring.zeros((2,))
    for name in BINARY:
        with pytest.raises(ShapeError, match=r"\(2, 3\) and \(2,\)"):
            getattr(ring, name)(a, b)


# --- the rings themselves ----------------------------------------------------------------------------------


def test_zeros_and_empty(ring: IntegerRing) -> None:
    same(ring, ring.zeros((2, 3)), integers([0] * 6, (2, 3)))
    assert ring.empty((2, 3)).shape == (2, 3)
    assert ring.empty((2, 3)).dtype == ring.dtype
    assert ring.element_bytes == -(-ring.bits // 8)


def test_a_ring_is_one_object(ring: IntegerRing) -> None:
    assert INTEGER_RINGS[str(ring)] is ring
    assert pickle.loads(pickle.dumps(ring)) is ring
    assert copy.deepcopy(ring) is ring


def test_rings_by_bits() -> None:
    assert [ring_of_bits(bits) for bits in (64, 128)] == list(POWERS)
    assert [str(ring) for ring in POWERS] == ["Z_2^64", "Z_2^128"]
    for ring in POWERS:
        with pytest.raises(RingMismatchError):
            ring.shr(np.zeros(2), 1)


def test_unknown_ring() -> None:
    with pytest.raises(InvalidInputError, match="64, 128"):
        ring_of_bits(32)


@pytest.mark.parametrize("ring", POWERS, ids=str)
def test_what_needs_a_power_of_two_gets_one(ring: PowerOfTwoRing) -> None:
    assert power_of_two(ring, "This") is ring


def test_what_needs_a_power_of_two_refuses_other_rings_by_name() -> None:
    with pytest.raises(InvalidInputError, match=re.escape("This needs a ring Z_2^k; got F_(2^61-1).")):
        power_of_two(F61, "This")


def test_facts_of_the_rings() -> None:
    """What formats and planners ask for: one bit for the sign and one of headroom, in every ring."""
    facts = {
        str(r): (r.modulus, r.bits, r.words, r.value_bits, r.capacity, r.lowest, r.highest, r.reduces)
        for r in INTEGER_RINGS.values()
    }
    assert facts == {
        "Z_2^64": (2**64, 64, 1, 62, 2**62 - 1, -(2**63), 2**63 - 1, True),
        "Z_2^128": (2**128, 128, 2, 126, 2**126 - 1, -(2**127), 2**127 - 1, True),
        "F_(2^61-1)": (2**61 - 1, 61, 1, 59, 2**59 - 1, 1 - 2**60, 2**60 - 1, False),
    }


def test_reduction_is_asked_of_the_ring() -> None:
    pairs = {(str(a), str(b)) for a in INTEGER_RINGS.values() for b in INTEGER_RINGS.values() if a.reduces_to(b)}
    assert pairs == {(str(r), str(r)) for r in INTEGER_RINGS.values()} | {("Z_2^128", "Z_2^64")}
