"""``cofit keygen``: a private key and the certificate that others pin."""

from __future__ import annotations

from pathlib import Path

import click

from cofit.roles.files.keys import write_identity
from cofit.study.participants import participant_name
from cofit.transport import fingerprint, generate_identity


@click.command()
@click.argument("name")
@click.option(
    "--out",
    default=".",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the two files.",
)
def keygen(name: str, out: Path) -> None:
    """Make NAME.key (private, for you alone) and NAME.pem (a certificate, for everybody).

    NAME is what the study calls you, as party, owner or analyst. Whoever has NAME.key can act as you. Existing files
    are never overwritten.

    \b
    Example:
        cofit keygen hospital-a --out keys

    Exit codes: 0 both files are written, 2 wrong input, or a file that already exists.
    """
    identity = generate_identity(participant_name("name", name))
    key, certificate = write_identity(identity, out)
    click.echo(f"Private key: {key}  (keep it on this machine, and away from everybody)")
    click.echo(f"Certificate: {certificate}")
    click.echo(f"Fingerprint: {fingerprint(identity.certificate_pem)}")
    click.echo(
        f"\nNext: send {certificate.name} to whoever writes study.toml, and tell them the fingerprint over another "
        f'channel, such as the telephone.\nIn study.toml your entry says: certificate = "{certificate.name}". When you '
        "get the study, run\n`cofit check study.toml` and compare the fingerprints, yours and the others', before you "
        "agree."
    )
