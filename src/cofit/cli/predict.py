"""``cofit predict``: score the rows of a table with a model that takes tables as they are."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cofit.cli.model import about_shrinkage
from cofit.cli.numbers import REAL
from cofit.cli.table_options import table_options
from cofit.errors import InvalidInputError
from cofit.models.decisions import one_class
from cofit.models.smoothing import BATCH
from cofit.models.table_model import TableModel
from cofit.models.target_range import refuse_threshold
from cofit.roles.files.durable import why_not_written
from cofit.roles.files.tables import read_study_table
from cofit.roles.files.text_tables import TextLayout
from cofit.study.document import value_text

THRESHOLD_HELP = (
    "Of two classes, predict the second where its probability (linear SVM: the score) is above this."
    "  [default: 0.5; linear SVM: 0]"
)

SMOOTH_HELP = (
    "Smooth scores by the rows of TABLE (recipe best, classes): it may take noise out where there are many columns and "
    "epsilon is small. Rows then influence each other's scores."
)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="CSV file.  [default: standard output]")
@table_options
@click.option("--raw", is_flag=True, help="Predict with the weights as they were released, without shrinkage.")
@click.option("--threshold", type=REAL, help=THRESHOLD_HELP)
@click.option("--smooth", is_flag=True, help=SMOOTH_HELP)
def predict(
    model: Path,
    table: Path,
    out: Path | None,
    raw: bool,
    threshold: float | None,
    smooth: bool,
    layout: TextLayout,
) -> None:
    """Score every row of TABLE with MODEL, a file that `cofit model`, `cofit run` or `cofit demo` wrote.

    TABLE is CSV, TSV, Parquet, Arrow or .npz, with the study's features as columns, in any order and in the owners' own
    units; they are scaled and encoded as the study says. Other columns are ignored. Nothing leaves this machine.

    Writes CSV with the study's row key, if the table has it, the score, the probability of the second class (logistic
    regression only: sigmoid of twice the score with recipe 'best', of the score with recipe 'paper'), and the class. Of
    more than two classes, a score and a probability for each, named after it; the largest score tells the class. Where
    the label is a number, the row key and the prediction.
    An existing file is overwritten only if it holds such scores. Which weights were used is said on standard
    error, and a warning where 100 rows or more get one class only.

    --smooth uses how the rows of TABLE vary, without labels, to take noise out of the scores. The score of a row then
    depends on all other rows of TABLE: use it for rows of one owner, 100 or more at once. `cofit check` says where it
    can be expected to help.

    \b
    Example:
        cofit predict model.json patients.csv --out scores.csv

    Exit codes: 0 all rows have a score, 2 wrong usage or input.
    """
    loaded = TableModel.load(model)
    if raw:
        loaded = loaded.as_released
    rows = read_study_table(table, loaded.features, loaded.label, loaded.model.classes, layout)
    header, lines, warning = _scored(loaded, rows, threshold, smooth)
    with _target(out, header) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)
    where = "" if out is None else f": {out}"
    click.echo(f"{rows.num_rows:,} rows scored{where}. {about_shrinkage(loaded.model)}", err=True)
    if smooth:
        click.echo(about_smoothing(rows.num_rows), err=True)
    if warning is not None:
        click.echo(f"Warning: {warning}", err=True)


def about_smoothing(rows: int) -> str:
    """Return what scores that were smoothed by the rows of a table depend on."""
    return f"Smoothed by the {rows:,} rows of the table, on which every score depends."


def _scored(
    model: TableModel, table: pa.Table, threshold: float | None, smooth: bool
) -> tuple[list[str], Iterable[tuple[Any, ...]], str | None]:
    """Return the header, the lines, and a warning if there is one class only."""
    scores = model.model.decision_function(model.encode(table), smoothing=BATCH if smooth else None)
    columns: list[tuple[str, Iterable[Any]]] = []
    if model.row_key is not None and table.column_names.count(model.row_key) == 1:
        columns.append((model.row_key, table.column(model.row_key).to_pylist()))
    if model.model.target_range is not None:
        refuse_threshold(threshold)
        columns.append(("prediction", (repr(number) for number in model.model.numbers(scores).tolist())))
        return [name for name, _ in columns], zip(*(values for _, values in columns), strict=True), None
    places, words = model.model.places(scores, threshold), [value_text(value) for value in model.model.classes]
    columns += _numbers("score", scores, words)
    if model.model.has_probabilities:
        found = model.model.probabilities(scores)
        columns += _numbers("probability", found[:, 1] if scores.ndim == 1 else found, words)
    columns.append(("class", (words[place] for place in places.tolist())))
    lines = zip(*(values for _, values in columns), strict=True)
    return [name for name, _ in columns], lines, one_class(places, words, "--threshold")


def _numbers(name: str, values: npt.NDArray[np.float64], words: list[str]) -> list[tuple[str, Iterable[Any]]]:
    """Return a column of numbers, or one for each of several classes."""
    if values.ndim == 1:
        return [(name, map(repr, values.tolist()))]
    return [(f"{name} {word}", map(repr, values[:, k].tolist())) for k, word in enumerate(words)]


@contextmanager
def _target(out: Path | None, header: list[str]) -> Iterator[TextIO]:
    try:
        if out is None:
            yield sys.stdout
            sys.stdout.flush()
            return
        _check_target(out, header)
        with out.open("w", encoding="utf-8", newline="") as file:
            yield file
    except BrokenPipeError:  # whoever reads has enough
        raise
    except OSError as error:
        if out is not None:
            raise InvalidInputError(
                f"The scores cannot be written to '{out}': {why_not_written(out, error)}."
            ) from None
        with Path(os.devnull).open("wb") as nothing:  # so that Python does not try again at its end
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        raise InvalidInputError(f"The scores cannot be written to standard output: {error.strerror}.") from None


def _check_target(out: Path, header: list[str]) -> None:
    """Refuse to overwrite what are no such scores: the table itself, say, or a key."""
    if out.is_file():
        first = ",".join(header).encode()
        with out.open("rb") as file:
            if file.read(len(first) + 1).rstrip(b"\r\n") not in (first, b""):
                raise InvalidInputError(
                    f"'{out}' exists, and is not overwritten: it does not begin with the line "
                    f"'{','.join(header)}', as these scores do. Choose another --out, or move it."
                )
