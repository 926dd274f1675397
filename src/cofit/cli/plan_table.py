"""A plan for people: sections of facts, each with its value and what it means."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cofit.learn.forecast import Forecast, Phase
from cofit.learn.memory import Memory
from cofit.learn.plan import Plan
from cofit.learn.reference_machine import REFERENCE
from cofit.learn.sections import Row, Section, as_number
from cofit.learn.usefulness import shown
from cofit.sharing import scheme_of
from cofit.sharing.spec import DIRECT, KING
from cofit.units import MEGABIT_BYTES, duration, size

_BETWEEN_CITIES = 0.02
_SLOW_LINE = 20
_ROUTES = {
    DIRECT: "every party sends to those who need it: the fewest rounds",
    KING: "through one party, which tells the others: more rounds, fewer bytes",
}
_RECIPES = {"best": "the most accurate known for these facts", "paper": "the paper's method, calibrated honestly"}


def plan_sections(plan: Plan, cost: Forecast) -> list[Section]:
    """Return the whole plan, section by section."""
    return [_data(plan), *plan.sections(), _cost(cost, plan.facts.memory)]


def print_plan(console: Console, plan: Plan, cost: Forecast, noise: bool = True) -> None:
    """Print all sections, and the warnings below. noise: False where there is none, nor a guarantee, to speak of."""
    console.print("Plan: what follows from public facts alone", style="bold")
    for section in plan_sections(plan, cost) if noise else [_data(plan), _cost(cost, plan.facts.memory)]:
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
        console.print(Text.assemble(("Warning: ", "bold yellow"), f"{warning.rstrip('.')}."))


def _data(plan: Plan) -> Section:
    facts = plan.facts
    by = "each owner scales its rows to length 1"
    if facts.cut_length is not None:
        by = f"each owner cuts its rows to length {as_number(facts.cut_length)}; the parties clip them further"
    elif facts.normalised_by == "parties":
        by = f"on shares; values are at most {as_number(facts.feature_bound)} in magnitude"
    rows = [
        Row("recipe", facts.recipe, _RECIPES[facts.recipe]),
        Row("rows", f"{facts.rows:,}", "records of all owners together"),
        Row("columns", f"{facts.cols:,}", "features, without the intercept"),
        Row("intercept", "yes" if facts.fit_intercept else "no", "a constant feature" if facts.fit_intercept else ""),
        Row("partition", facts.partition, "owners hold " + ("rows" if facts.partition == "horizontal" else "columns")),
        Row("normalised by", facts.normalised_by, by),
    ]
    if facts.shards is not None:
        each = f"of every party, each with a session of its own and about {round(facts.rows / facts.shards):,} rows"
        rows.append(Row("shards", f"{facts.shards:,}", each))
    if plan.floor is not None:
        rows.append(Row("norm floor", as_number(plan.floor), "shorter rows are not stretched to length 1"))
    hint = "for a useful model at this epsilon: a hint; fewer where columns are correlated, more where a class is rare"
    rows.append(Row("rows needed, about", shown(plan.rows_needed), hint))
    return Section("Data", tuple(rows))


def _cost(cost: Forecast, limit: int | None) -> Section:
    def row(name: str, phase: Phase, note: str = "") -> Row:
        return Row(name, f"{phase.rounds:,} rounds", f"{size(phase.bytes)}, about {duration(phase.seconds)}{note}")

    spec, routes = cost.spec, scheme_of(cost.spec).info.routes
    members = f"{spec.parties} parties" + (" and a dealer" if spec.dealer else "")
    computed = [Row("scheme", spec.name, f"{members}; corrupted at most: {spec.corrupted}")]
    if len(routes) > 1:
        computed.append(Row("products", spec.route, _ROUTES[spec.route]))
    phases = [row(f"- {name}", phase) for name, phase in cost.phases.items()]
    if cost.prepare.rounds:
        phases.append(row("of these, prepared", cost.prepare, "; transfers and encrypted products, in stocks"))
    if cost.verify.rounds:
        phases.append(row("of these, checks", cost.verify, "; made before anything is opened or stored"))
    total = row("whole run", cost.total, "; rounds and bytes are counted")
    cores = f"{cost.processors} cores of all parties together"
    rates = f"{size(cost.bandwidth)} a second, {cores}"
    if cost.line is not None:
        rates = f"{cost.line / MEGABIT_BYTES:g} Mb/s of each party, {cores}"
    if cost.places.shards is not None and cost.places.workers is not None:
        each = f"{cost.places.workers:,} workers of each party, with {cost.places.cores} cores each"
        rates = f"{size(cost.bandwidth)} a second in each session, {each}"
        if cost.line is not None:
            rates = f"{cost.line / MEGABIT_BYTES:g} Mb/s of each of them, {each}"
    pace = ""
    if cost.pace != REFERENCE:
        told = ", ".join(f"{getattr(cost.pace, name):.2f} for {name}" for name in ("kernels", "bytes", "steps"))
        pace = f"; seconds of machines like this one: of the reference machine's, {told}"
    assumed = Row(
        "assumes",
        f"{duration(cost.latency)} latency",
        f"{rates}; with a latency of {duration(_BETWEEN_CITIES)}, as between cities, the whole run takes about "
        f"{duration(cost.seconds_at(_BETWEEN_CITIES))}, and with lines of {_SLOW_LINE} Mb/s as well about "
        f"{duration(cost.seconds_at(_BETWEEN_CITIES, _SLOW_LINE * MEGABIT_BYTES))}{pace}",
    )
    sessions = []
    if cost.heads is not None and cost.shard is not None and cost.head_memory is not None:
        sessions = [
            row("session of a shard", cost.shard, "; of all parties, in the whole run: the one that sends most"),
            row("session of the heads", cost.heads, "; of all parties, in the whole run"),
            Row("memory of a head", size(cost.head_memory.in_memory), "about, at most; with a verdict of every row"),
        ]
    who = "memory of a party" if cost.shard is None else "memory of a shard"
    memory = _memory(cost.memory, limit, who)
    epoch = row("one epoch", cost.epoch)
    return Section("Cost forecast", (*computed, total, *phases, epoch, memory, *sessions, assumed))


def _memory(memory: Memory, limit: int | None, who: str) -> Row:
    """Return what a process needs of memory, and whether the shares of the data lie on its disk."""
    data = f"shares of the data {size(memory.matrix)}"
    if memory.exceeds(limit):
        return Row(who, size(memory.on_disk), f"about, at most; {data}, on its disk")
    return Row(who, size(memory.in_memory), f"about, at most; {data}, among it")
