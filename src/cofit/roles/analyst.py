"""The analyst's side of a study: fetch the release from every party and compare the copies."""

from __future__ import annotations

from typing import Any

from cofit.errors import CofitError
from cofit.roles.contributing import connector
from cofit.roles.published import Release, agreed
from cofit.study.document import Study
from cofit.transport import Identity


def fetch_release(study: Study, identity: Identity) -> Release:
    """Return the release, which every party must hold in the same words; ProtocolError where copies differ."""
    connect = connector(study, identity)
    copies = {}
    for party in study.parties:
        with connect(party.name) as conversation:
            _, content = conversation.request({"request": "model"})
        copies[party.name] = Release.from_json(content.decode())
    return agreed(copies)


def statuses(study: Study, identity: Identity) -> dict[str, dict[str, Any] | str]:
    """Return what every party says of the study, or, as text, why one does not answer."""
    connect = connector(study, identity)
    told: dict[str, dict[str, Any] | str] = {}
    for party in study.parties:
        try:
            with connect(party.name) as conversation:
                told[party.name], _ = conversation.request({"request": "status"})
        except CofitError as error:
            told[party.name] = str(error)
    return told
