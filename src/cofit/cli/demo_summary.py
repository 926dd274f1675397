"""What ``cofit demo`` prints: what happened, how good the model is, who learned what, where the rest is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from cofit.cli.demo_report import Accuracies, headline_style, members_in_words, print_accuracies, say
from cofit.cli.plan_table import print_warnings
from cofit.learn.plan import Plan
from cofit.privacy.certificate import Certificate
from cofit.report.cost import Cost
from cofit.roles.local.tables import OwnerTable
from cofit.units import duration, size


def print_summary(
    console: Console, plan: Plan, owners: Mapping[str, OwnerTable], result: Accuracies, model: Certificate, cost: Cost
) -> None:
    """Print at most 40 lines of 80 columns, with where the files are."""
    facts, total = plan.facts, cost.total
    console.print("Two hospitals have trained one private model: is a breast tumour malignant?", style="bold")
    held = ", ".join(f"{name} ({_size_of(table)})" for name, table in owners.items())
    say(console, f"{held}. {members_in_words(model.spec, owners)}")
    say(
        console,
        f"{facts.rows} patients, {facts.cols} columns, recipe '{facts.recipe}': {plan.in_words}, at epsilon = "
        f"{float(facts.epsilon):g}, delta = {float(plan.total_delta):.2g}. All sent {size(total.bytes)} in "
        f"{total.rounds:,} rounds and {duration(total.seconds)}.",
    )
    print_warnings(console, plan)
    print_accuracies(console, result)
    say(console, "Computed in the clear: the guarantee does not cover these figures.")
    console.print("\nThe certificate begins", style="bold")
    say(console, model.headline, headline_style(model))
    console.print("\nWho learned what", style="bold")
    for who, facts_learned in model.learned.items():
        if who != "public":
            say(console, f"{who}: {'; '.join(facts_learned)}")
    say(console, f"Nothing else was opened: {len(model.openings)} opening{'s' * (len(model.openings) != 1)} in all.")


def print_places(console: Console, out: Path, page: str, report: str) -> None:
    """Print where everything is."""
    console.print("\nRead on", style="bold")
    console.print(f"  {out / page}: all of it on one page, for a browser or on paper", soft_wrap=True)
    console.print(f"  {out / report}: the plan, the whole certificate, audit log, traffic", soft_wrap=True)


def _size_of(table: OwnerTable) -> str:
    patients, columns = (0, 0) if table.features is None else table.features.shape
    diagnoses = " and the diagnoses" if table.labels is not None else ""
    return f"{patients} patients, {columns} columns{diagnoses}"
