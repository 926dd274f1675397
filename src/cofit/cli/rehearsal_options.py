"""Options of the commands that run a whole study on one machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def rehearsal_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options --data, --keys and --out, as ``tables``, ``keys`` and ``out``."""
    for option in (
        click.option(
            "--out",
            required=True,
            type=click.Path(file_okay=False, path_type=Path),
            help="Directory for what is released, the logs and the state of everybody.",
        ),
        click.option(
            "--keys",
            required=True,
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="Directory with NAME.key of every party, every owner and one analyst.",
        ),
        click.option(
            "--data",
            "tables",
            multiple=True,
            required=True,
            metavar="OWNER=FILE",
            help="An owner's table; once for each owner.",
        ),
    ):
        command = option(command)
    return command
