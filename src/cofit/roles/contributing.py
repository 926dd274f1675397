"""From an owner's encoded table to acknowledged contributions: budget, normalisation, sharing, upload."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy.typing as npt

from cofit.errors import InvalidInputError
from cofit.learn.contribution import prepared_features
from cofit.learn.train import FEATURES, LABELS
from cofit.roles.ledger import Ledger
from cofit.roles.owner import UploadProgress, contribute
from cofit.study.document import Study
from cofit.study.encode import EncodedTable
from cofit.study.expected import expected_contributions
from cofit.study.plan import study_plan
from cofit.transport import Conversation, Identity, Peer, Terms, converse

LEDGER = "budget.sqlite"


def contribute_table(
    study: Study,
    identity: Identity,
    table: EncodedTable,
    state: Path,
    dataset: str,
    progress: Callable[[UploadProgress], None] | None = None,
) -> str:
    """Charge the owner's ledger, share the table with all parties, and return the id of the upload.

    table: encoded as the study says, rows in the study's order. state: the owner's private directory. dataset: the name
    under which the ledger knows the data. Nothing leaves the owner before the ledger is charged.
    """
    plan = study_plan(study)
    expected = expected_contributions(study, plan).get(identity.name)
    if expected is None:
        raise InvalidInputError(f"'{identity.name}' is no owner of this study.")
    values: dict[str, npt.NDArray[Any]] = {}
    if FEATURES in expected and table.features is not None:
        values[FEATURES] = prepared_features(plan, table.features)
    if LABELS in expected and table.labels is not None:
        values[LABELS] = table.labels
    inputs = {}
    for name, facts in expected.items():
        if name not in values or values[name].shape != facts.shape:
            got = values[name].shape if name in values else None
            raise InvalidInputError(f"The {name} must have shape {facts.shape} by the study; got {got}.")
        inputs[name] = facts, facts.format.encode(values[name], facts.bound)
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    mechanism = plan.mechanism
    Ledger(state / LEDGER).charge(dataset, study.hash, study.name, mechanism.epsilon, Fraction(mechanism.total_delta))
    parties = tuple(party.name for party in study.parties)
    return contribute(parties, study.compute.scheme, inputs, connector(study, identity), state, study.hash, progress)


def connector(study: Study, identity: Identity) -> Callable[[str], AbstractContextManager[Conversation]]:
    """Return a function that opens a conversation with a party of the study, by name."""
    entries = {party.name: party for party in study.parties}
    terms = Terms(bytes(16), bytes.fromhex(study.hash), study.compute.scheme)

    def connect(name: str) -> AbstractContextManager[Conversation]:
        entry = entries[name]
        return converse(
            identity,
            Peer(entry.name, entry.host, entry.port, entry.certificate_pem),
            terms,
            timeout=study.compute.timeout,
            connect_timeout=study.compute.connect_timeout,
        )

    return connect
