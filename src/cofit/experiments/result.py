"""A finished table: figures with their spread beside the paper's, notes, and curves to draw. Plain data, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cofit.errors import InvalidInputError
from cofit.units import size

VERSION = 1
KIND = "cofit experiment table"
UNITS = ("accuracy", "seconds", "bytes", "count", "text")


@dataclass(frozen=True)
class Figure:
    """One entry: ``value`` in ``unit`` (accuracies from 0 to 1), and its spread over folds and draws of noise.

    ``text`` stands instead of a value (unit "text"), for example why there is none.
    """

    value: float | None
    unit: str
    spread: float | None = None
    text: str = ""

    def __post_init__(self) -> None:
        if self.unit not in UNITS or (self.value is None) != (self.unit == "text"):
            raise InvalidInputError(f"A figure must have a value and one of the units {UNITS}, or a text.")
        if not all(number is None or is_finite(number) for number in (self.value, self.spread)):
            raise InvalidInputError("The value and the spread of a figure must be finite numbers, or null.")
        _check_texts("figure", self.text)

    def __str__(self) -> str:
        if self.value is None:
            return self.text
        if self.unit == "accuracy":
            spread = "" if self.spread is None else f" ± {100 * self.spread:.1f}"
            return f"{100 * self.value:.1f}{spread} %"
        if self.unit == "seconds":
            return f"{self.value:,.2f} s" if self.value < 100 else f"{self.value:,.0f} s"
        if self.unit == "bytes":
            return size(self.value, digits=4)
        return f"{self.value:,.0f}"


@dataclass(frozen=True)
class Row:
    """``label`` and ``note`` say what was run; ``figures`` has one entry for each column.

    ``guaranteed``: whether the method has the guarantee that the table is about; what has none is marked.
    """

    label: str
    figures: tuple[Figure, ...]
    guaranteed: bool = True
    note: str = ""

    def __post_init__(self) -> None:
        _check_texts("row", self.label, self.note)
        if not isinstance(self.guaranteed, bool):
            raise InvalidInputError("The field guaranteed of a row must be true or false.")


@dataclass(frozen=True)
class Curve:
    """Points to draw: accuracy over epsilon, say. ``spread`` is one entry for each point, or empty."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_texts("curve", self.label)
        lengths = {len(self.x), len(self.y), len(self.spread) or len(self.x)}
        if len(lengths) > 1 or not all(map(is_finite, (*self.x, *self.y, *self.spread))):
            raise InvalidInputError(f"The curve '{self.label}' must have finite points, each with an x and a y.")


@dataclass(frozen=True)
class TableResult:
    """A whole table. ``columns`` name the figures of each row; ``facts`` are the settings, seeds and versions."""

    name: str
    title: str
    data: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    curves: tuple[Curve, ...]
    axes: tuple[str, str]
    facts: Mapping[str, Any]

    def __post_init__(self) -> None:
        if any(len(row.figures) != len(self.columns) for row in self.rows):
            raise InvalidInputError(f"Every row of {self.name} must have {len(self.columns)} figures.")
        _check_texts("table", self.name, self.title, self.data, *self.columns, *self.notes, *self.axes)
        if len(self.axes) != 2 or not isinstance(self.facts, Mapping):
            raise InvalidInputError("A table must have two axes, and facts by name.")

    def to_json(self) -> str:
        """Return the table as JSON."""
        return json.dumps({"kind": KIND, "version": VERSION, **asdict(self)}, indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TableResult:
        """Read what ``to_json`` wrote, or raise InvalidInputError."""
        try:
            document = json.loads(text)
            if document.pop("kind") != KIND or document.pop("version") != VERSION:
                raise InvalidInputError(f"This is no table of an experiment, version {VERSION}.")
            rows = tuple(
                Row(**{**row, "figures": tuple(Figure(**figure) for figure in row["figures"])})
                for row in document.pop("rows")
            )
            curves = tuple(
                Curve(c["label"], tuple(c["x"]), tuple(c["y"]), tuple(c["spread"])) for c in document.pop("curves")
            )
            lists: dict[str, Any] = {name: tuple(document.pop(name)) for name in ("columns", "notes", "axes")}
            return cls(rows=rows, curves=curves, **lists, **document)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(f"A table of an experiment cannot be read: {error}.") from None


def is_finite(number: object) -> bool:
    """Whether this is a finite number that a float can hold."""
    return isinstance(number, int | float) and not isinstance(number, bool) and abs(number) <= sys.float_info.max


def _check_texts(what: str, *texts: object) -> None:
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInputError(f"The names, labels and notes of a {what} must be texts.")


def load_tables(folder: Path) -> tuple[TableResult, ...]:
    """Return all finished tables of a folder that ``cofit experiment`` wrote, by name and data set."""
    tables = []
    for path in sorted(folder.glob("table*.json")):
        try:
            tables.append(TableResult.from_json(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"The table '{path}' cannot be read: {error}.") from None
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {error}") from None
    return tuple(tables)
