"""A plan for people: sections of facts, each with its value and what it means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cofit.learn.forecast import Forecast, Phase
from cofit.learn.plan import Plan

_BITS = {
    "data": "the shared features",
    "weights": "the weights",
    "argument": "z = <w, x>",
    "scaled": "the residuals that meet X^T",
    "inverse_norm": "v = 1 / ||x||, computed by the parties",
    "product": "X w before it is multiplied by v",
}
_TAU_PARTS = {
    "iterations": "epochs left out",
    "arithmetic": "sigmoid, truncations, public constants; worst case",
    "encoding": "rounding of the data and the norms",
}


@dataclass(frozen=True)
class Row:
    """One fact of a plan."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Section:
    """Facts that belong together, under a title."""

    title: str
    rows: tuple[Row, ...]


def plan_sections(plan: Plan, cost: Forecast) -> list[Section]:
    """Return the whole plan, section by section."""
    return [
        _data(plan),
        _privacy(plan),
        _objective(plan),
        _tau(plan),
        _solver(plan),
        _formats(plan),
        _noise(plan),
        _cost(cost),
    ]


def print_plan(console: Console, plan: Plan, cost: Forecast) -> None:
    """Print all sections, and the warnings below."""
    console.print("Plan: what follows from public facts alone", style="bold")
    for section in plan_sections(plan, cost):
        print_section(console, section)
    console.print()
    print_warnings(console, plan)
    console.print(f"Plan hash: {plan.hash}", soft_wrap=True)


def print_section(console: Console, section: Section) -> None:
    """Print a title and the facts below it."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(width=22)
    table.add_column(min_width=12)
    table.add_column()
    for row in section.rows:
        table.add_row(f"  {row.name}", row.value, Text(row.note, style="dim"))
    console.print(f"\n{section.title}", style="bold")
    console.print(table)


def print_warnings(console: Console, plan: Plan) -> None:
    """Print the plan's warnings, one a paragraph."""
    for warning in plan.warnings:
        console.print(Text.assemble(("Warning: ", "bold yellow"), f"{warning}."))


def _data(plan: Plan) -> Section:
    facts = plan.facts
    by = (
        "each owner scales its rows to length 1"
        if facts.normalised_by == "owners"
        else f"on shares; values are at most {_number(facts.feature_bound)} in magnitude"
    )
    rows = [
        Row("rows", f"{facts.rows:,}", "records of all owners together"),
        Row("columns", f"{facts.cols:,}", "features, without the intercept"),
        Row(
            "intercept",
            f"yes, {_number(facts.intercept_scaling)}" if facts.fit_intercept else "no",
            "a constant feature inside the norm and the penalty" if facts.fit_intercept else "",
        ),
        Row("partition", facts.partition, "owners hold " + ("rows" if facts.partition == "horizontal" else "columns")),
        Row("normalised by", facts.normalised_by, by),
    ]
    if plan.geometry.floor is not None:
        rows.append(Row("norm floor", _number(plan.geometry.floor), "shorter rows are not stretched to length 1"))
    return Section("Data", tuple(rows))


def _privacy(plan: Plan) -> Section:
    mechanism = plan.mechanism
    return Section(
        "Privacy",
        (
            Row("guarantee", "proven" if plan.proven else "NOT PROVEN", "neighbours: one record replaced"),
            Row("epsilon", _number(mechanism.epsilon)),
            Row("delta asked", _number(mechanism.delta)),
            Row("delta in total", _number(mechanism.total_delta), "with the imperfection of the noise's sampler"),
            Row("mechanism", mechanism.name, "pure epsilon" if mechanism.pure else "epsilon and delta"),
            Row("scheme", plan.facts.scheme, "secret sharing among the computing parties"),
        ),
    )


def _objective(plan: Plan) -> Section:
    facts, objective = plan.facts, plan.objective
    return Section(
        "Objective and sensitivity",
        (
            Row("loss", facts.loss, plan.loss.title),
            Row("penalty l2", _number(facts.l2), "Lambda, of the mean loss"),
            Row("gradient bound", _number(objective.gradient_bound), f"G, {facts.sensitivity}"),
            Row("weight radius", _number(objective.radius), "G / l2: no minimiser is longer"),
            Row("exact sensitivity", _number(objective.sensitivity), "2 G / (n l2): one record moves the minimiser"),
            Row("total sensitivity", _number(plan.mechanism.sensitivity), "what the noise is calibrated to"),
        ),
    )


def _tau(plan: Plan) -> Section:
    def row(name: str, value: float | None, note: str) -> Row:
        if value is None:
            return Row(name, "not bounded", note)
        share = 2 * value / float(plan.objective.sensitivity)
        return Row(name, _number(value), f"{_percent(share)}: {note}")

    parts = [row(f"- {name}", part, _TAU_PARTS[name]) for name, part in plan.tau_parts.items()]
    return Section(
        "Distance from the exact minimiser (share: 2 tau / exact sensitivity)",
        (row("tau", plan.tau, "all parts together"), *parts),
    )


def _solver(plan: Plan) -> Section:
    solver, facts = plan.solver, plan.facts
    shrinks = "not proven" if solver.rate is None else _number(solver.rate)
    rows = [
        Row("method", solver.name),
        Row("step", _number(solver.step), "the given learning rate" if facts.learning_rate else "from l2 and loss"),
        Row("rate", shrinks, "factor of the distance in an epoch"),
        Row("epochs", f"{plan.epochs:,}", "auto" if facts.epochs is None else "as given"),
        Row("start", facts.initial),
    ]
    if solver.momentum:
        rows.insert(2, Row("momentum", _number(solver.momentum)))
    return Section("Solver", tuple(rows))


def _formats(plan: Plan) -> Section:
    formats = plan.formats
    bits = [(name, getattr(formats, name)) for name in _BITS]
    rows = [Row("ring", formats.ring.name), Row("loss on secrets", formats.evaluation.description)]
    rows += [Row(f"bits of {name.replace('_', ' ')}", str(n), _BITS[name]) for name, n in bits if n is not None]
    rows += [
        Row("largest ||w||", _number(formats.radius), "proven for every epoch; nothing can overflow"),
        Row("largest |z|", _number(formats.argument_radius), "proven for every row"),
    ]
    return Section("Number formats and proven ranges", tuple(rows))


def _noise(plan: Plan) -> Section:
    mechanism = plan.mechanism
    ratio = mechanism.expected_norm / float(plan.objective.radius)
    coordinate = mechanism.expected_norm / math.sqrt(plan.geometry.cols)
    return Section(
        "Noise against signal",
        (
            Row(f"scale {mechanism.scale_name}", _number(mechanism.scale), "in units of the weights"),
            Row("expected length", _number(mechanism.expected_norm), f"{_number(coordinate)} a weight"),
            Row("against the radius", _percent(ratio), "small is good; from 100% on, nothing can be learned"),
            Row("grid", f"2^-{mechanism.grid_bits}", "published weights are multiples of it"),
            Row("sampler distance", _number(mechanism.sampler_distance), "from the ideal noise, in total variation"),
        ),
    )


def _cost(cost: Forecast) -> Section:
    def row(name: str, phase: Phase, note: str = "") -> Row:
        seconds = f"about {phase.seconds:.2g} s"
        return Row(name, f"{phase.rounds:,} rounds", f"{_bytes(phase.bytes)}, {seconds}{note}")

    phases = [row(f"- {name}", phase) for name, phase in cost.phases.items()]
    total = row("whole run", cost.total, "; rounds and bytes are exact")
    return Section("Cost forecast", (total, *phases, row("one epoch", cost.epoch)))


def _bytes(count: int) -> str:
    return f"{count / 1e6:,.3g} MB" if count >= 1e6 else f"{count / 1e3:,.3g} kB"


def _number(value: Fraction | float) -> str:
    return f"{float(value):.4g}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{100 * share:.2g}%"
