from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit import LogisticRegression
from cofit.errors import CofitError, InvalidInputError, RangeError
from cofit.models.tables import LABEL_OWNER, tables

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 1, 0])


class Frame:
    """As much of a data frame as matters here."""

    def __init__(self, columns: list[Any], values: Any = X) -> None:
        self.columns = columns
        self.values = np.asarray(values)
        self.shape = self.values.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)


def test_pairs_get_names_and_labels_become_0_and_1() -> None:
    labels = np.where(Y == 1, "yes", "no")
    given = tables([(X[:4], labels[:4]), (X[4:], labels[4:].tolist())], None, "horizontal", "E")
    assert list(given.owners) == ["owner-1", "owner-2"]
    assert (given.rows, given.cols, given.classes.tolist()) == (6, 2, ["no", "yes"])
    joined = [table.labels for table in given.owners.values()]
    assert np.concatenate([part for part in joined if part is not None]).tolist() == Y.tolist()
    np.testing.assert_array_equal(given.owners["owner-2"].features, X[4:])


def test_an_owner_may_have_one_class_only() -> None:
    given = tables({"a": (X[:1], Y[:1]), "b": (X[1:2], Y[1:2])}, None, "horizontal", "E")
    assert [table.labels.tolist() for table in given.owners.values() if table.labels is not None] == [[0], [1]]


def test_a_matrix_with_labels_is_one_owner() -> None:
    assert list(tables(X.tolist(), Y.tolist(), "horizontal", "E").owners) == ["owner"]


def test_features_and_labels_apart() -> None:
    """Lists or mappings of as many tables as labels are owners; lists of rows are not."""
    pairs = tables([(X[:4], Y[:4]), (X[4:], Y[4:])], None, "horizontal", "E")
    for owners, y in (
        ([X[:4], X[4:]], [Y[:4], Y[4:]]),
        ((X[:4], X[4:].tolist()), (Y[:4].tolist(), Y[4:])),
        ({"owner-1": X[:4], "owner-2": X[4:]}, {"owner-2": Y[4:], "owner-1": Y[:4]}),
    ):
        given = tables(owners, y, "horizontal", "E")
        assert list(given.owners) == ["owner-1", "owner-2"]
        for name, table in given.owners.items():
            np.testing.assert_array_equal(table.features, pairs.owners[name].features)
            np.testing.assert_array_equal(table.labels, pairs.owners[name].labels)
    assert list(tables([[0.0, 1.0], [2.0, 3.0]], [0, 1], "horizontal", "E").owners) == ["owner"]
    assert list(tables(X[:2].tolist(), ["a", "b"], "horizontal", "E").owners) == ["owner"]


def test_blocks_of_columns() -> None:
    given = tables({"left": X[:, :1], "right": X[:, 1:]}, Y, "vertical", "E")
    assert list(given.owners) == ["left", "right", LABEL_OWNER]
    assert (given.rows, given.cols) == (6, 2)
    assert given.owners["left"].labels is None
    assert given.owners[LABEL_OWNER].features is None


def test_names_of_columns() -> None:
    assert tables([(Frame(["a", "b"]), Y)], None, "horizontal", "E").feature_names == ("a", "b")
    assert tables([(Frame([0, 1]), Y)], None, "horizontal", "E").feature_names is None
    halves = [Frame(["a"], X[:, :1]), Frame(["b"], X[:, 1:])]
    assert tables(halves, Y, "vertical", "E").feature_names == ("a", "b")
    assert tables([halves[0], X[:, 1:]], Y, "vertical", "E").feature_names is None
    with pytest.raises(InvalidInputError, match=r"'north' has \('a', 'b'\), and owner 'south' has \('b', 'a'\)"):
        tables({"north": (Frame(["a", "b"]), Y), "south": (Frame(["b", "a"]), Y)}, None, "horizontal", "E")


def with_nan() -> Any:
    x = X.copy()
    x[3, 1] = np.nan
    return x


HORIZONTAL: list[tuple[Any, Any, str]] = [
    ({"north": (X, Y), "south": (X[:, :1], Y)}, None, "'north' has 2 columns, and owner 'south' has 1"),
    ({"north": (X, Y), "south": (with_nan(), Y)}, None, "Owner 'south': column 1 .* in 1 of 6 rows, first in row 3"),
    ({"north": (X, Y[:5])}, None, "Owner 'north': .*inconsistent numbers of samples"),
    ({"north": (X[0], Y)}, None, "Owner 'north': Expected 2D array, got 1D array"),
    ({"north": (X[:0], Y[:0])}, None, "Owner 'north': Found array with 0 sample"),
    ({"north": (X, Y * 0)}, None, "two classes or more. Got one class"),
    ({"north": (np.zeros((600, 2)), np.arange(600) % 257)}, None, "at most 256 classes. Got 257 classes"),
    ({"north": (X, Y + 0.5)}, None, "Owner 'north': Unknown label type"),
    ({"north": (X, [0, 1, None, 1, 1, 0])}, None, "Owner 'north': 1 of 6 labels are missing, first in row 2"),
    ({"north": (X, [0.0, 1.0, np.nan, 1.0, 1.0, 0.0])}, None, "'north': 1 of 6 labels are missing, first in row 2"),
    ({"north": (X, Y), "south": (X, np.where(Y == 1, "yes", "no"))}, None, "do not fit together: Mix of label"),
    ({"north": (X, Y.astype("datetime64[D]"))}, None, "Owner 'north': the labels are dates"),
    ({"north": (X.astype(complex), Y)}, None, "Owner 'north': Complex data not supported"),
    ({"north": (X, Y)}, Y, "The 'y' parameter of E.fit must be a mapping with the same owners, or left out"),
    ({"north": X}, {"south": Y}, "The 'y' parameter of E.fit must be a mapping with the same owners, or left out"),
    ([X, X], [Y], r"E.fit got 2 tables, and not a list of as many labels. Give fit\(\[\(X1, y1\)"),
    ([X, X], Y, "E.fit got 2 tables, and not a list of as many labels"),
    ([X, X], [0, 1], "E.fit got 2 tables, and not a list of as many labels"),
    ({"north": X}, None, "Owner 'north' has no such pair"),
    ([X, X, X], None, "Owner 'owner-1' has no such pair"),
    (X, None, "requires y to be passed, but the target y is None"),
    ([], None, "with at least one owner"),
    ({}, None, "with at least one owner"),
]


@pytest.mark.parametrize(("owners", "y", "message"), HORIZONTAL, ids=[m for _, _, m in HORIZONTAL])
def test_bad_rows_are_refused(owners: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        tables(owners, y, "horizontal", "E")
    assert isinstance(caught.value, CofitError)


VERTICAL: list[tuple[Any, Any, str]] = [
    ({"north": X, "south": X[:5]}, Y, "'north' has 6 rows, and owner 'south' has 5"),
    ({"north": X}, Y[:5], f"Owner '{LABEL_OWNER}': .*inconsistent"),
    ({"north": X}, None, "requires y to be passed"),
    ({LABEL_OWNER: X}, Y, f"without the name '{LABEL_OWNER}'"),
    (X, Y, "a list of column blocks"),
]


@pytest.mark.parametrize(("owners", "y", "message"), VERTICAL, ids=[m for _, _, m in VERTICAL])
def test_bad_columns_are_refused(owners: Any, y: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        tables(owners, y, "vertical", "E")


def test_a_bad_partition_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"'partition' parameter of E\.fit must be one of"):
        tables(X, Y, "diagonal", "E")


def test_agreed_classes_may_be_absent_and_nothing_else_may_occur() -> None:
    x = np.arange(6.0).reshape(3, 2)
    given = tables([(x, ["no", "no", "no"])], None, "horizontal", "E", ("yes", "no"))
    assert given.classes.tolist() == ["no", "yes"]
    assert given.owners["owner-1"].labels is not None
    assert given.owners["owner-1"].labels.tolist() == [0, 0, 0]
    with pytest.raises(InvalidInputError, match=r"Owner 'owner-1': the label of row 1 is none of the agreed"):
        tables([(x, ["no", "maybe", "no"])], None, "horizontal", "E", ("yes", "no"))
    several = tables([(x, ["no", "yes", "no"])], None, "horizontal", "E", ("yes", "no", "maybe"))
    assert several.classes.tolist() == ["maybe", "no", "yes"]
    assert several.owners["owner-1"].labels is not None
    assert several.owners["owner-1"].labels.tolist() == [1, 2, 1]
    for bad in (("a",), ("a", "a"), "ab", 3, ("a", "b", "b"), tuple(range(257))):
        with pytest.raises(InvalidInputError, match="'classes' parameter of E"):
            tables([(x, ["no", "no", "no"])], None, "horizontal", "E", bad)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("recipe", ["best", "paper"])
def test_a_value_below_the_agreed_range_is_told_by_the_name_of_its_column(recipe: str, named: bool) -> None:
    columns = [np.full((6, 2), 0.5), np.full((6, 2), 0.5)]
    columns[1][4, 0] = columns[1][5, 0] = -0.25
    names = (["age", "bmi"], ["sodium", "crp"])
    blocks = [Frame(own, block) for own, block in zip(names, columns, strict=True)] if named else columns
    model = LogisticRegression(epsilon=1.0, recipe=recipe, feature_bound=1.0, feature_lower=0.0, clip_rows=None)
    column = "'sodium'" if named else "2"
    told = rf"^Owner 'owner-2': 2 of 6 values of column {column} are below the agreed feature_lower, 0 \(.* row 4, "
    with pytest.raises(RangeError, match=told):
        model.fit(blocks, Y, partition="vertical")
