"""A desk of a computing party with its state, and owners who know how to upload, for tests of the roles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError, StateError
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.manifest import DealtContribution, deal_contribution, fresh_upload_seed
from cofit.roles.jobs.training import Training
from cofit.roles.party.desk import PartyDesk
from cofit.roles.party.sealing import Sealing
from cofit.roles.party.state import PartyState
from cofit.roles.service.doors import RefusedError, answerable
from cofit.secret import InputFacts
from cofit.transport.strict_json import encode_header
from unit.study.studies import HORIZONTAL, VERTICAL, study_of

RANK = 2
SEALED_AT = "2026-01-02T03:04:05+00:00"
OWNERS = ("owner-a", "owner-b")
ROWS, OTHER_ROWS = "ab" * 32, "cd" * 32
FILE = "labels.x_2"


class Counter:
    """A desk of the third party, with its state, and owners who know how to upload."""

    def __init__(self, folder: Path, job: Training) -> None:
        study = job.study
        self.folder = folder
        self.plan, self.spec = job.plan, study.spec
        self.expected = job.inputs
        self.state = PartyState(folder / "state", study.hash, "party-c")
        self.audit = AuditFile(folder / "state" / "audit.jsonl")
        self.now, self.pause = 0.0, 1.0  # a second passes between requests, unless a test says otherwise
        self.sealing = Sealing(tuple(self.expected), self.state, self.audit)
        self.desk = PartyDesk(job, RANK, self.state, self.sealing, self.audit, dict, self.clock)

    def clock(self) -> float:
        self.now += self.pause
        return self.now

    def ask(self, peer: str, kind: str, payload: bytes = b"", **fields: Any) -> dict[str, Any]:
        return self.desk.answer(peer, {"request": kind, **fields}, payload)[0]

    def refused(self, peer: str, kind: str, payload: bytes = b"", **fields: Any) -> str:
        with pytest.raises((RefusedError, InvalidInputError, StateError)) as info:
            self.ask(peer, kind, payload, **fields)
        told = answerable(info.value)
        assert told is not None
        encode_header(told)
        return str(info.value)

    def dealt(self, owner: str, rows: str | None = None) -> DealtContribution:
        inputs: dict[str, tuple[InputFacts, Any]] = {
            name: (facts, facts.format.encode(np.zeros(facts.shape), 1.0))
            for name, facts in self.expected[owner].items()
        }
        return deal_contribution(self.spec, inputs, fresh_upload_seed(), self.plan.hash, rows)

    def begin(self, owner: str, rows: str | None = None) -> DealtContribution:
        dealt = self.dealt(owner, rows)
        self.ask(owner, "upload.begin", manifest=dealt.manifest)
        return dealt

    def send(self, owner: str, dealt: DealtContribution) -> None:
        for name, component in dealt.files_of(RANK):
            content = b"".join(component.content())
            self.ask(owner, "upload.chunk", content, upload=dealt.manifest["upload"], file=name, offset=0)

    def commit(self, owner: str, dealt: DealtContribution) -> dict[str, Any]:
        return self.ask(owner, "upload.commit", upload=dealt.manifest["upload"])

    def whole(self, owner: str, rows: str | None = None) -> DealtContribution:
        dealt = self.begin(owner, rows)
        self.send(owner, dealt)
        self.commit(owner, dealt)
        return dealt

    def told(self) -> dict[str, str]:
        contributions: dict[str, str] = self.ask("analyst", "status")["contributions"]
        return contributions

    def files(self) -> dict[str, bytes]:
        uploads = self.folder / "state" / "uploads"
        return {str(path): path.read_bytes() for path in uploads.rglob("*") if path.is_file()}


@cache
def planned(partition: str) -> Training:
    return Training(study_of(VERTICAL if partition == "vertical" else HORIZONTAL))


def make(folder: Path, partition: str) -> Iterator[Counter]:
    counter = Counter(folder, planned(partition))
    yield counter
    counter.state.close()
    counter.audit.close()
