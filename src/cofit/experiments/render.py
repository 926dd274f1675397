"""Tables as Markdown for people and as CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from cofit.experiments.result import TableResult

NOT_GUARANTEED = "†"


def to_markdown(table: TableResult) -> str:
    """Return the table with its notes; what lacks the table's guarantee is marked."""
    return "\n".join(_markdown(table)) + "\n"


def _markdown(table: TableResult) -> Iterator[str]:
    yield f"## {table.name.replace('table', 'Table ')}. {table.title}"
    yield ""
    yield f"Data: {table.data}."
    yield ""
    yield "| | " + " | ".join(map(_cell, table.columns)) + " |"
    yield "|---|" + "---:|" * len(table.columns)
    for row in table.rows:
        mark = "" if row.guaranteed else f" {NOT_GUARANTEED}"
        note = f" ({row.note})" if row.note else ""
        yield f"| {_cell(row.label + note)}{mark} | " + " | ".join(_cell(str(f)) for f in row.figures) + " |"
    yield ""
    if not all(row.guaranteed for row in table.rows):
        yield f"{NOT_GUARANTEED} without the guarantee that the table is about."
        yield ""
    for note in table.notes:
        yield f"- {note}"
    settings = ", ".join(f"{name} {value}" for name, value in table.facts.items() if name != "software")
    yield f"- Settings: {settings}."
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def to_csv(table: TableResult) -> str:
    """Return one line for each row: its label, and for each column the value, the spread and the text."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    heads = [f"{column}{part}" for column in table.columns for part in ("", " (spread)", " (as shown)")]
    writer.writerow(["row", "has the guarantee", *heads])
    for row in table.rows:
        entries = [entry for f in row.figures for entry in (f.value, f.spread, str(f))]
        writer.writerow([row.label, "yes" if row.guaranteed else "no", *entries])
    return file.getvalue()
