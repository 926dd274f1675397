"""Owners' tables: encoded by what the study says."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.errors import InvalidInputError
from cofit.learn.bounds import TOLERANCE
from cofit.study import TableError, encode_table
from cofit.study.document import Feature
from cofit.study.encode import encode_columns
from cofit.study.problems import Problems
from unit.study.studies import LEFT_OUT, VERTICAL
from unit.study.tables import ENCODED, GOOD, encoded, refusal, small, table_of, with_value


def test_texts_are_encoded_as_the_study_says() -> None:
    result = encoded()
    assert isinstance(result.features, np.ndarray)
    assert result.labels is not None
    np.testing.assert_array_equal(result.features, ENCODED)
    np.testing.assert_array_equal(result.labels, [0, 1, 1, 0])
    assert result.features.dtype == np.float64
    assert result.keys == ("P1", "P2", "P3", "P4")


def test_the_order_of_columns_does_not_matter() -> None:
    names = list(reversed(GOOD))
    result = encode_table(small(), "owner-a", table_of().select(names))
    np.testing.assert_array_equal(result.features, ENCODED)


TYPED: list[dict[str, Any]] = [
    {"age": pa.array([0, 25, 100, 50], pa.int8())},
    {"age": pa.array([0, 25, 100, 50], pa.float32())},
    {"age": pa.array([Decimal(0), Decimal(25), Decimal(100), Decimal("50.0")])},
    {"age": pa.array(["0", "25", "100", "50"], pa.large_string())},
    {"age": pa.chunked_array([["0"], ["25", "100"], ["50"]])},
    {"dose": [-1.5, 2.5, None, 2.5]},
    {"dose": [-1.5, 2.5, float("nan"), 1e300]},
    {"smoker": [True, False, True, False]},
    {"smoker": [1.0, 0.0, 1.0, 0.0]},
    {"group": pa.array(["x", "y", None, "z"]).dictionary_encode()},
    {"ill": pa.array(["no", "yes", "yes", "no"]).dictionary_encode()},
]


@pytest.mark.parametrize("columns", TYPED, ids=[f"{next(iter(c))}-{i}" for i, c in enumerate(TYPED)])
def test_typed_columns_mean_the_same(columns: dict[str, Any]) -> None:
    result = encoded(**columns)
    np.testing.assert_array_equal(result.features, ENCODED)
    np.testing.assert_array_equal(result.labels, [0, 1, 1, 0])


@pytest.mark.parametrize(
    ("values", "column", "places"),
    [
        ([0, 1], ["0", "1", "1.0", "00"], [0, 1, 1, 0]),
        ([1, 0], [0, 1, 1, 0], [1, 0, 0, 1]),
        ([0, 1], [0.0, 1.0, 1.0, 0.0], [0, 1, 1, 0]),
        ([False, True], ["no", "1", "TRUE", "0"], [0, 1, 1, 0]),
        ([True, False], [True, False, False, True], [0, 1, 1, 0]),
        (["1", "2"], [1, 2, 2, 1], [0, 1, 1, 0]),
        (["NA", "null"], ["NA", "null", "null", "NA"], [0, 1, 1, 0]),
    ],
)
def test_kinds_of_labels(values: list[Any], column: list[Any], places: list[int]) -> None:
    assert encoded(small(data__label_values=values), ill=column).labels.tolist() == places  # type: ignore[union-attr]


def test_integer_categories() -> None:
    study = small(data__features=[{"name": "group", "type": "category", "values": [3, -1]}])
    table = pa.table({"group": ["3", "-1", "3.0", "03"], "id": GOOD["id"], "ill": GOOD["ill"]})
    assert encode_table(study, "owner-a", table).features.tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]]  # type: ignore[union-attr]


def test_each_owner_of_a_vertical_study_brings_its_columns() -> None:
    study = small(VERTICAL)
    first = encode_table(study, "owner-a", table_of().select(["w2", "w0", "group", "w1", "id"]))
    np.testing.assert_array_equal(first.features, np.array(ENCODED)[:, 4:])
    assert first.labels is None
    second = encode_table(study, "owner-b", table_of().select(["age", "dose", "smoker", "treated", "id", "ill"]))
    np.testing.assert_array_equal(second.features, np.array(ENCODED)[:, :4])
    assert second.labels is not None
    turned = second.rows(np.array([3, 0]))
    assert turned.keys == ("P4", "P1")
    assert turned.features.tolist() == [ENCODED[3][:4], ENCODED[0][:4]]  # type: ignore[union-attr]


def test_values_that_clip_moves_to_a_bound_are_counted() -> None:
    """Of 'dose', from -1.5 to 2.5: one on the bound, one beyond by rounding, two far beyond."""
    assert encoded(dose=["2.5", "2.5000000001", "30", "-9"]).moved == {"dose": 2}
    assert encoded(dose=["2.5", "0", "1", "-1.5"]).moved == {}


def test_an_owner_of_the_label_alone() -> None:
    every = ["w*", "group", "age", "dose", "smoker", "treated"]
    study = small(VERTICAL, owners__0__columns=every, owners__1__columns=[])
    result = encode_table(study, "owner-b", table_of().select(["id", "ill"]))
    assert result.features is None
    assert result.labels.tolist() == [0, 1, 1, 0]  # type: ignore[union-attr]


def test_without_a_row_key() -> None:
    study = small(data__row_key=LEFT_OUT)
    assert encoded(study, id=LEFT_OUT).keys is None
    assert "column 'age', row 2: it is" in refusal(study, id=LEFT_OUT, **with_value("age", 1, "x"))


def test_an_unknown_owner() -> None:
    with pytest.raises(InvalidInputError, match=r"one of \['owner-a', 'owner-b'\]. Got 'owner-c'"):
        encoded(owner="owner-c")


def test_the_repr_shows_no_value() -> None:
    assert repr(encoded()) == "<EncodedTable, features (4, 10), labels (4,), keys>"


def encoded_number(values: Any, lower: float, upper: float) -> list[float]:
    problems = Problems("a table")
    result = encode_columns([Feature("x", "number", lower, upper)], pa.table({"x": values}), problems)
    problems.raise_any()
    return [float(value) for value in result[:, 0]]


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (-3.0, -1.0), (-0.1, 0.1), (18.0, 110.0), (-1e308, 7e307)])
def test_numbers_beyond_a_bound_by_rounding_are_clipped_to_it(lower: float, upper: float) -> None:
    room = TOLERANCE * upper - TOLERANCE * lower
    below = [lower, float(np.nextafter(lower, -np.inf)), lower - room / 2]
    above = [upper, float(np.nextafter(upper, np.inf)), upper + room / 2]
    assert encoded_number([*below, *above], lower, upper) == [-1.0] * 3 + [1.0] * 3
    assert encoded_number([repr(value) for value in (*below, *above)], lower, upper) == [-1.0] * 3 + [1.0] * 3
    for value in (lower - 2 * room, upper + 2 * room):
        with pytest.raises(TableError, match="x: 1 out of bounds"):
            encoded_number([value], lower, upper)


def test_floats_of_32_bits_may_be_rounded_beyond_a_bound() -> None:
    column = pa.array([0.1, -0.1, 0.0], pa.float32())
    assert column[0].as_py() > 0.1
    assert encoded_number(column, -0.1, 0.1) == [1.0, -1.0, 0.0]


BOUND = st.floats(-1e300, 1e300)


@settings(deadline=None)
@given(BOUND, BOUND, st.floats(0, 1))
def test_scaled_numbers_are_close_to_the_exact_ones(first: float, second: float, where: float) -> None:
    lower, upper = min(first, second), max(first, second)
    if not lower < upper:
        return
    value = min(max(lower + where * (upper - lower), lower), upper)
    problems = Problems("a table")
    result = encode_columns([Feature("x", "number", lower, upper)], pa.table({"x": [value, lower, upper]}), problems)
    problems.raise_any()
    exact = 2 * (Fraction(value) - Fraction(lower)) / (Fraction(upper) - Fraction(lower)) - 1
    assert abs(Fraction(float(result[0, 0])) - exact) <= Fraction(1, 1 << 50)
    assert result[1:, 0].tolist() == [-1.0, 1.0]
    assert np.abs(result).max() <= 1.0


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_texts_and_numbers_are_read_alike(values: list[float]) -> None:
    feature = Feature("x", "number", -1e6, 1e6)
    problems = Problems("a table")
    typed, text = (
        encode_columns([feature], pa.table({"x": column}), problems) for column in (values, [repr(v) for v in values])
    )
    problems.raise_any()
    np.testing.assert_array_equal(typed, text)
