"""A model of the test study with known weights, as a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cofit.cli.model import write_model
from cofit.models.study_model import StudyModel
from cofit.roles.files.published import Release
from cofit.roles.files.signatures import PartySignature, bytes_to_sign, sign
from cofit.study.document import Study
from cofit.study.plan import study_plan
from cofit.study.statement import expected_certificate
from cofit.transport import Identity
from unit.study.studies import IDENTITIES


def model_of(study: Study, weights: dict[str, float], intercept: float = 0.0) -> StudyModel:
    """Weights by encoded name; 0 where none is given. What recipe 'best' opens beside them is blank."""
    plan = study_plan(study)
    values = [weights.get(name, 0.0) for name in study.weight_names] + [intercept] * study.model.intercept
    released = (*values, *plan.opened.blank()[len(values) :])
    return StudyModel.from_release(study, released, expected_certificate(study, plan))


def signed(model: StudyModel, keys: Mapping[str, Identity] = IDENTITIES) -> StudyModel:
    """The model with the signatures of all its parties, by default those of the test study."""
    release = Release(model.released, model.model.certificate)
    certificate = release.certificate
    software = certificate.cofit_version, certificate.software
    signatures = [
        PartySignature(
            name,
            keys[name].certificate_pem,
            *software,
            sign(keys[name], bytes_to_sign(keys[name], release, model.encoding)),
        )
        for name in certificate.parties
    ]
    return replace(model, signatures=tuple(signatures))


def model_file(folder: Path, study: Study, weights: dict[str, float], intercept: float = 0.0) -> Path:
    """The same in a file."""
    path = folder / "model.json"
    write_model(model_of(study, weights, intercept), path)
    return path
