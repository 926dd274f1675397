"""Tables that do not fit the study: all problems are told together, by column and row, and no value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cofit.study import TableError, encode_table
from unit.study.studies import LEFT_OUT, VERTICAL, study_of
from unit.study.tables import ENCODED, GOOD, ROWS, encoded, refusal, small, table_of, with_value

BAD_CELLS = [
    ("age", 1, "abc", "that is no number", "it is not a number; write digits with a point, as in 1.5; --decimal"),
    ("age", 1, "1,5", "that is no number", "it is not a number"),
    ("age", 1, "0x10", "that is no number", "it is not a number"),
    ("age", 1, "1_0", "that is no number", "it is not a number"),
    ("age", 1, "", "missing", "the value is missing; fill it in"),
    ("age", 1, None, "missing", "the value is missing"),
    ("age", 1, "NA", "missing", "the value is missing"),
    ("age", 1, "nan", "missing", "the value is missing"),
    ("age", 1, "100.5", "out of bounds", "it is beyond the agreed bounds 0 to 100; correct it, or agree on"),
    ("age", 1, "-1", "out of bounds", "beyond the agreed bounds"),
    ("age", 1, "inf", "infinite", "it is not finite"),
    ("age", 1, "-Infinity", "infinite", "is not finite"),
    ("age", 1, "1e999", "infinite", "is not finite"),
    ("dose", 1, "inf", "infinite", "is not finite"),
    ("dose", 1, "?", "that is no number", "it is not a number"),
    ("smoker", 1, "maybe", "unknown value", "it is none of 0, 1, false, true, no, yes"),
    ("smoker", 1, "2", "unknown value", "it is none of"),
    ("smoker", 1, "", "missing", "the value is missing"),
    ("group", 1, "X", "unknown value", "it is none of 'x', 'y', 'z'; write one of these"),
    ("ill", 1, "perhaps", "unknown value", "it is none of 'no', 'yes'"),
    ("ill", 1, None, "missing", "the value is missing; fill it in, or remove the row"),
]


@pytest.mark.parametrize(("name", "row", "value", "kind", "message"), BAD_CELLS)
def test_a_bad_value_is_counted_by_column_and_named_with_its_row(
    name: str, row: int, value: Any, kind: str, message: str
) -> None:
    told = refusal(**with_value(name, row, value))
    assert told.startswith(
        f"The table of owner 'owner-a' has one problem: {name}: 1 {kind}.\n  - column '{name}', row 2: "
    )
    assert message in told


@pytest.mark.parametrize("value", ["abc", "100.5", "-17", "1e999", "2020-01-31", "1,75"])
def test_no_value_and_no_row_key_is_told(value: str) -> None:
    told = refusal(**with_value("age", 1, value))
    assert value not in told
    assert "P2" not in told


def test_problems_are_counted_by_column_first_and_then_told_with_examples() -> None:
    rows = 1000
    features = [
        {"name": "creatinine", "type": "number", "lower": 0, "upper": 10},
        {"name": "ward", "type": "category", "values": ["a", "b"]},
    ]
    study = study_of(data__features=features, owners__0__rows=rows, data__row_key=LEFT_OUT)
    creatinine = [None] * 812 + ["11", "12", "x"] + ["1"] * (rows - 815)
    ward = ["a"] * (rows - 135) + ["c"] * 135
    table = pa.table({"creatinine": creatinine, "ward": ward, "ill": ["no"] * rows})
    with pytest.raises(TableError) as info:
        encode_table(study, "owner-a", table)
    first, *lines = str(info.value).splitlines()
    assert first == (
        "The table of owner 'owner-a' has 950 problems: creatinine: 812 missing, 1 that is no number, 2 out of bounds; "
        "ward: 135 unknown values."
    )
    assert [line.split(": ")[0] for line in lines] == [
        "  - column 'creatinine', rows 1, 2, 3, 4, 5 and 807 more",
        "  - column 'creatinine', row 815",
        "  - column 'creatinine', rows 813 and 814",
        "  - column 'ward', rows 866, 867, 868, 869, 870 and 130 more",
    ]


TIMES: list[Any] = [
    pa.array([0, 1, 2, 3], pa.date32()),
    pa.array([0, 1, 2, 3], pa.timestamp("us", "UTC")),
    pa.array([0, 1, 2, 3], pa.time32("s")),
    pa.array([0, 1, 2, 3], pa.duration("s")),
]


@pytest.mark.parametrize("column", TIMES, ids=[str(one.type) for one in TIMES])
def test_columns_of_dates_are_refused_with_what_to_give_instead(column: Any) -> None:
    told = refusal(age=column)
    assert (
        "column 'age' holds dates or times; give a number instead, such as days since a public date or age in" in told
    )


DATES = (
    "2020-01-31",
    "2020-01-31T10:00:00Z",
    "2020-01-31 10:00",
    "2020/1/31",
    "31.01.2020",
    "1.2.20",
    "01/31/2020",
    "31-Jan-2020",
    "31 January 2020",
    "Jan 31, 2020",
    "10:30",
    "10:30:00.5",
)


@pytest.mark.parametrize("text", DATES)
def test_texts_that_are_dates_are_refused_with_what_to_give_instead(text: str) -> None:
    told = refusal(age=["20", text, "x", text])
    assert "age: 2 dates or times, 1 that is no number." in told
    assert (
        "column 'age', rows 2 and 4: it is a date or time; give a number instead, such as days since a public" in told
    )
    assert text not in told


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"age": LEFT_OUT, "aeg": GOOD["age"]}, "column 'age' is missing (did you mean 'aeg'?)"),
        ({"aeg": GOOD["age"]}, "column 'aeg' is not one that this owner brings"),
        ({"ill": LEFT_OUT}, "column 'ill' is missing; add it, or agree on a study without it"),
        ({"id": LEFT_OUT}, "column 'id' is missing"),
        ({"age": [True] * ROWS}, "column 'age' has the type bool; the study says it holds numbers"),
        ({"age": [[1]] * ROWS}, "column 'age' has the type list"),
        ({"age": [None] * ROWS}, "column 'age', rows 1, 2, 3 and 4: the value is missing"),
        ({"smoker": [b"x"] * ROWS}, "column 'smoker' has the type binary"),
        ({"group": [0.5] * ROWS}, "column 'group' has the type double; the study says it holds one of 'x', 'y', 'z'"),
        ({"ill": [None] * ROWS}, "column 'ill', rows 1, 2, 3 and 4: the value is missing"),
        ({"id": [0.5] * ROWS}, "column 'id' has the type double; row keys are texts or whole numbers"),
        ({"id": ["P1", "", "P3", "P4"]}, "column 'id', row 2: the row key is missing"),
        ({"id": [None] * ROWS}, "the row key is missing"),
        ({"id": ["P1", "P2", " P1", "P4"]}, "column 'id', rows 1 and 3: another row has the same key"),
        ({"id": ["é", "P2", "e\u0301", "P4"]}, "rows 1 and 3: another row has the same key"),
    ],
)
def test_bad_columns(changes: dict[str, Any], message: str) -> None:
    assert message in refusal(**changes)


def test_keys_are_compared_as_texts_in_form_nfc() -> None:
    assert encoded(id=["e\u0301", " P2 ", "0012", "x"]).keys == ("\u00e9", "P2", "0012", "x")
    assert encoded(id=[12, 3, 4, 5]).keys == ("12", "3", "4", "5")


def test_repeated_columns() -> None:
    table = table_of()
    twice = table.append_column("age", table.column("age"))
    with pytest.raises(TableError, match="column 'age' occurs 2 times"):
        encode_table(small(), "owner-a", twice)


def test_extra_columns_are_ignored_where_the_study_says_so() -> None:
    result = encoded(small(data__ignore_extra=True), name=["secret"] * ROWS)
    np.testing.assert_array_equal(result.features, ENCODED)


def test_the_number_of_rows() -> None:
    told = refusal(study_of())
    assert "there are 4 rows, and the study says 600" in told
    drop = study_of(VERTICAL, data__rows=3, data__unmatched="drop")
    columns = ["w2", "w0", "group", "w1", "id"]
    assert encode_table(drop, "owner-a", table_of().select(columns)).keys == ("P1", "P2", "P3", "P4")
    with pytest.raises(TableError, match="there are 2 rows, and the study needs 3"):
        encode_table(drop, "owner-a", table_of().select(columns).slice(0, 2))
    with pytest.raises(TableError, match="there are 0 rows"):
        encode_table(small(), "owner-a", table_of().slice(0, 0))


def test_all_problems_are_told_together() -> None:
    told = refusal(
        age=["x", "25", "101", "50"],
        group=["x", "q", "y", "z"],
        w1=LEFT_OUT,
        other=GOOD["age"],
        ill=["no", "", "n", "no"],
    )
    assert "has 7 problems: " in told
    for part in (
        "'w1' is missing",
        "'other'",
        "age: 1 that is no number, 1 out of bounds; group: 1 unknown value; ill: 1 missing, 1 unknown value.",
        "column 'age', row 1: it is not a number",
        "column 'age', row 3: it is beyond",
        "column 'group', row 2: it is none",
        "column 'ill', row 3: it is none",
        "column 'ill', row 2: the value",
    ):
        assert part in told


def test_only_twenty_kinds_of_problems_are_told() -> None:
    features = [{"prefix": "w", "count": 30, "type": "number", "lower": 0, "upper": 1}]
    study = study_of(data__features=features, owners__0__rows=2, data__row_key=LEFT_OUT)
    table = pa.table({f"w{i}": ["bad", "bad"] for i in range(30)} | {"ill": ["no", "yes"]})
    with pytest.raises(TableError) as info:
        encode_table(study, "owner-a", table)
    first, *lines = str(info.value).splitlines()
    assert "has 60 problems: w0: 2 that are no numbers; w1: 2" in first
    assert first.endswith("w19: 2 that are no numbers; and 10 more columns.")
    assert len(lines) == 21
    assert lines[-1] == "  - and 10 more of this kind"


def test_a_misspelt_column_is_one_problem() -> None:
    told = refusal(age=LEFT_OUT, aeg=GOOD["age"], other=GOOD["age"])
    assert "has 2 problems:" in told
    assert "column 'age' is missing (did you mean 'aeg'?); rename 'aeg', or add 'age'" in told
    assert "column 'aeg' is not" not in told
    assert "column 'other' is not one that this owner brings" in told
