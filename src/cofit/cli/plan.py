"""``cofit plan``: everything that follows from the public facts of a study, before any data is touched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from cofit.cli.plan_table import print_plan
from cofit.learn.facts import DEFAULT_NORM_FLOOR, PARTITIONS, RECIPES, SOLVERS, training_facts
from cofit.learn.forecast import LOCAL_LATENCY, forecast
from cofit.learn.losses import LOSSES
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.shares import SHARED
from cofit.privacy.mechanisms import MECHANISMS
from cofit.privacy.objective import SENSITIVITIES
from cofit.sharing import SCHEMES


def epochs_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | str | None:
    """Return a number of epochs, or 'auto'."""
    if value is None or value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number of epochs nor 'auto'.") from None


def shares_of(_context: click.Context, _parameter: click.Parameter, value: Sequence[str]) -> dict[str, float] | None:
    """Return shares by name, or None where there are none."""
    shares: dict[str, float] = {}
    for text in value:
        name, equals, number = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not NAME=SHARE, as in {SHARED[0]}=0.02.")
        if name not in SHARED:
            raise click.BadParameter(
                f"{name!r} has no share to set: there are {', '.join(SHARED)}, and the steps have what is left."
            )
        if name in shares:
            raise click.BadParameter(f"The share of {name!r} was given twice.")
        try:
            shares[name] = float(number)
        except ValueError:
            raise click.BadParameter(f"{number!r} is not a number: write {name}=0.02 for 2 %.") from None
    return shares or None


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
@click.option(
    "--recipe",
    default="best",
    show_default=True,
    type=click.Choice(RECIPES),
    help="best: noisy descent, the most accurate known. paper: the paper's method; the options of it say so.",
)
@click.option("--loss", default="logistic", show_default=True, type=click.Choice(sorted(LOSSES)), help="Of the model.")
@click.option("--l2", type=float, help="Paper: the penalty Lambda of the mean loss.  [default: 1]")
@click.option("--epsilon", default=1.0, show_default=True, type=float, help="Of differential privacy.")
@click.option("--delta", type=float, help="Of differential privacy.  [default: 1e-6 with best, 0 with paper]")
@click.option(
    "--mechanism",
    type=click.Choice(list(MECHANISMS)),
    help="Paper: of the noise.  [default: knorm without delta, gaussian with it]",
)
@click.option(
    "--sensitivity",
    type=click.Choice(SENSITIVITIES),
    help="Paper: bound of a record's gradient, the smallest proven one or the paper's.  [default: tight]",
)
@click.option(
    "--scheme", default="rep3", show_default=True, type=click.Choice(sorted(SCHEMES)), help="Secret-sharing scheme."
)
@click.option(
    "--epochs",
    callback=epochs_of,
    metavar="N|auto",
    help="Paper: how many; auto: until what is left is far below the noise.  [default: auto]",
)
@click.option("--solver", type=click.Choice(SOLVERS), help="Paper: optimisation method.  [default: auto]")
@click.option("--learning-rate", type=float, help="Paper: train with this step, instead of a proven step.")
@click.option("--momentum", type=float, help="Paper: its momentum; nothing is proven.  [default: 0]")
@click.option(
    "--initial",
    type=click.Choice(["zeros", "glorot"]),
    help="Paper: first weights; glorot is the paper's.  [default: zeros]",
)
@click.option(
    "--intercept/--no-intercept", "fit_intercept", default=True, show_default=True, help="Learn an intercept, or not."
)
@click.option("--intercept-scaling", type=float, help="Paper: the constant feature of the intercept.  [default: 1]")
@click.option(
    "--normalised-by",
    type=click.Choice(["owners", "parties"]),
    help="Who scales the rows.  [default: as the plan finds best; the parties if vertical]",
)
@click.option("--feature-bound", type=float, help="Agreed range: no feature is larger in magnitude.  [default: none]")
@click.option(
    "--feature-lower", type=float, help="Agreed range: no row's mean is below this.  [default: minus the bound]"
)
@click.option(
    "--calibrate-intercept", is_flag=True, help="Best: three more noisy steps for the intercept, for 5 % of the budget."
)
@click.option(
    "--share",
    "budget_shares",
    multiple=True,
    metavar="NAME=SHARE",
    callback=shares_of,
    help=f"Best: what part of the budget a release gets, of {', '.join(SHARED)}; 0: none. Repeat it for several. "
    "[default: as the recipe finds best]",
)
@click.option("--row-nonzeros", type=int, help="About how many values of a row are not 0; for delta = 0.")
@click.option(
    "--norm-floor",
    default=float(DEFAULT_NORM_FLOOR),
    show_default=True,
    type=float,
    help="If the parties normalise: rows shorter than this, relative to the bound, are not stretched to length 1.",
)
@click.option(
    "--clip-rows/--no-clip-rows",
    default=None,
    help="Best: centre, stretch and clip rows by private means, spreads and radius, so that it matters little how the "
    "columns are scaled.  [default: where there are few columns and many rows for it]",
)
@click.option(
    "--tolerance", type=float, help="Paper: what auto epochs may leave out of the minimiser.  [default: 0.001]"
)
@click.option(
    "--allow-unproven",
    is_flag=True,
    default=None,
    help="Paper: plan even where no privacy is proven; the certificate says so first.",
)
@click.option("--owners", default=2, show_default=True, type=int, help="Forecast: owners, with equal parts each.")
@click.option(
    "--latency",
    default=LOCAL_LATENCY,
    show_default=True,
    type=float,
    help="Forecast: seconds until a small message arrives.",
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
    What does epsilon = 1 mean for 1713 records with 50 features, all from 0 to 1?
        cofit plan --rows 1713 --cols 50 --epsilon 1 --feature-bound 1 --feature-lower 0
    Two hospitals hold different columns of the same patients:
        cofit plan --rows 20000 --cols 300 --partition vertical --delta 1e-7
    The paper's method, honestly calibrated:
        cofit plan --rows 1713 --cols 1874 --recipe paper --l2 1

    Exit codes: 0 there is a plan, 2 wrong usage, or facts for which nothing can be proven.
    """
    planned = plan_training(training_facts(rows, cols, **facts))
    cost = forecast(planned, owners=owners, latency=latency, bandwidth=bandwidth, processors=processors)
    if as_json:
        click.echo(json.dumps({**planned.to_dict(), "hash": planned.hash, "forecast": cost.to_dict()}))
        return
    print_plan(Console(), planned, cost)
