"""The sections of a plan of noisy descent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofit.learn.losses import loss_named
from cofit.learn.sections import Row, Section, as_number, check_row, format_section
from cofit.privacy.events import Event
from cofit.privacy.release_names import CENTRE, LEVEL, MEAN, RADIUS, SHIFT, SPREAD

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

_PREPARING = {
    LEVEL: "the mean of all values, opened with the weights",
    CENTRE: "the mean row, opened with the weights",
    MEAN: "the mean row, coarsely",
    RADIUS: "the usual distance from it, opened with the weights",
    SHIFT: "the mean row, finely; opened with the weights",
    SPREAD: "the spread of every column, opened with the weights",
}

_LAWS = {
    "gaussian": "discrete Gaussian, epsilon and delta",
    "laplace": "discrete Laplace, epsilon only",
    "knorm": "K-norm, epsilon only",
}
_WITH, _WITHOUT = "with the weights", "though the weights stay shared"


def descent_sections(plan: DescentPlan) -> list[Section]:
    """Return what is planned, but for data and cost."""
    return [_privacy(plan), _releases(plan), _training(plan), format_section(plan)]


def _privacy(plan: DescentPlan) -> Section:
    facts, account = plan.facts, plan.account
    law = _LAWS[plan.mechanism_name]
    return Section(
        "Privacy",
        (
            Row("guarantee", "proven", "neighbours: one record replaced"),
            Row("epsilon", as_number(facts.epsilon)),
            Row("delta asked", as_number(facts.delta)),
            Row("delta in total", as_number(plan.total_delta), "with the imperfection of sampler and check"),
            check_row(plan),
            Row("noise", law.split(",", maxsplit=1)[0], law.split(", ")[1]),
            Row("account", account.rule, "how the releases below were added up"),
            Row("scheme", facts.scheme, "secret sharing among the computing parties"),
        ),
    )


def _releases(plan: DescentPlan) -> Section:
    def row(name: str, event: Event, note: str) -> Row:
        each = "in each " if event.name[-1].isdigit() else ""
        noise = f"{each}noise {as_number(event.scale / event.sensitivity)} times what one record can change"
        share = sum(part for of, part in spent.items() if of.split()[0] == event.name.split()[0])
        count = f"{event.dimension:,} number{'s' * (event.dimension > 1)}"
        return Row(name, count, f"{100 * float(share):.3g} % of the budget; {noise}; {note}")

    spent = plan.spent
    shared = plan.facts.shared_model
    preparing = {name: text.replace(_WITH, _WITHOUT) if shared else text for name, text in _PREPARING.items()}
    rows = [row(event.name, event, preparing[event.name]) for event in plan.events if event.name in preparing]
    kept = (
        "not opened" if plan.averaged < plan.epochs else "their mean stays shared" if shared else "their mean is opened"
    )
    if plan.mechanism_name == "knorm":
        name = f"steps 1 to {plan.epochs}" if plan.epochs > 1 else "one step"
        rows.append(row(name, plan.steps[0], f"rounded to cells of {1 << plan.formats.cells} steps; {kept}"))
    else:
        rows.append(row(f"steps 1 to {plan.epochs}", plan.steps[0], f"{kept}; later steps may have more"))
    if plan.calibration:
        count = len(plan.calibration)
        rows.append(
            row(
                f"intercept 1 to {count}",
                plan.calibration[0],
                f"their sum {'stays shared' if shared else 'is opened'} {_WITH}",
            )
        )
    return Section("Noisy releases: what the privacy budget is spent on", tuple(rows))


def _classes(plan: DescentPlan) -> tuple[Row, ...]:
    """Return how several classes are told apart; nothing where there are two."""
    if plan.layout.outputs == 1:
        return ()
    other = as_number(plan.formats.others / plan.formats.factor)
    note = f"each against the rest; a record counts 1 for its own and {other} for each of the others"
    return (Row("classes", str(plan.layout.outputs), note),)


def _reference(plan: DescentPlan) -> tuple[Row, ...]:
    """Return by which public reference rows are mapped; nothing where by none."""
    if plan.facts.reference is None:
        return ()
    who = "every owner applies to its rows" if plan.formats.mapped is None else "the parties apply to shared rows"
    return (Row("reference", plan.facts.reference[:12], f"a public map that {who}"),)


def _training(plan: DescentPlan) -> Section:
    formats = plan.formats
    centred = "at most" if plan.level is None and plan.centre is None else "at most, after centring"
    if plan.clipped:
        centred = "at most: centred, brought to one spread, clipped at the radius"
    pace = float(formats.factor) * 2.0**-formats.exponent
    return Section(
        "Training",
        (
            Row("loss", plan.facts.loss, loss_named(plan.facts.loss).clipped_title),
            Row("method", "noisy descent", "gradient steps with clipped residuals, noise in each"),
            Row("residual", str(formats.residual), formats.residual.meaning),
            *_classes(plan),
            Row("steps", str(plan.epochs), f"the mean of the last {plan.averaged} is released"),
            Row("step", as_number(pace * plan.facts.rows), "times the mean of residuals times rows"),
            *_reference(plan),
            Row("rows", f"{plan.layout.norm.upper()} length 1", centred),
            Row("noise in a weight", as_number(plan.noise_of_weights), "standard deviation, at most; scores matter"),
            Row("intercept", as_number(formats.constant), "the constant beside a row of length 1"),
        ),
    )
