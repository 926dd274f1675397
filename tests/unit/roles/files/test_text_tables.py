"""Tables of text as people have them: separators, decimal marks, encodings; found out, or refused with the option."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cofit.errors import InvalidInputError
from cofit.roles.files import text_tables
from cofit.roles.files.tables import read_owner_table, read_study_table, read_table
from cofit.roles.files.text_tables import ANY_LAYOUT, TextLayout, read_text_table
from cofit.study.document import Feature
from cofit.study.problems import TableError
from cofit.study.sparse_table import SparseTable
from unit.study.studies import study_of

SECRET = "4711"
"""A value that no message may contain."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


def read(path: Path, text: str | bytes, layout: TextLayout = ANY_LAYOUT, expected: set[str] | None = None) -> object:
    """The table of a file, whose columns a and b hold numbers."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_text_table(path, layout, expected=expected or set(), numbers={"a", "b"}).to_pydict()


def refused(path: Path, text: str | bytes, layout: TextLayout = ANY_LAYOUT) -> str:
    with pytest.raises(InvalidInputError) as info:
        read(path, text, layout)
    assert SECRET not in str(info.value)
    return str(info.value)


# --- separators ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found_and_told_where_it_is_not_the_usual_one(
    path: Path, separator: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = f'a{separator}b{separator}c\n1{separator}2{separator}x y\n3{separator}4{separator}"p{separator}q; r,|\t"\n'
    assert read(path, text) == {"a": ["1", "3"], "b": ["2", "4"], "c": ["x y", f"p{separator}q; r,|\t"]}
    shown = {"\t": "tab"}.get(separator, f"'{separator}'")
    message = f"'{path}' was read with {shown} between columns and '.' as decimal mark; say --separator to choose."
    assert [record.getMessage() for record in caplog.records] == ([] if separator == "," else [message])


def test_what_was_said_is_not_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    layout = TextLayout.named("semicolon", "comma", "latin-1")
    assert read(path, "a;b;ü\n1,5;2;é\n".encode("latin-1"), layout) == {"a": ["1.5"], "b": ["2"], "ü": ["é"]}
    assert not caplog.records


def test_a_decimal_comma_is_no_separator(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read(path, "a;b\n1,5;2,5\n,25;-3,5e2\n") == {"a": ["1.5", ".25"], "b": ["2.5", "-3.5e2"]}
    assert "with ';' between columns and ',' as decimal mark; say --separator and --decimal to choose." in caplog.text


def test_where_two_separators_fit_the_names_decide_or_it_is_refused(path: Path) -> None:
    text = f"a,b;c\n1,5;{SECRET}\n"
    assert read(path, text, expected={"c"}) == {"a,b": ["1,5"], "c": [SECRET]}
    assert read(path, text, expected={"b;c"}) == {"a": ["1"], "b;c": [f"5;{SECRET}"]}
    told = refused(path, text)
    assert "may be separated by ',' or ';'. Say which with --separator (comma, semicolon, tab, pipe)" in told
    assert read(path, text, TextLayout.named("comma")) == {"a": ["1"], "b;c": [f"5;{SECRET}"]}


@pytest.mark.parametrize("before", [0, 1, 98])
def test_rows_decide_between_the_separators_of_the_header(path: Path, before: int) -> None:
    """A comma in a name is no separator if some row has none, though rows before it may have one."""
    text = "a;b, in mm\n" + "1;x, y\n" * before + "2;x\n"
    assert read(path, text) == {"a": ["1"] * before + ["2"], "b, in mm": ["x, y"] * before + ["x"]}


def test_a_tab_is_usual_in_tsv_files_and_a_comma_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "t.tsv").write_text("a\tb\n1\t2\n")
    assert read_table(tmp_path / "t.tsv").to_pydict() == {"a": ["1"], "b": ["2"]}
    assert not caplog.records
    (tmp_path / "t.tsv").write_text("a,b\n1,2\n")
    assert read_table(tmp_path / "t.tsv").to_pydict() == {"a": ["1"], "b": ["2"]}
    assert "was read with ',' between columns" in caplog.text


def test_lines_within_quotation_marks_in_a_file_of_several_blocks(path: Path) -> None:
    value = "x\n" + "y" * 50
    rows = 3 * (1 << 20) // len(value)
    assert read(path, "a,c\n" + f'1,"{value}"\n' * rows) == {"a": ["1"] * rows, "c": [value] * rows}


def test_no_row_that_cannot_be_read_is_shown(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise pa.ArrowInvalid(f"CSV parse error: Row #2: as no release has put it yet: 1,{SECRET}")

    monkeypatch.setattr(text_tables, "_read", fail)
    assert refused(path, f"a,b\n1,{SECRET}\n").endswith("is not a readable table of text: some row cannot be read.")


def test_one_column_with_commas_is_refused_and_not_taken_for_numbers(path: Path) -> None:
    assert "names one column, and there are rows with a ','. Say with --separator" in refused(path, f"a\n1,{SECRET}\n")
    assert read(path, "a\n1,5\n", TextLayout.named("semicolon")) == {"a": ["1.5"]}


@pytest.mark.parametrize("first", ["sep=;\n", "SEP=;\r\n", '"sep=;"\n', "\ufeffsep=;\n"])
def test_the_first_line_of_spreadsheets(path: Path, first: str, caplog: pytest.LogCaptureFixture) -> None:
    assert read(path, f"{first}a,x;b\n1,5;2\n") == {"a,x": ["1,5"], "b": ["2"]}
    assert "row 2 below the header: expected 2 columns, got 3" in refused(path, f"{first}a;b\n1;2\n1;2;{SECRET}\n")
    assert read(path, f"{first}a|b;c\n1|2;3\n", TextLayout.named("pipe")) == {"a": ["1"], "b;c": ["2;3"]}


def test_separators_at_the_end_of_lines(path: Path) -> None:
    told = refused(path, f"a;b;\n1;{SECRET};\n")
    assert "ends with ';', so that column 3 has no name. Remove the separator at the end of each line" in told
    told = refused(path, f"a;b\n1;2\n\n1;{SECRET};\n")
    assert "row 2 below the header: expected 2 columns, got 3, with ';' between columns" in told
    assert "at the end of a row it begins one more column" in told


def test_commas_for_both_are_refused(path: Path) -> None:
    assert "row 1 below the header: expected 2 columns, got 4" in refused(path, f"a,b\n1,{SECRET},2,5\n")


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_empty_files(path: Path, text: str) -> None:
    assert "is empty. Its first line must name the columns." in refused(path, text)


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "sep=,\na,b\n"])
def test_a_header_without_rows(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(TableError, match="has no rows"):
        read_table(path)


# --- decimal marks ---------------------------------------------------------------------------------------


def test_commas_in_texts_say_nothing_of_numbers(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read(path, 'a,c\n1,"1,5"\n') == {"a": ["1"], "c": ["1,5"]}
    assert not caplog.records


def test_points_and_commas_in_one_table_are_left_to_be_refused(path: Path) -> None:
    text = "a;b\n1,5;2.5\n01.02.2020;3\n"
    assert read(path, text) == {"a": ["1,5", "01.02.2020"], "b": ["2.5", "3"]}
    said = TextLayout.named(decimal="comma")
    assert read(path, text, said) == {"a": ["1.5", "01.02.2020"], "b": ["2,5", "3"]}


def test_thousands_are_not_taken_for_decimals(path: Path) -> None:
    told = refused(path, "a;b\n4,711;2\n")
    assert "In column 'a'" in told
    assert "decimal marks or separate thousands. Say --decimal comma, or write the numbers without" in told
    assert read(path, "a;b\n4,711;2\n0,5;3\n") == {"a": ["4.711", "0.5"], "b": ["2", "3"]}
    assert read(path, "a;b\n4,711;2\n", TextLayout.named(decimal=",")) == {"a": ["4.711"], "b": ["2"]}
    assert read(path, "a;b\n4,711;2\n", TextLayout.named(decimal="point")) == {"a": ["4,711"], "b": ["2"]}
    assert read(path, "a;b\n0,125;2\n") == {"a": ["0.125"], "b": ["2"]}  # no thousands begin with 0


def test_any_column_of_numbers_tells_the_decimal_mark(path: Path) -> None:
    assert read(path, "a;b\n1;2,5\n2;3\n") == {"a": ["1", "2"], "b": ["2.5", "3"]}
    assert read(path, "a;b\n1,250;2,5\n") == {"a": ["1.250"], "b": ["2.5"]}
    assert "In column 'b'" in refused(path, "a;b\n1;4,711\n")


def test_only_columns_of_numbers_change(path: Path) -> None:
    path.write_text("n;k;t;y\n1,5;2,0;1,5;1,0\n")
    features = [
        Feature("n", "number", 0.0, 2.0),
        Feature("k", "category", values=(1, 2)),
        Feature("t", "category", values=("1,5", "x")),
    ]
    assert read_study_table(path, features, "y", (0, 1)).to_pydict() == {
        "n": ["1.5"],
        "k": ["2.0"],
        "t": ["1,5"],
        "y": ["1.0"],
    }
    assert read_study_table(path, features, "y", ("1,0", "2")).to_pydict()["y"] == ["1,0"]
    assert read_table(path).to_pydict()["n"] == ["1,5"]


def test_an_owners_numbers_are_those_of_the_study(path: Path) -> None:
    path.write_text("age;dose;group\n20,5;;1,5\n")
    found = read_owner_table(study_of(), "owner-a", path)
    assert not isinstance(found, SparseTable)
    assert found.to_pydict()["age"] == ["20.5"]


# --- encodings -------------------------------------------------------------------------------------------


def test_marks_of_the_encoding(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read(path, "\ufeffa,ü\n1,é\n") == {"a": ["1"], "ü": ["é"]}
    assert not caplog.records
    assert read(path, "a,ü\n1,é\n".encode("utf-16")) == {"a": ["1"], "ü": ["é"]}
    assert "in utf-16; say --encoding to choose." in caplog.text


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"a,b\n1,{SECRET}é\n", "byte 11, in line 2"),
        (f"a,é\n1,{SECRET}\n", "byte 3, in line 1"),
        ("a,b\n" + "1,2\n" * 300_000 + "1,é", "byte 1,200,007, in line 300,002"),
    ],
)
def test_what_is_not_utf_8_is_named_with_its_place_and_the_option(path: Path, text: str, place: str) -> None:
    told = refused(path, text.encode("latin-1"))
    assert f"is not UTF-8: {place}. Name the encoding in which it was saved, as --encoding latin-1" in told


def test_a_character_that_begins_in_one_block_of_the_file_and_ends_wrongly_in_the_next(path: Path) -> None:
    start = b"a,b\n1,"
    told = refused(path, start + b"x" * ((1 << 20) - 1 - len(start)) + b"\xc3" + b"\n2,3\n")
    assert f"byte {1 << 20:,}, in line 2" in told


def test_a_wrong_encoding(path: Path) -> None:
    told = refused(path, "a,b\n1,é\n", TextLayout.named(encoding="ascii"))
    assert "is not text in the encoding 'ascii': byte 7, in line 2" in told
    assert "Name its encoding, as --encoding utf-16" in refused(path, "a,b\n1,2\n".encode("utf-16-le"))


# --- what can be said ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "layout"),
    [
        ({"separator": "TAB"}, TextLayout(separator="\t")),
        ({"separator": "\\t"}, TextLayout(separator="\t")),
        ({"separator": "|"}, TextLayout(separator="|")),
        ({"decimal": "comma"}, TextLayout(decimal=",")),
        ({"decimal": "."}, TextLayout(decimal=".")),
        ({"encoding": "windows-1252"}, TextLayout(encoding="windows-1252")),
    ],
)
def test_names_and_characters(options: dict[str, str], layout: TextLayout) -> None:
    assert TextLayout.named(**options) == layout
    again = dict(zip(layout.options[::2], layout.options[1::2], strict=True))
    assert TextLayout.named(**{name.removeprefix("--"): value for name, value in again.items()}) == layout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"separator": "x"},
            r"'separator' parameter of a table must be one of comma, semicolon, tab, pipe, .* Got 'x'",
        ),
        ({"decimal": "tab"}, r"'decimal' parameter of a table must be one of point, comma, .* Got 'tab' instead"),
        ({"encoding": "latin-99"}, r"'encoding' parameter of a table must be an encoding .* Got 'latin-99' instead"),
        ({"encoding": "hex"}, r"'encoding' parameter"),
    ],
)
def test_what_cannot_be_said(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        TextLayout.named(**options)


def test_typed_tables_have_no_layout(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").touch()
    with pytest.raises(InvalidInputError, match=r"--separator, --decimal: only \.csv and \.tsv files have such"):
        read_table(tmp_path / "t.parquet", layout=TextLayout.named(";", ","))
