"""Figures in the documents that commands print or the forecast gives: ``make figures`` computes them again.

A figure stands between two comments, the first with the expression that gives it, in the names of this module:

    At 30 ms a message, <!-- = training("paper").total.rounds -->226<!-- / --> rounds are long.

A table of several lines stands between them too, with an empty line before and after.
"""

from __future__ import annotations

import bisect
import functools
import math
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from click.testing import CliRunner

from cofit import Contribution, FixedPoint, Party, SecretArray, protocols, run_local
from cofit.cli.main import cli
from cofit.experiments.result import Figure
from cofit.learn.comparison import compare_schemes
from cofit.learn.counted import TRAIN_LABELS
from cofit.learn.facts import training_facts
from cofit.learn.forecast import Contributors, Forecast, _inputs, forecast
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.budget import MOST_CLIPPED, clipping_pays
from cofit.learn.usefulness import shown
from cofit.sharing import scheme_named
from cofit.sharing.costs import Cost, Costs
from cofit.sharing.pair.meter import PairMeter
from cofit.sharing.tally import Tally
from support.certified import certified
from support.pages import PAGES, ROOT

SPOT = re.compile(r"(<!-- = (?P<code>.+?) -->)(?P<text>.*?)(<!-- / -->)", re.DOTALL)
SCHEMES = ("rep3", "shamir", "semi2k", "pair", "rep4", "repn")
PAPER_SIZE = (1713, 1874)


def refreshed(text: str) -> str:
    """Return a page with all its figures computed again."""
    return SPOT.sub(lambda spot: f"{spot[1]}{_figure(spot['code'])}{spot[4]}", text)


def _figure(code: str) -> str:
    given = eval(code, {**globals()})
    text = f"{given:,}" if isinstance(given, int) else str(given)
    return f"\n\n{text}\n\n" if "\n" in text else text


# --- what expressions may use ----------------------------------------------------------------------------


@functools.cache
def training(
    recipe: str = "best", size: tuple[int, int] = PAPER_SIZE, parties: int | None = None, **facts: Any
) -> Forecast:
    """Return what a run costs: ``total`` and ``epoch`` have ``rounds`` and ``bytes``."""
    return forecast(plan_training(training_facts(*size, recipe=recipe, **facts)), owners=2, parties=parties)


@functools.cache
def told(command: str, label: str) -> str:
    """Return the word after a label at the beginning of a line of what ``cofit`` prints."""
    run = CliRunner().invoke(cli, command.split(), catch_exceptions=False)
    found = re.search(rf"^\s*{re.escape(label)}\s+(\S+)", run.output, re.MULTILINE)
    if run.exit_code or found is None:
        raise ValueError(f"`cofit {command}` prints no '{label}': {run.output}")
    return found[1]


def certificate(case: str) -> str:
    """Return the text of a certificate, as a block of a page; the versions of the software are made up."""
    stated = replace(certified(case), software={"python": "3.11.7", "numpy": "2.4.6"}, cofit_version="0.1.0")
    return "\n".join(f"    {line}".rstrip() for line in stated.to_text().splitlines())


def megabytes(count: int, decimals: int = 0) -> str:
    """Return millions of bytes."""
    return f"{count / 1e6:,.{decimals}f} MB"


def size(count: int) -> str:
    """Return bytes as the tables of experiments do."""
    return str(Figure(float(count), "bytes"))


def scheme_costs() -> str:
    """Return the table of what training costs with each scheme at the paper's size."""
    lines = ["| | " + " | ".join(f"`{scheme}`" for scheme in SCHEMES) + " |", "|---" * (len(SCHEMES) + 1) + "|"]
    for recipe in ("best", "paper"):
        steps = plan_training(training_facts(*PAPER_SIZE, recipe=recipe)).epochs
        for partition, held in (("horizontal", "rows"), ("vertical", "columns")):
            costs = [training(recipe, scheme=scheme, partition=partition) for scheme in SCHEMES]
            for what, phases in (("an epoch", [c.epoch for c in costs]), ("a run", [c.total for c in costs])):
                name = f"recipe `{recipe}`, owners hold {held}: {what}"
                name += f" of {steps} epochs" if what == "a run" else ""
                cells = [f"{phase.rounds:,} rounds, {phase.bytes:,} bytes" for phase in phases]
                lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


AMONG: tuple[tuple[str, str, int, dict[str, Any]], ...] = (  # in words, then the scheme and how many compute
    ("`rep3`, 3 parties, any 2 read everything", "rep3", 3, {}),
    ("`shamir`, 3 parties, any 2", "shamir", 3, {}),
    ("`shamir`, 5 parties, any 3", "shamir", 5, {}),
    ("the same through one party (`king`)", "shamir", 5, {"route": "king"}),
    ("`shamir`, 5 parties, `threshold = 1`, any 2", "shamir", 5, {"threshold": 1}),
    ("`shamir`, 7 parties, any 4", "shamir", 7, {}),
    ("the same through one party (`king`)", "shamir", 7, {"route": "king"}),
    ("`semi2k`, 5 parties and a dealer, all 5, or the dealer and 1", "semi2k", 5, {}),
    ("`semi2k`, 7 parties and a dealer, all 7, or the dealer and 1", "semi2k", 7, {}),
)


def party_costs() -> str:
    """Return the table of what training costs among several parties at the paper's size."""
    lines = ["| | an epoch | a run |", "|---|---|---|"]
    for words, scheme, parties, facts in AMONG:
        cost = training(scheme=scheme, parties=parties, **facts)
        cells = [f"{phase.rounds:,} rounds, {megabytes(phase.bytes, 1)}" for phase in (cost.epoch, cost.total)]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


class SplitMeter(PairMeter):
    """Tells transfers from encryption in what two parties alone prepare: bytes, by outermost label and kind."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.made: dict[tuple[str, str], int] = {}

    def _prepare(self, tally: Tally) -> None:
        key = self._label.partition("/")[0], "transfers" if tally.transfers else "encrypted"
        self.made[key] = self.made.get(key, 0) + tally.bytes
        super()._prepare(tally)


@functools.cache
def alone(recipe: str = "best", *, owned: bool = False, **facts: Any) -> tuple[Forecast, dict[tuple[str, str], int]]:
    """Return what a run of two parties alone costs at the paper's size, and what of it is prepared how.

    owned: the two are the owners themselves.
    """
    plan = plan_training(training_facts(*PAPER_SIZE, recipe=recipe, scheme="pair", **facts))
    inputs, holders = _inputs(plan, 2)
    ranks = {owner: rank for rank, owner in enumerate(inputs)} if owned else {}
    meters: list[SplitMeter] = []

    def metered(*arguments: Any) -> SplitMeter:
        meters.append(SplitMeter(*arguments))
        return meters[-1]

    with mock.patch("cofit.learn.counted.meter_of", metered):
        cost = forecast(plan, owners=Contributors(inputs, holders, ranks))
    return cost, meters[0].made


def pair_parts(recipe: str = "best") -> str:
    """Return the table of what two parties alone send, by phase and by how it is made."""
    (cost, made), (owned, _) = alone(recipe), alone(recipe, owned=True)
    labels = {"check": ("coin", "check"), "train": TRAIN_LABELS, "noise": ("noise",), "share": (), "release": ()}
    words = {
        "check": "check of rows",
        "train": f"training, {plan_training(training_facts(*PAPER_SIZE, recipe=recipe)).epochs} epochs",
        "noise": "noise",
        "share": "setup, and the owners' shares",
        "release": "release",
    }
    lines = [
        "| | transfers | encrypted products | other messages | in all | where the two are the owners |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, phase in words.items():
        parts = [sum(made.get((label, kind), 0) for label in labels[name]) for kind in ("transfers", "encrypted")]
        sent = cost.phases[name].bytes
        cells = [*parts, sent - sum(parts), sent, owned.phases[name].bytes]
        lines.append(f"| {phase} | {' | '.join(megabytes(count, 1) if count else '-' for count in cells)} |")
    totals = [sum(count for (_, kind), count in made.items() if kind == each) for each in ("transfers", "encrypted")]
    cells = [*totals, cost.total.bytes - sum(totals), cost.total.bytes, owned.total.bytes]
    lines.append(f"| **the run** | {' | '.join(megabytes(count, 1) for count in cells)} |")
    return "\n".join(lines)


def on_a_line(scheme: str, recipe: str = "best", megabits: int = 100, latency: float = 0.03) -> str:
    """Return about how long a run takes on a line of so many megabits a second, of all members together."""
    plan = plan_training(training_facts(*PAPER_SIZE, recipe=recipe, scheme=scheme))
    return f"{forecast(plan, latency=latency, bandwidth=megabits * 1e6 / 8).total.seconds:.0f} s"


def active_costs() -> str:
    """Return the table of what active security costs at the paper's size, beside passive schemes."""
    lines = ["| | rounds | bytes | of these, late checks |", "|---|---|---|---|"]
    for scheme, parties in (
        ("rep3", 3),
        ("repn", 3),
        ("rep4", 4),
        ("shamir", 5),
        ("repn", 5),
        ("shamir", 7),
        ("repn", 7),
    ):
        cost = training(scheme=scheme, parties=parties)
        kind = cost.spec.adversary.partition(":")[0]
        late = f"{cost.verify.rounds:,} rounds, {megabytes(cost.verify.bytes, 1)}" if cost.verify.rounds else "none"
        total = f"{cost.total.rounds:,} | {megabytes(cost.total.bytes, 1)}"
        lines.append(f"| `{scheme}`, {parties} parties, {kind} | {total} | {late} |")
    return "\n".join(lines)


def shamir_costs() -> str:
    """Return the table of what the operations of ``shamir`` cost among 3, 5 and 7 parties, by both routes."""
    kind = scheme_named("shamir")
    direct, king = ([kind.costs(kind.info.spec(n, route=route)) for n in (3, 5, 7)] for route in ("direct", "king"))

    def row(words: str, cost: Callable[[Costs], Cost], times: Callable[[int], int] = lambda n: 1) -> str:
        def cells(costs: list[Costs]) -> tuple[str, str]:
            found = [(cost(one), times(n)) for one, n in zip(costs, (3, 5, 7), strict=True)]
            sent = [f"{c.elements * t}" + (f" and {c.packed} words" if c.packed else "") for c, t in found]
            return ", ".join(str(c.rounds) for c, _ in found), ", ".join(sent)

        pairs = zip(cells(direct), cells(king), strict=True)
        return f"| {words} | " + " | ".join(a if a == b else f"{a} ({b})" for a, b in pairs) + " |"

    return "\n".join(
        [
            "| operation | rounds | elements |",
            "|---|---|---|",
            row("input by a party", lambda c: c.input),
            row("open to all", lambda c: c.open, lambda n: n),
            row("product, matrix product, inner products of rows, exact", lambda c: c.product),
            row("the same, with truncation; truncation", lambda c: c.truncated_product),
            row("a fresh sharing of the same value (stored shares)", lambda c: c.refresh),
            row("bit to ring element", lambda c: c.bit_to_ring),
            row("AND, OR of bits; *bits* for each bit", lambda c: c.bits.product),
        ]
    )


def scheme_choices() -> str:
    """Return the second table of ``cofit schemes``, without how many may be corrupted."""
    rows = [("scheme", "who computes", "adversary tolerated", "rounds an epoch", "bytes an epoch", "seconds")]
    for choice in compare_schemes(training_facts(*PAPER_SIZE)):
        kind = choice.adversary.partition(":")[0]
        numbers = (f"{choice.rounds_per_epoch:,}", f"{choice.bytes_per_epoch:,}", f"{choice.seconds:.2g}")
        rows.append((choice.scheme, choice.members, kind, *numbers))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        left = [cell.ljust(width) for cell, width in zip(row[:3], widths, strict=False)]
        right = [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
        lines.append(f"    {'   '.join((*left, *right))}")
    return "\n".join(lines)


CHECKED: tuple[tuple[str, tuple[int, int], dict[str, Any]], ...] = (
    ("1,713 x 1,874, recipe `best`", PAPER_SIZE, {}),
    ("the same, owners hold columns", PAPER_SIZE, {"partition": "vertical"}),
    ("4,000 x 20", (4000, 20), {}),
    ("4,000 x 50", (4000, 50), {}),
    ("100,000 x 100", (100_000, 100), {}),
    ("1,713 x 1,874, recipe `paper`", PAPER_SIZE, {"recipe": "paper"}),
    ("the same, owners hold columns", PAPER_SIZE, {"recipe": "paper", "partition": "vertical"}),
    ("1,713 x 1,874, delta = 0, sparse rows (1-norm)", PAPER_SIZE, {"delta": 0.0, "row_nonzeros": 50}),
)


def check_table() -> str:
    """Return what the check of rows sends: in all, for a row, and beside the whole run."""
    lines = ["| data | " + " | ".join(f"`{scheme}`" for scheme in SCHEMES) + " |", "|---" * (len(SCHEMES) + 1) + "|"]
    for name, size_of, facts in CHECKED:
        cells = []
        for scheme in SCHEMES:
            cost = training(size=size_of, scheme=scheme, **facts)
            sent, whole = cost.check.bytes, cost.total.bytes
            cells.append(f"{size(sent)}, {sent / size_of[0] / 1000:.1f} kB a row, {sent / whole:.1%}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def rows_needed_table() -> str:
    """Return the table of about how many rows make a useful model, by columns and epsilon."""
    epsilons = (0.1, 0.5, 1.0, 3.0, 8.0)

    def cell(cols: int, epsilon: float) -> str:
        return shown(plan_training(training_facts(1000, cols, epsilon=epsilon)).rows_needed)

    return _by_columns((3, 10, 30, 100, 300, 1000), epsilons, cell)


def clipping_table() -> str:
    """Return the table of from how many rows on recipe best clips rows, by columns and epsilon."""

    def cell(cols: int, epsilon: float) -> str:
        return f"{fewest_clipped(cols, epsilon):,}"

    return _by_columns((3, 10, 30, 50, 100, MOST_CLIPPED), (0.5, 1.0, 3.0), cell)


def fewest_clipped(cols: int, epsilon: float, delta: float = 1e-6) -> int:
    """Return the smallest number of rows with which recipe best clips them unless somebody says otherwise."""
    budget = Fraction(epsilon), Fraction(str(delta))
    return bisect.bisect_left(range(10**6), True, lo=2, key=lambda rows: clipping_pays(rows, cols, *budget))


def _by_columns(columns: tuple[int, ...], epsilons: tuple[float, ...], cell: Callable[[int, float], str]) -> str:
    lines = ["| columns | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons) + " |"]
    lines.append("|---" + "|---:" * len(epsilons) + "|")
    lines += [f"| {cols:,} | {' | '.join(cell(cols, epsilon) for epsilon in epsilons)} |" for cols in columns]
    return "\n".join(lines)


FUNCTIONS: dict[str, tuple[float, Callable[[SecretArray], object]]] = {
    "is_negative": (1, protocols.is_negative),
    "equal": (1, lambda x: protocols.equal(x, x)),
    "divide": (1, lambda x: protocols.divide(x, x, quotient_bound=2)),
    "divide(..., positive=False)": (1, lambda x: protocols.divide(x, x, quotient_bound=2, positive=False)),
    "square_root": (1, protocols.square_root),
    "inverse_square_root": (1, protocols.inverse_square_root),
    "logarithm": (1, protocols.logarithm),
    "exponential": (1, protocols.exponential),
    "sine": (1, protocols.sine),
    "sigmoid_polynomial, R = 1": (1, protocols.sigmoid_polynomial),
    "sigmoid_polynomial, R = 3": (3, protocols.sigmoid_polynomial),
    "sigmoid_polynomial, R = 8": (8, protocols.sigmoid_polynomial),
    "sigmoid": (1, protocols.sigmoid),
    "sigmoid, bound above 44": (45, protocols.sigmoid),
    "x.bits()": (1, lambda x: x.bits()),
    "x.sign_bits()": (1, lambda x: x.sign_bits()),
}
"""Functions of the reference's table, with the public bound of their argument."""


@functools.cache
def function_cost(name: str, format: FixedPoint = FixedPoint(24), count: int = 1000) -> tuple[int, int]:  # noqa: B008
    """Return the rounds of a function with rep3, and the bytes of all parties for each element, rounded up."""
    bound, function = FUNCTIONS[name]
    owners = {"owner": {"x": Contribution(np.full(count, 0.5), bound, format)}}

    def program(party: Party) -> tuple[int, int]:
        x = party.input("owner", "x")
        before = party._scheme.mesh.counts
        function(x)
        spent = (party._scheme.mesh.counts - before).total
        return spent.rounds, spent.bytes_sent

    results = run_local(program, owners=owners, scheme="rep3").results.values()
    return max(rounds for rounds, _ in results), math.ceil(sum(sent for _, sent in results) / count)


def main() -> None:
    """Rewrite the pages whose figures have changed."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        if (new := refreshed(text)) != text:
            (ROOT / page).write_text(new)
            sys.stdout.write(f"{page}: figures changed\n")


if __name__ == "__main__":
    main()
