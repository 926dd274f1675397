"""``cofit party``: one computing party of a study, until it is stopped."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from cofit.cli.numbers import WHOLE
from cofit.cli.serving import listen_option, log_to_stderr, program_option, run_until_signalled
from cofit.cli.setting_options import size_of
from cofit.errors import StateError
from cofit.roles.files.keys import load_identity_for
from cofit.roles.jobs.of_study import served_job
from cofit.roles.party.service import PartyService


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--key", required=True, type=click.Path(path_type=Path), help="Its private key, from `cofit keygen`.")
@click.option("--name", help="This party, as the study calls it.  [default: whose key it is]")
@click.option(
    "--state",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Its private directory; made if it does not exist, and used for this study and party only.",
)
@click.option(
    "--until-released",
    is_flag=True,
    help="Stop when every party has the model; by default it goes on answering, so that analysts can fetch it.",
)
@click.option(
    "--memory",
    callback=size_of,
    metavar="SIZE",
    help="The most memory that this party may use, such as 1GB; shares that exceed it lie in a private file in --state "
    "while a session runs.  [default: compute.memory of the study]",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="The Dask scheduler whose workers hold this party's shards, in a study with compute.shards, such as "
    "tls://scheduler:8786.",
)
@click.option(
    "--workers",
    type=WHOLE,
    metavar="N",
    help="Or so many worker processes on this machine.  [default: one for each shard, at most one for each processor]",
)
@listen_option
@program_option
def party(
    study: Path,
    key: Path,
    name: str | None,
    state: Path,
    until_released: bool,
    memory: int | None,
    cluster: str | None,
    workers: int | None,
    listen: tuple[str, int] | None,
    program: Path | None,
) -> None:
    """Run one computing party of STUDY: wait for contributions and for the other parties, train, release, answer.

    In a study with a [job] the parties run its program instead. Each has the source at hand (--program) and has read
    it; a file with another hash than the study's is refused. Results go to analysts (`cofit result`); what is opened
    to this party alone goes to result.json in its state directory.

    Parties may start in any order and stop at any time; what they have acknowledged is on disk in the state directory,
    and a party that starts again resumes. Events go to the standard error, one line each, and to the
    audit log in the state directory. SIGTERM and SIGINT stop it.

    In a study with compute.shards the rows are divided among shards, on workers of a Dask cluster that belongs to this
    party alone. Workers of different parties talk to each other directly, over TLS.

    Whoever is an owner too keeps the two apart: the state of a party goes with its study, that of an owner has the
    ledger of all studies. Neither is used in place of the other, or inside it.

    \b
    Example:
        cofit party study.toml --key party-a.key --state party-a.party
        cofit party study.toml --key party-a.key --state party-a.party --program programs
        cofit party study.toml --key party-a.key --state party-a.party --memory 1GB
        cofit party study.toml --key party-a.key --state party-a.party --cluster tls://scheduler:8786

    Exit codes: 0 stopped, or released with --until-released; 1 it failed, or, with --until-released, another party
    says that no release can come any more; 2 wrong usage or input.
    """
    job = served_job(study, program)
    identity = load_identity_for(job.study, key, name)
    log_to_stderr(identity.name)
    service = PartyService(job, identity, state, listen, memory, cluster, workers)
    if run_until_signalled(partial(service.run, until_released=until_released), service.stop) == "failed":
        raise StateError("A check failed in this study: nothing is resumed here. The log above says which one.")
