"""Tables as people have them: what is no number is refused by its column, with a remedy and without any value."""

from __future__ import annotations

import traceback
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cofit.errors import CofitError, InvalidInputError
from cofit.models.estimators import LogisticRegression
from cofit.models.feature_columns import refuse_other_than_numbers
from cofit.models.public_scaler import PublicScaler
from cofit.models.tables import tables

SECRET = "Smith-4711"
DAY = datetime(1931, 4, 17)
X = np.array([[0.5, 0.25], [0.75, -0.5], [-0.5, 0.5], [0.25, 1.0]])
Y = np.array([0, 1, 0, 1])
FRAME = pd.DataFrame(X, columns=["age", "dose"])

BAD: dict[str, tuple[Any, str]] = {
    "pandas text": (FRAME.assign(ward=SECRET), r"Column 'ward': text\. If it is meant as numbers.*OneHotEncoder"),
    "pandas category": (FRAME.assign(ward=pd.Categorical([SECRET, "b", "a", "a"])), "Column 'ward': categories"),
    "pandas numbers as categories": (FRAME.assign(ward=pd.Categorical([4711, 2, 2, 2])), "Column 'ward': categories"),
    "pandas datetime": (FRAME.assign(born=DAY), r"Column 'born': dates or times\. Give numbers, as the days since"),
    "pandas date": (FRAME.assign(born=[date(1931, 4, 17)] * 4), "Column 'born': dates or times"),
    "pandas timedelta": (FRAME.assign(stay=pd.Timedelta(4711, "s")), "Column 'stay': dates or times"),
    "pandas objects": (FRAME.assign(x=[{SECRET: 1}] * 4), "Column 'x': objects of the type dict"),
    "pandas intervals": (FRAME.assign(x=pd.interval_range(4711, 4715)), "Column 'x': objects of the type Interval"),
    "pandas, one text among numbers": (FRAME.assign(x=pd.Series([1, 2, SECRET, 3], dtype=object)), "Column 'x': text"),
    "pandas, several": (FRAME.assign(a=SECRET, b=DAY, c=SECRET), "Columns 'a', 'c': text.*Column 'b': dates"),
    "pandas, a name twice": (pd.concat([FRAME, pd.DataFrame({"age": [SECRET] * 4})], axis=1), "Column 'age': text"),
    "polars text": (pl.DataFrame({"a": [1.0] * 4, "ward": [SECRET] * 4}), "Column 'ward': text"),
    "polars category": (pl.DataFrame({"w": pl.Series([SECRET] * 4, dtype=pl.Categorical)}), "Column 'w': categories"),
    "polars enum": (pl.DataFrame({"w": pl.Series([SECRET] * 4, dtype=pl.Enum([SECRET]))}), "Column 'w': categories"),
    "polars date": (pl.DataFrame({"born": [date(1931, 4, 17)] * 4}), "Column 'born': dates or times"),
    "Arrow text": (pa.table({"a": [1.0] * 4, "ward": [SECRET] * 4}), "Column 'ward': text"),
    "Arrow category": (pa.table({"w": pa.array([SECRET] * 4).dictionary_encode()}), "Column 'w': categories"),
    "Arrow time": (pa.table({"born": [DAY] * 4}), "Column 'born': dates or times"),
    "NumPy text": (np.array([["1", SECRET]] * 4), "Columns 0, 1: text"),
    "NumPy objects": (np.array([[1.0, SECRET]] * 4, dtype=object), "Column 1: text"),
    "lists": ([[1.0, SECRET]] * 4, "Column 1: text"),
    "NumPy dates": (np.array([["1931-04-17"]] * 4, dtype="datetime64[D]"), "Column 0: dates or times"),
    "NumPy complex": (X * 4711j, "Complex data not supported"),
    "one dimension": (np.array([4711.0] * 4), "Expected 2D array, got 1D array instead. Reshape your data"),
    "missing in pandas": (FRAME.assign(x=[1.0, np.nan, 3.0, None]), "column 'x' .*NaN.* 2 of 4 rows"),
    "missing, nullable": (FRAME.assign(x=pd.array([4711, None, 1, 1], dtype="Int64")), "column 'x'.* 1 of 4"),
    "missing among objects": (FRAME.assign(x=pd.Series([4711, None, 1, 1], dtype=object)), "column 'x'.* 1 of 4 rows"),
    "missing in polars": (pl.DataFrame({"x": [4711.0, None, 1.0, 1.0]}), "column 'x'.* in 1 of 4 rows, first in row 1"),
    "infinite": (FRAME.assign(x=[4711.0, 1.0, np.inf, 2.0]), "column 'x'.* infinite in 1 of 4 rows, first in row 2"),
}  # fmt: skip
VALUES = ("Smith", "4711", "1931")


def refuse_values(error: BaseException) -> None:
    """Fail if a value shows in the error, in anything that it is chained to, or in what Python prints of it."""
    texts = ["".join(traceback.format_exception_only(error))]
    chained = error.__cause__ or error.__context__
    assert chained is None, f"tools that report errors would show {chained!r} too"
    assert not [value for value in VALUES for text in texts if value in text]


@pytest.mark.parametrize("name", BAD)
def test_fit_names_the_column_and_shows_no_value(name: str) -> None:
    table, message = BAD[name]
    with pytest.raises(InvalidInputError, match=f"(?s)Owner 'north': .*{message}") as caught:
        LogisticRegression().fit({"north": (table, Y)})
    refuse_values(caught.value)


@pytest.fixture(scope="module")
def fitted() -> LogisticRegression:
    x = np.tile(X, (10, 1))
    return LogisticRegression(scheme="clear", classes=(0, 1)).fit(
        pd.DataFrame(x, columns=["age", "dose"]), Y.tolist() * 10
    )


PREDICT = [
    (FRAME.assign(dose=SECRET), "Column 'dose': text"),
    (FRAME.assign(dose=DAY), "Column 'dose': dates or times"),
    (FRAME.assign(dose=[1.0, np.nan, 2.0, 3.0]), r"Row 1, column 1 \('dose'\)"),
    (FRAME.assign(dose=pd.Categorical([SECRET] * 4)), "Column 'dose': categories"),
    ([[1.0, SECRET]], "Column 1: text"),
    (np.array([4711.0, 1.0]), "Reshape your data"),
    (pd.Series([4711.0, 1.0]), "a 2-dimensional container"),
]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(("table", "message"), PREDICT, ids=[message for _, message in PREDICT])
def test_predict_names_the_column_and_shows_no_value(fitted: LogisticRegression, table: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        fitted.predict(table)
    refuse_values(caught.value)


def test_predict_finds_the_names_of_an_arrow_table(fitted: LogisticRegression) -> None:
    np.testing.assert_array_equal(fitted.predict(pa.Table.from_pandas(FRAME)), fitted.predict(FRAME))
    with pytest.raises(InvalidInputError, match=r"with the columns \['age', 'dose'\]. Got \['dose', 'age'\]"):
        fitted.predict(pa.Table.from_pandas(FRAME[["dose", "age"]]))


def test_a_released_model_shows_no_values_of_an_arrow_table(fitted: LogisticRegression) -> None:
    with pytest.raises(InvalidInputError, match=r"Got \['a', 'b'\]") as caught:
        fitted.model_.predict(pa.table({"a": [4711.0], "b": [4711.0]}))
    refuse_values(caught.value)


@pytest.mark.parametrize("name", BAD)
def test_the_scaler_does_so_too(name: str) -> None:
    table, message = BAD[name]
    with pytest.raises(InvalidInputError, match=f"(?s)X: .*{message}") as caught:
        PublicScaler().fit(table)
    refuse_values(caught.value)


GOOD: list[Any] = [
    FRAME, FRAME.astype("float32"), FRAME.convert_dtypes(), FRAME.astype(object), FRAME > 0,
    pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME), X, X.astype(object), X.tolist(),
    FRAME.assign(x=[Decimal("0.5")] * 4), FRAME.assign(x=pd.array([1, 2, 3, 4], dtype="Int8")),
    FRAME.assign(x=pd.array([True, False, True, True], dtype="boolean")),
]  # fmt: skip


@pytest.mark.parametrize("table", GOOD, ids=lambda table: type(table).__name__)
def test_numbers_of_every_kind_are_taken(table: Any) -> None:
    refuse_other_than_numbers(table, "X")
    given = tables([(table, Y)], None, "horizontal", "E")
    if hasattr(table, "columns"):
        assert given.feature_names is not None
        assert given.feature_names[:2] == ("age", "dose")
    features = given.owners["owner-1"].features
    assert isinstance(features, np.ndarray)
    if features.dtype != np.bool_:
        np.testing.assert_array_equal(features[:, :2].astype(float), X)


LABELS: list[tuple[Any, str]] = [
    (pd.Series(["no", None, "yes", "no"]), "1 of 4 labels are missing, first in row 1"),
    (pd.Series(["no", None, "yes", "no"], dtype=object), "1 of 4 labels are missing, first in row 1"),
    (pd.Series(["no", "yes", pd.NA, "no"], dtype="string"), "1 of 4 labels are missing, first in row 2"),
    (pd.Categorical(["no", "yes", None, "no"]), "1 of 4 labels are missing, first in row 2"),
    (pd.Series([DAY, DAY, datetime(1931, 4, 18), DAY]), "the labels are dates or times"),
]


@pytest.mark.parametrize(("labels", "message"), LABELS, ids=[str(i) for i in range(len(LABELS))])
def test_labels_that_are_none(labels: Any, message: str) -> None:
    with pytest.raises(CofitError, match=f"Owner 'owner': {message}") as caught:
        tables(X, labels, "horizontal", "E")
    refuse_values(caught.value)


def test_labels_of_pandas() -> None:
    for labels in (
        pd.Series(["no", "yes", "yes", "no"]), pd.Categorical(["no", "yes", "yes", "no"]),
        pd.Series(["no", "yes", "yes", "no"], dtype="category"), pl.Series(["no", "yes", "yes", "no"]),
        pd.Series(["no", "yes", "yes", "no"], dtype="string"),
    ):  # fmt: skip
        given = tables(X, labels, "horizontal", "E")
        assert given.classes.tolist() == ["no", "yes"]
        encoded = given.owners["owner"].labels
        assert encoded is not None
        assert encoded.tolist() == [0, 1, 1, 0]
