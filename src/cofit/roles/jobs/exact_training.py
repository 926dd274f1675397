"""The job of training without noise: weights that never open, and no differential privacy.

What is published is a statement that says so first. The weights stay as shares at the parties; what clients are
answered with them is limited by rows, which every party counts. Recipe 'paper' alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt

from cofit.errors import InvalidInputError
from cofit.roles.files.exact_models import ExactModel
from cofit.roles.files.ledger import Exposure
from cofit.roles.jobs.job import AllowedOpening, ExposurePolicy, Outcome, Reals, Work
from cofit.roles.jobs.training import Training
from cofit.secret import Opening, SecretArray
from cofit.study.document import Study
from cofit.study.expected import holders
from cofit.study.served_statement import exact_lines
from cofit.transport import Identity

_HASHED = "cofit training without noise 1 "


@dataclass(frozen=True)
class ExactPolicy(ExposurePolicy):
    """Nothing is opened. Ledgers note what clients may be answered, before the weights are stored."""

    study: Study
    weights: int

    @property
    def openings(self) -> tuple[AllowedOpening, ...]:
        reason = "nothing: weights without noise, which stay shared"
        return (AllowedOpening(reason, (0,), tuple(party.name for party in self.study.parties), self.weights),)

    def exposure(self, dataset: str) -> Exposure:
        return Exposure(dataset, self.study.hash, self.study.name, exact_lines(self.study, self.weights))


class ExactTraining(Training):
    """Training, less the noise."""

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self.hash = hashlib.sha256(f"{_HASHED}{self.plan.hash}".encode()).hexdigest()

    @cached_property
    def policy(self) -> ExactPolicy:  # type: ignore[override]
        """All weights are kept, and nothing is opened."""
        return ExactPolicy(self.study, self.plan.opened.count)

    def value(self, work: Work) -> SecretArray:
        """Train."""
        return self.plan.exact_release(work.party, holders(self.study), work.coin, work.checkpoints)

    def in_units(self, opened: npt.NDArray[Any]) -> Reals:
        """Return nothing: no number was opened."""
        return opened

    def publish(self, outcome: Outcome, openings: Sequence[Opening], created: str) -> bytes:
        """Return the statement."""
        del outcome, openings
        return ExactModel(self.study, self.hash, self.plan.opened.count, created).to_json().encode()

    def numbers(self, published: bytes) -> tuple[float, ...]:
        """Return nothing, of a statement of this study."""
        self._exact(published)
        return ()

    def to_sign(self, identity: Identity, published: bytes) -> bytes:
        """Return the whole statement, bound to the party."""
        return self._exact(published).to_sign(identity.name, identity.certificate_pem)

    def _exact(self, published: bytes) -> ExactModel:
        try:
            return ExactModel.from_json(self.study, self.hash, self.plan.opened.count, published.decode())
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"A statement is not UTF-8 text: {error.reason}.") from None
