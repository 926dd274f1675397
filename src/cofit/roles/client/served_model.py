"""What a client fetches before it asks: how rows are prepared, and what the parties have signed of the model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError, ProtocolError, VerificationError, parameter_error
from cofit.learn.base_plan import Plan
from cofit.learn.inference.plan import InferencePlan
from cofit.privacy.certificate import Certificate
from cofit.roles.analyst.fetch import Copy, fetch_release
from cofit.roles.files.exact_models import ExactModel
from cofit.roles.files.published import largest_release
from cofit.roles.files.signatures import check_bytes
from cofit.roles.jobs.of_study import training_job
from cofit.roles.jobs.predictions import Predictions
from cofit.roles.service.conversations import connector
from cofit.study.document import ClientEntry, Study
from cofit.transport import Identity

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ServedModel:
    """The model of a study as a client knows it. prepared: the public numbers by which rows are prepared. certificate:
    None where there is no noise. digest: the SHA-256, in hex, of the certificate, or of the statement in its place."""

    predictions: Predictions
    prepared: Reals
    certificate: Certificate | None
    digest: str

    @property
    def study(self) -> Study:
        """The study."""
        return self.predictions.study

    @property
    def training(self) -> Plan:
        """The plan by which it was trained."""
        return self.predictions.training

    @property
    def plan(self) -> InferencePlan:
        """How it answers."""
        return self.predictions.plan


def client_named(study: Study, name: str) -> ClientEntry:
    """Return the client of that name, or raise InvalidInputError."""
    found = study.client(name)
    if found is None:
        raise parameter_error("client", "a study", f"one of {[client.name for client in study.clients]}", name)
    return found


def fetch_model(study: Study, identity: Identity) -> ServedModel:
    """Ask all parties what the model is that they answer with; their copies are the same, and signed by each.

    ProtocolError where copies differ, VerificationError where a signature is missing or wrong.
    """
    client_named(study, identity.name)
    job = training_job(study)
    predictions = job.questions
    if predictions is None:
        raise InvalidInputError(f"Study '{study.name}' has no clients.")
    if not study.release.noise:
        text = _exact(study, identity, job.hash, job.plan.opened.count)
        return ServedModel(predictions, np.zeros(0), None, hashlib.sha256(text.encode()).hexdigest())
    release = fetch_release(study, identity).release
    prepared = np.array(release.weights[-release_parts(job.plan) :] if release_parts(job.plan) else (), dtype=float)
    certificate = release.certificate
    return ServedModel(predictions, prepared, certificate, hashlib.sha256(certificate.to_json().encode()).hexdigest())


def release_parts(plan: Plan) -> int:
    """Return how many released numbers, the last, prepare rows."""
    return plan.opened.count - plan.opened.of_scores


def _exact(study: Study, identity: Identity, plan: str, weights: int) -> str:
    """Return the statement about weights without noise, which all parties have in the same words."""
    connect, found = connector(study, identity), set()
    for party in study.parties:
        text, signature = Copy(connect, party.name, largest_release(0)).fetch()
        try:
            statement = ExactModel.from_json(study, plan, weights, text)
        except InvalidInputError as error:
            raise ProtocolError(f"What '{party.name}' sends is not of this study. {error}") from None
        content = statement.to_sign(party.name, party.certificate_pem)
        if not check_bytes(party.certificate_pem, signature, content):
            raise VerificationError(f"The signature of '{party.name}' does not fit what it says of the model.")
        found.add(text)
    if len(found) != 1:
        raise ProtocolError("The parties say different things of the model: compare their audit logs.")
    return found.pop()
