"""``cofit report``: one page for people about a released model."""

from __future__ import annotations

from pathlib import Path

import click

from cofit.cli.table_options import table_options
from cofit.errors import InvalidInputError
from cofit.models.study_model import StudyModel
from cofit.roles.files.durable import write_durably
from cofit.roles.files.text_tables import ANY_LAYOUT, TextLayout

_GENERATOR = b'<meta name="generator" content="cofit report'
_HEAD = 4096


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--out",
    default="report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the page. An earlier report there is replaced; any other file is left alone.",
)
@click.option(
    "--cost",
    type=click.Path(path_type=Path),
    help="What the run cost, as `cofit demo` writes it.  [default: cost.json beside the model, if it is there]",
)
@click.option(
    "--sample",
    type=click.Path(path_type=Path),
    help="A labelled table that is public or made up, in the model's columns, for the forecast of the accuracy: .csv, "
    ".tsv, .parquet, .arrow for a model of a study; .npz with X and y, scaled as in training, for any other.",
)
@click.option(
    "--study",
    type=click.Path(path_type=Path),
    help="The study of the model, to name the analysts, whom the model file does not know.",
)
@click.option(
    "--experiments",
    type=click.Path(path_type=Path),
    help="A folder with the tables of `cofit experiment`, to be shown too.",
)
@table_options
def report(
    model: Path,
    out: Path,
    cost: Path | None,
    sample: Path | None,
    study: Path | None,
    experiments: Path | None,
    layout: TextLayout,
) -> None:
    """Write one HTML page about the released MODEL: for data teams, privacy engineers and lawyers.

    The page says what was done and by whom, what the model can reveal, whom one must trust, how strong the noise is
    beside the signal, which weights stand out from it, what accuracy to expect, what the run cost, and has the whole
    certificate. It is one file, without scripts, that loads nothing; it can be printed. Making it touches no private
    data, so it costs no privacy.

    MODEL is the file that `cofit model`, `cofit run`, `cofit demo` or an estimator's save wrote.

    \b
    Examples:
        cofit report cofit-demo/model.json
        cofit report model.json --out for-the-board.html
        cofit report study-model.json --sample public-sample.csv

    --sample: never give real records of the study there. What the page then shows would be a release of its own.

    Exit codes: 0 the page is written, 2 wrong input.
    """
    _check_target(out)
    write_report(model, out, cost=cost, sample=sample, study=study, experiments=experiments, layout=layout)
    click.echo(f"Report: {out}. Open it in a browser, or print it.")


def write_report(
    model: Path,
    out: Path,
    *,
    cost: Path | None = None,
    sample: Path | None = None,
    layout: TextLayout = ANY_LAYOUT,
    study: Path | None = None,
    experiments: Path | None = None,
) -> None:
    """Read everything, make the page, and write it, whatever is there."""
    from cofit.experiments.result import load_tables  # noqa: PLC0415 - SciPy and Matplotlib take a second to import
    from cofit.learn.rebuild import rebuilt_plan  # noqa: PLC0415
    from cofit.report.accuracy_forecast import forecast_on_made_up_rows, forecast_on_sample  # noqa: PLC0415
    from cofit.report.cost import FILE_NAME, Cost, forecast_cost  # noqa: PLC0415
    from cofit.report.page import ReportInput, render_report  # noqa: PLC0415
    from cofit.report.sample import load_sample  # noqa: PLC0415
    from cofit.report.source import load_any_model  # noqa: PLC0415
    from cofit.roles.files.studies import load_study  # noqa: PLC0415

    loaded = load_any_model(model)
    linear = loaded.model if isinstance(loaded, StudyModel) else loaded
    if experiments is not None and not experiments.is_dir():
        raise InvalidInputError(f"The 'experiments' option must be a folder that exists. Got '{experiments}' instead.")
    tables = () if experiments is None else load_tables(experiments)
    if experiments is not None and not tables:
        raise InvalidInputError(f"The folder '{experiments}' has no tables of experiments (table*.json).")
    notes: tuple[str, ...] = ()
    beside = model.parent / FILE_NAME
    measured = None
    if cost is not None:
        measured = Cost.load(cost)
    elif beside.exists():
        try:
            measured = Cost.load(beside)
        except InvalidInputError:
            notes = (f"{FILE_NAME} beside the model cannot be read as the cost of a run and was not used.",)
    if measured is not None and not measured.belongs_to(linear.certificate):
        if cost is not None:
            raise InvalidInputError(
                f"The cost '{cost}' is that of another run: its plan or its date is not the model's."
            )
        measured, notes = None, (f"{FILE_NAME} beside the model is that of another run and was not used.",)
    agreed = None if study is None else load_study(study)
    rows = None if sample is None else load_sample(sample, loaded, layout)
    page = render_report(
        ReportInput(
            model=loaded,
            forecast=forecast_on_made_up_rows(loaded) if rows is None else forecast_on_sample(loaded, rows),
            cost=forecast_cost(loaded) if measured is None else measured,
            measured=measured is not None,
            experiments=tables,
            notes=notes,
            study=agreed,
            rebuilt=rebuilt_plan(linear.certificate) is not None,
        )
    )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_durably(out, page.encode(), mode=0o644)
    except OSError as error:
        raise InvalidInputError(f"The report cannot be written to '{out}': {error.strerror}.") from None


def _check_target(out: Path) -> None:
    """Refuse to overwrite what is no report: a model, say, whose name was typed by mistake."""
    try:
        if out.exists():
            with out.open("rb") as file:
                if _GENERATOR not in file.read(_HEAD):
                    raise InvalidInputError(
                        f"'{out}' exists and is no report of cofit. Choose another --out, or move it."
                    )
    except OSError as error:
        raise InvalidInputError(f"The report cannot be written to '{out}': {error.strerror}.") from None
