"""Sparse features of an owner: encoded as the dense table is, to the last bit, and refused where it would be."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, random_array

from cofit.learn.sparse_rows import SparseRows
from cofit.roles.jobs.training import Training
from cofit.study import Study, TableError
from cofit.study.encode import EncodedTable, encode_table
from cofit.study.sparse_table import SparseTable
from unit.study.studies import study_of

COLS = 12
FEATURES = [
    {"prefix": "w", "count": 10, "type": "number", "lower": -1, "upper": 3},
    {"name": "dose", "type": "number", "lower": -2, "upper": 2, "clip": True, "missing": 0.5},
    {"name": "treated", "type": "boolean"},
]
ROWS = 600


def matrix() -> npt.NDArray[np.float64]:
    dense = random_array((ROWS, COLS), density=0.2, rng=np.random.default_rng(0)).toarray() * 2 - 0.5
    dense[dense == -0.5] = 0
    dense[:, 10] *= 2
    dense[3, 10], dense[4, 10] = np.nan, 7.0
    dense[:, 11] = np.random.default_rng(1).random(ROWS) < 0.1
    return np.asarray(dense)


def both(dense: npt.NDArray[np.float64], agreed: Study) -> tuple[EncodedTable, EncodedTable]:
    """The dense table encoded, and the sparse one."""
    labels = {"ill": ["no", "yes"] * (ROWS // 2), "id": [f"p{i}" for i in range(ROWS)]}
    names = [feature.name for feature in agreed.data.features]
    table = pa.table({**{name: dense[:, i] for i, name in enumerate(names)}, **labels})
    return encode_table(agreed, "owner-a", table), encode_table(
        agreed, "owner-a", SparseTable(csr_array(dense), pa.table(labels))
    )


def agreed_study() -> Study:
    return study_of(model={"kind": "logistic_regression", "recipe": "best"}, data__features=FEATURES)


def elements(agreed: Study, table: EncodedTable) -> npt.NDArray[Any]:
    job = Training(agreed)
    facts = job.inputs["owner-a"]["features"]
    found = job.encode("features", facts, table)
    return np.concatenate(list(found.blocks())) if not isinstance(found, np.ndarray) else found  # type: ignore[union-attr]


def test_the_same_elements_are_shared() -> None:
    agreed = agreed_study()
    dense, sparse = both(matrix(), agreed)
    assert isinstance(sparse.features, SparseRows) and isinstance(dense.features, np.ndarray)
    np.testing.assert_array_equal(sparse.features[0:ROWS], dense.features)
    np.testing.assert_array_equal(elements(agreed, sparse), elements(agreed, dense))
    assert sparse.keys == dense.keys and sparse.moved == dense.moved and sparse.moved["dose"] > 1
    assert sparse.labels.tolist() == dense.labels.tolist()  # type: ignore[union-attr]


def test_rows_are_put_in_another_order_as_those_of_a_dense_table() -> None:
    dense, sparse = both(matrix(), agreed_study())
    order = np.random.default_rng(2).permutation(ROWS)[:50]
    moved = sparse.rows(order)
    np.testing.assert_array_equal(moved.features[0:50], dense.rows(order).features)  # type: ignore[index]
    assert moved.keys == dense.rows(order).keys


def wrong(place: tuple[int, int], value: float) -> npt.NDArray[np.float64]:
    dense = matrix()
    dense[place] = value
    return dense


@pytest.mark.parametrize(
    ("place", "value", "kind"),
    [
        ((7, 2), 3.5, "w2: 1 out of bounds"),
        ((7, 2), np.nan, "w2: 1 missing"),
        ((7, 2), np.inf, "w2: 1 infinite"),
        ((7, 10), -np.inf, "dose: 1 infinite"),
        ((7, 11), 2.0, "treated: 1 unknown value"),
        ((7, 11), np.nan, "treated: 1 missing"),
    ],
)
def test_what_is_wrong_is_told_as_of_a_dense_table(place: tuple[int, int], value: float, kind: str) -> None:
    agreed, dense = agreed_study(), wrong(place, value)
    labels = pa.table({"ill": ["no", "yes"] * (ROWS // 2), "id": [f"p{i}" for i in range(ROWS)]})
    with pytest.raises(TableError) as told:
        encode_table(agreed, "owner-a", SparseTable(csr_array(dense), labels))
    assert kind in str(told.value) and "row 8" in str(told.value)
    assert not np.isfinite(value) or str(value) not in str(told.value)


def test_zeros_that_are_not_stored_must_lie_within_the_bounds() -> None:
    features = [{"prefix": "w", "count": 2, "type": "number", "lower": 1, "upper": 3}]
    dense = np.full((ROWS, 2), 2.0)
    dense[5, 1] = 0
    labels = pa.table({"ill": ["no", "yes"] * (ROWS // 2), "id": [f"p{i}" for i in range(ROWS)]})
    with pytest.raises(TableError, match="w1: 1 out of bounds") as told:
        encode_table(study_of(data__features=features), "owner-a", SparseTable(csr_array(dense), labels))
    assert "does not store is 0" in str(told.value) and "row 6" in str(told.value)
    clipped = study_of(data__features=[{**features[0], "clip": True}])
    assert encode_table(clipped, "owner-a", SparseTable(csr_array(dense), labels)).moved == {"w1": 1}


def test_categories_and_other_columns() -> None:
    labels = pa.table({"ill": ["no", "yes"] * (ROWS // 2), "weather": ["fine"] * ROWS})
    table = SparseTable(csr_array((ROWS, 8)), labels)
    with pytest.raises(TableError) as told:
        encode_table(study_of(), "owner-a", table)
    for text in ("'group' is a category", "'weather' is not one", "'id' is missing"):
        assert text in str(told.value)
    assert "600" in repr(table)
