"""``cofit evaluate``: how good a model is on labelled rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from cofit.cli.model import about_shrinkage
from cofit.cli.numbers import REAL
from cofit.cli.predict import SMOOTH_HELP, THRESHOLD_HELP, about_smoothing
from cofit.cli.table_options import table_options
from cofit.learn.losses import loss_named
from cofit.models.decisions import one_class
from cofit.models.evaluation import Evaluation, RegressionEvaluation, evaluate, evaluate_numbers
from cofit.models.smoothing import BATCH
from cofit.models.study_model import StudyModel
from cofit.models.target_range import refuse_threshold
from cofit.roles.files.tables import read_study_table
from cofit.roles.files.text_tables import TextLayout
from cofit.study.document import value_text

OUTSIDE = (
    "These figures are computed from the rows of this table, without noise. The certificate of the model does not "
    "cover them: publishing them is outside the guarantee, and tells something about these rows."
)


_NEARLY_ALL = 0.9


@click.command("evaluate")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
@table_options
@click.option("--raw", is_flag=True, help="Predict with the weights as they were released, without shrinkage.")
@click.option("--threshold", type=REAL, help=THRESHOLD_HELP)
@click.option("--smooth", is_flag=True, help=SMOOTH_HELP)
def evaluate_model(
    model: Path, table: Path, as_json: bool, raw: bool, threshold: float | None, smooth: bool, layout: TextLayout
) -> None:
    """Compare what MODEL predicts for the rows of TABLE with their labels. Everything happens on this machine.

    Prints accuracy, AUC (of several classes the mean of each against the rest), the confusion matrix and, for logistic
    regression, the calibration in ten bins; where the label is a number, R squared and errors in its units, of counts D
    squared too. Publishing these figures is outside the guarantee of the model: they come from the rows of the table,
    without noise.

    --smooth scores the rows as `cofit predict --smooth` does: compare both to see whether it helps.

    \b
    Examples:
        cofit evaluate model.json labelled.csv
        cofit evaluate model.json labelled.csv --smooth

    Exit codes: 0 done, 2 wrong usage or input.
    """
    loaded = StudyModel.load(model)
    if raw:
        loaded = loaded.as_released
    rows = read_study_table(table, loaded.features, loaded.label, loaded.model.classes, layout)
    labels, encoded = loaded.labels(rows), loaded.encode(rows)
    scores = loaded.model.decision_function(encoded, smoothing=BATCH if smooth else None)
    if loaded.model.target_range is not None:
        refuse_threshold(threshold)
        target = loss_named(loaded.model.loss).target
        found = evaluate_numbers(labels, loaded.model.numbers(scores), target)
        _show_numbers(found, loaded.label, as_json, counted=target.counted)
        return
    probabilities = loaded.model.probabilities(scores) if loaded.model.has_probabilities else None
    if probabilities is not None and scores.ndim == 1:
        probabilities = probabilities[:, 1]
    places = loaded.model.places(scores, threshold)
    result = evaluate(labels, scores, probabilities, places, len(loaded.model.classes))
    classes = [value_text(value) for value in loaded.model.classes]
    if as_json:
        click.echo(
            json.dumps(
                {
                    "classes": classes,
                    "shrinkage": loaded.model.shrinkage,
                    "threshold": threshold,
                    "smoothed": smooth,
                    **asdict(result),
                    "note": OUTSIDE,
                }
            )
        )
    else:
        _print(Console(), result, classes)
        click.echo(f"\n{about_shrinkage(loaded.model)}")
        if smooth:
            click.echo(about_smoothing(rows.num_rows))
    warning = one_class(places, classes, "--threshold")
    if warning is not None:
        click.echo(f"Warning: {warning}", err=True)


def _calibrated(classes: list[str]) -> str:
    return f"Calibration of '{classes[1]}'" if len(classes) == 2 else "Calibration of the predicted class"


def _show_numbers(result: RegressionEvaluation, label: str, as_json: bool, *, counted: bool) -> None:
    if as_json:
        facts = asdict(result)
        if not counted:
            del facts["d_squared"]
        click.echo(json.dumps({"label": label, **facts, "note": OUTSIDE}))
        return
    console = Console()
    measures = {"D squared (the part of the Poisson deviance explained)": result.d_squared} if counted else {}
    measures["R squared"] = result.r_squared
    words = [f"{name} {_none(value)}" for name, value in measures.items()]
    console.print(f"{result.rows:,} rows, {', '.join(words)}\n", highlight=False)
    table = Table("error", Column(Text(f"in units of '{label}'"), justify="right"))
    table.add_row("root mean square", f"{result.root_mean_square_error:.6g}")
    table.add_row("mean absolute", f"{result.mean_absolute_error:.6g}")
    table.add_row("median absolute", f"{result.median_absolute_error:.6g}")
    table.add_row("always naming the mean (root mean square)", f"{result.error_of_mean:.6g}")
    console.print(table)
    console.print(f"\n{OUTSIDE}")


def _none(value: float | None) -> str:
    return "none (all rows have one target)" if value is None else f"{value:.4f}"


def _print(console: Console, result: Evaluation, classes: list[str]) -> None:
    auc = "none (all rows are of one class)" if result.auc is None else f"{result.auc:.4f}"
    commoner = max(map(sum, result.confusion)) / result.rows
    console.print(f"{result.rows:,} rows, accuracy {result.accuracy:.4f}, AUC {auc}", highlight=False)
    most = "more" if len(classes) == 2 else "most"
    console.print(f"Always naming the {most} common class has an accuracy of {commoner:.4f}.\n", highlight=False)
    confusion = Table("", *(Column(Text(f"predicted {name}")) for name in classes), title="Confusion matrix")
    for name, counts in zip(classes, result.confusion, strict=True):
        confusion.add_row(Text(f"is {name}"), *map(str, counts))
    console.print(confusion)
    if result.calibration_error is not None:
        table = Table("probability", "rows", "mean", "observed", title=Text(_calibrated(classes)))
        for one in result.calibration:
            span = f"{one.lower:.1f} to {one.upper:.1f}"
            table.add_row(span, str(one.rows), f"{one.mean_probability:.3f}", f"{one.observed:.3f}")
        console.print(table)
        console.print(f"Expected calibration error {result.calibration_error:.4f}", highlight=False)
        if max(one.rows for one in result.calibration) > _NEARLY_ALL * result.rows:
            console.print(
                "Nearly all rows are in one bin, so that this error says little: the probabilities rank rows (AUC), "
                "and are no risks."
            )
    console.print(f"\n{OUTSIDE}")
