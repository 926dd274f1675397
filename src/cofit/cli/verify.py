"""``cofit verify``: check the file of a model, offline."""

from __future__ import annotations

from pathlib import Path

import click

EXIT_NOT_VOUCHED = 3


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--study",
    type=click.Path(path_type=Path),
    help="The study of the model, from a source that you trust: it has the keys of the parties. The certificates "
    "(NAME.pem) that it names must be beside it.",
)
@click.pass_context
def verify(ctx: click.Context, model: Path, study: Path | None) -> None:
    """Check everything that the file MODEL states, offline, and say in plain words what holds.

    For anybody who gets a model: a regulator, a journal, a hospital that was not in the study, or yourself years later.
    Nothing is fetched from the network, and no private data are needed.

    \b
    What is checked:
        certificate  plan and certificate are rebuilt from the public facts; every field is compared
        signatures   every computing party has signed the numbers, the columns' meaning and the certificate
        study        with --study: the keys are those that the participants agreed on, and the certificate is the one
                     that this study gives

    Without --study the keys are taken from the file itself, and nobody vouches for them: somebody who makes up a whole
    model can sign it with keys made up as well. A changed digit of a study's model is found even then. A model of an
    estimator or of `cofit demo` comes from a run on one machine: it has a certificate, and nobody who could sign it.

    What no signature can show: that the parties kept to the protocol, and that the assumptions in the certificate hold.

    \b
    Examples:
        cofit verify model.json --study study.toml
        cofit verify model.json

    Exit codes: 0 everything holds, by the keys of the study; 1 something does not hold, and the message names it; 2
    wrong usage, or the file is not a model; 3 nothing wrong was found, but nobody vouches for it (no study was given,
    there are no signatures, or another release of cofit wrote it).
    """
    from cofit.models.verification import verify_model  # noqa: PLC0415 - NumPy and Arrow take a moment to import

    found = verify_model(model, study)
    click.echo(found.to_text(), nl=False)
    if not found.complete:
        ctx.exit(EXIT_NOT_VOUCHED)
