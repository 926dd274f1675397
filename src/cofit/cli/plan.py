"""``cofit plan``: everything that follows from the public facts of a study, before any data is touched."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console

from cofit.cli.plan_table import print_plan
from cofit.learn.facts import DEFAULT_NORM_FLOOR, PARTITIONS, SOLVERS, training_facts
from cofit.learn.forecast import forecast
from cofit.learn.losses import LOSSES
from cofit.learn.plan import plan_training
from cofit.privacy.mechanisms import MECHANISMS
from cofit.privacy.objective import SENSITIVITIES
from cofit.sharing import SCHEMES


def epochs_of(_context: click.Context, _parameter: click.Parameter, value: str) -> int | str:
    """Return a number of epochs, or 'auto'."""
    if value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number of epochs nor 'auto'.") from None


@click.command()
@click.option("--rows", required=True, type=int, help="Records of all owners together.")
@click.option("--cols", required=True, type=int, help="Features, without the intercept.")
@click.option(
    "--partition",
    default="horizontal",
    show_default=True,
    type=click.Choice(PARTITIONS),
    help="Owners hold rows (horizontal) or columns (vertical).",
)
@click.option("--loss", default="logistic", show_default=True, type=click.Choice(sorted(LOSSES)), help="Of the model.")
@click.option("--l2", default=1.0, show_default=True, type=float, help="The penalty Lambda of the mean loss.")
@click.option("--epsilon", default=1.0, show_default=True, type=float, help="Of differential privacy.")
@click.option("--delta", default=0.0, show_default=True, type=float, help="Of differential privacy.")
@click.option(
    "--mechanism",
    type=click.Choice(MECHANISMS),
    help="Of the noise.  [default: knorm without delta, gaussian with it]",
)
@click.option(
    "--sensitivity",
    default="tight",
    show_default=True,
    type=click.Choice(SENSITIVITIES),
    help="Bound of a record's gradient: the smallest proven one, or the paper's.",
)
@click.option(
    "--scheme", default="rep3", show_default=True, type=click.Choice(sorted(SCHEMES)), help="Secret-sharing scheme."
)
@click.option(
    "--epochs",
    default="auto",
    show_default=True,
    callback=epochs_of,
    metavar="N|auto",
    help="How many; auto: until what is left is far below the noise.",
)
@click.option("--solver", default="auto", show_default=True, type=click.Choice(SOLVERS), help="Optimisation method.")
@click.option("--learning-rate", type=float, help="Train as the paper does, with this step, instead of a proven step.")
@click.option("--momentum", default=0.0, show_default=True, type=float, help="The paper's momentum; nothing is proven.")
@click.option(
    "--initial",
    default="zeros",
    show_default=True,
    type=click.Choice(["zeros", "glorot"]),
    help="First weights; glorot is the paper's.",
)
@click.option(
    "--intercept/--no-intercept", "fit_intercept", default=True, show_default=True, help="Learn an intercept, or not."
)
@click.option(
    "--intercept-scaling", default=1.0, show_default=True, type=float, help="The constant feature of the intercept."
)
@click.option(
    "--normalised-by",
    type=click.Choice(["owners", "parties"]),
    help="Who scales the rows.  [default: owners if horizontal, parties if vertical]",
)
@click.option(
    "--feature-bound", default=1.0, show_default=True, type=float, help="Largest magnitude, if the parties normalise."
)
@click.option(
    "--norm-floor",
    default=float(DEFAULT_NORM_FLOOR),
    show_default=True,
    type=float,
    help="If the parties normalise: rows shorter than this, relative to the bound, are not stretched to length 1.",
)
@click.option(
    "--tolerance", default=1e-3, show_default=True, type=float, help="What auto epochs may leave out of the minimiser."
)
@click.option(
    "--allow-unproven", is_flag=True, help="Plan even where no privacy is proven; the certificate says so first."
)
@click.option("--owners", default=2, show_default=True, type=int, help="Forecast: owners, with equal parts each.")
@click.option(
    "--latency", default=1e-4, show_default=True, type=float, help="Forecast: seconds until a small message arrives."
)
@click.option(
    "--bandwidth", default=1e9, show_default=True, type=float, help="Forecast: bytes a second, of all members together."
)
@click.option(
    "--processors", default=2, show_default=True, type=int, help="Forecast: cores that the parties have, all together."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def plan(
    rows: int,
    cols: int,
    owners: int,
    latency: float,
    bandwidth: float,
    processors: int,
    as_json: bool,
    **facts: Any,
) -> None:
    """Plan a training run: what it proves, what noise it needs, what it costs, before any data is touched.

    All participants compute the same plan from the same public facts. What cannot be done safely is refused, with the
    reason and the remedy.

    \b
    Is epsilon = 1 enough for 1713 records with 50 features? (Look at "noise against signal".)
        cofit plan --rows 1713 --cols 50 --epsilon 1
    Two hospitals hold different columns of the same patients, and accept a delta:
        cofit plan --rows 20000 --cols 300 --partition vertical --delta 1e-6 --l2 0.1
    """
    planned = plan_training(training_facts(rows, cols, **facts))
    cost = forecast(planned, owners=owners, latency=latency, bandwidth=bandwidth, processors=processors)
    if as_json:
        click.echo(json.dumps({**planned.to_dict(), "hash": planned.hash, "forecast": cost.to_dict()}))
        return
    print_plan(Console(), planned, cost)
