"""``cofit``: the command and its errors.

Commands are imported when they are asked for: every process of a run that a command starts imports this module again.
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from cofit.errors import CofitError, InvalidInputError

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2

COMMANDS = {
    "align": "align:align",
    "bench": "bench:bench",
    "budget": "budget:budget",
    "check": "check:check",
    "contribute": "contribute:contribute",
    "dealer": "dealer:dealer",
    "demo": "demo:demo",
    "evaluate": "evaluate:evaluate_model",
    "experiment": "experiment:experiment",
    "forget": "forget:forget",
    "keygen": "keygen:keygen",
    "model": "model:model",
    "party": "party:party",
    "plan": "plan:plan",
    "predict": "predict:predict",
    "report": "report:report",
    "run": "run_study:run_study",
    "schemes": "schemes:schemes",
    "status": "status:status",
}
"""Each command, and where in ``cofit.cli`` it is."""


class Commands(click.Group):
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


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="cofit", prog_name="cofit")
def cli() -> None:
    """Compute on the joint data of several owners without showing it to anyone.

    Owners secret-share their data to a few computing parties; the parties compute on the shares and open only what was
    agreed. Start with `cofit demo`.

    Exit codes: 0 success, 1 the run failed, 2 wrong usage or input.
    """


def main() -> None:
    """Run the command; errors of ours become one line and an exit code."""
    try:
        cli(standalone_mode=True)
    except InvalidInputError as error:
        sys.exit(_complain(error, EXIT_BAD_INPUT))
    except CofitError as error:
        sys.exit(_complain(error, EXIT_FAILED))


def _complain(error: CofitError, code: int) -> int:
    click.echo(f"cofit: {error}", err=True)
    return code


if __name__ == "__main__":
    main()
