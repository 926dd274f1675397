"""Studies, keys and tables on disk."""

from __future__ import annotations

import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from cofit.errors import InvalidInputError
from cofit.roles.study_files import load_study, read_owner_table, read_table, write_identity
from cofit.study import Study, TableError, encode_table, study_plan
from cofit.transport import generate_identity
from unit.study.studies import study_of

EXAMPLES: list[str] = re.findall(
    r"```toml\n(.*?)```", (Path(__file__).parents[3] / "docs/reference/study.md").read_text(), re.DOTALL
)
SMALL_TABLE = {"a": ["1", "2", None], "b": ["x", 'y,"z"', "ü"]}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The reference's example study, with certificates beside it."""
    return write_study(tmp_path, EXAMPLES[0])


def write_study(folder: Path, text: str) -> Path:
    for name in set(re.findall(r'certificate = "(.*?)"', text)):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_text(generate_identity(path.stem).certificate_pem)
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def refused(path: Path, kind: type[InvalidInputError] = InvalidInputError, **options: Any) -> str:
    with pytest.raises(kind) as info:
        read_table(path, **options)
    assert type(info.value) is kind
    return str(info.value)


def not_loaded(path: Path) -> str:
    with pytest.raises(InvalidInputError) as info:
        load_study(path)
    return str(info.value)


# --- studies ---------------------------------------------------------------------------------------------


def test_the_example_of_the_reference(example: Path) -> None:
    study = load_study(example)
    assert study.name == "heart-2026"
    assert study.data.rows == 7300
    assert len(study.weight_names) == 28
    assert study.parties[0].fingerprint == study.owners[0].fingerprint
    assert study_plan(study).proven


def test_the_vertical_variant_of_the_reference(tmp_path: Path) -> None:
    """The variant replaces [data] (but for the features) and the owners."""
    data, owners = EXAMPLES[1].split("[[owners]]", 1)
    text = re.sub(r"\[data\].*?(?=\[\[data.features)", data, EXAMPLES[0], flags=re.DOTALL)
    text = re.sub(r"\[\[owners\]\].*(?=\[\[analysts)", "[[owners]]" + owners, text, flags=re.DOTALL)
    study = load_study(write_study(tmp_path, text))
    assert [len(owner.columns) for owner in study.owners] == [5, 20]
    assert study_plan(study).facts.normalised_by == "parties"


def test_comments_and_places_do_not_change_the_hash(example: Path, tmp_path: Path) -> None:
    before = load_study(example).hash
    text = example.read_text().replace("certificates/", "other/").replace("epsilon = 1.0", "epsilon = 1.00 # a comment")
    (tmp_path / "certificates").rename(tmp_path / "other")
    example.write_text(text)
    assert load_study(example).hash == before
    example.write_text(text.replace(":7100", ":7101"))
    assert load_study(example).hash != before


def test_features_in_a_schema_file(example: Path) -> None:
    before = load_study(example).hash
    text = example.read_text()
    features = "".join(re.findall(r"\[\[data\.features\]\]\n.*?(?=\n\[|\n\n)", text, re.DOTALL))
    (example.parent / "schema.toml").write_text(re.sub(r"\[\[data\.features\]\]", "\n\n[[features]]", features))
    without = re.sub(r"\[\[data\.features\]\]\n.*?(?=\[compute)", "", text, flags=re.DOTALL)
    example.write_text(without.replace('row_key = "patient"', 'row_key = "patient"\nschema = "schema.toml"'))
    assert load_study(example).hash == before
    (example.parent / "schema.toml").write_text("features = []\nother = 1\n")
    assert "schema.toml: a schema file holds tables [[features]] and nothing else" in not_loaded(example)
    (example.parent / "schema.toml").unlink()
    assert "The schema must be a file that exists" in not_loaded(example)
    example.write_text(text.replace('row_key = "patient"', 'row_key = "patient"\nschema = "schema.toml"'))
    assert "either in [[data.features]] or in a file" in not_loaded(example)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = 1.0", "epsilon = ", r"study.toml is not valid TOML: .*line 10"),
        ("epsilon = 1.0", "epsilon = 1.0\nepsilon = 0.2", r"not valid TOML: .*line"),
        ("epsilon = 1.0", "epsilon = -1", r"study.toml: The 'privacy.epsilon' parameter"),
        ("recipe =", "l2 = 0.1\nrecipe =", r"study.toml: .*'model.l2'.*recipe = 'paper'"),
        (
            "certificates/registry.pem",
            "absent.pem",
            r"parties\[2\].certificate must be a file that exists. .*absent.pem",
        ),
        ("certificates/registry.pem", "study.toml", r"'parties\[2\].certificate'.*X.509"),
        ("certificates/registry.pem", "certificates", r"must be a file that exists"),
    ],
)
def test_broken_studies(example: Path, old: str, new: str, message: str) -> None:
    example.write_text(example.read_text().replace(old, new, 1))
    assert re.search(message, not_loaded(example), re.DOTALL)


def test_a_missing_certificate_is_told_with_the_study_once(example: Path) -> None:
    example.write_text(example.read_text().replace("certificates/registry.pem", "absent.pem", 1))
    told = not_loaded(example)
    assert told.startswith(f"{example}: The file of parties[2].certificate must be a file that exists.")
    assert told.count("study.toml") == 1


def test_a_private_key_in_place_of_a_certificate_is_told_and_not_shown(example: Path) -> None:
    key = generate_identity("registry").private_key_pem
    (example.parent / "certificates" / "registry.key").write_text(key)
    example.write_text(example.read_text().replace("certificates/registry.pem", "certificates/registry.key", 1))
    told = not_loaded(example)
    assert "'parties[2].certificate'" in told and "probably 'certificates/registry.pem'" in told
    assert "has a private key" in told and "makes a new key" in told
    assert key.splitlines()[1] not in told


def test_files_that_are_no_study(tmp_path: Path) -> None:
    assert "The study must be a file that exists" in not_loaded(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"format = 1\nname = '\xe9'\n")
    assert "line 2 is not UTF-8" in not_loaded(tmp_path / "latin.toml")
    large = tmp_path / "large.pem"
    large.write_bytes(b" " * (1 << 17))
    text = EXAMPLES[0].replace("certificates/registry.pem", "large.pem")
    (tmp_path / "certificates").mkdir()
    path = write_study(tmp_path, text.replace("large.pem", "certificates/registry.pem"))
    path.write_text(text)
    assert "at most 65536 bytes" in not_loaded(path)


# --- keys ------------------------------------------------------------------------------------------------


def test_keys_are_private_and_never_replaced(tmp_path: Path) -> None:
    identity = generate_identity("me")
    key, certificate = write_identity(identity, tmp_path / "new")
    assert key.read_text() == identity.private_key_pem
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert certificate.read_text() == identity.certificate_pem
    assert "PRIVATE" not in certificate.read_text()
    for path in (certificate, key):
        path.unlink()
        with pytest.raises(InvalidInputError, match="never overwritten"):
            write_identity(generate_identity("me"), tmp_path / "new")
        assert not path.exists()
        path.touch()
    with pytest.raises(InvalidInputError, match="cannot be written"):
        write_identity(identity, key / "below-a-file")


# --- tables ----------------------------------------------------------------------------------------------


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
