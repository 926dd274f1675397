"""``cofit check``: what a study means, before anybody agrees to it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cofit.cli.check_accuracy import accuracy_of, print_accuracy
from cofit.cli.check_lists import participant_list, print_list, print_participants
from cofit.cli.check_predictions import query_facts
from cofit.cli.check_program import check_program
from cofit.cli.plan_table import print_plan
from cofit.cli.scheme_table import choice_table
from cofit.cli.table_options import table_options
from cofit.errors import InvalidInputError
from cofit.learn.comparison import compare_schemes, usual_parties
from cofit.learn.forecast import LOCAL_LATENCY, forecast
from cofit.learn.plan import Plan
from cofit.roles.files.studies import load_agreement
from cofit.roles.files.text_tables import TextLayout
from cofit.roles.jobs.of_study import training_job
from cofit.secret.checkpoints import KeptState
from cofit.study.document import ClientEntry, OwnerEntry, Participant, Study, value_text
from cofit.study.in_words import feature_in_words, features_in_words
from cofit.study.program import ProgramStudy
from cofit.study.served_statement import NOT_PRIVATE, client_in_words, exact_lines
from cofit.study.statement import expected_certificate, learned
from cofit.units import size


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--forecast/--no-forecast",
    "simulate",
    default=None,
    help="Simulate what accuracy to expect, or not.  [default: if it takes about 20 seconds or less]",
)
@click.option(
    "--sample",
    type=click.Path(path_type=Path),
    help="A labelled table that is public or made up, in the study's columns, to simulate with.  [default: made-up "
    "rows]",
)
@table_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def check(study: Path, simulate: bool | None, sample: Path | None, as_json: bool, layout: TextLayout) -> None:
    """Check a study file and show what it means: hash, columns, who takes part, who learns what, privacy, cost.

    Reads the file STUDY, the certificates and the schema that it names, and no data but the sample, if one is given.
    What accuracy to expect is simulated with made-up rows or with that sample, for both recipes and several epsilons,
    with suggestions. Never give real records of the study as a sample. Times assume the latency that is shown.

    In a study with a [job]: what its program takes, by which source, what it opens to whom, and no forecast.

    Everybody who takes part runs this. Compare the hash and the fingerprints with the others over a channel that you
    trust: equal hashes mean that all agreed to the same study, and connections with another hash are refused.

    \b
    Examples:
        cofit check study.toml
        cofit check study.toml --sample public-sample.csv

    Exit codes: 0 the study is valid, 2 it is not.
    """
    loaded = load_agreement(study)
    if isinstance(loaded, ProgramStudy):
        if sample is not None or simulate:
            raise InvalidInputError("--sample and --forecast are for studies that train a model; this one has a [job].")
        check_program(loaded, as_json)
        return
    job = training_job(loaded)
    plan = job.plan
    expected = accuracy_of(loaded, sample, simulate, layout)
    owners = sum(1 for owner in loaded.owners if owner.columns)
    told, parties = loaded.compute.latency, len(loaded.parties)
    cost = forecast(
        plan,
        owners=job.contributors,
        parties=parties,
        latency=LOCAL_LATENCY if told is None else told,
        kept=job.state,
        noise=loaded.release.noise,
    )
    choices = compare_schemes(plan.facts, owners, usual_parties() | {plan.facts.scheme: parties})
    privacy, assumptions = _promised(loaded, plan)
    _warn_of_reference(loaded)
    served = query_facts(job)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "name": loaded.name,
                    "hash": loaded.hash,
                    "participants": participant_list(loaded, partial(_part, loaded)),
                    "learned": learned(loaded),
                    "privacy": privacy[0],
                    "assumptions": assumptions,
                    **({} if served is None else {"predictions": served.to_dict()}),
                    "plan": {**plan.to_dict(), "hash": plan.hash, "noise": loaded.release.noise},
                    "forecast": cost.to_dict(),
                    "checkpoints": None if job.state is None else job.state.to_dict(),
                    "accuracy": {"reason": expected} if isinstance(expected, str) else expected.to_dict(),
                    "schemes": [choice.to_dict() for choice in choices],
                    "study": json.loads(loaded.canonical()),
                }
            )
        )
        return
    console = Console()
    if not loaded.release.noise:
        console.print(Text(f"{privacy[0]}\n", style="bold"))
    console.print(Text(f"Study '{loaded.name}'", style="bold"))
    console.print(Text(f"Study hash: {loaded.hash}", style="bold"), soft_wrap=True)
    _print_head(console, loaded, plan)
    print_participants(console, participant_list(loaded, partial(_part, loaded)))
    print_plan(console, plan, cost, loaded.release.noise)
    print_list(console, "Checkpoints", [_checkpoints(job.state)])
    console.print()
    console.print(choice_table(choices, "this study", plan.facts.scheme))
    print_accuracy(console, expected)
    print_list(
        console, "What everybody will learn", [f"{w}: {f}" for w, facts in learned(loaded).items() for f in facts]
    )
    if served is not None:
        print_list(console, "Private predictions", served.lines)
    print_list(console, "Privacy", privacy)
    print_list(console, "This holds if", assumptions)
    console.print(Text(f"\nStudy hash: {loaded.hash}", style="bold"), soft_wrap=True)


def _warn_of_reference(study: Study) -> None:
    reference, privacy = study.data.reference, study.privacy
    if reference is not None and not reference.made_for(privacy.epsilon, privacy.delta):
        click.echo(
            f"Warning: the map of data.reference was not made for epsilon = {privacy.epsilon:g} and delta = "
            f"{privacy.delta:g}: it costs accuracy, and no privacy. Make it again with `cofit reference`, or name the "
            "table of rows.",
            err=True,
        )


def _promised(study: Study, plan: Plan) -> tuple[list[str], tuple[str, ...]]:
    """Return what the study guarantees, the most important first, and under which assumptions."""
    if not study.release.noise:
        spec = study.spec
        parties = f"computing parties, corrupted at most: {spec.corrupted}; {spec.protects}; {spec.assumptions}"
        return list(exact_lines(study, plan.opened.count)), (parties,)
    certificate = expected_certificate(study, plan)
    return [text for text in (certificate.headline, certificate.about_others) if text], certificate.assumptions


def _part(study: Study, entry: Participant) -> str:
    """Return what one participant brings, in a few words."""
    if isinstance(entry, ClientEntry):
        return client_in_words(study, entry)
    if not isinstance(entry, OwnerEntry):
        return "sees how far it has got; there is no model to fetch" if study.release.shared else "may fetch the model"
    label = f", label '{study.data.label}'" if entry.holds_label else ""
    return f"{entry.rows:,} rows, {len(entry.columns):,} of {len(study.data.features):,} features{label}"


def _print_head(console: Console, study: Study, plan: Plan) -> None:
    """Print what the columns hold, and what the study may spend: what everybody agrees to first."""
    data = study.data
    held = (
        " or ".join(map(value_text, data.label_values))
        if data.label_feature is None
        else feature_in_words(data.label_feature)
    )
    if plan.facts.largest_count is not None:
        held = f"count from 0 to {plan.facts.largest_count}"
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for names, meant in (*features_in_words(data.features), (data.label, f"{held}: the label")):
        table.add_row(Text(f"  {names}"), Text(meant))
    console.print(f"\nColumns: {len(data.features):,} features and the label", style="bold")
    console.print(table)
    epsilon, delta = (f"{float(value):.6g}" for value in (plan.facts.epsilon, plan.total_delta))
    console.print("\nPrivacy budget", style="bold")
    if not study.release.noise:
        console.print(f"  none: {NOT_PRIVATE.lower()}; every owner's ledger lists the study\n", highlight=False)
        return
    console.print(f"  epsilon {epsilon}, delta {delta}: charged to every owner's ledger, once\n", highlight=False)


def _checkpoints(kept: KeptState | None) -> str:
    if kept is None:
        return "none: a run takes less than a minute, and begins again after an interruption"
    element = kept.ring.element_bytes
    most = max(map(kept.size, kept.due))
    return (
        f"{len(kept.due)}, from which a run goes on after an interruption; a party stores at most {most:,} numbers "
        f"at each, {size(most * element)} for every part of a share, and the last two"
    )
