"""Sparse matrices in .npz files: SciPy's own, and with the other columns of the table beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, load_npz, save_npz

from cofit import save_sparse_table
from cofit.errors import InvalidInputError
from cofit.roles.files.tables import read_owner_table, read_table
from cofit.study.sparse_table import SparseTable
from unit.roles.files.test_tables import arrays_study

DENSE = np.array([[0.0, 0.5, 1.0], [-1.0, 0.0, 0.0]])


def test_a_table_with_its_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    save_sparse_table(path, csr_array(DENSE), [1, 0], {"id": ["p", "q"]})
    found = read_owner_table(arrays_study(), "owner-a", path)
    assert isinstance(found, SparseTable)
    np.testing.assert_array_equal(found.matrix.toarray(), DENSE)
    assert found.others.to_pydict() == {"ill": [1, 0], "id": ["p", "q"]}
    np.testing.assert_array_equal(load_npz(path).toarray(), DENSE)
    names = ("a", "b", "c")  # whoever only scores rows has a dense table
    assert read_table(path, features=names, label="ill").to_pydict()["b"] == [0.5, 0.0]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_what_scipy_writes(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.npz"
    save_npz(path, csr_array(DENSE).asformat(kind))
    found = read_owner_table(arrays_study(), "owner-a", path)
    assert isinstance(found, SparseTable) and not found.others.column_names
    np.testing.assert_array_equal(found.matrix.toarray(), DENSE)


def test_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"

    def refused() -> str:
        with pytest.raises(InvalidInputError) as told:
            read_owner_table(arrays_study(), "owner-a", path)
        return str(told.value)

    save_sparse_table(path, csr_array(DENSE[:, :2]), [1, 0])
    assert "must have 3 columns" in refused()
    save_npz(path, csr_array(DENSE).todia())
    assert "CSR, CSC or COO" in refused() or "one dimension" in refused()
    save_npz(path, csr_array(DENSE.astype(complex)))
    assert "real numbers" in refused()
    parts: dict[str, Any] = {"format": b"csr", "shape": (2, 3), "data": [1.0], "indptr": [0, 1, 1]}
    for indices in ([7], [-1], [0, 1]):
        np.savez(path, indices=indices, **parts)
        assert "damaged" in refused()
    np.savez(path, indices=[0], **{**parts, "y": [1, 0, 1]})
    assert "one value for each of the 2 rows" in refused()
    np.savez(path, format=b"csr", shape=(0, 3), data=[], indices=[], indptr=[0])
    assert "no rows" in refused()


def test_what_cannot_be_written(tmp_path: Path) -> None:
    path, x = tmp_path / "t.npz", csr_array(DENSE)
    for arguments, name in (
        ((path, DENSE), "X"),
        ((tmp_path / "t.csv", x), "path"),
        ((path, x, [1, 2, 3]), "y"),
        ((path, x, None, {"data": [1, 2]}), "data"),
        ((path, x, None, [1, 2]), "columns"),
        ((path, x, None, {"a": [object(), object()]}), "a"),
    ):
        with pytest.raises(InvalidInputError, match=f"'{name}'"):
            save_sparse_table(*arguments)
    assert not path.exists()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "table.npz"
    with pytest.raises(InvalidInputError) as info:
        save_sparse_table(path, csr_array(DENSE), [1, 0])
    assert str(info.value) == (
        f"The table cannot be written to '{path}': there is no folder '{path.parent}'. Make it, or choose another name."
    )
