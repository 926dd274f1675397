"""A small study with a column of every kind, and tables for it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cofit.study import EncodedTable, Study, TableError, encode_table
from unit.study.studies import LEFT_OUT, VERTICAL, study_of

ROWS = 4
GOOD: dict[str, list[Any]] = {
    "id": ["P1", "P2", "P3", "P4"],
    "age": ["0", " 25 ", "100", "5e1"],
    "dose": ["-1.5", "9", "", "2.5"],
    "smoker": ["yes", "No", "1", "FALSE"],
    "treated": ["true", "0", "no", "YES"],
    "group": ["x", "y", "NA", "z "],
    "w0": ["0", "1", "-1", ".5"],
    "w1": ["0", "0", "0", "0"],
    "w2": ["-0.25", "0", "0", "+1"],
    "ill": ["no", "yes", " yes", "no"],
}
ENCODED = [
    [-1.0, -1.0, 1, 1, 1, 0, 0, 0.0, 0, -0.25],
    [-0.5, 1.0, 0, 0, 0, 1, 0, 1.0, 0, 0.0],
    [1.0, 0.0, 1, 0, 0, 0, 1, -1.0, 0, 0.0],
    [0.0, 1.0, 0, 1, 0, 0, 1, 0.5, 0, 1.0],
]


def small(document: Any = None, **changes: Any) -> Study:
    if document is VERTICAL:
        return study_of(VERTICAL, data__rows=ROWS, **changes)
    return study_of(owners__0__rows=ROWS, **changes)


def table_of(**changes: Any) -> pa.Table:
    columns = {name: values for name, values in (GOOD | changes).items() if values is not LEFT_OUT}
    return pa.table(columns)


def encoded(study: Study | None = None, owner: str = "owner-a", **changes: Any) -> EncodedTable:
    return encode_table(study or small(), owner, table_of(**changes))


def refusal(study: Study | None = None, owner: str = "owner-a", **changes: Any) -> str:
    with pytest.raises(TableError) as info:
        encoded(study, owner, **changes)
    return str(info.value)


def with_value(name: str, row: int, value: Any) -> dict[str, Any]:
    values = list(GOOD[name])
    values[row] = value
    return {name: values}
