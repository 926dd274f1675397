"""What accuracy to expect of a study, for ``cofit check``: simulated, from public facts and perhaps a public sample."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from cofit.errors import InvalidInputError
from cofit.models.study_model import StudyModel
from cofit.roles.files.text_tables import ANY_LAYOUT, TextLayout
from cofit.study.document import Study
from cofit.study.plan import lowest_mean, study_facts, study_plan
from cofit.study.statement import expected_certificate

if TYPE_CHECKING:
    from cofit.experiments.public_rows import PublicRows
    from cofit.experiments.utility import AccuracyForecast
    from cofit.experiments.utility import Progress as Told

TITLE = "What accuracy to expect (simulated, no private data)"
_NOT_ASKED = "Not simulated, as --no-forecast asks."
_OF_BEST = ("partition", "recipe", "loss", "classes", "epsilon", "delta", "fit_intercept", "feature_bound",
            "feature_lower", "row_nonzeros", "norm_floor")  # fmt: skip
_OF_RANGES = ("feature_bound", "feature_lower", "normalised_by", "clip_rows")
_OF_PAPER = ("l2", "mechanism", "sensitivity", "intercept_scaling", "allow_unproven")


def accuracy_of(
    study: Study, sample: Path | None, simulate: bool | None, layout: TextLayout = ANY_LAYOUT
) -> AccuracyForecast | str:
    """Return the forecast, or why there is none. ``simulate``: None leaves out what would take long."""
    if not study.release.noise:
        return "The weights have no noise: forecasts are for what noise costs."
    if simulate is False:
        if sample is not None:
            raise InvalidInputError("--sample is for the forecast, which --no-forecast leaves out: give one of them.")
        return _NOT_ASKED
    from cofit.experiments import utility  # noqa: PLC0415 - SciPy takes a second to import
    from cofit.experiments.public_rows import rows_like  # noqa: PLC0415
    from cofit.experiments.simulation import too_large  # noqa: PLC0415

    largest = utility.LARGEST_SIZE if simulate else utility.QUICK_SIZE
    facts = study_facts(study)
    reason = too_large(facts.rows, facts.cols, largest)
    if reason is not None and simulate is None and sample is None:
        return f"{reason} Ask for it with --forecast: it may take minutes."
    if reason is not None and sample is None:
        return f"{reason} Give a public or made-up table with --sample, for recipe 'paper'."
    if study.data.reference is not None:
        return _referenced_forecast(study, sample, layout, largest)
    rows = rows_like(facts) if sample is None else study_sample(study, sample, layout)
    with _shown_progress() as progress:
        return utility.simulated_forecast(
            facts.rows,
            facts.cols,
            given_facts(study),
            rows,
            settings=utility.all_settings,
            epsilons=utility.EPSILONS,
            largest=largest,
            progress=progress,
        )


def _referenced_forecast(study: Study, sample: Path | None, layout: TextLayout, largest: int) -> AccuracyForecast:
    """Return the forecast of a study with a reference, and what it has without, on the same rows."""
    from cofit.experiments import utility  # noqa: PLC0415
    from cofit.experiments.referenced_rows import (  # noqa: PLC0415
        compared_with_none,
        mapped_rows,
        rows_of_reference,
        within,
    )

    facts, reference = study_facts(study), study.data.reference
    if reference is None:
        raise ValueError("The study has no reference.")
    rows = within(rows_of_reference(reference), 1.0) if sample is None else study_sample(study, sample, layout)
    given = {name: value for name, value in given_facts(study).items() if name not in _OF_RANGES}
    mapped, referenced = mapped_rows(rows, reference, given)
    with _shown_progress() as progress:
        found = utility.simulated_forecast(
            facts.rows,
            facts.cols,
            referenced,
            mapped,
            settings=utility.own_setting,
            epsilons=utility.EPSILONS,
            largest=largest,
            progress=progress,
        )
    note = compared_with_none(found.asked, rows, given, facts.rows, largest)
    return replace(found, notes=(*found.notes, *note))


def given_facts(study: Study) -> dict[str, Any]:
    """Return the public facts of a study as ``training_facts`` takes them, with what the study leaves to the recipe
    left open: who scales the rows may depend on epsilon."""
    facts = study_facts(study)
    names = (*_OF_BEST, *_OF_PAPER) if facts.recipe == "paper" else _OF_BEST
    given = {name: getattr(facts, name) for name in names}
    given |= {"normalised_by": study.data.normalised_by, "clip_rows": study.data.clip_rows}
    given["pure_steps"] = study.privacy.pure_steps
    lowest = lowest_mean(study)
    given["feature_lower"] = facts.feature_lower if lowest is None else lowest
    if given.get("mechanism") == "auto":
        del given["mechanism"]
    return {name: value for name, value in given.items() if value is not None}


def study_sample(study: Study, path: Path, layout: TextLayout = ANY_LAYOUT) -> PublicRows:
    """Return the rows of a table with all features and the label of a study, or raise with what does not fit."""
    from cofit.report.sample import load_sample  # noqa: PLC0415

    plan = study_plan(study)
    unreleased = StudyModel.from_release(study, plan.opened.blank(), expected_certificate(study, plan))
    return load_sample(path, unreleased, layout)


def print_accuracy(console: Console, expected: AccuracyForecast | str) -> None:
    """Print the section: a table over epsilon, what it is beside, and the suggestions."""
    console.print(f"\n{TITLE}", style="bold")
    if isinstance(expected, str):
        console.print(Text(f"  {expected}"))
        return
    console.print(Text(f"  With {expected.origin}. {expected.touched}"))
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    table.add_column("  epsilon", justify="right")
    for curve in expected.curves:
        table.add_column(curve.label, justify="right")
    for epsilon in sorted({*(value for curve in expected.curves for value in curve.epsilons), expected.epsilon}):
        mine = epsilon == expected.epsilon
        cells = [curve.at(epsilon) for curve in expected.curves]
        shown = ["-" if cell is None else f"{100 * cell:.1f}%" for cell in cells]
        table.add_row(f"{epsilon:g}", *shown, style="bold" if mine else None)
    console.print(table)
    console.print(
        Text(
            f"  {expected.title} on {expected.held_out:,} rows held out, median of {expected.draws} draws of the "
            f"noise, with the noise of {expected.rows:,} records; at delta = {expected.delta:.2g} where none is named. "
            f"The first "
            f"column is this study. Without privacy: {100 * expected.without_privacy:.1f}%. {expected.chance}: "
            f"{100 * expected.majority:.1f}%. Real data may be easier or harder."
        )
    )
    for line in (*expected.suggestions, *expected.notes):
        row = Table(box=None, show_header=False, pad_edge=False)
        row.add_column(width=3)
        row.add_column(overflow="fold")
        row.add_row("  -", Text(line))
        console.print(row)


@contextmanager
def _shown_progress() -> Iterator[Told | None]:
    """Give what shows how far a forecast is, on a terminal; None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    words = TextColumn("simulating accuracies: {task.completed} of {task.total}")
    columns = (SpinnerColumn(), words, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
