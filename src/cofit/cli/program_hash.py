"""``cofit program-hash``: what a study says of a program's source."""

from __future__ import annotations

from pathlib import Path

import click

from cofit.roles.files.program_files import read_source, source_paths
from cofit.roles.files.program_source import check_source


@click.command("program-hash")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def program_hash(files: tuple[Path, ...]) -> None:
    """Print the table [job.sources] of a study: the SHA-256 of every source FILE of a program.

    List the file of the program and every file of your own that it imports. Installed packages are not listed. Paths
    are printed from the folder that all FILES have in common, which is what parties give as --program. The hashes are
    those of `sha256sum`. A file that no party would run is refused, with the line.

    \b
    Examples:
        cofit program-hash hospitals.py
        cofit program-hash hospitals.py statistics/welch.py

    Exit codes: 0 printed, 2 wrong usage, or a file that cannot be part of a program.
    """
    click.echo("[job.sources]")
    for name, path in source_paths(files).items():
        content, digest = read_source(path)
        check_source(str(path), content)
        click.echo(f'"{name}" = "{digest}"')
