"""Check the file of a model, offline: for somebody who was not in the study, or years later.

Three things hold a model together. The *certificate* is rebuilt from its own facts, and every field compared. The
*signatures* bind certificate, numbers and encoding to the parties' keys. The *study* says whose keys these are, and
what the parties were to do. Without the study the keys are those that the file itself carries: whoever forged the file
would have put in keys of their own, so that nobody vouches for them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from cofit.errors import InvalidInputError, OtherReleaseWarning, VerificationError
from cofit.learn.rebuild import of_another_release, rebuilt_plan
from cofit.models.linear_model import LinearModel
from cofit.models.model_files import model_kind, model_of_text
from cofit.models.model_text import model_text
from cofit.models.study_model import StudyModel
from cofit.privacy.certificate import Certificate
from cofit.roles.files.studies import load_study
from cofit.study.document import Study
from cofit.study.encoding import study_encoding
from cofit.study.plan import study_plan
from cofit.study.statement import check_certificate_of
from cofit.transport import fingerprint

_NOBODY = "NOBODY VOUCHES FOR "


@dataclass(frozen=True)
class Verification:
    """What holds of a model's file. Whatever does not hold is no result, but a VerificationError.

    certificate: of the release. signed_by: the fingerprint of each party's key. vouched: whether the keys are those of
    a study that was given. rebuilt: whether the certificate was rebuilt from its facts; False if another release of
    cofit wrote it. caveats: what is not known, the most important first. holds: what was checked.
    """

    certificate: Certificate
    signed_by: dict[str, str]
    vouched: bool
    rebuilt: bool
    caveats: tuple[str, ...]
    holds: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether everything was checked: nothing rests on the word of who wrote the file."""
        return self.vouched and self.rebuilt

    def to_text(self) -> str:
        """Return it in plain words: first what nobody vouches for, then what holds, and what it says of privacy."""
        lines = [*self.caveats, "", "What holds:"] if self.caveats else ["Everything holds:"]
        lines += [f"- {line}" for line in self.holds]
        says = "What the certificate says:" if self.rebuilt else "What the certificate CLAIMS, and nobody has checked:"
        return "\n".join([*lines, "", says, self.certificate.headline]) + "\n"


def verify_model(path: str | Path, study: str | Path | Study | None = None) -> Verification:
    """Check everything that the file of a model states, and return what holds.

    study: the study of the model (``study.toml``, with the certificates of its participants beside it), from a source
    that you trust. Without it the keys of the parties are those in the file, for which nobody vouches.

    Raises InvalidInputError where the file cannot be read or is not a model, and VerificationError, which names the
    field or the party, where something does not hold.
    """
    text = model_text(path)
    model_kind(text, path)
    agreed = load_study(study) if isinstance(study, str | Path) else study
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OtherReleaseWarning)  # it is among the caveats
        try:
            model = model_of_text(text, path)
            return _of_study(model, agreed) if isinstance(model, StudyModel) else _of_run(model, agreed)
        except InvalidInputError as error:
            raise VerificationError(f"{error} Do not use the model: the file was changed or is damaged.") from None
        except VerificationError as error:
            raise VerificationError(f"{path}: {error}") from None


def _of_run(model: LinearModel, study: Study | None) -> Verification:
    """Check a model that an estimator or the demo saved: there is nobody to sign it."""
    if study is not None:
        raise VerificationError(
            "This model is of a run without a study, so that no study can vouch for it. Leave the study (--study) out."
        )
    if model.certificate.study is not None:
        raise VerificationError(
            "The certificate is that of a study, but the file has neither its study nor signatures."
        )
    caveats = [
        f"{_NOBODY}THIS MODEL: it comes from a run on one machine, without a study, and nobody has signed it. Whoever "
        f"wrote the file could have changed its weights, and the bounds of its columns."
    ]
    rebuilt, holds = _rebuilt(model.certificate, caveats)
    return Verification(model.certificate, {}, False, rebuilt, tuple(caveats), (*holds, _FITS))


_FITS = "The weights have the shape and the preparation of rows that the certificate says."


def _of_study(model: StudyModel, study: Study | None) -> Verification:
    certificate = model.model.certificate
    model.check_signatures()
    keys = {one.party: fingerprint(one.certificate_pem) for one in model.signatures}
    parties = ", ".join(certificate.parties)
    caveats = []
    if study is None:
        prints = "".join(f"\n  {key}  {party!r}" for party, key in keys.items())
        caveats.append(
            f"{_NOBODY}THE KEYS: they are in the file itself, and whoever forged it would have put in names and keys "
            f"of their own. Give the study (--study) from a source that you trust, or compare every one of these "
            f"fingerprints with the party itself, over another channel:{prints}"
        )
    rebuilt, holds = _rebuilt(certificate, caveats)
    who = f"{parties} have" if study is not None else "All keys in this file have"
    holds.append(
        f"{who} signed these numbers, what the columns mean, and this certificate: no digit of them was changed since."
    )
    if rebuilt:
        _check_shrinkage(model)
        holds.append("The weights, the intercept and the preparation of rows are what the signed numbers give.")
    if study is not None:
        _check_study(model, study, keys, rebuilt=rebuilt)
        agreed = "columns and certificate are" if rebuilt else "the columns are"
        holds.append(f"The keys are those of study '{study.name}' ({study.hash[:16]}), and {agreed} what it says.")
    return Verification(certificate, keys, study is not None, rebuilt, tuple(caveats), tuple(holds))


def _rebuilt(certificate: Certificate, caveats: list[str]) -> tuple[bool, list[str]]:
    """Return whether the certificate follows from its facts, and what holds of it; or say why it is not known."""
    if rebuilt_plan(certificate) is None:
        caveats.append(
            f"NOT CHECKED IN FULL: {of_another_release(certificate)} Nor were the intercept, the preparation of rows "
            f"and the shrinkage derived again."
        )
        return False, ["The numbers of the certificate do not contradict each other. More is not known of them."]
    holds = ["The numbers of the certificate fit together: the noise that it states gives the privacy that it claims."]
    holds.append(
        "Plan and certificate were rebuilt from the public facts of the run: every field is the same. (Versions of "
        "software and warnings of the run itself follow from nothing.)"
    )
    return True, holds


def _check_shrinkage(model: StudyModel) -> None:
    plan, one = rebuilt_plan(model.model.certificate), model.model
    if plan is not None:
        own = one.again(plan, model.released).shrinkage
        if one.shrinkage != own:
            raise VerificationError(
                f"The shrinkage of the model must be {own!r}, which its release speaks for. Got {one.shrinkage!r}: the "
                f"file was changed after it was fetched."
            )


def _check_study(model: StudyModel, study: Study, keys: dict[str, str], *, rebuilt: bool) -> None:
    """Raise unless this is the model of the study, by the keys of its parties."""
    if model.study != (study.name, study.hash):
        raise VerificationError(
            f"The model is of another study: '{model.study[0]}' with the hash {model.study[1]}. The study that was "
            f"given is '{study.name}' with the hash {study.hash}. Give the study.toml of this model, with the "
            f"certificates (.pem) of its participants beside it: the hash covers them too."
        )
    expected = {party.name: party.fingerprint for party in study.parties}
    for party in sorted({*keys, *expected}):
        if keys.get(party) != expected.get(party):
            raise VerificationError(f"The key of '{party}' in the file is not the one that the study has of it.")
    if model.encoding != study_encoding(study):
        raise VerificationError("What the file says of columns and classes is not what the study says.")
    if rebuilt:
        check_certificate_of(study, study_plan(study), model.model.certificate)
