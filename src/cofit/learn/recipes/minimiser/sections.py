"""The sections of a plan by the paper's method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cofit.learn.sections import Row, Section, as_number, as_percent, check_row, format_section

if TYPE_CHECKING:
    from cofit.learn.recipes.minimiser.plan import MinimiserPlan

_TAU_PARTS = {
    "iterations": "epochs left out",
    "arithmetic": "sigmoid, truncations, public constants; worst case",
    "encoding": "rounding of the data and the norms",
}


def minimiser_sections(plan: MinimiserPlan) -> list[Section]:
    """Return what is planned, but for data and cost."""
    return [_privacy(plan), _objective(plan), _tau(plan), _solver(plan), format_section(plan), _noise(plan)]


def _privacy(plan: MinimiserPlan) -> Section:
    mechanism = plan.mechanism
    return Section(
        "Privacy",
        (
            Row("guarantee", "proven" if plan.proven else "NOT PROVEN", "neighbours: one record replaced"),
            Row("epsilon", as_number(mechanism.epsilon)),
            Row("delta asked", as_number(plan.facts.delta)),
            Row("delta in total", as_number(plan.total_delta), "with the imperfection of sampler and check"),
            check_row(plan),
            Row("mechanism", mechanism.name, "pure epsilon" if mechanism.pure else "epsilon and delta"),
            Row("scheme", plan.facts.scheme, "secret sharing among the computing parties"),
        ),
    )


def _objective(plan: MinimiserPlan) -> Section:
    facts, objective = plan.facts, plan.objective
    constant = as_number(facts.intercept_scaling) if facts.fit_intercept else "none"
    return Section(
        "Objective and sensitivity",
        (
            Row("loss", facts.loss, plan.loss.title),
            Row("intercept", constant, "its constant, inside the norm and the penalty"),
            Row("penalty l2", as_number(facts.l2), "Lambda, of the mean loss"),
            Row("gradient bound", as_number(objective.gradient_bound), f"G, {facts.sensitivity}"),
            Row("weight radius", as_number(objective.radius), "G / l2: no minimiser is longer"),
            Row("exact sensitivity", as_number(objective.sensitivity), "2 G / (n l2): one record moves the minimiser"),
            Row("total sensitivity", as_number(plan.mechanism.sensitivity), "what the noise is calibrated to"),
        ),
    )


def _tau(plan: MinimiserPlan) -> Section:
    def row(name: str, value: float | None, note: str) -> Row:
        if value is None:
            return Row(name, "not bounded", note)
        share = 2 * value / float(plan.objective.sensitivity)
        return Row(name, as_number(value), f"{as_percent(share)}: {note}")

    parts = [row(f"- {name}", part, _TAU_PARTS[name]) for name, part in plan.tau_parts.items()]
    return Section(
        "Distance from the exact minimiser (share: 2 tau / exact sensitivity)",
        (row("tau", plan.tau, "all parts together"), *parts),
    )


def _solver(plan: MinimiserPlan) -> Section:
    solver, facts = plan.solver, plan.facts
    shrinks = "not proven" if solver.rate is None else as_number(solver.rate)
    rows = [
        Row("method", solver.name),
        Row("step", as_number(solver.step), "the given learning rate" if facts.learning_rate else "from l2 and loss"),
        Row("rate", shrinks, "factor of the distance in an epoch"),
        Row("epochs", f"{plan.epochs:,}", "auto" if facts.epochs is None else "as given"),
        Row("start", facts.initial),
    ]
    if solver.momentum:
        rows.insert(2, Row("momentum", as_number(solver.momentum)))
    return Section("Solver", tuple(rows))


def _noise(plan: MinimiserPlan) -> Section:
    mechanism = plan.mechanism
    ratio = mechanism.expected_norm / float(plan.objective.radius)
    coordinate = mechanism.expected_norm / math.sqrt(plan.geometry.cols)
    return Section(
        "Noise against signal",
        (
            Row(f"scale {mechanism.scale_name}", as_number(mechanism.scale), "in units of the weights"),
            Row("expected length", as_number(mechanism.expected_norm), f"{as_number(coordinate)} a weight"),
            Row("against the radius", as_percent(ratio), "small is good; from 100% on, nothing can be learned"),
            Row("grid", f"2^-{mechanism.grid_bits}", "published weights are multiples of it"),
            Row("sampler distance", as_number(mechanism.sampler_distance), "from the ideal noise, in total variation"),
        ),
    )
