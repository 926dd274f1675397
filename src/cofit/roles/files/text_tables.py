"""Tables of text, .csv and .tsv: what stands between columns, the decimal mark and the encoding, as said or as found.

What is not said is found out, and told; nothing is guessed. The separator is the one by which the header has several
columns and the first rows have as many; where several would do, the one by which the header has names that are
expected. The decimal mark is a comma where numbers have a comma and none has a point. A table that can be read in more
than one way is refused, with the option that decides. All values stay text.

No message contains a value of the table.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from cofit.errors import InvalidInputError, parameter_error
from cofit.study.problems import TableError

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
DECIMALS = {"point": ".", "comma": ","}
_UTF_8 = "utf-8"
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LOOKED_AT = 100
"""Records by which the separator is found."""
_BLOCK = 1 << 20
_EXCEL = re.compile(r'^"?sep=(.)"?\s*$', re.IGNORECASE)
_WITH_COMMA = r"^\s*[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?\s*$"
_WITH_POINT = r"^\s*[+-]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_THOUSANDS = r"^\s*[+-]?[1-9][0-9]{0,2},[0-9]{3}\s*$"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TextLayout:
    """What was said of a table of text; None: to be found out."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    @classmethod
    def named(cls, separator: str | None = None, decimal: str | None = None, encoding: str | None = None) -> TextLayout:
        """Return a layout by names (``semicolon``) or characters (``;``), or raise InvalidInputError."""
        if encoding is not None:
            try:
                "x".encode(encoding)
            except (LookupError, ValueError):
                must_be = "an encoding that Python knows, as utf-8, latin-1, windows-1252 or utf-16"
                raise parameter_error("encoding", "a table", must_be, encoding) from None
        return cls(
            _character("separator", SEPARATORS, separator), _character("decimal", DECIMALS, decimal), encoding or None
        )

    @property
    def options(self) -> tuple[str, ...]:
        """The same as options of a command."""
        names = {value: name for name, value in SEPARATORS.items()}
        separator = () if self.separator is None else ("--separator", names[self.separator])
        decimal = () if self.decimal is None else ("--decimal", "point" if self.decimal == "." else "comma")
        return (*separator, *decimal, *(() if self.encoding is None else ("--encoding", self.encoding)))


ANY_LAYOUT = TextLayout()


@dataclass(frozen=True)
class _Form:
    """How a file is read: ``skipped`` lines come before the header, whose names are as in the file."""

    separator: str
    encoding: str
    skipped: int
    header: tuple[str, ...]


def read_text_table(
    path: Path,
    layout: TextLayout = ANY_LAYOUT,
    *,
    usual: str = ",",
    expected: Collection[str] = (),
    numbers: Collection[str] | None = None,
) -> pa.Table:
    """Read a file whose first line names the columns; raise InvalidInputError with what is wrong and where.

    usual: the separator that goes with the ending of the file's name. expected: names of columns that may be there.
    numbers: the columns that hold numbers, whose decimal commas become points; None: not known, so that all columns
    are left as they are unless the layout says what the decimal mark is.
    """
    form = _form(path, layout, usual, expected)
    table = _parsed(path, form)
    columns, names = table.columns, table.column_names
    places = [i for i, name in enumerate(names) if numbers is None or name in numbers]
    decimal = layout.decimal or ("." if numbers is None else _decimal(path, {i: columns[i] for i in places}, names))
    _tell(path, layout, form, decimal, usual)
    if decimal == ",":
        for i in places:
            columns[i] = _with_point(columns[i])
        table = pa.Table.from_arrays(columns, names=names)
    return table


def _character(field: str, known: dict[str, str], given: str | None) -> str | None:
    if given is None or given in known.values():
        return given
    if given == "\\t" and "tab" in known:
        return "\t"
    if given.lower() not in known:
        raise parameter_error(field, "a table", f"one of {', '.join(known)}, or the character itself", given)
    return known[given.lower()]


# --- the form of a file ----------------------------------------------------------------------------------


def _form(path: Path, layout: TextLayout, usual: str, expected: Collection[str]) -> _Form:
    encoding = _encoding(path, layout)
    excel = _EXCEL.match(_first_line(path, encoding))
    separator = layout.separator or (None if excel is None else excel[1])
    if separator is None:
        separator = _separator(path, encoding, usual, expected)
    skipped = 0 if excel is None else 1
    records = _records(path, encoding, separator, 1, skipped)
    if not records:
        raise InvalidInputError(f"'{path}' is empty. Its first line must name the columns.")
    header = records[0]
    if any("\0" in name for name in header):
        raise InvalidInputError(f"'{path}' is not {encoding} text. Name its encoding, as --encoding utf-16.")
    if len(header) > 1 and not header[-1].strip():
        raise InvalidInputError(
            f"The header of '{path}' ends with {_shown(separator)}, so that column {len(header)} has no name. Remove "
            "the separator at the end of each line, or give the column a name."
        )
    return _Form(separator, encoding, skipped, tuple(header))


def _encoding(path: Path, layout: TextLayout) -> str:
    """Return the encoding of a file that is wholly in it, or raise with the first place that is not."""
    with path.open("rb") as file:
        marked = file.read(2) in _UTF_16_MARKS
        encoding = layout.encoding or ("utf-16" if marked else _UTF_8)
        file.seek(0)
        decoder = codecs.getincrementaldecoder(encoding)()
        done = 0
        lines = 1
        while True:
            block = file.read(_BLOCK)
            pending = decoder.getstate()[0]
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                here = error.start - len(pending)
                line = lines + block.count(b"\n", 0, max(0, here))
                break
            if not block:
                return encoding
            done += len(block)
            lines += block.count(b"\n")
    name = encoding.upper() if layout.encoding is None else f"text in the encoding '{encoding}'"
    raise InvalidInputError(
        f"'{path}' is not {name}: byte {done + here + 1:,}, in line {line:,}. Name the encoding in which it was saved, "
        "as --encoding latin-1 or --encoding windows-1252, or save it as UTF-8."
    )


def _separator(path: Path, encoding: str, usual: str, expected: Collection[str]) -> str:
    records = {one: _records(path, encoding, one, _LOOKED_AT) for one in SEPARATORS.values()}
    widths = {one: [len(record) for record in found] for one, found in records.items() if found}
    several = [one for one in widths if widths[one][0] > 1]
    if not several:
        if set(widths.get(usual, [1])) == {1}:
            return usual
        raise InvalidInputError(
            f"The header of '{path}' names one column, and there are rows with a {_shown(usual)}. Say with "
            "--separator what stands between the columns."
        )
    even = [one for one in several if len(set(widths[one])) == 1]
    if len(even) > 1:
        known = [one for one in even if not {name.strip() for name in records[one][0]}.isdisjoint(expected)]
        even = known or even
    if not even:  # some row is too long or too short, and reading it by the header's separator will tell which
        even = [usual] if usual in several else several
    if len(even) > 1:
        raise InvalidInputError(
            f"The columns of '{path}' may be separated by {' or '.join(_shown(one) for one in even)}. Say which with "
            f"--separator ({', '.join(SEPARATORS)})."
        )
    return even[0]


def _records(path: Path, encoding: str, separator: str, count: int, skipped: int = 0) -> list[list[str]]:
    """Return the first records that are not empty, as far as they can be read."""
    records: list[list[str]] = []
    with path.open(encoding=_past_mark(encoding), newline="") as file, contextlib.suppress(csv.Error):
        for _ in range(skipped):
            next(file, "")
        for record in csv.reader(file, delimiter=separator):
            if record:
                records.append(record)
            if len(records) == count:
                break
    return records


def _first_line(path: Path, encoding: str) -> str:
    with path.open(encoding=_past_mark(encoding), newline="") as file:
        return file.readline(_BLOCK)


def _past_mark(encoding: str) -> str:
    """The same encoding, without the mark at the beginning of a file in UTF-8."""
    return "utf-8-sig" if codecs.lookup(encoding).name == _UTF_8 else encoding


def _shown(separator: str) -> str:
    return "tab" if separator == "\t" else f"'{separator}'"


def no_rows(path: Path) -> TableError:
    """Return the error of a table that has columns and nothing else."""
    return TableError(f"'{path}' has no rows: it must hold at least one below the names of the columns.")


# --- the values ------------------------------------------------------------------------------------------


def _parsed(path: Path, form: _Form) -> pa.Table:
    try:
        return _read(path, form, threads=True)
    except pa.ArrowInvalid:
        pass
    try:
        return _read(path, form, threads=False)  # one thread numbers the rows
    except pa.ArrowInvalid as error:
        told = str(error).splitlines()[0]
    if "Empty CSV" in told:  # a header without the end of its line
        raise no_rows(path)
    place = re.search(r"Row #(\d+): (Expected \d+ columns, got \d+)", told)
    if place is not None:
        row = int(place[1]) - 1 - form.skipped
        raise TableError(
            f"'{path}', row {row} below the header: {place[2].lower()}, with {_shown(form.separator)} between columns. "
            "Put quotation marks around values that contain it; at the end of a row it begins one more column. "
            "--separator names another."
        )
    reason = "some row cannot be read" if "Row #" in told else told
    raise TableError(f"'{path}' is not a readable table of text: {reason}.")


def _read(path: Path, form: _Form, *, threads: bool) -> pa.Table:
    table = pa.csv.read_csv(
        path,
        read_options=pa.csv.ReadOptions(use_threads=threads, encoding=form.encoding, skip_rows=form.skipped),
        parse_options=pa.csv.ParseOptions(
            delimiter=form.separator, newlines_in_values=True, ignore_empty_lines=len(form.header) > 1
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(form.header, pa.string()), strings_can_be_null=True, null_values=[""]
        ),
    )
    return table.rename_columns([name.strip() for name in table.column_names])


def _decimal(path: Path, columns: Mapping[int, Any], names: Sequence[str]) -> str:
    """Return the decimal mark of the numbers in these columns, or raise where it could be either."""
    unclear = None
    found = False
    for i, column in columns.items():
        if not found and _contains(column, ","):
            commas = pc.match_substring_regex(column, _WITH_COMMA)
            found = _any(pc.and_not(commas, pc.match_substring_regex(column, _THOUSANDS)))
            unclear = i if unclear is None and _any(commas) else unclear
    if not found and unclear is None:
        return "."
    if any(_contains(c, ".") and _any(pc.match_substring_regex(c, _WITH_POINT)) for c in columns.values()):
        return "."  # where there are both, those with a comma are told as no numbers
    if found:
        return ","
    raise InvalidInputError(
        f"In column '{names[unclear or 0]}' of '{path}' all commas stand before three digits: they may be decimal "
        "marks or separate thousands. Say --decimal comma, or write the numbers without thousands marks."
    )


def _with_point(column: Any) -> Any:
    """Return numbers with decimal commas as they are written with points; numbers with points become none."""
    given = column
    for mark, other, pattern in ((".", ",", _WITH_POINT), (",", ".", _WITH_COMMA)):
        if _contains(given, mark):
            written = pc.fill_null(pc.match_substring_regex(given, pattern), False)
            column = pc.if_else(written, pc.replace_substring(given, mark, other), column)
    return column


def _contains(column: Any, mark: str) -> bool:
    return _any(pc.match_substring(column, mark))


def _any(mask: Any) -> bool:
    return bool(pc.any(mask).as_py())


def _tell(path: Path, layout: TextLayout, form: _Form, decimal: str, usual: str) -> None:
    """Say how a table was read, where that was found out and is not what its name suggests."""
    found = {
        "--separator": layout.separator is None and form.separator != usual,
        "--decimal": layout.decimal is None and decimal != ".",
        "--encoding": layout.encoding is None and form.encoding != _UTF_8,
    }
    if any(found.values()):
        encoding = f", in {form.encoding}" if found["--encoding"] else ""
        _log.warning(
            "'%s' was read with %s between columns and '%s' as decimal mark%s; say %s to choose.",
            path,
            _shown(form.separator),
            decimal,
            encoding,
            " and ".join(option for option, told in found.items() if told),
        )
