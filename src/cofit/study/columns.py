"""One column of an owner's table, as numbers or as the places of its values in a list.

Columns come typed (Parquet, Arrow, .npz) or as text (CSV, TSV); spaces around a text never count. A value is missing
where it is null, NaN, or one of the texts of ``MISSING_TEXTS``, unless that text is itself an agreed category.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cofit.study.document import Value

MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
BOOLEANS = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_DATE = (
    r"(?i)^([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}"
    r"|[0-9]{1,2}[-. ]*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-., ]*[0-9]{2,4}"
    r"|(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-. ]*[0-9]{1,2}[-., ]+[0-9]{2,4}"
    r"|[0-9]{1,2}:[0-9]{2})([T :+Z.-].*)?$"
)
_INFINITY = r"(?i)^[+-]?inf(inity)?$"
Mask = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
UNKNOWN = -1


class WrongTypeError(Exception):
    """A column as a whole has a type that cannot hold such values; the text says which it has."""


class DatesError(WrongTypeError):
    """A column as a whole holds dates or times, and should hold numbers."""


@dataclass(frozen=True, repr=False)
class Numbers:
    """A column as numbers: NaN where ``missing`` or ``wrong`` (no number); infinities stay.

    ``dates``: those of ``wrong`` that are written as dates or times are.
    """

    values: Reals
    missing: Mask
    wrong: Mask
    dates: Mask


@dataclass(frozen=True, repr=False)
class Matches:
    """A column as places in a list of values: ``UNKNOWN`` where missing or not in the list."""

    places: Places
    missing: Mask


def plain_column(table: pa.Table, name: str) -> Any:
    """Return a column as one array, without dictionaries; copied only where it comes in pieces or as a dictionary."""
    column = table.column(name)
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # what older releases return for no pieces at all
        array = pa.array([], column.type)
    if pa.types.is_dictionary(array.type):
        return _without_views(array.dictionary).take(array.indices)
    return _without_views(array)


def _without_views(array: Any) -> Any:
    """Return texts in a type that all of Arrow's functions take."""
    return pc.cast(array, pa.large_string()) if str(array.type) == "string_view" else array


def numbers(array: Any) -> Numbers:
    """Return a column of numbers, or of texts that are numbers."""
    kind = array.type
    if _is_text(kind):
        text = pc.utf8_trim_whitespace(array)
        written = _mask(pc.match_substring_regex(text, _NUMBER))
        infinite = _mask(pc.match_substring_regex(text, _INFINITY))
        missing = _missing_texts(text, ())
        parsed = pc.cast(pc.if_else(pa.array(written | infinite), text, pa.scalar(None, kind)), pa.float64())
        wrong = ~(written | infinite | missing)
        dates = wrong & _mask(pc.match_substring_regex(text, _DATE)) if wrong.any() else wrong
        return Numbers(_reals(parsed), missing, wrong, dates)
    if pa.types.is_null(kind):
        values = np.full(len(array), np.nan)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = _reals(pc.cast(array, pa.float64(), safe=False))
    elif pa.types.is_temporal(kind):
        raise DatesError(str(kind))
    else:
        raise WrongTypeError(str(kind))
    nothing = np.zeros(len(array), dtype=np.bool_)
    return Numbers(values, np.isnan(values), nothing, nothing)


def matches(array: Any, values: Sequence[Value]) -> Matches:
    """Return where each entry stands in ``values``: texts, whole numbers, or booleans (see ``BOOLEANS``)."""
    kind = array.type
    if pa.types.is_null(kind):
        return Matches(np.full(len(array), UNKNOWN), np.ones(len(array), dtype=np.bool_))
    if isinstance(values[0], bool):
        found = _booleans(array)
        place_of = np.array([values.index(False), values.index(True), UNKNOWN])
        return Matches(place_of[found.places], found.missing)
    if isinstance(values[0], int):
        number = numbers(array)
        listed = pc.index_in(pa.array(number.values), value_set=pa.array([float(v) for v in values], pa.float64()))
        return Matches(_places(listed), number.missing)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        array = pc.cast(array, pa.string())
    elif not _is_text(kind):
        raise WrongTypeError(str(kind))
    text = pc.utf8_trim_whitespace(array)
    listed = pc.index_in(text, value_set=pa.array([str(v) for v in values], text.type))
    return Matches(_places(listed), _missing_texts(text, [str(v) for v in values]))


def row_keys(array: Any) -> list[str | None]:
    """Return row keys as texts in Unicode's form NFC, so that equal keys of different owners are equal; None: missing.

    Keys are texts or whole numbers. A number counts as its decimal digits: 12 is '12', and not '0012'.
    """
    if pa.types.is_null(array.type):
        return [None] * len(array)
    if pa.types.is_integer(array.type):
        array = pc.cast(array, pa.string())
    elif not _is_text(array.type):
        raise WrongTypeError(str(array.type))
    # Python's normalisation, not Arrow's: some releases of Arrow confuse the forms, and then owners would not match.
    keys = (None if key is None else unicodedata.normalize("NFC", key).strip() for key in array.to_pylist())
    return [key or None for key in keys]


def _booleans(array: Any) -> Matches:
    """Return 0, 1 or UNKNOWN for each entry."""
    if pa.types.is_boolean(array.type):
        missing = _mask(pc.is_null(array))
        return Matches(np.where(missing, UNKNOWN, _mask(array)), missing)
    if _is_text(array.type):
        text = pc.utf8_trim_whitespace(array)
        listed = _places(pc.index_in(pc.utf8_lower(text), value_set=pa.array(list(BOOLEANS), text.type)))
        return Matches(np.array([*BOOLEANS.values(), UNKNOWN])[listed], _missing_texts(text, ()))
    number = numbers(array)
    places = np.where(number.values == 0, 0, np.where(number.values == 1, 1, UNKNOWN))
    return Matches(places, number.missing)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _missing_texts(text: Any, values: Sequence[str]) -> Mask:
    words = [word for word in MISSING_TEXTS if word not in values]
    return _mask(pc.is_null(text)) | _mask(pc.is_in(text, value_set=pa.array(words, text.type)))


def _mask(array: Any) -> Mask:
    """Return an Arrow array of booleans with null as False."""
    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _reals(array: Any) -> Reals:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _places(array: Any) -> Places:
    return np.asarray(pc.fill_null(array, UNKNOWN).to_numpy(zero_copy_only=False), dtype=np.int64)
