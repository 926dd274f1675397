"""``cofit reference``: the map of public reference rows that a study names."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from cofit.cli.table_options import table_options
from cofit.errors import InvalidInputError
from cofit.learn.recipes.descent.reference import FEW_ROWS, reference_map
from cofit.roles.files.durable import why_not_written
from cofit.roles.files.studies import load_study_without_reference
from cofit.roles.files.tables import read_study_table
from cofit.roles.files.text_tables import TextLayout
from cofit.study.encode import encoded_rows


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File for the map, .npz.")
@click.option("--directions", is_flag=True, help="Keep the reference's directions alone: fewer columns.")
@table_options
def reference(study: Path, table: Path, out: Path, directions: bool, layout: TextLayout) -> None:
    """Make the map of TABLE, public rows without labels, for STUDY.

    A study may name TABLE itself, and needs no map then: `reference = "TABLE"` in [data]. A map is for those who do not
    want to hand out the rows, and for more than 256 rows of more than 256 columns.

    TABLE has the study's features as columns, in the owners' own units, and nobody who is in the study. How its rows
    vary **becomes public** with the map. Owners apply the map to their rows before training, or parties to shares where
    owners hold columns. With many columns and a small epsilon that leaves less room for noise. Take 50 rows or more.

    The study names the file, beside it, and its hash is a part of the study: `reference = "FILE"` in [data]. Make it
    again when the number of records, epsilon or delta changes. `cofit check` shows what it can be expected to bring.

    \b
    Example:
        cofit reference study.toml public-patients.csv --out reference.npz

    Exit codes: 0 the map is written, 2 wrong usage or input, or a file that already exists.
    """
    loaded = load_study_without_reference(study)
    data, privacy = loaded.data, loaded.privacy
    rows = read_study_table(table, data.features, data.label, data.label_values, layout)
    encoded = encoded_rows(data.features, loaded.weight_names, rows)
    made = reference_map(encoded, data.rows, epsilon=privacy.epsilon, delta=privacy.delta, directions_only=directions)
    if out.suffix != ".npz":
        raise InvalidInputError(f"The map must be written to a file that ends in .npz. Got '{out}' instead.")
    try:
        with out.open("xb") as file:
            np.savez_compressed(file, **made.arrays())  # type: ignore[arg-type]
    except FileExistsError:
        raise InvalidInputError(f"'{out}' exists, and a map is never overwritten. Choose another name.") from None
    except OSError as error:
        raise InvalidInputError(f"The map cannot be written to '{out}': {why_not_written(out, error)}.") from None
    click.echo(f"Map of {len(encoded):,} rows, {made.inputs:,} columns to {made.columns:,}: {out}")
    click.echo(f"Hash: {made.hash}")
    if len(encoded) < FEW_ROWS:
        click.echo(f"Warning: {len(encoded)} rows are few; take {FEW_ROWS} or more.", err=True)
    click.echo(f'\nNext: in {study.name}, under [data], say reference = "{out.name}", and send it with the study.')
