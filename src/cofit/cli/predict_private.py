"""``cofit predict-private``: ask the parties of a study about the rows of a table, which nobody else sees."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cofit.cli.table_options import table_options
from cofit.errors import InvalidInputError, StateError, TransportError
from cofit.models.private_predictions import PrivatePredictions, ask_about_table, forget_asked
from cofit.roles.client.ask import AskProgress
from cofit.roles.client.query import column_name
from cofit.roles.files.durable import write_durably
from cofit.roles.files.keys import load_identity_for
from cofit.roles.files.studies import load_study
from cofit.roles.files.tables import read_study_table
from cofit.roles.files.text_tables import TextLayout
from cofit.study.document import ANSWERS, Study, value_text
from cofit.transport import RequestRefusedError

_AGAIN = "Repeat the command: it goes on with what is missing, and what was answered is not counted twice."


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--key", required=True, type=click.Path(path_type=Path), help="A client's private key.")
@click.option("--name", help="The client, as the study calls it.  [default: whose key it is]")
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), help="The table: CSV, TSV, Parquet, Arrow, .npz."
)
@click.option(
    "--answers", type=click.Choice(ANSWERS), help="What to ask for.  [default: the first that the study allows]"
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the answers: Parquet if it ends in .parquet, else CSV. The statement goes to OUT.statement.json.",
)
@table_options
def predict_private(
    study: Path, key: Path, name: str | None, data: Path, answers: str | None, out: Path, layout: TextLayout
) -> None:
    """Ask the computing parties of STUDY about every row of a table. No party sees a row, or an answer.

    For clients of the study ([[clients]]), when its model is released or stored. The rows are prepared here, split into
    random shares and sent; the parties compute on the shares, with weights that are published or stay shared, and what
    they open is masked by a number that only this command knows. The table has the study's features as columns, in any
    order and in the owners' own units; other columns are ignored, but the row key is written with the answers.

    Rows go in batches. While it runs, what was answered is kept in OUT.asking: if the command is interrupted, the same
    command goes on there, and rows are counted once. Where the study limits this client's rows, every party counts
    them before it answers.

    Beside OUT stand the certificate of the model and a statement: which model, how exact, and what the answers reveal
    about it. A model without noise has no certificate, and the statement begins with "not differentially private".

    \b
    Example:
        cofit predict-private study.toml --key clinic.key --data new.csv --answers probabilities --out answers.csv

    Exit codes: 0 every row is answered, 1 a party refused or did not answer, or their answers differ, 2 wrong usage or
    input, 130 interrupted.
    """
    loaded = load_study(study)
    identity = load_identity_for(loaded, key, name)
    _check_out(out)
    table = read_study_table(data, loaded.data.features, loaded.data.label, loaded.data.label_values, layout)
    state = out.with_name(f"{out.name}.asking")
    try:
        with _display() as progress:
            found = ask_about_table(loaded, identity, table, answers, state, progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_AGAIN) from None
    except RequestRefusedError as error:
        begun = f" Before you ask about another table, delete '{state}' or choose another --out." * state.exists()
        raise StateError(f"'{error.peer}' refused: {error.text}{begun}") from None
    except TransportError as error:
        raise StateError(f"{error} {_AGAIN}") from None
    _write(loaded, table, found, out)
    forget_asked(state)
    click.echo(found.statement.to_text(), nl=False)
    certificate = "" if found.certificate is None else f", certificate of the model: {_certificate(out)}"
    click.echo(f"Answers: {out}, statement: {_statement(out)}{certificate}")


def _statement(out: Path) -> Path:
    return out.with_name(f"{out.name}.statement.json")


def _certificate(out: Path) -> Path:
    return out.with_name(f"{out.name}.certificate.txt")


def _check_out(out: Path) -> None:
    """Refuse to overwrite a file that has no statement beside it: it is nothing that this command wrote. And a folder
    that is not there, before anything is asked."""
    if not out.parent.is_dir():
        raise InvalidInputError(
            f"The answers cannot be written to '{out}': there is no folder '{out.parent}'. Make it."
        )
    if out.exists() and not _statement(out).exists():
        raise InvalidInputError(f"'{out}' exists and holds no answers of this command. Choose another --out.")


def _columns(study: Study, table: pa.Table, found: PrivatePredictions) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    key = study.data.row_key
    if key is not None and table.column_names.count(key) == 1:
        columns[key] = table.column(key).to_pylist()
    word = "prediction" if study.data.label_range is not None else column_name(found.statement.answers)
    if found.values.ndim == 1:
        columns[word] = found.values.tolist()
        return columns
    for place, value in enumerate(study.data.label_values):
        columns[f"{word} {value_text(value)}"] = found.values[:, place].tolist()
    return columns


def _write(study: Study, table: pa.Table, found: PrivatePredictions, out: Path) -> None:
    """Write statement and certificate, which everybody may read, then the answers, for this user alone; durably."""
    columns = _columns(study, table, found)
    try:
        write_durably(_statement(out), found.statement.to_json().encode(), mode=0o644)
        if found.certificate is not None:
            write_durably(_certificate(out), found.certificate.to_text().encode(), mode=0o644)
        if out.suffix == ".parquet":
            sink = pa.BufferOutputStream()
            pq.write_table(pa.table(columns), sink)
            write_durably(out, sink.getvalue().to_pybytes())
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        shown = [[repr(v) if isinstance(v, float) else value_text(v) for v in column] for column in columns.values()]
        writer.writerows(zip(*shown, strict=True))
        write_durably(out, text.getvalue().encode())
    except OSError as error:
        raise InvalidInputError(f"The answers cannot be written to '{out}': {error.strerror}. {_AGAIN}") from None


@contextmanager
def _display() -> Iterator[Callable[[AskProgress], None] | None]:
    """A bar on the standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("rows answered"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as display:
        task = display.add_task("")

        def tell(progress: AskProgress) -> None:
            display.update(task, completed=progress.done, total=progress.total)

        yield tell
