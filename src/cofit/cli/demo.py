"""``cofit demo``: two hospitals train one private model, with everybody a real process over TLS."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from cofit.cli.demo_data import demo_data
from cofit.cli.demo_report import (
    accuracies,
    measured_cost,
    print_accuracy,
    print_certificate,
    print_introduction,
    print_openings,
    print_plan_in_short,
    print_traffic,
)
from cofit.cli.demo_summary import print_places, print_summary
from cofit.cli.numbers import REAL
from cofit.cli.report import write_report
from cofit.cli.scheme_options import check_form, parties_option, scheme_option, threshold_option
from cofit.errors import InvalidInputError
from cofit.experiments.breast_cancer import CLASSES, RANGES
from cofit.learn.facts import PARTITIONS, training_facts
from cofit.learn.plan import plan_training
from cofit.learn.settings import RECIPES
from cofit.models.linear_model import LinearModel
from cofit.models.progress_display import progress_display
from cofit.privacy.certificate import NOT_MET
from cofit.report.cost import Cost
from cofit.roles.local.training import run_training

MODEL, CERTIFICATE, CERTIFICATE_TEXT, REPORT = "model.json", "certificate.json", "certificate.txt", "report.txt"
COST, PAGE = "cost.json", "report.html"
REPORT_WIDTH = 120

REHEARSAL = (
    "this is a demo: one program on one machine started everybody and held all of the data, which are public",
    f"{NOT_MET}: ranges and settings were chosen by people who know this public data set",
)
"""What the certificate of a demo says, so that nobody takes it for one of a study."""


@click.command()
@click.option(
    "--partition",
    default="horizontal",
    show_default=True,
    type=click.Choice(PARTITIONS),
    help="The hospitals hold different patients (horizontal), or different columns of all patients (vertical).",
)
@click.option(
    "--epsilon", default=1.0, show_default=True, type=REAL, help="Privacy parameter: smaller is more private."
)
@click.option(
    "--recipe",
    default="best",
    show_default=True,
    type=click.Choice(RECIPES),
    help="The most accurate method (delta = 1e-6), or the paper's (delta = 0).",
)
@scheme_option
@parties_option
@threshold_option
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(0, 2**32 - 1),
    help="Which patients are held out. The noise has no seed: nobody must know it.",
)
@click.option(
    "--out",
    default="cofit-demo",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder for model, certificate and reports; it must be new or empty.",
)
@click.option("--force", is_flag=True, help="Overwrite a release in the folder.")
def demo(
    partition: str,
    epsilon: float,
    recipe: str,
    scheme: str,
    parties: int | None,
    threshold: int | None,
    seed: int,
    out: Path,
    force: bool,
) -> None:
    """Let two hospitals train one private model: every hospital and party is a process, with TLS between them.

    The hospitals hold scikit-learn's breast-cancer data and show them to nobody. They send random shares to a few
    computing parties, who train a logistic regression on the shares, add noise that nobody knows, and open the
    noisy weights, once. The result is compared with a model without privacy. What is printed is a summary; the files
    have the rest.

    \b
    Different columns of the same patients, and more privacy:
        cofit demo --partition vertical --epsilon 0.5 --out vertical-demo
    Two parties and a dealer; four parties, one of which may cheat:
        cofit demo --scheme semi2k --out two-parties
    Two parties and nobody else:
        cofit demo --scheme pair --out pair
        cofit demo --scheme rep4 --out four-parties
    Three parties, one of which may cheat:
        cofit demo --scheme repn --out cheats
    Five parties, any two of which may collude; `cofit schemes` says which scheme runs with how many:
        cofit demo --scheme shamir --parties 5 --out five-parties

    Exit codes: 0 the model is there, 1 the run failed, 2 wrong usage or input, or a folder that is not empty.
    """
    check_form(scheme, parties, threshold)
    prepare_folder(out, force)
    text = io.StringIO()
    told, full = Console(), Console(file=text, width=REPORT_WIDTH)
    data = demo_data(seed)
    owners = data.owners(partition)
    rows, cols = data.features.shape
    plan = plan_training(
        training_facts(
            rows,
            cols,
            partition=partition,
            recipe=recipe,
            epsilon=epsilon,
            scheme=scheme,
            threshold=threshold,
            feature_bound=1.0,
        ).among(parties)
    )
    with progress_display() as listener:
        run = run_training(plan, owners, parties=parties, processes=True, progress=listener, warnings=REHEARSAL)
    of_scaled_rows = LinearModel.from_training(run, CLASSES, tuple(RANGES))
    result, cost = accuracies(plan, of_scaled_rows, data), measured_cost(run)
    model = replace(of_scaled_rows, bounds=tuple(RANGES.values()))
    print_introduction(full, run.certificate.spec, owners)
    print_plan_in_short(full, plan, run.certificate.spec.parties)
    print_accuracy(full, result)
    print_certificate(full, run.certificate)
    print_openings(full, run.run.openings)
    print_traffic(full, run.run)
    write_release(out, model, cost, text.getvalue())
    print_summary(told, plan, owners, result, run.certificate, cost)
    print_places(told, out, PAGE, REPORT)


def prepare_folder(out: Path, force: bool) -> None:
    """Create the folder, or refuse one with something in it: before anything is computed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        occupied = any(out.iterdir())
    except OSError as error:
        raise InvalidInputError(f"The folder '{out}' cannot be used: {error.strerror}. Choose another --out.") from None
    if occupied and not force:
        raise InvalidInputError(
            f"The folder '{out}' is not empty. It may hold a release, and a second release from the same data costs "
            f"privacy again: whoever sees both learns as much as the sum of their epsilons allows. Choose another "
            f"--out, or overwrite with --force."
        )


def write_release(out: Path, model: LinearModel, cost: Cost, report: str) -> None:
    """Write model, certificate, cost, everything in words, and the page about all of it."""
    names = (MODEL, CERTIFICATE, CERTIFICATE_TEXT, COST, REPORT)
    certificate = model.certificate
    texts = (model.to_json(), certificate.to_json(), certificate.to_text(), cost.to_json(), report)
    for name, text in zip(names, texts, strict=True):
        (out / name).write_text(text, encoding="utf-8")
    write_report(out / MODEL, out / PAGE, cost=out / COST)
