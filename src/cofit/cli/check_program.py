"""``cofit check`` of a study that runs a program: what it takes, what it opens, and what that means."""

from __future__ import annotations

import json
from functools import partial

import click
from rich.console import Console
from rich.text import Text

from cofit.cli.check_lists import participant_list, print_list, print_participants
from cofit.study.document import Participant
from cofit.study.program import ProgramInput, ProgramStudy
from cofit.study.program_statement import assumptions, headline, learned_of_program, opening_in_words


def check_program(study: ProgramStudy, as_json: bool) -> None:
    """Print what the study means, for people or as JSON."""
    program = study.program
    participants = participant_list(study, partial(_part, study))
    if as_json:
        found = {
            "name": study.name,
            "hash": study.hash,
            "participants": participants,
            "learned": learned_of_program(study),
            "privacy": headline(study),
            "assumptions": assumptions(study),
            "study": json.loads(study.canonical()),
        }
        click.echo(json.dumps(found))
        return
    console = Console()
    title = Text(f"Study '{study.name}'", style="bold")
    console.print(title)
    console.print(Text(f"Study hash: {study.hash}", style="bold"), soft_wrap=True)
    print_list(console, f"Privacy: {headline(study).partition(':')[0]}", [headline(study)])
    print_list(console, f"Program '{program.name}', by its source", [f"{path}  {sha}" for path, sha in program.sources])
    print_list(
        console,
        "What it takes",
        [f"{owner.name}: {input_in_words(one)}" for owner in study.owners for one in owner.inputs],
    )
    print_list(console, "What it opens, in this order", [opening_in_words(study, one) for one in program.openings])
    console.print()
    print_participants(console, participants)
    learned = [f"{who}: {fact}" for who, facts in learned_of_program(study).items() for fact in facts]
    print_list(console, "What everybody will learn", learned)
    print_list(console, "Nobody learns more if", assumptions(study))
    console.print(Text(f"\nStudy hash: {study.hash}", style="bold"), soft_wrap=True)


def input_in_words(one: ProgramInput) -> str:
    """Return what is public of an input."""
    source = f"column{'' if len(one.columns) == 1 else 's'} {', '.join(one.columns)}" if one.columns else "an array"
    return f"'{one.name}', {source}, of shape {one.shape}, at most {one.bound:g} in magnitude, in {one.facts.format}"


def _part(study: ProgramStudy, entry: Participant) -> str:
    owner = study.owner(entry.name)
    if owner is None or owner is not entry:
        return "may fetch the results"
    return f"brings {', '.join(one.name for one in owner.inputs)}"
