"""The options of every command that reads a table: what stands between columns, the decimal mark, the encoding."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from cofit.roles.files.text_tables import DECIMALS, SEPARATORS, TextLayout


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --separator, --decimal and --encoding; the command gets them as ``layout``."""

    @click.option(
        "--separator",
        help=f"CSV, TSV: what is between columns ({', '.join(SEPARATORS)}, or the character).  [default: detected]",
    )
    @click.option(
        "--decimal", help=f"CSV, TSV: the decimal mark ({', '.join(DECIMALS)}, or the character).  [default: detected]"
    )
    @click.option("--encoding", help="CSV, TSV: the encoding, such as latin-1 or windows-1252.  [default: UTF-8]")
    @wraps(command)
    def with_layout(
        *arguments: Any, separator: str | None, decimal: str | None, encoding: str | None, **options: Any
    ) -> Any:
        return command(*arguments, layout=TextLayout.named(separator, decimal, encoding), **options)

    return with_layout
