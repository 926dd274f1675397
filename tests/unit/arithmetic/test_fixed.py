"""Fixed point: exactness, rounding, and the refusal of what does not fit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofit.arithmetic import F61, Z64, Z128, FixedPoint, IntegerRing
from cofit.errors import InvalidInputError, RangeError
from unit.arithmetic.reference import unpacked

FORMATS = [
    FixedPoint(0),
    FixedPoint(24),
    FixedPoint(0, Z128),
    FixedPoint(52, Z128),
    FixedPoint(60, Z128),
    FixedPoint(24, F61),
]
FRACTIONAL = [FixedPoint(24), FixedPoint(52, Z128), FixedPoint(60, Z128), FixedPoint(24, F61)]


def encoded(format: FixedPoint, values: object, bound: float | Fraction | None = None) -> list[int]:
    integers: list[int] = unpacked(format.ring, np.asarray(format.encode(values, bound))).reshape(-1).tolist()
    return integers


# --- exactness and rounding --------------------------------------------------------------------------------


@given(st.sampled_from(FRACTIONAL), st.integers(-(2**53), 2**53), st.data())
def test_53_bits_round_trip_exactly(format: FixedPoint, mantissa: int, data: st.DataObject) -> None:
    room = format.ring.bits - 2 - max(abs(mantissa).bit_length(), 1)
    shift = data.draw(st.integers(0, room))
    value = math.ldexp(mantissa, shift - format.fraction_bits)
    assert encoded(format, [value]) == [mantissa << shift]
    assert format.decode(format.encode([value])).tolist() == [value]


@pytest.mark.parametrize("format", [FixedPoint(52, Z128), FixedPoint(60, Z128)], ids=str)
def test_negative_values_keep_their_low_bits(format: FixedPoint) -> None:
    """A signed number split by floor would need 64 + 53 bits: the low ones of negative values were lost so."""
    values = np.array([-1.0, -(2.0**-52), -1 - 2.0**-52, -math.pi, -(2.0**30) - 2.0**-22, -12345.678, -(2.0**-40)])
    assert encoded(format, values) == [int(Fraction(v) * 2**format.fraction_bits) for v in values.tolist()]
    assert format.decode(format.encode(values)).tolist() == values.tolist()
    assert encoded(format, -values) == [-i for i in encoded(format, values)]


@given(st.sampled_from(FRACTIONAL), st.floats(-1e9, 1e9))
def test_encoding_is_the_nearest_integer_ties_to_even(format: FixedPoint, value: float) -> None:
    assert encoded(format, [value]) == [round(Fraction(value) * 2**format.fraction_bits)]


@given(st.sampled_from(FRACTIONAL), st.fractions(-1000, 1000))
def test_a_fraction_is_encoded_as_exactly(format: FixedPoint, value: Fraction) -> None:
    (integer,) = encoded(format, value)
    assert abs(integer - value * 2**format.fraction_bits) <= Fraction(1, 2)


@pytest.mark.parametrize("format", FRACTIONAL, ids=str)
def test_ties_go_to_the_even_integer(format: FixedPoint) -> None:
    unit = 2.0**-format.fraction_bits
    halves = [0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, -3.5]
    assert encoded(format, [h * unit for h in halves]) == [0, 2, 2, 4, 0, -2, -2, -4]
    assert encoded(format, [2.5000001 * unit, 2.4999999 * unit]) == [3, 2]


@given(st.sampled_from(FORMATS), st.data())
def test_decoding_is_within_one_unit_of_the_float(format: FixedPoint, data: st.DataObject) -> None:
    integer = data.draw(st.integers(-format.capacity, format.capacity))
    got = float(format.decode(format.ring.from_int([integer]))[0])
    exact = Fraction(integer, 2**format.fraction_bits)
    assert abs(Fraction(got) - exact) <= Fraction(math.ulp(float(exact)))
    if abs(integer) <= 2**53:
        assert Fraction(got) == exact


def test_decoding_gives_float64_of_the_same_shape(ring: IntegerRing) -> None:
    format = FixedPoint(20, ring)
    for shape in [(), (3,), (2, 3), (0, 2)]:
        back = format.decode(format.encode(np.full(shape, -2.5)))
        assert back.dtype == np.float64
        assert back.shape == shape
        assert (back == -2.5).all()


def test_views_and_small_floats() -> None:
    format = FixedPoint(24)
    values = np.arange(12.0).reshape(3, 4)
    assert encoded(format, values.T[::2]) == [int(v) << 24 for v in values.T[::2].flat]
    assert encoded(format, np.array([0.5, -1.25], dtype=np.float32)) == [1 << 23, -5 << 22]
    assert encoded(format, np.array([0.5, -1.25], dtype=np.float16)) == [1 << 23, -5 << 22]
    assert encoded(format, [5e-324, -5e-324, 0.0, -0.0]) == [0, 0, 0, 0]


@pytest.mark.parametrize("format", FRACTIONAL, ids=str)
@pytest.mark.parametrize("value", [1.5, 3, np.float64(0.25), True])
def test_a_single_number(format: FixedPoint, value: float) -> None:
    array = format.encode(value)
    assert array.shape == ()
    assert array.dtype == format.ring.dtype
    assert float(format.decode(array)) == float(value)


def test_a_single_float_becomes_an_array() -> None:
    assert isinstance(FixedPoint(24).encode(1.5), np.ndarray)


# --- integers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FRACTIONAL, ids=str)
@pytest.mark.parametrize(
    "values",
    [
        [0, 1, -1, 2**30, -(2**30)],
        np.array([0, 1, -128, 127], dtype=np.int8),
        np.array([0, 255], dtype=np.uint8),
        np.array([0, 2**34], dtype=np.uint64),
        np.array([True, False]),
        np.array([3, -4], dtype=object),
        np.array([], dtype=np.int64),
    ],
    ids=repr,
)
def test_integers_are_exact(format: FixedPoint, values: npt.ArrayLike) -> None:
    want = [int(v) << format.fraction_bits for v in np.asarray(values).flat]
    assert encoded(format, values) == want


def test_integers_beyond_a_float() -> None:
    odd = 2**60 + 1
    assert encoded(FixedPoint(0), [odd, -odd]) == [odd, -odd]
    assert encoded(FixedPoint(0, Z128), [2**125 + 1, -(2**125) - 1]) == [2**125 + 1, -(2**125) - 1]
    assert encoded(FixedPoint(60, Z128), [2**65 + 1]) == [(2**65 + 1) << 60]
    assert encoded(FixedPoint(0, Z128), np.array([2**64 - 1], dtype=np.uint64)) == [2**64 - 1]
    assert encoded(FixedPoint(0, Z128), 2**100) == [2**100]


# --- what does not fit -------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_capacity_leaves_two_bits(format: FixedPoint) -> None:
    assert format.capacity == 2 ** (format.ring.bits - 2) - 1


@pytest.mark.parametrize("ring", [Z64, Z128], ids=str)
def test_integers_at_the_capacity(ring: IntegerRing) -> None:
    format = FixedPoint(0, ring)
    top = format.capacity
    assert encoded(format, np.array([top, -top], dtype=object)) == [top, -top]
    for value in (top + 1, -top - 1):
        with pytest.raises(RangeError, match=r"index \(1,\)"):
            format.encode(np.array([0, value], dtype=object))


def test_machine_integers_at_the_capacity() -> None:
    top = FixedPoint(0).capacity
    assert encoded(FixedPoint(0), np.array([top, -top])) == [top, -top]
    for value in (top + 1, -top - 1, 2**63 - 1, -(2**63)):
        with pytest.raises(RangeError):
            FixedPoint(0).encode(np.array([value]))
    with pytest.raises(RangeError):
        FixedPoint(0).encode(np.array([2**64 - 1], dtype=np.uint64))
    with pytest.raises(RangeError):
        FixedPoint(0).encode([2**70])
    whole = FixedPoint(24).capacity >> 24
    assert encoded(FixedPoint(24), [whole, -whole]) == [whole << 24, -whole << 24]
    for value in (whole + 1, -whole - 1):
        with pytest.raises(RangeError):
            FixedPoint(24).encode([value])


@pytest.mark.parametrize("format", FRACTIONAL, ids=str)
def test_floats_at_the_capacity(format: FixedPoint) -> None:
    power = 2.0 ** (format.ring.bits - 2 - format.fraction_bits)
    below = math.nextafter(power, 0)
    assert encoded(format, [below, -below]) == [
        int(Fraction(below) * 2**format.fraction_bits), -int(Fraction(below) * 2**format.fraction_bits)
    ]  # fmt: skip
    for value in (power, -power, 1e300, -1e300, 1.7e308):
        with pytest.raises(RangeError):
            format.encode([value])


@pytest.mark.parametrize("format", FRACTIONAL, ids=str)
@pytest.mark.parametrize("bound", [1.0, 0.375, 3, Fraction(5, 4), 1000.0, 0])
def test_the_bound_is_exact_to_one_unit(format: FixedPoint, bound: float) -> None:
    unit = Fraction(1, 2**format.fraction_bits)
    for sign in (1, -1):
        at = float(sign * Fraction(bound))
        assert encoded(format, [at], bound) == [int(Fraction(at) / unit)]
    beyond = float(Fraction(bound) + unit)
    if Fraction(beyond) != Fraction(bound) + unit:  # the float has no bit for that unit: take the next float
        beyond = math.nextafter(float(bound), math.inf)
    for value in (beyond, -beyond):
        with pytest.raises(RangeError):
            format.encode([value], bound)


@pytest.mark.parametrize("bound", [3, 3.5, Fraction(7, 2)])
def test_integers_against_a_bound(bound: float) -> None:
    for format in FRACTIONAL:
        assert encoded(format, [3, -3], bound) == [3 << format.fraction_bits, -3 << format.fraction_bits]
        for values in ([4], [-4], np.array([4], np.uint64), np.array([-4], object), np.array([4], np.int8)):
            with pytest.raises(RangeError):
                format.encode(values, bound)


def test_the_smallest_machine_integer_against_a_bound() -> None:
    with pytest.raises(RangeError):
        FixedPoint(0, Z128).encode(np.array([-(2**63)]), 2**63 - 1)


def test_the_message_names_the_position_and_not_the_value() -> None:
    values = np.full((3, 4), 0.25)
    values[1, 2] = 7.654321
    values[2, 3] = -9.87
    with pytest.raises(RangeError, match=r"index \(1, 2\)") as info:
        FixedPoint(24).encode(values, 1.0)
    assert "7.65" not in str(info.value)
    assert "9.87" not in str(info.value)
    with pytest.raises(RangeError, match=r"index \(1,\)") as info:
        FixedPoint(24).encode([1, 987654], 10)
    assert "987654" not in str(info.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_what_is_not_finite_is_refused(format: FixedPoint, value: float) -> None:
    with pytest.raises(InvalidInputError, match=r"index \(0, 1\) is not finite"):
        format.encode([[1.0, value]])


@pytest.mark.parametrize(
    "values",
    [["1"], [None], [1j], [b"x"], np.array(["2020-01-01"], "M8[D]"), np.array([0.5], dtype=object), [{}]],
    ids=repr,
)
def test_what_is_no_number_is_refused(values: object) -> None:
    with pytest.raises(InvalidInputError, match="Only real numbers"):
        FixedPoint(24).encode(values)


# --- the format itself -------------------------------------------------------------------------------------


def test_limit_rounds_up() -> None:
    assert FixedPoint(24).limit(1) == 1 << 24
    assert FixedPoint(24).limit(0) == 0
    assert FixedPoint(0).limit(0.1) == 1
    assert FixedPoint(2).limit(Fraction(1, 3)) == 2
    assert FixedPoint(24).limit(0.3) == math.ceil(Fraction(0.3) * 2**24)
    assert FixedPoint(60, Z128).limit(Fraction(1, 3)) == 2**60 // 3 + 1


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_limit_at_the_capacity(format: FixedPoint) -> None:
    exact = Fraction(format.capacity, 2**format.fraction_bits)
    assert format.limit(exact) == format.capacity
    with pytest.raises(RangeError, match="does not fit"):
        format.limit(exact + Fraction(1, 2**130))


@pytest.mark.parametrize("bound", [-1, -0.5, math.nan, math.inf, "1", None, 1j])
def test_bad_bounds(bound: float) -> None:
    with pytest.raises(InvalidInputError, match="'bound' parameter"):
        FixedPoint(24).limit(bound)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("bound", [np.int64(2**40), np.int64(2**39), np.int32(2**20)], ids=repr)
def test_bounds_that_are_numpy_integers(bound: np.integer[npt.NBitBase]) -> None:
    try:
        limit = FixedPoint(24).limit(int(bound))
    except RangeError:
        with pytest.raises(RangeError):
            FixedPoint(24).limit(bound)  # type: ignore[arg-type]
    else:
        assert FixedPoint(24).limit(bound) == limit  # type: ignore[arg-type]


def test_a_bound_that_is_a_small_numpy_float() -> None:
    assert FixedPoint(24).limit(np.float32(1.5)) == 3 << 23  # type: ignore[arg-type]


@pytest.mark.parametrize("fraction_bits", [-1, 63, 1.0, "24", None])
def test_bad_fraction_bits(fraction_bits: int) -> None:
    with pytest.raises(InvalidInputError, match="'fraction_bits' parameter of FixedPoint must be"):
        FixedPoint(fraction_bits)


def test_formats_are_values() -> None:
    assert FixedPoint(24) == FixedPoint(24, Z64)
    assert FixedPoint(24) != FixedPoint(24, Z128)
    assert FixedPoint(24) != FixedPoint(23)
    assert len({FixedPoint(24), FixedPoint(24), FixedPoint(25)}) == 2
    assert str(FixedPoint(52, Z128)) == "Z_2^128 with 52 fractional bits"
    assert FixedPoint(62).capacity == FixedPoint(0).capacity
    assert FixedPoint(126, Z128).limit(0.5) == 2**125
