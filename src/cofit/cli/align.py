"""``cofit align``: the owners of a vertical study find out whether they have the same rows."""

from __future__ import annotations

from pathlib import Path

import click

from cofit.cli.table_options import table_options
from cofit.errors import InvalidInputError
from cofit.roles.files.studies import load_study
from cofit.roles.files.tables import read_owner_table
from cofit.roles.files.text_tables import TextLayout
from cofit.roles.owner.contribute import new_secret, read_rows, read_secret, write_rows
from cofit.study.align import compare, key_hashes
from cofit.study.document import Study
from cofit.study.encode import checked_keys, owner_named
from cofit.study.problems import Problems, TableError, shown
from cofit.study.sparse_table import SparseTable


@click.command()
@click.argument("study", required=False, type=click.Path(path_type=Path))
@click.option(
    "--new-secret", "fresh", type=click.Path(path_type=Path), help="Make a secret in this new file, and do no more."
)
@click.option("--owner", help="This owner, as the study calls it.")
@click.option("--data", type=click.Path(path_type=Path), help="Its table.")
@click.option("--secret", type=click.Path(path_type=Path), help="The secret that the owners share.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the hashes of this owner's row keys to this file.")
@click.option(
    "--compare",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Compare with this row file of another owner; may be repeated.",
)
@table_options
@click.option("--show-mine", is_flag=True, help="With --compare: also list this owner's own row keys that others lack.")
def align(
    study: Path | None,
    fresh: Path | None,
    owner: str | None,
    data: Path | None,
    secret: Path | None,
    out: Path | None,
    others: tuple[Path, ...],
    show_mine: bool,
    layout: TextLayout,
) -> None:
    """Compare the rows of the owners of a vertical STUDY, by keyed hashes of their row keys.

    One owner makes the secret (--new-secret FILE) and hands it to the other owners over a channel that they trust,
    never to a computing party. Then each writes its row file (--out) for the other owners. Whoever has the secret and a
    row file can find out, for any given row key, whether its owner has it; without the secret, only the number of rows.

    \b
    One owner; then each for the others; then each with what the others sent:
        cofit align --new-secret rows.secret
        cofit align study.toml --owner hospital-b --data b.csv --secret rows.secret --out b.rows
        cofit align study.toml --owner hospital-a --data a.csv --secret rows.secret --compare b.rows

    Exit codes: 0 done, and all rows that were compared are the same; 1 some rows differ; 2 wrong usage or input.
    """
    if fresh is not None:
        _make_secret(fresh, (study, owner, data, secret, out, *others))
        return
    if study is None or owner is None or data is None or secret is None or not (out or others):
        raise click.UsageError("Give STUDY, --owner, --data, --secret, and --out or --compare; or --new-secret alone.")
    if show_mine and not others:
        raise click.UsageError("--show-mine goes with --compare.")
    loaded = load_study(study)
    key = read_secret(secret)
    keys = _row_keys(loaded, owner, data, layout)
    hashes = key_hashes(key, loaded.hash, keys)
    theirs = read_rows(others, loaded, owner, key)
    if out is not None:
        write_rows(out, loaded, owner, key, hashes)
        click.echo(f"{out}: {len(hashes):,} rows of '{owner}'. Give it to the other owners only.")
    same = [_tell(name, rows, hashes, keys if show_mine else None) for name, rows in theirs.items()]
    if not all(same):
        raise click.exceptions.Exit(1)


def _make_secret(path: Path, rest: tuple[object, ...]) -> None:
    if any(rest):
        raise click.UsageError("--new-secret goes alone.")
    new_secret(path)
    click.echo(
        f"{path}: a new secret. Give it to the other owners over a channel that you trust, and to no computing party."
    )


def _row_keys(study: Study, owner: str, data: Path, layout: TextLayout) -> tuple[str, ...]:
    owner_named(study, owner)
    if study.data.partition != "vertical":
        raise InvalidInputError("Rows are aligned in vertical studies; this one is horizontal.")
    name = study.data.row_key
    found = read_owner_table(study, owner, data, layout)
    table = found.others if isinstance(found, SparseTable) else found
    if name is None or table.column_names.count(name) != 1:
        raise TableError(f"The table must have one column '{name}' with the row keys.")
    problems = Problems(f"The table of owner '{owner}'")
    keys = checked_keys(name, table, problems)
    problems.raise_any()
    return tuple(key for key in keys or () if key is not None)


def _tell(name: str, theirs: list[bytes], ours: list[bytes], keys: tuple[str, ...] | None) -> bool:
    """Say how many rows are missing on which side; whether there are none."""
    result = compare(ours, theirs)
    same = not result.only_first and not result.only_second
    click.echo(
        f"'{name}': {result.common:,} rows in common"
        + (
            "; the rows are the same."
            if same
            else f"; it lacks {result.only_first:,} of ours, we lack {result.only_second:,} of its."
        )
    )
    if keys is not None and result.only_first:
        known = set(theirs)
        for key in [key for key, h in zip(keys, ours, strict=True) if h not in known]:
            click.echo(f"  it lacks our {shown(key)}")
    return same
