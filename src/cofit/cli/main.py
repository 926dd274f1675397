"""``cofit``: the command and its errors.

Commands are imported when they are asked for: every process of a run that a command starts imports this module again.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

import click

from cofit.cli.suggesting import SuggestingGroup
from cofit.errors import CofitError, InvalidInputError, OtherReleaseWarning

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130

SECTIONS = {
    "Try it": {
        "demo": ("demo:demo", "Two hospitals train a private model on this machine."),
        "plan": ("plan:plan", "Show what a training run would prove, need and cost."),
        "schemes": ("schemes:schemes", "Compare the schemes: parties, adversary tolerated, cost."),
        "experiment": ("experiment:experiment", "Reproduce the paper's tables on public data, with honest noise."),
        "bench": ("bench:bench", "Measure this machine."),
    },
    "Prepare a study": {
        "reference": ("reference:reference", "Make the map of a public reference for a study."),
        "keygen": ("keygen:keygen", "Make a key and its certificate."),
        "check": ("check:check", "Check a study file, and see what it means."),
        "run": ("run_study:run_study", "Rehearse a whole study on this machine."),
        "program-hash": ("program_hash:program_hash", "Print what a study says of a program's source."),
        "run-program": ("run_program:run_program", "Rehearse a study that runs a program, on this machine."),
    },
    "Bring data": {
        "align": ("align:align", "Compare rows before a vertical study."),
        "contribute": ("contribute:contribute", "Share a table with the computing parties."),
        "budget": ("budget:budget", "Show the privacy budget that a data set has spent."),
    },
    "Compute": {
        "party": ("party:party", "Run a computing party."),
        "dealer": ("dealer:dealer", "Run the dealer of correlated randomness."),
        "status": ("status:status", "Show how far every party has got."),
        "forget": ("forget:forget", "Delete the shares that a party holds."),
    },
    "Use the results of a program": {
        "result": ("result:result", "Fetch what a program has opened, or check a file of it."),
    },
    "Use the model": {
        "model": ("model:model", "Fetch the released model."),
        "verify": ("verify:verify", "Check a model file, offline."),
        "predict": ("predict:predict", "Score the rows of a table."),
        "predict-private": ("predict_private:predict_private", "Ask the parties about rows that nobody sees."),
        "evaluate": ("evaluate:evaluate_model", "Compare predictions with known labels."),
        "report": ("report:report", "Write a page about a model, for people."),
    },
}
"""Each command by what it is for: where in ``cofit.cli`` it is, and one line."""
COMMANDS = {name: place for commands in SECTIONS.values() for name, (place, _) in commands.items()}


class Commands(SuggestingGroup):
    """The group of all commands, each imported when first asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"cofit.cli.{module}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an interrupt is no failure, and has an exit code of its own."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            click.echo(f"cofit: Interrupted. {interrupt}".rstrip(), err=True)
            ctx.exit(EXIT_INTERRUPTED)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section; none is imported for that."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="cofit", prog_name="cofit")
def cli() -> None:
    """Compute on the joint data of several owners without showing it to anyone.

    Owners secret-share their data to a few computing parties; the parties compute on the shares and open only what was
    agreed. Start with `cofit demo`. `cofit COMMAND --help` explains a command, with examples.

    \b
    A study, from the keys to the model:
        everybody  cofit keygen NAME, then cofit check study.toml
        parties    cofit party study.toml --key NAME.key --state NAME.party
        owners     cofit contribute study.toml --key NAME.key --data TABLE
        analysts   cofit model study.toml --key NAME.key --out model.json

    Exit codes: 0 success, 1 the run failed, 2 wrong usage or input, 3 (verify) nobody vouches for the model, 130
    interrupted.
    """


def main() -> None:
    """Run the command; errors of ours become one line and an exit code, and so does a warning one line."""
    with warnings.catch_warnings():
        shown = warnings.showwarning
        warnings.showwarning = lambda message, category, *where: (
            click.echo(f"Warning: {message}", err=True)
            if issubclass(category, OtherReleaseWarning)
            else shown(message, category, *where)
        )
        try:
            cli(standalone_mode=True)
        except InvalidInputError as error:
            sys.exit(_complain(error, EXIT_BAD_INPUT))
        except CofitError as error:
            sys.exit(_complain(error, EXIT_FAILED))


def _complain(error: CofitError, code: int) -> int:
    """Print an error; what a file or a peer put into it must not write to the terminal as it likes."""
    text = "".join(c if c.isprintable() or c == "\n" else "?" for c in str(error))
    click.echo(f"cofit: {text}", err=True)
    return code


if __name__ == "__main__":
    main()
