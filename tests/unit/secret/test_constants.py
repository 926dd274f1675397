"""Public numbers are encoded once, each in its own way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cofit import Z64, Z128, FixedPoint
from cofit.errors import InvalidInputError, RangeError
from cofit.secret.constants import encoded, factor_format

F = FixedPoint(24)


@pytest.mark.parametrize("value", [1, 1.0, Fraction(1), Fraction(1, 3), -2.75, 0, -0.0, 1 << 30])
@pytest.mark.parametrize("format", [F, FixedPoint(0), FixedPoint(40, Z128)], ids=str)
def test_a_number_is_encoded_as_its_format_does(value: object, format: FixedPoint) -> None:
    for _ in range(2):
        element, limit = encoded(value, format)
        np.testing.assert_array_equal(element, format.encode(value))
        assert limit == format.ring.largest_magnitude(format.encode(value))


def test_a_remembered_element_cannot_be_changed() -> None:
    element, _ = encoded(3, F)
    with pytest.raises(ValueError, match="read-only"):
        element[...] = 4
    assert encoded(3, F)[0] is element


def test_equal_numbers_of_different_kinds_are_different_factors() -> None:
    kinds = [factor_format(value, F).fraction_bits for value in (2, 2.0, Fraction(2), np.int64(2), np.float64(2), [2])]
    assert kinds == [0, 24, 24, 0, 24, 0]


def test_what_cannot_be_encoded_is_refused_every_time() -> None:
    for _ in range(2):
        with pytest.raises(RangeError):
            encoded(1 << 60, F)
        with pytest.raises(InvalidInputError):
            encoded(float("nan"), F)


def test_equal_formats_are_one_object_and_others_are_refused() -> None:
    assert FixedPoint.cached(24, Z64) is FixedPoint.cached(24, Z64) == F
    for wrong in (24.0, -1, 63):
        with pytest.raises(InvalidInputError, match="fraction_bits"):
            FixedPoint.cached(wrong, Z64)
