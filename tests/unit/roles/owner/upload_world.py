"""Parties as an owner's upload meets them, with connections that break where a test says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from cofit.arithmetic import Z64, FixedPoint
from cofit.errors import PeerClosedError, PeerSilentError
from cofit.roles.files.manifest import files_for, manifest_hash
from cofit.roles.owner.upload import UploadProgress, contribute
from cofit.secret import InputFacts
from cofit.sharing import scheme_named
from cofit.transport import Conversation

PARTIES = ("party-a", "party-b", "party-c")
SPEC = scheme_named("rep3").info.spec()
STUDY, PLAN = "12" * 32, "34" * 32
FACTS = InputFacts((40, 9000), FixedPoint(24, Z64), 1.0)  # x_2 takes three pieces
LABELS = InputFacts((40,), FixedPoint(0, Z64), 1.0)


@dataclass
class Desk:
    """A party that keeps what it is sent, in memory. ``breaks``: at which requests, from 1, the line dies."""

    name: str
    rank: int
    manifest: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytearray] = field(default_factory=dict)
    committed: bool = False
    requests: list[str] = field(default_factory=list)
    breaks: set[int] = field(default_factory=set)
    mute: set[int] = field(default_factory=set)
    refusals: dict[str, tuple[str, str]] = field(default_factory=dict)
    keep: bool = True
    incarnation: object = "ab" * 16

    def answer(self, request: dict[str, Any], payload: bytes) -> dict[str, Any]:
        self.requests.append(kind := request["request"])
        if len(self.requests) in self.breaks:
            if kind == "upload.chunk":  # a party that dies may have written a part
                self.files.setdefault(request["file"], bytearray()).extend(payload[: len(payload) // 3])
            raise PeerClosedError(self.name, f"{self.name!r} closed the connection.")
        if kind in self.refusals:
            word, text = self.refusals[kind]
            return {"error": {"kind": word, "message": text}}
        answer: dict[str, Any] = {}
        if kind == "status":
            answer = {"incarnation": self.incarnation}
        elif kind == "upload.begin":
            if request["manifest"] != self.manifest:
                self.manifest, self.files, self.committed = request["manifest"], {}, False
            sizes = {name: len(self.files.get(name, b"")) for name in files_for(self.manifest, self.rank)}
            answer = {"sizes": sizes, "committed": self.committed, "incarnation": self.incarnation}
        elif kind == "upload.chunk":
            assert request["upload"] == self.manifest["upload"]
            content = self.files.setdefault(request["file"], bytearray())
            if request["offset"] != len(content) and self.keep:
                return {"error": {"kind": "StateError", "message": "a piece at the wrong place\x1b[2J"}}
            content.extend(payload if self.keep else b"")
        else:
            for name, facts in files_for(self.manifest, self.rank).items() if self.keep else ():
                assert hashlib.sha256(self.files[name]).hexdigest() == facts["sha256"]
            self.committed = True
        if len(self.requests) in self.mute:
            raise PeerSilentError(self.name, f"{self.name!r} did not send a whole message.")
        return answer


class Line:
    """Looks like a Conversation with a Desk."""

    timeout = 10.0

    def __init__(self, desk: Desk) -> None:
        self.peer = desk.name
        self._desk = desk
        self._answers: list[dict[str, Any]] = []

    def send(self, header: dict[str, Any], payload: Any = b"") -> None:
        self._answers.append(self._desk.answer(json.loads(json.dumps(header)), payload))

    def receive(self, limit: int = 0) -> tuple[dict[str, Any], bytes]:
        return self._answers.pop(0), b""

    def request(
        self, header: dict[str, Any], payload: Any = b"", timeout: float | None = None
    ) -> tuple[dict[str, Any], bytes]:
        self.send(header, payload)
        return self.receive_answer()

    def receive_answer(self, limit: int = 0) -> tuple[dict[str, Any], bytes]:
        answer, _ = self.receive(limit)
        if refused := Conversation._refused(cast(Conversation, self), answer):
            raise refused
        return answer, b""


@dataclass
class World:
    """Three parties and an owner."""

    state: Path
    desks: dict[str, Desk]
    away: set[str] = field(default_factory=set)
    on_connect: Callable[[str], None] = lambda _: None

    def connect(self, party: str) -> AbstractContextManager[Conversation]:
        self.on_connect(party)
        if party in self.away:
            raise PeerSilentError(party, f"{party!r} is not there.")

        @contextmanager
        def line() -> Iterator[Conversation]:
            yield cast(Conversation, Line(self.desks[party]))

        return line()

    def contribute(
        self,
        value: float = 0.5,
        rows: str | None = None,
        progress: Callable[[UploadProgress], None] | None = None,
        plan: str = PLAN,
    ) -> str:
        inputs = {
            name: (facts, facts.format.encode(np.full(facts.shape, value), 1.0))
            for name, facts in (("features", FACTS), ("labels", LABELS))
        }
        return contribute(
            dict.fromkeys(PARTIES, "ab" * 16), SPEC, inputs, self.connect, self.state, STUDY, plan, progress, rows
        )

    @property
    def kept(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads((self.state / f"upload-{STUDY[:32]}.json").read_text())
        return facts

    def complete(self) -> bool:
        manifests = {manifest_hash(desk.manifest) for desk in self.desks.values()}
        return len(manifests) == 1 and all(desk.committed for desk in self.desks.values())
