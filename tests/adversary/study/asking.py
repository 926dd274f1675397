"""Requests to the parties of a study, as anybody may send them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cofit.roles.files.manifest import deal_contribution
from cofit.roles.jobs.training import Training
from cofit.roles.owner.contribute import prepare
from cofit.roles.service.conversations import connector
from cofit.study.document import Study
from cofit.study.encode import EncodedTable
from cofit.transport import Identity
from support.nursery import until
from support.studies import PARTIES, Lab

Request = dict[str, Any]


def ask(study: Study, identity: Identity, party: str, request: Request, payload: bytes | None = None) -> Request:
    with connector(study, identity)(party) as conversation:
        return dict(conversation.request(request, payload)[0])


def impatient(lab: Lab) -> Study:
    """The study for a client that gives up soon; its hash, which is sent, is that of the real one."""
    study = replace(lab.study, compute=replace(lab.study.compute, connect_timeout=2.0, timeout=5.0))
    study.__dict__["hash"] = lab.study.hash
    return study


def dealt(lab: Lab, owner: str = "owner-a", seed: bytes = b"s" * 32) -> Any:
    X, y, _ = lab.part(list(lab.owners).index(owner))
    prepared = prepare(Training(lab.study), owner, EncodedTable(X, y, None))
    return deal_contribution(lab.study.spec, prepared.inputs, seed, prepared.job.hash)


def noted(lab: Lab, party: str, event: str, **facts: Any) -> None:
    def found() -> bool:
        return any(r["event"] == event and facts.items() <= r.items() for r in lab.audit(party))

    until(found, f"{event} {facts} in the audit log of {party}: {lab.audit(party)}", 10)


def upload_whole(study: Study, identity: Identity, party: str, contribution: Any) -> None:
    """Announce, send and commit everything of a contribution that one party is to get."""
    upload, rank = contribution.manifest["upload"], PARTIES.index(party)
    with connector(study, identity)(party) as conversation:
        conversation.request({"request": "upload.begin", "manifest": contribution.manifest})
        for name, component in contribution.files_of(rank):
            offset = 0
            for piece in component.content():
                chunk = {"request": "upload.chunk", "upload": upload, "file": name, "offset": offset}
                conversation.request(chunk, piece)
                offset += len(piece)
        conversation.request({"request": "upload.commit", "upload": upload})
