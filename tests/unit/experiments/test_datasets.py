"""Data sets are read from every documented form, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cofit.errors import InvalidInputError
from cofit.experiments.datasets import DataSet, load_data_set

X = np.array([[1, 0, 2], [0, 3, 0], [4, 0, 0], [0, 0, 5]], dtype=np.float32)


def test_breast_cancer_is_scaled_to_the_public_ranges() -> None:
    data = load_data_set("breast-cancer")
    assert data.features.shape == (569, 30)
    assert np.abs(data.features).max() == 1.0
    assert data.groups is None


def test_claims_with_settings() -> None:
    data = load_data_set("claims:rows=30,cols=20,seed=3,density=0.2")
    assert data.features.shape == (30, 20)
    assert data.name == "claims-rows30-cols20-seed3-density0.2"
    other = load_data_set("claims:rows=30,cols=20,seed=4,density=0.2")
    assert data.digest != other.digest


@pytest.mark.parametrize("spec", ["claims:rows=x", "claims:rowz=3", "claims:seed=1.5"])
def test_bad_settings_of_claims(spec: str) -> None:
    with pytest.raises(InvalidInputError):
        load_data_set(spec)


def test_dense_npz_with_persons(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    np.savez(path, X=X, y=["b", "a", "b", "b"], patient=["p", "q", "p", "r"])
    data = load_data_set(str(path))
    np.testing.assert_array_equal(data.features, X)
    assert data.labels.tolist() == [1, 0, 1, 1]
    assert data.groups is not None
    assert data.groups.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("with_data", [True, False])
def test_sparse_npz(tmp_path: Path, with_data: bool) -> None:
    arrays: dict[str, Any] = {"indptr": [0, 2, 3, 4, 5], "indices": [0, 2, 1, 0, 2], "shape": [4, 3], "y": [1, 0, 1, 0]}
    if with_data:
        arrays["data"] = X[X != 0]
    np.savez(tmp_path / "s.npz", **arrays)
    data = load_data_set(str(tmp_path / "s.npz"))
    np.testing.assert_array_equal(data.features, X if with_data else X != 0)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"a": X[:, 0], "who": ["p", "q", "p", "r"], "ill": ["yes", "no", "no", "yes"], "b": X[:, 1]})
    path = tmp_path / f"t{suffix}"
    if suffix == ".csv":
        path.write_text("a,who,ill,b\n1,p,yes,0\n0,q,no,3\n4,p,no,0\n0,r,yes,0\n")
    else:
        pq.write_table(table, path)
    data = load_data_set(str(path), label="ill", group="who")
    np.testing.assert_array_equal(data.features, X[:, :2])
    assert data.labels.tolist() == [1, 0, 0, 1]
    assert data.groups is not None
    assert data.groups.tolist() == [0, 1, 0, 2]


def _npz(path: Path, **arrays: Any) -> str:
    np.savez(path, **arrays)
    return str(path)


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    csv = tmp_path / "t.csv"
    csv.write_text("a,ill\nx,1\n2,0\n")
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK\x03\x04 nonsense")
    bad = tmp_path / "bad.npz"
    cases: list[tuple[str, str | None, str]] = [
        ("nowhere.npz", None, "a file that exists"),
        (str(csv), None, "--label"),
        (str(csv), "sick", "--label"),
        (str(csv), "ill", "Column 'a'"),
        (str(broken), None, "not a readable .npz"),
        (_npz(bad, X=X), None, "must hold y"),
        (_npz(tmp_path / "b2.npz", X=X, y=[0, 1, 2, 1]), None, "two classes. Got 3"),
        (_npz(tmp_path / "b3.npz", X=X, y=[0, 1]), None, "a label for each row"),
        (_npz(tmp_path / "b4.npz", X=X * np.nan, y=[0, 1, 0, 1]), None, "finite"),
        (_npz(tmp_path / "b5.npz", X=X, y=[0, 1, 0, 1], group=[1, 2]), None, "one group for each row"),
        (_npz(tmp_path / "b6.npz", indptr=[0, 9], indices=[0], shape=[1, 2], y=[0, 1]), None, "do not fit together"),
        (_npz(tmp_path / "b8.npz", indptr=0, indices=0, shape=[4, 3], y=[0, 1, 0, 1]), None, "do not fit together"),
        (_npz(tmp_path / "b9.npz", indptr=[0, 1], indices=[0.5], shape=[1, 2], y=[0]), None, "do not fit together"),
        (_npz(tmp_path / "c1.npz", X=X, y=[0, np.nan, 0, np.nan]), None, "labels .* must not be NaN"),
        (_npz(tmp_path / "c2.npz", X=X, y=[0, 1, 0, 1], group=[1, np.nan, 2, np.nan]), None, "groups .* not be NaN"),
        (_npz(tmp_path / "b7.npz", X=np.array([["a"], ["b"]]), y=[0, 1]), None, "must be numbers"),
    ]
    for spec, label, words in cases:
        with pytest.raises(InvalidInputError, match=words):
            load_data_set(spec, label=label)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,ill,who\n1,1,p\n2,,q\n3,0,r\n", "Column 'ill' .* no gaps"),
        ("a,ill,who\n1,1,p\n2,0,\n3,0,r\n", "Column 'who' .* no gaps"),
        ("a,a,ill,who\n1,1,1,p\n2,0,0,q\n", "different names"),
    ],
)
def test_tables_with_gaps_or_one_name_twice(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=words):
        load_data_set(str(path), label="ill", group="who")


def test_pickles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    np.savez(path, X=np.array([{"a": 1}], dtype=object), y=[0])
    with pytest.raises(InvalidInputError, match="plain arrays"):
        load_data_set(str(path))


@pytest.mark.parametrize(
    ("stem", "name"), [("a:b|c\n=d", "a-b-c--d"), ("Größe 1.5", "Größe-1.5"), ("x" * 200, "x" * 50)]
)
def test_names_are_fit_for_files_and_tables(tmp_path: Path, stem: str, name: str) -> None:
    assert load_data_set(_npz(tmp_path / f"{stem}.npz", X=X, y=[0, 1, 0, 1])).name == name


def test_the_digest_is_of_the_data() -> None:
    y = np.array([0, 1, 0, 1])
    first = DataSet("a", "a", "", X, y)
    assert first.digest == DataSet("b", "c", "d", X.copy(), y).digest
    assert first.digest != DataSet("a", "a", "", X + 1, y).digest
    assert first.digest != DataSet("a", "a", "", X, 1 - y).digest
    assert first.digest != DataSet("a", "a", "", X, y, np.arange(4)).digest
    assert repr(first) == "<DataSet 'a', 4 rows, 3 columns>"
