"""Signs, top bits, high parts and all bits of elements, for every scheme and ring, with random operands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofit.arithmetic import Z64, Z128, IntegerRing
from cofit.errors import InvalidInputError
from cofit.sharing import Scheme
from conformance.algebra import EXAMPLES, POWERS_OF_TWO, SCHEME_AND_RING, elements, integers, signed
from support.runs import run_scheme
from support.schemes import EVERY


@pytest.mark.parametrize("scheme", EVERY)
@EXAMPLES
@given(data=st.data())
def test_narrowing_is_reduction_modulo_the_smaller_power_of_two(scheme: str, data: st.DataObject) -> None:
    values = data.draw(integers(Z128, 4) | integers(Z64, 4))
    encoded = Z128.from_int(np.array(values, dtype=object).reshape(2, 2))

    def program(s: Scheme) -> list[int]:
        share = s.input(1, encoded if s.rank == 1 else None, Z128, encoded.shape)
        narrow = s.narrow(share.map(np.transpose), Z64)
        assert narrow.ring is Z64
        opened = s.open(narrow)
        assert opened is not None
        return [int(v) for v in Z64.to_int(opened).T.flat]

    for got in run_scheme(scheme, program).results:
        assert got == [signed(Z64, v) for v in values]


@pytest.mark.parametrize(("scheme", "ring"), SCHEME_AND_RING, ids=str)
@EXAMPLES
@given(data=st.data())
def test_the_sign_of_any_value(scheme: str, ring: IntegerRing, data: st.DataObject) -> None:
    values = data.draw(integers(ring, data.draw(st.integers(1, 70))))
    encoded = ring.from_int(np.array(values, dtype=object))

    def program(s: Scheme) -> list[list[int]]:
        opened = s.boolean.open(s.sign_bits(s.input(0, encoded if s.rank == 0 else None, ring, encoded.shape)))
        assert opened is not None
        return [[int(bit) for bit in row] for row in opened]

    for bits in run_scheme(scheme, program).results:
        assert bits == [[int(v < 0) for v in values]]


@pytest.mark.parametrize(("scheme", "ring"), POWERS_OF_TWO, ids=str)
@EXAMPLES
@given(data=st.data())
def test_the_sign_and_the_bits_modulo_a_smaller_power_of_two(
    scheme: str, ring: IntegerRing, data: st.DataObject
) -> None:
    """Bit ``width - 1`` of whatever the ring holds: the sign of what lies between -2^(width-1) and 2^(width-1)."""
    width = data.draw(st.integers(1, ring.bits))
    half = 1 << (width - 1)
    values = [-half, half - 1, *data.draw(st.lists(st.integers(-half, half - 1), max_size=68))]
    beyond = [value + (multiple << width) for value, multiple in zip(values, range(-3, len(values)), strict=False)]
    held = ring.from_int(np.array([signed(ring, value) for value in [*values, *beyond]], dtype=object))

    def program(s: Scheme) -> tuple[list[int], list[list[int]]]:
        share = s.input(0, held if s.rank == 0 else None, ring, held.shape)
        opened = s.boolean.open(s.boolean.stack_rows([s.sign_bits(share, bits=width), s.to_bits(share, width)]))
        assert opened is not None
        sign, *bits = opened.astype(int).tolist()
        return sign, bits

    wanted = [*values, *values[: len(beyond)]]
    for sign, bits in run_scheme(scheme, program).results:
        assert sign == [int(v < 0) for v in wanted]
        assert bits == [[v >> j & 1 for v in wanted] for j in range(width)]


@pytest.mark.parametrize("width", [0, -1, 65])
def test_only_bits_that_there_are_can_be_taken(width: int) -> None:
    def program(s: Scheme) -> None:
        with pytest.raises(InvalidInputError, match=f"'bits' parameter of taking bits must be .* Got {width} instead"):
            s.sign_bits(s.constant(Z64, Z64.zeros((3,))), bits=width)

    for scheme in EVERY:
        run_scheme(scheme, program)


@pytest.mark.parametrize(("scheme", "ring"), POWERS_OF_TWO, ids=str)
@EXAMPLES
@given(data=st.data())
def test_the_top_bits_of_any_value_and_of_one_just_below(scheme: str, ring: IntegerRing, data: st.DataObject) -> None:
    """With all bits they are exact; without the low ones those of a number below, by less than the stated error."""
    values = data.draw(integers(ring, data.draw(st.integers(1, 70))))
    low = data.draw(st.integers(1, ring.bits - 8) | st.just(ring.bits - 2))
    encoded = ring.from_int(np.array(values, dtype=object))

    def program(s: Scheme) -> tuple[int, list[list[int]]]:
        share = s.input(0, encoded if s.rank == 0 else None, ring, encoded.shape)
        taken = s.boolean.stack_rows(
            [s.top_bits(share), s.sign_bits(share), s.top_bits(share, low), s.sign_bits(share, low)]
        )
        opened = s.boolean.open(taken)
        assert opened is not None
        return s.summands, [[int(bit) for bit in row] for row in opened]

    def quarter(value: int) -> int:
        return value % (1 << ring.bits) >> (ring.bits - 2)

    for summands, (lower, upper, sign, coarse_lower, coarse_upper, coarse_sign) in run_scheme(scheme, program).results:
        assert [2 * b + a for a, b in zip(lower, upper, strict=True)] == [quarter(v) for v in values]
        assert sign == upper
        error = (summands << low) - 1
        for v, a, b, c in zip(values, coarse_lower, coarse_upper, coarse_sign, strict=True):
            possible = {quarter(v), quarter(v - error)}
            if error >= 1 << (ring.bits - 2):
                possible = {0, 1, 2, 3}
            assert 2 * b + a in possible
            assert c == b


@pytest.mark.parametrize(("scheme", "ring"), POWERS_OF_TWO, ids=str)
@EXAMPLES
@given(data=st.data())
def test_the_high_part_of_any_value(scheme: str, ring: IntegerRing, data: st.DataObject) -> None:
    values = data.draw(integers(ring, data.draw(st.integers(1, 70))))
    shift = data.draw(st.integers(1, ring.bits - 8))
    encoded = ring.from_int(np.array(values, dtype=object))

    def program(s: Scheme) -> tuple[int, list[int]]:
        share = s.input(0, encoded if s.rank == 0 else None, ring, encoded.shape)
        opened = s.open(s.high_part(share, shift))
        assert opened is not None
        return s.summands, [int(v) for v in ring.to_int(opened).flat]

    for summands, found in run_scheme(scheme, program).results:
        for v, high in zip(values, found, strict=True):
            missing = ((v >> shift) - high) % (1 << (ring.bits - shift))
            assert missing < summands


@pytest.mark.parametrize(("scheme", "ring"), SCHEME_AND_RING, ids=str)
@EXAMPLES
@given(data=st.data())
def test_bits_of_any_value_and_back(scheme: str, ring: IntegerRing, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 70))
    values = data.draw(integers(ring, count))
    encoded = ring.from_int(np.array(values, dtype=object))

    def program(s: Scheme) -> tuple[list[list[int]], list[int]]:
        share = s.input(0, encoded if s.rank == 0 else None, ring, encoded.shape)
        bits = s.to_bits(share)
        opened = s.boolean.open(bits)
        back = s.from_bits(bits, ring)
        weights = [1 << j if j < ring.bits - 1 else -(1 << j) for j in range(ring.bits)]
        powers = elements(ring, weights, (ring.bits, 1))
        recomposed = s.open(s.mul_public(back, powers).map(lambda part: ring.sum(part, axis=0)))
        assert opened is not None and recomposed is not None
        return opened.tolist(), [int(v) for v in ring.to_int(recomposed)]

    for bits, recomposed in run_scheme(scheme, program).results:
        assert bits == [[(v >> j) & 1 for v in values] for j in range(ring.bits)]
        assert recomposed == values
