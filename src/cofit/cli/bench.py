"""``cofit bench``: the benchmarks, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from cofit.benchmarks.epoch import EpochResult, measure_epoch
from cofit.benchmarks.exchange import ExchangeResult, measure_exchange
from cofit.benchmarks.functions import FunctionResult, measure_functions
from cofit.benchmarks.kernels import KernelResult, measure_kernels
from cofit.benchmarks.sampling import SamplingResult, measure_sampling
from cofit.benchmarks.share import ShareResult, measure_share
from cofit.sharing import SCHEMES

_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
_ROWS = click.option("--rows", default=1713, show_default=True, type=click.IntRange(min=1), help="Rows of the matrix.")
_COLS = click.option("--cols", default=1874, show_default=True, type=click.IntRange(min=1), help="Its columns.")
_SCHEME = click.option(
    "--scheme", default="rep3", show_default=True, type=click.Choice(sorted(SCHEMES)), help="Secret-sharing scheme."
)


def _repetitions(default: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        "--repetitions", default=default, show_default=True, type=click.IntRange(min=1), help="Medians are over these."
    )


@click.group()
def bench() -> None:
    """Measure this machine: real processes, real TLS on loopback.

    Machines are noisy: compare ratios of one run rather than seconds of two.
    """


@bench.command()
@_ROWS
@_COLS
@click.option("--epochs", default=20, show_default=True, type=click.IntRange(min=1), help="Epochs in a phase.")
@_repetitions(7)
@_SCHEME
@click.option("--ring", "ring_bits", default="64", show_default=True, type=click.Choice(["64", "128"]), help="Z_2^k.")
@click.option("--threads", default=2, show_default=True, type=click.IntRange(min=1), help="Kernel threads a party.")
@_AS_JSON
def epoch(
    rows: int, cols: int, epochs: int, repetitions: int, scheme: str, ring_bits: str, threads: int, as_json: bool
) -> None:
    """The two secure matrix-vector products of a training epoch, against the bare kernels.

    `ratio` is the time of the whole protocol over that of the same kernel calls in as many concurrent processes that
    do not communicate.
    """
    _show(measure_epoch(rows, cols, epochs, repetitions, scheme, int(ring_bits), threads), as_json)


@bench.command()
@click.option("--bytes", "size", default=64, show_default=True, type=click.IntRange(min=0), help="Message size.")
@click.option("--exchanges", default=2000, show_default=True, type=click.IntRange(min=1), help="In a repetition.")
@_repetitions(7)
@_SCHEME
@_AS_JSON
def exchange(size: int, exchanges: int, repetitions: int, scheme: str, as_json: bool) -> None:
    """One exchange of small messages among all parties."""
    _show(measure_exchange(size, exchanges, repetitions, scheme), as_json)


@bench.command()
@_ROWS
@_COLS
@_repetitions(9)
@_SCHEME
@_AS_JSON
def share(rows: int, cols: int, repetitions: int, scheme: str, as_json: bool) -> None:
    """Sharing a matrix from an owner to all parties, against sending it once through one TLS socket."""
    _show(measure_share(rows, cols, repetitions, scheme), as_json)


@bench.command()
@_ROWS
@_COLS
@_repetitions(9)
@_AS_JSON
def kernels(rows: int, cols: int, repetitions: int, as_json: bool) -> None:
    """The fused matrix-vector kernels on every instruction set, against NumPy and against reading the memory."""
    _show(measure_kernels(rows, cols, repetitions), as_json)


@bench.command()
@click.option("--count", default=2000, show_default=True, type=click.IntRange(min=1), help="Elements at once.")
@_repetitions(5)
@_SCHEME
@click.option("--ring", "ring_bits", default="128", show_default=True, type=click.Choice(["64", "128"]), help="Z_2^k.")
@click.option("--fraction-bits", default=52, show_default=True, type=click.IntRange(min=1), help="Fractional bits.")
@_AS_JSON
def functions(count: int, repetitions: int, scheme: str, ring_bits: str, fraction_bits: int, as_json: bool) -> None:
    """The secure functions (logarithm, roots, sine ...) on many elements at once: seconds, rounds, bytes."""
    _show(measure_functions(count, repetitions, scheme, int(ring_bits), fraction_bits), as_json)


@bench.command()
@click.option("--count", default=1874, show_default=True, type=click.IntRange(1, 100_000), help="Coordinates of noise.")
@_repetitions(5)
@_SCHEME
@_AS_JSON
def sampling(count: int, repetitions: int, scheme: str, as_json: bool) -> None:
    """The samplers of secret noise, for as many coordinates as a model has: seconds, rounds, bytes."""
    _show(measure_sampling(count, repetitions, scheme), as_json)


Rows = list[KernelResult] | list[FunctionResult] | list[SamplingResult]


def _show(result: EpochResult | ExchangeResult | ShareResult | Rows, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [asdict(r) for r in result] if isinstance(result, list) else [asdict(result)]
    if as_json:
        click.echo(json.dumps(rows if isinstance(result, list) else rows[0]))
        return
    if isinstance(result, list):
        table = Table(*rows[0])
        for row in rows:
            table.add_row(*(_readable(value) for value in row.values()))
    else:
        table = Table("measure", "value")
        for name, value in rows[0].items():
            table.add_row(name, _readable(value))
    Console().print(table)


def _readable(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
