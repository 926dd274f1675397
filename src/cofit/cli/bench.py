"""``cofit bench``: the benchmarks, for people and as JSON."""

from __future__ import annotations

import click

from cofit.benchmarks.epoch import measure_epoch
from cofit.benchmarks.exchange import measure_exchange
from cofit.benchmarks.functions import measure_functions
from cofit.benchmarks.kernels import measure_kernels
from cofit.benchmarks.lines import measure_lines_cost
from cofit.benchmarks.predict import measure_predict
from cofit.benchmarks.rlwe import measure_rlwe
from cofit.benchmarks.sampling import measure_sampling
from cofit.benchmarks.schemes import measure_schemes
from cofit.benchmarks.share import measure_share
from cofit.cli.bench_scale import scale
from cofit.cli.bench_train import train
from cofit.cli.scheme_options import scheme_option
from cofit.cli.setting_options import epochs_of
from cofit.cli.show import as_json_option, cols_option, repetitions_option, rows_option, show_result
from cofit.cli.suggesting import SuggestingGroup
from cofit.learn.facts import PARTITIONS


@click.group(cls=SuggestingGroup)
def bench() -> None:
    """Measure this machine: real processes, real TLS on loopback.

    Machines are noisy: compare ratios of one run rather than seconds of two.
    """


@bench.command()
@rows_option
@cols_option
@click.option("--epochs", default=20, show_default=True, type=click.IntRange(min=1), help="Epochs in a phase.")
@repetitions_option(7)
@scheme_option
@click.option("--ring", "ring_bits", default="64", show_default=True, type=click.Choice(["64", "128"]), help="Z_2^k.")
@click.option("--threads", default=2, show_default=True, type=click.IntRange(min=1), help="Kernel threads per party.")
@as_json_option
def epoch(
    rows: int, cols: int, epochs: int, repetitions: int, scheme: str, ring_bits: str, threads: int, as_json: bool
) -> None:
    """The two secure matrix-vector products of a training epoch, against the bare kernels.

    `ratio` is the time of the whole protocol over that of products of all parts of the shares in as many concurrent
    processes that do not communicate (`rep3` itself needs five sixths of them).
    """
    show_result(measure_epoch(rows, cols, epochs, repetitions, scheme, int(ring_bits), threads), as_json)


@bench.command()
@rows_option
@cols_option
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1, 1024), help="Kernel threads per party.")
@repetitions_option(7)
@as_json_option
def lines(rows: int, cols: int, threads: int, repetitions: int, as_json: bool) -> None:
    """What it costs that a broken connection ends no session, where none breaks.

    The same training runs and exchanges over a mesh with lines, as in a study, and over one without, as in a local run,
    in turns. Ratios: with lines over without.

    Example:  cofit bench lines --rows 500 --cols 100
    """
    show_result(measure_lines_cost(rows, cols, repetitions, threads), as_json)


@bench.command()
@click.option("--bytes", "size", default=64, show_default=True, type=click.IntRange(min=0), help="Message size.")
@click.option("--exchanges", default=2000, show_default=True, type=click.IntRange(min=1), help="In a repetition.")
@repetitions_option(7)
@scheme_option
@as_json_option
def exchange(size: int, exchanges: int, repetitions: int, scheme: str, as_json: bool) -> None:
    """One exchange of small messages among all parties, against a ring of bare TLS sockets."""
    show_result(measure_exchange(size, exchanges, repetitions, scheme), as_json)


@bench.command()
@rows_option
@cols_option
@repetitions_option(9)
@scheme_option
@as_json_option
def share(rows: int, cols: int, repetitions: int, scheme: str, as_json: bool) -> None:
    """Sharing a matrix from an owner to all parties, against sending it once through one TLS socket."""
    show_result(measure_share(rows, cols, repetitions, scheme), as_json)


@bench.command()
@click.option("--rows", default=10_000, show_default=True, type=click.IntRange(min=1), help="Rows of the client.")
@cols_option
@click.option(
    "--answers",
    default="probabilities",
    show_default=True,
    type=click.Choice(["scores", "probabilities", "classes"]),
    help="What is answered.",
)
@repetitions_option(3)
@scheme_option
@as_json_option
def predict(rows: int, cols: int, answers: str, repetitions: int, scheme: str, as_json: bool) -> None:
    """Private predictions with shared weights, from a client's rows to masked answers, against the bare kernels.

    All members are processes over TLS. Not measured: what the parties of a study write to disk.

    Example:  cofit bench predict --rows 2000 --cols 100
    """
    show_result(measure_predict(rows, cols, repetitions, scheme, answers), as_json)


@bench.command()
@rows_option
@cols_option
@repetitions_option(9)
@as_json_option
def kernels(rows: int, cols: int, repetitions: int, as_json: bool) -> None:
    """The fused kernels on every instruction set, against NumPy and against reading the memory."""
    show_result(measure_kernels(rows, cols, repetitions), as_json)


@bench.command()
@rows_option
@cols_option
@click.option("--columns", default=20, show_default=True, type=click.IntRange(min=1), help="Masks for each product.")
@repetitions_option(3)
@click.option("--ring", "ring_bits", default="64", show_default=True, type=click.Choice(["64", "128"]), help="Z_2^k.")
@as_json_option
def rlwe(rows: int, cols: int, columns: int, repetitions: int, ring_bits: str, as_json: bool) -> None:
    """Products of a matrix with masks by RLWE encryption, as two parties without a dealer make them."""
    show_result(measure_rlwe(rows, cols, columns, repetitions, int(ring_bits)), as_json)


@bench.command()
@click.option("--count", default=2000, show_default=True, type=click.IntRange(min=1), help="Elements at once.")
@repetitions_option(5)
@scheme_option
@click.option("--ring", "ring_bits", default="128", show_default=True, type=click.Choice(["64", "128"]), help="Z_2^k.")
@click.option("--fraction-bits", default=52, show_default=True, type=click.IntRange(min=1), help="Fractional bits.")
@as_json_option
def functions(count: int, repetitions: int, scheme: str, ring_bits: str, fraction_bits: int, as_json: bool) -> None:
    """The secure functions (logarithm, roots, sine ...) on many elements at once: seconds, rounds, bytes."""
    show_result(measure_functions(count, repetitions, scheme, int(ring_bits), fraction_bits), as_json)


@bench.command()
@click.option("--count", default=1874, show_default=True, type=click.IntRange(1, 100_000), help="Coordinates of noise.")
@repetitions_option(5)
@scheme_option
@as_json_option
def sampling(count: int, repetitions: int, scheme: str, as_json: bool) -> None:
    """The samplers of secret noise, for as many coordinates as a model has: seconds, rounds, bytes, and the ANDs and
    bytes of a draw."""
    show_result(measure_sampling(count, repetitions, scheme), as_json)


@bench.command()
@rows_option
@cols_option
@click.option(
    "--partition", default="horizontal", show_default=True, type=click.Choice(PARTITIONS), help="What owners hold."
)
@click.option(
    "--epochs", default="auto", show_default=True, callback=epochs_of, metavar="N|auto", help="Epochs of training."
)
@click.option("--threads", default=2, show_default=True, type=click.IntRange(1, 1024), help="Kernel threads per party.")
@repetitions_option(3)
@click.option(
    "--parties",
    type=click.IntRange(min=2),
    help="Only schemes that run with so many parties, and rep3.  [default: all, each with as many as is usual]",
)
@as_json_option
def schemes(
    rows: int,
    cols: int,
    partition: str,
    epochs: int | str,
    threads: int,
    repetitions: int,
    parties: int | None,
    as_json: bool,
) -> None:
    """Whole training runs under every scheme that keeps secrets, in turns, with the ratio to `rep3`."""
    show_result(measure_schemes(rows, cols, partition, epochs, threads, repetitions, parties), as_json)


bench.add_command(train)
bench.add_command(scale)
