"""``cofit plan``: everything that follows from the public facts of a study, before any data is touched."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import click
from rich.console import Console

from cofit.benchmarks.this_machine import pace_of_this_machine
from cofit.cli.numbers import REAL, WHOLE
from cofit.cli.plan_table import print_plan
from cofit.cli.scheme_options import check_form, dealer_option, parties_option, without_dealer
from cofit.cli.setting_options import setting_options
from cofit.errors import parameter_error
from cofit.learn.checked import OWNER
from cofit.learn.facts import PARTITIONS, training_facts
from cofit.learn.forecast import DEFAULT_CORES, LOCAL_LATENCY, forecast
from cofit.learn.losses import LOSSES
from cofit.learn.memory_check import check_plan_memory
from cofit.learn.reference_machine import REFERENCE
from cofit.learn.route import routed_plan
from cofit.units import MEGABIT_BYTES


@click.command()
@click.option("--rows", required=True, type=WHOLE, help="Records of all owners together.")
@click.option("--cols", required=True, type=WHOLE, help="Features, without the intercept.")
@click.option(
    "--partition",
    default="horizontal",
    show_default=True,
    type=click.Choice(PARTITIONS),
    help="Owners hold rows (horizontal) or columns (vertical).",
)
@click.option(
    "--loss", default="logistic", show_default=True, type=click.Choice(sorted(LOSSES)), help="Loss of the model."
)
@click.option(
    "--classes",
    default=2,
    show_default=True,
    type=WHOLE,
    help="Classes of the label, agreed on and not counted in the data; more than two with recipe best.",
)
@click.option("--largest-count", type=WHOLE, help="With the loss poisson: what no count exceeds, agreed on beforehand.")
@setting_options
@click.option(
    "--shards",
    type=WHOLE,
    help="Best: among how many shards every party divides its rows, each a process that may use --memory.  "
    "[default: a party is one process]",
)
@dealer_option
@parties_option
@click.option("--owners", default=2, show_default=True, type=WHOLE, help="Forecast: owners, with equal parts each.")
@click.option(
    "--latency",
    type=REAL,
    help="Seconds until a small message arrives; it chooses how products travel, where the scheme has two ways.  "
    f"[default: {LOCAL_LATENCY:g}, and the usual way]",
)
@click.option(
    "--bandwidth",
    default=1e9,
    show_default=True,
    type=REAL,
    help="Forecast: bytes per second, of all members together.",
)
@click.option(
    "--line",
    type=REAL,
    help="Forecast: megabits a second that each party can send, instead of --bandwidth; such as 20.",
)
@click.option(
    "--processors",
    default=2,
    show_default=True,
    type=WHOLE,
    help="Forecast: cores that the parties have, all together.",
)
@click.option(
    "--workers",
    type=WHOLE,
    help="Forecast with --shards: machines that each party has for its shards, beside that of its head, with --cores "
    "and a --line each.  [default: everything is on one machine]",
)
@click.option("--cores", type=WHOLE, help="Forecast with --workers: cores of each machine.  [default: 2]")
@click.option(
    "--here",
    is_flag=True,
    help="Forecast: seconds for machines as quick as this one, which takes half a second to find out, instead of the "
    "reference machine.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def plan(
    rows: int,
    cols: int,
    dealer: str | None,
    parties: int | None,
    owners: int,
    latency: float | None,
    bandwidth: float,
    line: float | None,
    processors: int,
    workers: int | None,
    cores: int | None,
    here: bool,
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
    Two hospitals that compute themselves, with nobody else:
        cofit plan --rows 20000 --cols 300 --scheme pair --latency 0.02
    Five parties in five cities:
        cofit plan --rows 20000 --cols 300 --scheme shamir --parties 5 --latency 0.02
    Three hospitals with lines of 20 Mb/s, 50 ms there and back:
        cofit plan --rows 2000 --cols 8 --latency 0.025 --line 20
    More data than the memory of a party:
        cofit plan --rows 1000000 --cols 100 --memory 1GB
    More rows than one machine should hold, on 100 machines of each party:
        cofit plan --rows 100000000 --cols 1000 --shards 100 --workers 100 --cores 4 --line 10000
    The paper's method, honestly calibrated:
        cofit plan --rows 1713 --cols 1874 --recipe paper --l2 1

    Exit codes: 0 there is a plan, 2 wrong usage, or facts for which nothing can be proven.
    """
    if workers is None and cores is not None:
        raise parameter_error("--cores", "a forecast", "left out without --workers: there is --processors", cores)
    if line is not None and not line > 0:
        raise parameter_error("--line", "a forecast", "a number of megabits a second, above 0", line)
    facts["scheme"] = without_dealer(facts["scheme"], dealer)
    facts["pure_steps"] = facts["pure_steps"] is not False
    check_form(facts["scheme"], parties, facts["threshold"])
    planned = routed_plan(training_facts(rows, cols, **facts).among(parties), latency, owners=owners, parties=parties)
    cost_of = partial(
        forecast,
        owners=owners,
        parties=parties,
        latency=LOCAL_LATENCY if latency is None else latency,
        bandwidth=bandwidth,
        line=None if line is None else line * MEGABIT_BYTES,
        processors=processors,
        workers=workers,
        cores=DEFAULT_CORES if cores is None else cores,
        pace=pace_of_this_machine() if here else REFERENCE,
    )
    cost = cost_of(planned)
    check_plan_memory(planned, cost_of, "memory", OWNER)
    if as_json:
        click.echo(json.dumps({**planned.to_dict(), "hash": planned.hash, "forecast": cost.to_dict()}))
        return
    print_plan(Console(), planned, cost)
