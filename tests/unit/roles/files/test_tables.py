"""Tables on disk."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from cofit.errors import InvalidInputError
from cofit.roles.files.tables import read_owner_table, read_table
from cofit.study import Study, TableError, encode_table
from unit.study.studies import study_of

SMALL_TABLE = {"a": ["1", "2", None], "b": ["x", 'y,"z"', "ü"]}


def refused(path: Path, kind: type[InvalidInputError] = InvalidInputError, **options: Any) -> str:
    with pytest.raises(kind) as info:
        read_table(path, **options)
    assert type(info.value) is kind
    return str(info.value)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".feather", ".stream.arrow", ".CSV"])
def test_all_kinds_of_tables(tmp_path: Path, ending: str) -> None:
    path, table = tmp_path / f"t{ending}", pa.table(SMALL_TABLE)
    if ending.lower() == ".csv":
        path.write_text('a,b\n1,x\n2,"y,""z"""\n,ü\n')
    elif ending == ".tsv":
        path.write_text('a\tb\n1\tx\n2\t"y,""z"""\n\tü\n')
    elif ending == ".parquet":
        pa.parquet.write_table(table, path)
    elif ending == ".feather":
        pa.feather.write_feather(table, path)
    else:
        writer = pa.ipc.new_stream if "stream" in ending else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, writer(sink, table.schema) as out:
            out.write_table(table)
    assert read_table(path).to_pydict() == SMALL_TABLE


def test_texts_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeff a ,b\r\n0012,1e3\r\n\r\nNA, true \r\n".encode())
    assert read_table(path).to_pydict() == {"a": ["0012", "NA"], "b": ["1e3", " true "]}


def test_one_column_may_have_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n\n3\n")
    assert read_table(path).to_pydict() == {"a": ["1", None, "3"]}


def test_repeated_headers_are_seen_by_the_encoding(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,age\n1,2\n")
    with pytest.raises(TableError, match="column 'age' occurs 2 times"):
        encode_table(study_of(), "owner-a", read_table(path))


def test_broken_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n\n3,4,5\n")
    told = refused(path, TableError)
    assert "row 2 below the header: expected 2 columns, got 3" in told
    path.write_bytes(b"a,b\n1,\xff\n")
    assert "is not UTF-8: byte 7, in line 2" in refused(path)
    path.write_text("")
    assert "is empty" in refused(path)


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_broken_binary_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"nonsense" * 10)
    assert "is not a readable" in refused(path, TableError)


def test_names_that_are_no_tables(tmp_path: Path) -> None:
    assert "a file that exists" in refused(tmp_path / "absent.csv")
    assert "a file that exists" in refused(tmp_path)
    (tmp_path / "t.xlsx").touch()
    assert "must end in .csv, .tsv" in refused(tmp_path / "t.xlsx")
    assert refused(tmp_path / "t.xlsx").endswith("Save the sheet as CSV, in UTF-8.")
    (tmp_path / "t.txt").touch()
    assert refused(tmp_path / "t.txt").endswith("instead.")


# --- arrays ----------------------------------------------------------------------------------------------


def arrays_study() -> Study:
    document: dict[str, Any] = {
        "data.features": [{"prefix": "w", "count": 3, "type": "number", "lower": -1, "upper": 1}],
        "data.label_values": [0, 1],
        "owners.0.rows": 2,
    }
    return study_of(**{path.replace(".", "__"): value for path, value in document.items()})


def test_arrays_by_their_places(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    x = np.array([[0.0, 0.5, 1.0], [-1.0, 0.25, 0.0]])
    np.savez(path, X=x, y=np.array([1, 0]), id=np.array(["p", "q"]))
    result = encode_table(arrays_study(), "owner-a", read_owner_table(arrays_study(), "owner-a", path))
    np.testing.assert_array_equal(result.features, x)
    assert result.labels.tolist() == [1, 0]  # type: ignore[union-attr]
    assert result.keys == ("p", "q")


def test_arrays_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, w0=[0.0], w1=[1], y=[True])
    assert read_table(path).to_pydict() == {"w0": [0.0], "w1": [1], "y": [True]}


def test_broken_arrays(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, X=np.zeros((2, 4)))
    assert "must have 3 columns" in refused(path, features=("a", "b", "c"))
    np.savez(path, X=np.zeros((2, 1)), y=np.zeros(3))
    assert "must have one length" in refused(path, features=("a",), label="y")
    np.savez(path, Z=np.zeros((2, 1)))
    assert "must have one dimension" in refused(path)
    np.savez(path, w=np.array([{}], dtype=object))
    assert "no Python objects" in refused(path)
    path.write_bytes(b"PK\x03\x04 nonsense")
    assert ".npz file" in refused(path)
    path.write_bytes(b"nonsense")
    assert ".npz file" in refused(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w.npy", b"no array")
    assert ".npz file" in refused(path)
    path.write_bytes(path.read_bytes().replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"))
    assert zipfile.ZipFile(path).infolist()[0].flag_bits & 1  # encrypted, it says
    assert ".npz file" in refused(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    assert ".npz file" in refused(path)
