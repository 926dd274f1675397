"""``cofit demo``: a small joint computation, with owners and parties as real processes over TLS."""

from __future__ import annotations

import time

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from cofit.errors import CofitError
from cofit.roles import Contribution, LocalRun, run_local
from cofit.secret import Party
from cofit.sharing import SCHEMES

_PATIENTS = {"hospital-a": 831, "hospital-b": 882}
_LAB_VALUES = 12
_TOLERANCE = 1e-3


def joint_statistics(party: Party) -> dict[str, list[float]]:
    """The party program: joint sums of both hospitals' columns, and hospital-a's rows times hospital-b's weights."""
    a = party.input("hospital-a", "labs")
    b = party.input("hospital-b", "labs")
    weights = party.input("hospital-b", "weights")
    with party.label("sums"):
        sums = party.open(a.sum(axis=0) + b.sum(axis=0), reason="joint column sums, agreed by both hospitals")
    with party.label("scores"):
        scores = a @ weights
        mean = party.open(scores.mean(), reason="mean score, agreed by both hospitals")
    return {"sums": sums.tolist(), "mean_score": [float(mean)]}


@click.command()
@click.option(
    "--scheme", default="rep3", show_default=True, type=click.Choice(sorted(SCHEMES)), help="Secret-sharing scheme."
)
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the made-up laboratory values."
)
def demo(scheme: str, seed: int) -> None:
    """Two hospitals, three computing parties, each a process of its own, connected by mutual TLS on this machine.

    The hospitals secret-share made-up laboratory values. The parties add up the columns of both, and multiply
    hospital-a's rows by weights that only hospital-b knows. They open the sums and a mean score, and see nothing else.
    The result is compared with the same computation in the clear.
    """
    console = Console()
    rng = np.random.default_rng(seed)
    labs = {name: rng.uniform(0, 1, (rows, _LAB_VALUES)) for name, rows in _PATIENTS.items()}
    weights = rng.uniform(-1, 1, _LAB_VALUES)
    owners = {name: {"labs": Contribution(values, bound=1.0)} for name, values in labs.items()}
    owners["hospital-b"]["weights"] = Contribution(weights, bound=1.0)
    console.print(
        f"Starting {len(owners)} owners and the computing parties of scheme [bold]{scheme}[/] as processes ..."
    )
    start = time.perf_counter()
    run = run_local(joint_statistics, scheme=scheme, owners=owners, processes=True)
    seconds = time.perf_counter() - start
    expected = {
        "sums": sum(values.sum(axis=0) for values in labs.values()),
        "mean_score": [(labs["hospital-a"] @ weights).mean()],
    }
    _report(console, run, expected)
    console.print(f"Done in {seconds:.1f} s. Every party got the same result; it agrees with the clear up to rounding.")


def _report(console: Console, run: LocalRun[dict[str, list[float]]], expected: dict[str, object]) -> None:
    results = list(run.results.values())
    if any(result != results[0] for result in results):
        raise CofitError("The parties opened different values. This is a bug; please report it.")
    table = Table("result", "secure", "in the clear", "difference", title="What was opened")
    for name, values in results[0].items():
        plain = np.asarray(expected[name], dtype=np.float64)
        for i, (got, want) in enumerate(zip(values, plain, strict=True)):
            if abs(got - want) > _TOLERANCE:
                raise CofitError(f"'{name}' differs from the computation in the clear by {abs(got - want):g}.")
            table.add_row(f"{name}[{i}]", f"{got:.6f}", f"{want:.6f}", f"{abs(got - want):.1e}")
    console.print(table)
    traffic = Table("member", "label", "rounds", "messages sent", "bytes sent", title="What went over the wire")
    for member, counts in run.traffic.items():
        for label, count in counts.items():
            row = (label, str(count.rounds), str(count.messages_sent), f"{count.bytes_sent:,}")
            traffic.add_row(member, *row)
    console.print(traffic)
    audit = Table("no.", "why", "shape", "learned by", title="Audit log: every value that was opened")
    for opening in run.openings:
        audit.add_row(str(opening.number), opening.reason, str(opening.shape), ", ".join(opening.learned_by))
    console.print(audit)
