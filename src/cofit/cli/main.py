"""``cofit``: the command and its errors."""

from __future__ import annotations

import sys

import click

import cofit
from cofit.cli.align import align
from cofit.cli.bench import bench
from cofit.cli.budget import budget
from cofit.cli.check import check
from cofit.cli.contribute import contribute
from cofit.cli.demo import demo
from cofit.cli.evaluate import evaluate_model
from cofit.cli.forget import forget
from cofit.cli.keygen import keygen
from cofit.cli.model import model
from cofit.cli.party import party
from cofit.cli.plan import plan
from cofit.cli.predict import predict
from cofit.cli.run_study import run_study
from cofit.cli.schemes import schemes
from cofit.cli.status import status
from cofit.errors import CofitError, InvalidInputError

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(cofit.__version__, prog_name="cofit")
def cli() -> None:
    """Compute on the joint data of several owners without showing it to anyone.

    Owners secret-share their data to a few computing parties; the parties compute on the shares and open only what was
    agreed. Start with `cofit demo`.

    Exit codes: 0 success, 1 the run failed, 2 wrong usage or input.
    """


for command in (
    align,
    bench,
    budget,
    check,
    contribute,
    demo,
    evaluate_model,
    forget,
    keygen,
    model,
    party,
    plan,
    predict,
    run_study,
    schemes,
    status,
):
    cli.add_command(command)


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
