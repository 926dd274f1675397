"""``cofit model``: fetch the released model of a study."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from cofit.cli.waiting import say_waiting
from cofit.errors import InvalidInputError
from cofit.models.linear_model import LinearModel
from cofit.models.study_model import StudyModel
from cofit.roles.analyst.fetch import fetch_release
from cofit.roles.files.durable import write_durably
from cofit.roles.files.keys import load_identity_for
from cofit.roles.files.signatures import SignedRelease
from cofit.roles.files.studies import load_study
from cofit.study.document import Study

CERTIFICATE_TEXT = "certificate.txt"


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--key", required=True, type=click.Path(path_type=Path), help="An analyst's private key.")
@click.option("--name", help="The analyst, as the study calls it.  [default: whose key it is]")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File for the model.")
def model(study: Path, key: Path, name: str | None, out: Path) -> None:
    """Fetch the released model of STUDY from every party, compare the copies, and write it with its certificate.

    All parties must answer with the same weights and the same certificate, which must be what the study gives, and
    with their signatures of both: one that differs or is missing is an error that names the party. The model goes to
    --out, in JSON, with the encoding of the study and all signatures; the certificate, as text, to certificate.txt
    beside it. Anybody can check the file later: `cofit verify`.

    \b
    Example:
        cofit model study.toml --key office.key --out model.json

    Exit codes: 0 the model is there, 1 there is none yet, a party does not answer, copies differ or a signature does
    not fit, 2 wrong input.
    """
    loaded = load_study(study)
    refuse_shared(loaded)
    identity = load_identity_for(loaded, key, name)
    fetched = model_of_release(loaded, fetch_release(loaded, identity, say_waiting(loaded)))
    write_model(fetched, out)
    click.echo(f"{fetched.model.certificate.headline}\n")
    tell_of_shrinkage(fetched)
    click.echo(
        f"All {len(loaded.parties)} parties hold this model and have signed it. Model: {out}, certificate: "
        f"{_certificate(out)}"
    )


def refuse_shared(study: Study) -> None:
    """Raise InvalidInputError if the study has no model that anybody can fetch."""
    if study.release.shared:
        raise InvalidInputError(
            f"The weights of study '{study.name}' stay as shares at its parties (release.model = 'shared'), so that "
            "there is no model to fetch. Its clients ask the parties: `cofit predict-private`."
        )


def model_of_release(study: Study, signed: SignedRelease) -> StudyModel:
    """Return the model of what an analyst fetched, with the signatures."""
    return StudyModel.from_release(study, signed.release.weights, signed.release.certificate, signed.signatures)


def write_model(model: StudyModel, out: Path) -> None:
    """Write the model, and its certificate beside it."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_durably(out, model.to_json().encode(), mode=0o644)
        write_durably(_certificate(out), model.model.certificate.to_text().encode(), mode=0o644)
    except OSError as error:
        raise InvalidInputError(f"The model cannot be written to '{out}': {error.strerror}.") from None


def tell_of_shrinkage(model: StudyModel) -> None:
    """Say so if predictions use other weights than those that were released."""
    one = model.model
    if one.shrinkage:
        left = int(np.count_nonzero(one.weights))
        click.echo(
            f"The release shows that few columns matter: predictions use the {left:,} of {np.size(one.coef):,} weights "
            f"that exceed {one.shrinkage:.3g} standard deviations of the noise, moved towards 0. That costs no "
            f"privacy. The file has the weights as released; `--raw` of predict and evaluate uses them.\n"
        )


def about_shrinkage(model: LinearModel) -> str:
    """Return which weights predictions were made with."""
    if not model.shrinkage:
        return "Predicted with the weights as released."
    return f"Predicted with shrinkage {model.shrinkage:.3g}; --raw predicts with the weights as released."


def _certificate(out: Path) -> Path:
    return out.parent / CERTIFICATE_TEXT
