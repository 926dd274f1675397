"""What ``cofit demo`` tells in full, in a file: the plan in short, accuracies, certificate, openings, traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cofit.cli.demo_data import DemoData
from cofit.cli.plan_table import print_warnings
from cofit.experiments.breast_cancer import CLASSES
from cofit.learn.forecast import forecast
from cofit.learn.plan import Plan
from cofit.models.linear_model import LinearModel
from cofit.privacy.certificate import Certificate
from cofit.report.cost import Cost, PhaseCost
from cofit.report.words import verdict
from cofit.roles import LocalRun
from cofit.roles.local.tables import OwnerTable
from cofit.roles.local.training import TrainingRun
from cofit.secret import Opening
from cofit.sharing import Spec
from cofit.transport import LabelCounts
from cofit.units import duration, size

PHASES = {
    "setup": "share",
    "input": "share",
    "receipt": "share",
    "coin": "check",
    "check": "check",
    "hold": "train",
    "norm": "train",
    "initial": "train",
    "epoch": "train",
    "intercept": "train",
    "noise": "noise",
    "release": "release",
    "open": "release",
    "verify": "release",
}
"""The phase of a run that traffic belongs to, by the first part of its label."""


_COLOURS = {"good": "green", "weak": "yellow", "bad": "red"}


@dataclass(frozen=True)
class Accuracies:
    """Shares of the held-out patients that are classified correctly."""

    private: float
    without_privacy: float
    majority: float
    held_out: int
    same_penalty: bool


def print_introduction(console: Console, spec: Spec, owners: Mapping[str, OwnerTable]) -> None:
    """Print who takes part and with what."""
    console.print("Breast cancer: benign or malignant?", style="bold")
    for name, table in owners.items():
        patients, columns = (0, 0) if table.features is None else table.features.shape
        diagnoses = " and the diagnoses" if table.labels is not None else ""
        console.print(f"  {name}: {patients} patients, {columns} columns{diagnoses}")
    say(console, members_in_words(spec, owners))
    say(
        console,
        "Columns are scaled by fixed public ranges, and values beyond them are clipped. The ranges are not computed "
        "from the data.",
    )


def members_in_words(spec: Spec, owners: Mapping[str, OwnerTable]) -> str:
    """Return who computes, and how they are connected."""
    parties, dealer = spec.parties, " and a dealer" if spec.dealer else ""
    return (
        f"{parties} computing parties{dealer}, scheme {spec.name}. Each of the "
        f"{len(owners) + parties + spec.dealer} is a process of its own; all connections use TLS."
    )


def print_plan_in_short(console: Console, plan: Plan, parties: int) -> None:
    """Print the plan in a few lines."""
    facts, cost = plan.facts, forecast(plan, parties=parties)
    console.print("\nPlan, from public facts alone (cofit plan shows all of it)", style="bold")
    say(
        console,
        f"{facts.rows} patients, {facts.cols} columns and an intercept; recipe '{facts.recipe}', "
        f"{plan.in_words} in {plan.formats.ring.name}.",
    )
    say(console, f"epsilon = {float(facts.epsilon):g}, delta = {float(plan.total_delta):.2g}; {plan.noise_in_words}.")
    say(console, f"Forecast: {cost.total.rounds} rounds, {size(cost.total.bytes)}.")
    print_warnings(console, plan)


def accuracies(plan: Plan, model: LinearModel, data: DemoData) -> Accuracies:
    """Compare with scikit-learn's logistic regression on the same columns, and with the commonest class.

    Its settings are scikit-learn's own; with the paper's method, rows and penalty are those of that method.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - takes a second to import

    rows, others = data.features, data.held_out
    plain = LogisticRegression(max_iter=1000)
    if plan.penalty is not None:
        strength = 1 / (plan.facts.rows * float(plan.penalty))
        plain = LogisticRegression(C=strength, fit_intercept=False, tol=1e-6, max_iter=1000)
        rows, others = plan.comparable_rows(rows), plan.comparable_rows(others)
    plain.fit(rows, data.labels)
    predicted = plain.predict(others)
    commonest = np.bincount(data.labels).argmax()
    truth = np.asarray(CLASSES)[data.held_out_labels]
    return Accuracies(
        private=float((model.predict(data.held_out) == truth).mean()),
        without_privacy=float((predicted == data.held_out_labels).mean()),
        majority=float((data.held_out_labels == commonest).mean()),
        held_out=len(truth),
        same_penalty=plan.penalty is not None,
    )


def print_accuracy(console: Console, result: Accuracies) -> None:
    """Print the three accuracies, and that publishing them is not covered."""
    print_accuracies(console, result)
    say(
        console,
        "The guarantee does not cover these figures: they were computed in the clear, from patients who were not in "
        "the training. In a study, publishing an accuracy on real patients is a release of its own.",
    )


def print_accuracies(console: Console, result: Accuracies) -> None:
    """Print the three accuracies."""
    console.print(f"\nAccuracy on {result.held_out} patients who were held out", style="bold")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("  the released model", f"{result.private:.1%}")
    same = ", same rows and penalty" if result.same_penalty else ""
    table.add_row(f"  scikit-learn without privacy{same}", f"{result.without_privacy:.1%}")
    table.add_row("  always the more common class", f"{result.majority:.1%}")
    console.print(table)


def print_certificate(console: Console, certificate: Certificate) -> None:
    """Print the whole text, with the headline highlighted."""
    headline, _, rest = certificate.to_text().partition("\n\n")
    console.print("\nCertificate", style="bold")
    console.print(Text(headline, style=headline_style(certificate)), soft_wrap=True)
    console.print(Text(f"\n{rest}"), soft_wrap=True)


def headline_style(certificate: Certificate) -> str:
    """Return the colour of a headline: that of its box in the report."""
    return f"bold {_COLOURS[verdict(certificate).tone]}"


def print_openings(console: Console, openings: Sequence[Opening]) -> None:
    """Print the audit log."""
    table = Table("no.", "why", "shape", "learned by")
    for opening in openings:
        table.add_row(str(opening.number), opening.reason, str(opening.shape), ", ".join(opening.learned_by))
    console.print("\nAudit log: everything that was opened", style="bold")
    console.print(table)


def print_traffic(console: Console, run: LocalRun[Any]) -> None:
    """Print rounds, bytes and time of each phase."""
    table = Table("phase", "rounds", "sent", "time")
    for phase, counts in traffic_by_phase(run).items():
        table.add_row(phase, f"{counts.rounds:,}", size(counts.bytes_sent), duration(run.seconds.get(phase)))
    console.print("\nTraffic by phase: rounds of a party, bytes sent by all", style="bold")
    console.print(table)


def traffic_by_phase(run: LocalRun[Any]) -> dict[str, LabelCounts]:
    """Return for each phase the rounds of the party that waits most, and the bytes sent by everybody."""
    phases: dict[str, LabelCounts] = {phase: LabelCounts() for phase in dict.fromkeys(PHASES.values())}
    for member, counts in run.traffic.items():
        own = dict.fromkeys(phases, LabelCounts())
        for label, count in counts.items():
            own[PHASES[label.split("/")[0]]] += count
        for phase, count in own.items():
            so_far = phases[phase]
            rounds = max(so_far.rounds, count.rounds) if member in run.results else so_far.rounds
            phases[phase] = LabelCounts(rounds=rounds, bytes_sent=so_far.bytes_sent + count.bytes_sent)
    return phases


def measured_cost(run: TrainingRun) -> Cost:
    """Return what the run cost, for the file beside the model."""
    certificate, local = run.certificate, run.run
    phases = [
        PhaseCost(phase, counts.rounds, counts.bytes_sent, local.seconds.get(phase))
        for phase, counts in traffic_by_phase(local).items()
    ]
    members = tuple(local.traffic)
    return Cost(certificate.plan_hash, certificate.created, certificate.scheme, members, tuple(phases))


def say(console: Console, text: str, style: str = "") -> None:
    """Print a paragraph, indented."""
    console.print(Padding(Text(text, style=style), (0, 0, 0, 2)))
