"""A finished table: figures with their spread beside the paper's, notes, and curves to draw. Plain data, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cofit.errors import InvalidInputError

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

    def __str__(self) -> str:
        if self.value is None:
            return self.text
        if self.unit == "accuracy":
            spread = "" if self.spread is None else f" ± {100 * self.spread:.1f}"
            return f"{100 * self.value:.1f}{spread} %"
        if self.unit == "seconds":
            return f"{self.value:,.2f} s" if self.value < 100 else f"{self.value:,.0f} s"
        if self.unit == "bytes":
            return f"{self.value / 1e6:,.1f} MB"
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


@dataclass(frozen=True)
class Curve:
    """Points to draw: accuracy over epsilon, say. ``spread`` is one entry for each point, or empty."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] = ()


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
