"""The algebra of shares, for any values: what is computed on shares is what the ring says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.arithmetic import F61, INTEGER_RINGS, Z64, Z128, IntegerRing
from cofit.errors import InvalidInputError
from cofit.sharing import Scheme, Share
from cofit.sharing.shares import PlacedBits
from conformance.algebra import (
    ANY_RING,
    EXAMPLES,
    POWERS_OF_TWO,
    SCHEME_AND_RING,
    elements,
    integers,
    on_shares,
    signed,
)
from support.runs import run_scheme
from support.schemes import EVERY, MORE, REST, also_slow, with_rings


@pytest.mark.parametrize(
    ("scheme", "ring"),
    also_slow([*ANY_RING, *with_rings(MORE, [F61])], *with_rings(REST, tuple(INTEGER_RINGS.values()))),
    ids=str,
)
@EXAMPLES
@given(data=st.data())
def test_linear_combinations_and_products(scheme: str, ring: IntegerRing, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 5))
    a, b, c, k = (data.draw(integers(ring, count)) for _ in range(4))
    inputs = [ring.from_int(np.array(v, dtype=object)) for v in (a, b, c)]
    public = ring.from_int(np.array(k, dtype=object))

    def formula(s: Scheme, x: list[Share]) -> Share:
        return s.add_public(s.sub(s.mul(s.add(x[0], x[1]), x[2]), s.mul_public(s.neg(x[0]), public)), public)

    expected = [signed(ring, (p + q) * r + p * t + t) for p, q, r, t in zip(a, b, c, k, strict=True)]
    assert on_shares(scheme, ring, inputs, formula) == expected


@pytest.mark.parametrize(("scheme", "ring"), ANY_RING, ids=str)
@EXAMPLES
@given(data=st.data())
def test_matrix_products_of_all_shapes(scheme: str, ring: IntegerRing, data: st.DataObject) -> None:
    m, k, n = (data.draw(st.integers(1, 4)) for _ in range(3))
    left_vector, right_vector = data.draw(st.booleans()), data.draw(st.booleans())
    left = np.array(data.draw(integers(ring, m * k)), dtype=object).reshape(m, k)
    right = np.array(data.draw(integers(ring, k * n)), dtype=object).reshape(k, n)
    if left_vector:
        left = left[0]
    if right_vector:
        right = right[:, 0]
    exact = np.asarray(left.dot(right), dtype=object)
    opened = on_shares(scheme, ring, [ring.from_int(left), ring.from_int(right)], lambda s, x: s.matmul(x[0], x[1]))
    assert opened == [signed(ring, int(v)) for v in exact.flat]


@pytest.mark.parametrize(("scheme", "ring"), ANY_RING, ids=str)
@EXAMPLES
@given(data=st.data())
def test_transposed_shares_multiply_alike(scheme: str, ring: IntegerRing, data: st.DataObject) -> None:
    rows, cols = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    matrix = np.array(data.draw(integers(ring, rows * cols)), dtype=object).reshape(rows, cols)
    vector = np.array(data.draw(integers(ring, rows)), dtype=object)

    def formula(s: Scheme, x: list[Share]) -> Share:
        return s.matmul(x[0].map(np.transpose), x[1])

    opened = on_shares(scheme, ring, [ring.from_int(matrix), ring.from_int(vector)], formula)
    assert opened == [signed(ring, int(v)) for v in matrix.T.dot(vector)]


@pytest.mark.parametrize(
    ("scheme", "ring"), also_slow(SCHEME_AND_RING, *with_rings((*MORE, *REST), (Z64, Z128))), ids=str
)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_truncation_is_the_floor_or_one_more_for_every_value(
    scheme: str, ring: IntegerRing, data: st.DataObject
) -> None:
    limit = 1 << ring.value_bits
    edge = st.sampled_from([-limit, limit - 1, 0, -1, 1, limit // 2, -limit + 1])
    values = data.draw(st.lists(st.integers(-limit, limit - 1) | edge, min_size=1, max_size=15))
    shift = data.draw(st.integers(0, ring.value_bits))
    inputs = [ring.from_int(np.array(values, dtype=object))]
    opened = on_shares(scheme, ring, inputs, lambda s, x: s.truncate(x[0], shift))
    for got, value in zip(opened, values, strict=True):
        exact_when_nothing_is_cut = value % (1 << shift) == 0
        assert got - (value >> shift) in ((0,) if exact_when_nothing_is_cut else (0, 1))


@pytest.mark.parametrize(("scheme", "ring"), SCHEME_AND_RING, ids=str)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_what_is_added_before_the_truncation_is_counted_once(
    scheme: str, ring: IntegerRing, data: st.DataObject
) -> None:
    """The product and the summand may each wrap, as long as their total is within the domain of the truncation."""
    kind = data.draw(st.sampled_from(["mul", "matmul", "matvec"]))
    rows, depth, cols = (data.draw(st.integers(1, 3)) for _ in range(3))
    limit = 1 << ring.value_bits
    edge = st.sampled_from([-limit, limit - 1, 0, -1, 1])
    shift = data.draw(st.sampled_from([0, 1, ring.bits // 2, ring.value_bits]))
    shapes = {"mul": ((rows, depth), (1, depth)), "matmul": ((rows, depth), (depth, cols))}
    left_shape, right_shape = shapes.get(kind, ((rows, depth), (depth,)))
    left, right = (
        np.array(data.draw(integers(ring, int(np.prod(s)))), dtype=object).reshape(s) for s in (left_shape, right_shape)
    )
    product = np.asarray(left * right if kind == "mul" else left.dot(right), dtype=object)
    count = product.size
    totals = data.draw(st.lists(st.integers(-limit, limit - 1) | edge, min_size=count, max_size=count))
    plus = [total - int(p) for total, p in zip(totals, product.flat, strict=True)]
    inputs = [ring.from_int(left), ring.from_int(right), elements(ring, plus, product.shape)]
    operation = Scheme.mul if kind == "mul" else Scheme.matmul
    opened = on_shares(scheme, ring, inputs, lambda s, x: operation(s, x[0], x[1], shift, x[2]))
    for got, total in zip(opened, totals, strict=True):
        assert got - (total >> shift) in ((0,) if total % (1 << shift) == 0 else (0, 1))


@pytest.mark.parametrize(("scheme", "ring"), ANY_RING, ids=str)
@EXAMPLES
@given(data=st.data())
def test_inner_products_of_any_values(scheme: str, ring: IntegerRing, data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    a, b = (np.array(data.draw(integers(ring, int(np.prod(shape)))), dtype=object).reshape(shape) for _ in range(2))
    opened = on_shares(scheme, ring, [ring.from_int(a), ring.from_int(b)], lambda s, x: s.inner(x[0], x[1]))
    assert opened == [signed(ring, int(v)) for v in np.asarray((a * b).sum(axis=-1), dtype=object).flat]


@pytest.mark.parametrize(("scheme", "ring"), SCHEME_AND_RING, ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_inner_products_at_the_edge_of_the_truncation(scheme: str, ring: IntegerRing, sign: int) -> None:
    """Terms that wrap by themselves, with a sum that is the largest, or smallest, in the domain."""
    limit, big, shift = 1 << ring.value_bits, 1 << (ring.bits - 9), ring.bits // 2
    total = limit - 1 if sign > 0 else -limit
    left = np.array([[big, -big, total], [7, 1, -1]], dtype=object)
    right = np.array([[big, big, 1], [total // 7, total % 7, 0]], dtype=object)
    opened = on_shares(
        scheme, ring, [ring.from_int(left), ring.from_int(right)], lambda s, x: s.inner(x[0], x[1], shift)
    )
    assert all(got - (total >> shift) in ((0, 1) if total % (1 << shift) else (0,)) for got in opened)


@pytest.mark.parametrize(
    ("scheme", "ring", "shift", "cols"),
    also_slow(
        [(*one, 9, cols) for one in POWERS_OF_TWO for cols in (1, 8, 9, 70_000) if cols < 10 or one[0] != "shamir/5"],
        *(("shamir/5", ring, 9, 70_000) for ring in (Z64, Z128)),
    ),
    ids=str,
)
def test_squares_of_the_high_part_are_those_of_the_high_part(
    scheme: str, ring: IntegerRing, shift: int, cols: int
) -> None:
    """Also where there are more rows than are shifted at a time, and where few columns are multiplied one by one."""
    shape = (5, cols)
    encoded = ring.from_int(np.random.default_rng(4).integers(-(2**62), 2**62, shape))

    def program(s: Scheme) -> tuple[list[int], list[int]]:
        share = s.input(0, encoded if s.rank == 0 else None, ring, shape)
        high = s.high_part(share, shift)
        found, expected = s.open(s.high_squares(share, shift)), s.open(s.inner(high, high))
        assert found is not None
        assert expected is not None
        return [int(v) for v in ring.to_int(found)], [int(v) for v in ring.to_int(expected)]

    for found, expected in run_scheme(scheme, program).results:
        assert found == expected
        assert len(set(found)) == shape[0]


@pytest.mark.parametrize(("scheme", "ring"), SCHEME_AND_RING, ids=str)
def test_one_number_without_dimensions(scheme: str, ring: IntegerRing) -> None:
    """As every vector: products, truncated or not, and truncation."""
    inputs = [ring.from_int(np.array(v, dtype=object)) for v in (-12 << 9, 5)]
    assert inputs[0].shape == ()
    for formula, expected in (
        (lambda s, x: s.mul(x[0], x[1]), -60 << 9),
        (lambda s, x: s.mul(x[0], x[1], 9), -60),
        (lambda s, x: s.mul(x[0], x[1], 9, x[0]), -72),
        (lambda s, x: s.truncate(x[0], 9), -12),
    ):
        assert on_shares(scheme, ring, inputs, formula) == [expected]


@pytest.mark.parametrize(("scheme", "ring"), SCHEME_AND_RING, ids=str)
def test_nothing_stays_nothing_when_it_is_truncated(scheme: str, ring: IntegerRing) -> None:
    """What the check of rows rests on: a product with 0 is 0 whatever the other factor is, also after a truncation."""
    garbage = [int(v) for v in np.random.default_rng(3).integers(-(2**62), 2**62, 200)]
    encoded = ring.from_int(np.array([signed(ring, v << max(ring.bits - 64, 0)) for v in garbage], dtype=object))

    def program(s: Scheme) -> list[int]:
        share = s.input(0, encoded if s.rank == 0 else None, ring, encoded.shape)
        zero = s.input(1, ring.zeros(encoded.shape) if s.rank == 1 % len(s.names) else None, ring, encoded.shape)
        found = [s.mul(share, zero), s.mul(share, zero, 13), s.truncate(s.mul(share, zero), 20), s.truncate(zero, 5)]
        opened = [s.open(one) for one in found]
        return [int(v) for one in opened if one is not None for v in ring.to_int(one).flat]

    for found in run_scheme(scheme, program).results:
        assert len(found) == 800
        assert not any(found)


REDUCING: dict[str, Callable[[Scheme, Share], object]] = {
    "narrow": lambda s, x: s.narrow(x, Z64),
    "high part": lambda s, x: s.high_part(x, 3),
    "squares of high parts": lambda s, x: s.high_squares(x, 3),
    "signs from few bits": lambda s, x: s.sign_bits(x, bits=9),
    "signs without low bits": lambda s, x: s.sign_bits(x, low=2),
    "top bits without low ones": lambda s, x: s.top_bits(x, low=2),
}
BY_SUMMANDS: dict[str, Callable[[Scheme, Share], object]] = {
    "truncate": lambda s, x: s.truncate(x, 4),
    "product": lambda s, x: s.mul(x, x, 4),
    "bits": lambda s, x: s.to_bits(x),
    "signs": lambda s, x: s.sign_bits(x),
}


@pytest.mark.parametrize("scheme", EVERY)
def test_what_needs_a_power_of_two_is_refused_in_a_field_by_name(scheme: str) -> None:
    """Sums of summands that are reduced modulo 2^m, or shifted, mean nothing modulo p."""
    refused = REDUCING if scheme == "clear" else REDUCING | BY_SUMMANDS

    def program(s: Scheme) -> dict[str, str]:
        share = s.constant(F61, F61.from_int([[5, -6]]))
        said = {}
        for name, operation in refused.items():
            with pytest.raises(InvalidInputError) as info:
                operation(s, share)
            said[name] = str(info.value)
        return said

    for said in run_scheme(scheme, program).results:
        assert len(said) == len(refused)
        assert all("F_(2^61-1)" in message for message in said.values()), said


# The bits of ``repn`` are the lowest ones of ring elements: in a field they would not add up.
@pytest.mark.parametrize(
    ("scheme", "ring"), [o for o in ANY_RING if o[0][:4] != "repn" or o[1] in (Z64, Z128)], ids=str
)
def test_numbers_and_bits_become_elements_of_any_ring(scheme: str, ring: IntegerRing) -> None:
    digits = np.random.default_rng(6).integers(0, 2, (9, 70)).astype(np.uint8)

    def program(s: Scheme) -> tuple[list[int], list[list[int]]]:
        bits = s.boolean.input(0, digits if s.rank == 0 else None, *digits.shape)
        numbers = [PlacedBits(0, bits), PlacedBits(ring.value_bits - 12, bits)]
        total, elements = s.open(s.from_numbers(numbers, ring)), s.open(s.from_bits(bits, ring))
        assert total is not None
        assert elements is not None
        return [int(v) for v in ring.to_int(total)], ring.to_int(elements).tolist()

    wanted = [sum(int(bit) << j for j, bit in enumerate(column)) for column in digits.T]
    for total, bits in run_scheme(scheme, program).results:
        assert total == [number + (number << (ring.value_bits - 12)) for number in wanted]
        assert bits == digits.tolist()
