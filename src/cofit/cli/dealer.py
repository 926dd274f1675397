"""``cofit dealer``: the dealer of a study, until it is stopped."""

from __future__ import annotations

from pathlib import Path

import click

from cofit.cli.serving import listen_option, log_to_stderr, program_option, run_until_signalled
from cofit.roles.dealer.service import DealerService
from cofit.roles.files.keys import load_identity_for
from cofit.roles.jobs.of_study import served_job


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--key", required=True, type=click.Path(path_type=Path), help="Its private key, from `cofit keygen`.")
@click.option("--name", help="The dealer, as the study calls it.  [default: whose key it is]")
@click.option(
    "--state",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Its private directory, for the audit log; made if it does not exist, and used for this study only.",
)
@listen_option
@program_option
def dealer(
    study: Path, key: Path, name: str | None, state: Path, listen: tuple[str, int] | None, program: Path | None
) -> None:
    """Run the dealer of STUDY: hand out correlated randomness to the computing parties, session by session.

    The scheme semi2k needs one. It sees no data and no masked data, but together with any one computing party it could
    read everything: let somebody run it who colludes with none of them, on a separate machine. It may start and stop at
    any time; the parties wait for it. SIGTERM and SIGINT stop it.

    \b
    Example:
        cofit dealer study.toml --key dealer.key --state dealer.dealer

    Exit codes: 0 stopped, 1 it failed, 2 wrong usage or input.
    """
    job = served_job(study, program)
    identity = load_identity_for(job.study, key, name)
    log_to_stderr(identity.name)
    service = DealerService(job, identity, state, listen)
    run_until_signalled(service.run, service.stop)
