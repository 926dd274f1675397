"""What a study promises before it runs: the privacy statement, and what everybody will learn."""

from __future__ import annotations

from dataclasses import replace

from cofit.arithmetic import Shape
from cofit.errors import InvalidInputError
from cofit.learn.certify import certify
from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS
from cofit.learn.plan import Plan
from cofit.learn.rebuild import compare_certificates, of_another_release, rebuilt_plan
from cofit.privacy.certificate import Certificate
from cofit.study.document import Study
from cofit.study.plan import study_plan
from cofit.study.program_statement import PUBLIC_FACTS

_BEFORE_THE_RUN = "1970-01-01"


def expected_certificate(study: Study, plan: Plan) -> Certificate:
    """Return the certificate that the release will carry, but for its date and the openings of the run.

    Its headline, assumptions and numbers are what participants agree to: one object makes the claim, before and after.
    """
    shapes: dict[str, dict[str, Shape]] = {}
    for owner in study.owners:
        shapes[owner.name] = {LABELS: plan.target.shape(owner.rows)} if owner.holds_label else {}
        if owner.holds_label and plan.facts.weight_bound is not None:
            shapes[owner.name][WEIGHTS] = (owner.rows,)
        if owner.columns:
            width = sum(feature.width for feature in study.features_of(owner)) + plan.own_columns
            shapes[owner.name][FEATURES] = (owner.rows, width)
    return certify(
        plan,
        parties=[party.name for party in study.parties],
        dealer=None if study.dealer is None else study.dealer.name,
        owners=shapes,
        openings=(),
        created=_BEFORE_THE_RUN,
        study=study.hash,
    )


def check_certificate_of(study: Study, plan: Plan, certificate: Certificate) -> None:
    """Raise InvalidInputError, which names the field, unless this is the certificate of a release of the study."""
    if rebuilt_plan(certificate) is None:
        raise InvalidInputError(of_another_release(certificate))
    expected = expected_certificate(study, plan)
    of_the_run = {name: getattr(certificate, name) for name in ("created", "openings", "software", "cofit_version")}
    compare_certificates(certificate, replace(expected, **of_the_run), "which follows from the study")


def learned(study: Study) -> dict[str, tuple[str, ...]]:
    """Return what each role will learn, and what it could learn by breaking the assumptions."""
    spec = study.spec
    owners = ["its own data", *_of_the_model(study, ", if somebody publishes them")]
    parties = _of_the_model(study)
    analysts = [*_of_the_model(study), _stated(study)]
    if study.data.partition == "vertical":
        owners.append("for every row key that it can think of, whether another owner has it")
        parties.append("how many rows the owners have in common; no row key (unless the party is an owner too)")
    parties.append(
        f"of the data nothing, as long as the scheme's assumptions hold ({spec.protects}; corrupted: {spec.corrupted})"
        if spec.secret
        else f"EVERYTHING: the scheme '{spec.name}' keeps nothing secret and is for testing only"
    )
    dealer = {}
    if study.dealer is not None:
        dealer["dealer"] = (
            "of the data nothing: it gets no share and no message that depends on data",
            "with any one computing party together, everything: it must collude with none of them",
            PUBLIC_FACTS,
        )
    return {
        "owners": (*owners, PUBLIC_FACTS),
        "parties": (*parties, PUBLIC_FACTS),
        **dealer,
        "analysts": (*analysts, PUBLIC_FACTS),
        **_clients(study),
        "network": ("who talks to whom, when, and how many bytes",),
    }


def _of_the_model(study: Study, when: str = "") -> list[str]:
    """Return what is learned of the model once it is trained; of a shared one, what prepares rows, and no weight."""
    opened = [f"{words}{when}" for words in _opened(study)]
    return ["nothing of the weights, which stay shared", *opened] if study.release.shared else opened


def _opened(study: Study) -> list[str]:
    """Return what is opened, in words: one text, or none."""
    if not study.release.shared:
        return [study_plan(study).revealed]
    parts = study_plan(study).opened.parts if study.release.noise else ()
    prepared = [part.words for part in parts if not part.scores]
    return [", ".join(prepared)] if prepared else []


def _stated(study: Study) -> str:
    return "the certificate" if study.release.noise else "the statement that the weights have no noise"


def _clients(study: Study) -> dict[str, tuple[str, ...]]:
    """Return what clients learn, who fetch what is opened before they ask; nothing where there are none."""
    if not study.clients:
        return {}
    covered = (
        "of the weights what its answers tell, which the noise covers"
        if study.release.noise
        else "of the weights, without noise, what its answers tell: as many scores as there are weights are all of them"
    )
    answers = "the answers about its own rows, which nobody else learns"
    return {"clients": (answers, covered, *_opened(study), _stated(study), PUBLIC_FACTS)}
