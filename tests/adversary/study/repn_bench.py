"""A whole small study with repn, once a moment: what its parties say to each other can be changed, message by message.

What is the deployed path: study files, keys and certificates; owners that contribute to the parties' services; the
leader's questions and invitation; state directories, ledgers, audit logs, checkpoints, stored shares, publication and
signature; sessions over sockets with TLS, with the code of ``roles/party`` that says what an error leads to. What is
not: all parties are threads of one process, not processes; uploads and sealing happen once, and each run begins from
a copy of what is on disk then; a session that ends is not followed by another; and seeds are fixed (only those that
are drawn in a session), so that honest parties always release the same numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from cofit.arithmetic import INTEGER_RINGS, IntegerRing, RingArray
from cofit.roles.files.tables import read_owner_table
from cofit.roles.jobs.training import Training
from cofit.roles.owner.contribute import contribute_table
from cofit.roles.party.checkpoint_files import Checkpoint
from cofit.roles.party.desk import Begin
from cofit.roles.party.service import PartyService
from cofit.roles.party.sessions import PartySessions
from cofit.roles.party.state import PartyState
from cofit.secret.stored import _PREFIX
from cofit.sharing.group_streams import Group
from cofit.sharing.repn.geometry import geometry_of
from cofit.sharing.repn.party import Repn
from cofit.study.encode import encode_table
from cofit.transport import Mesh, Reception
from cofit.transport.measure import LABEL
from support.studies import Lab

Pieces = list[memoryview]
Lie = Callable[["Message", dict[str, Pieces], "Script"], dict[str, Pieces]]
"""The exchange (and one receiver), what is sent there, by receiver, and all that happens: what is sent instead."""
SEEDS = ("sharing.group_streams", "sharing.repn.check", "sharing.repn.masked_bits", "secret.common_coin")
PATIENCE = 0.4
"""Seconds after which somebody who is silent is given up, where somebody is."""


class Message(NamedTuple):
    """One message of a session: who sends it, in which of its exchanges, to whom, and under which label."""

    sender: str
    exchange: int
    receiver: str
    label: str


@dataclass
class Script:
    """What parties send in a run: noted, or changed where a lie is told. ``lies``: by a message of each exchange."""

    lies: Mapping[Message, Lie] = field(default_factory=dict)
    impatient: bool = False

    def __post_init__(self) -> None:
        self.messages: list[Message] = []
        self.before: dict[str, list[dict[str, bytes]]] = {}
        self.meshes: dict[str, Mesh] = {}
        self.told: set[Message] = set()
        self.differ: set[Message] = set()
        """Where a receiver gets other bytes than it should, or none; or another number of them, of those whose value
        nobody reads: messages that measure lines."""
        self._at = {(one.sender, one.exchange): one for one in self.lies}
        self._lock = threading.Lock()
        self._calls: dict[str, tuple[Callable[..., None], Any]] = {}

    def exchange(
        self, original: Callable[..., None], mesh: Mesh, label: str, send: Any, receive: Any, states: Any = None
    ) -> None:
        self.meshes[mesh.name] = mesh
        if self.impatient:
            mesh.timeout, mesh._patience = PATIENCE, PATIENCE / 4
        before = self.before.setdefault(mesh.name, [])
        number = len(before)
        pieces = {peer: _pieces(content) for peer, content in send.items()}
        before.append({peer: b"".join(content) for peer, content in pieces.items()})
        with self._lock:
            self.messages += [Message(mesh.name, number, peer, label) for peer in pieces]
        message = self._at.get((mesh.name, number))
        if message is not None and message.receiver in pieces:
            self.told.add(message)
            self._calls[mesh.name] = original, states
            pieces = self.lies[message](message, pieces, self)
            due, sent = before[-1][message.receiver], b"".join(pieces.get(message.receiver, []))
            if len(sent) != len(due) or (sent != due and label != LABEL):
                self.differ.add(message)
        original(mesh, label, pieces, receive, states)

    def early(self, message: Message, pieces: Pieces) -> None:
        """Send the message that is about to be sent."""
        original, states = self._calls[message.sender]
        original(self.meshes[message.sender], message.label, {message.receiver: pieces}, {}, states)


def _pieces(content: Any) -> Pieces:
    return [memoryview(piece).cast("B") for piece in (content if isinstance(content, list | tuple) else [content])]


@dataclass
class Ending:
    """What a run has left at one party; ``checkpoints``: all that it saved, though only the last are kept."""

    error: Exception | None
    phase: str
    published: bytes | None
    signed: bool
    stored: bytes | None
    checkpoints: dict[str, bytes]
    events: list[str]


class Bench:
    """A study of so many parties, sealed: two owners, each with two rows of a column; two epochs with checkpoints."""

    def __init__(self, root: Path, parties: int = 3) -> None:
        self.root, self._runs = root, 0
        self._honest: dict[type[Repn], Honest] = {}
        place = os.getpid()  # addresses of this process alone: ports are let go and taken again with every run
        hosts = [f"127.{1 + place // 250 % 250}.{1 + place % 250}.{1 + rank}" for rank in range(parties)]
        self.lab = Lab(
            root / "lab", None, scheme="repn", count=parties, rows=(2, 2), features=1, epsilon=4.0, hosts=hosts,
            model={"epochs": 2}, compute={"checkpoint_epochs": 1, "timeout": 10, "connect_timeout": 3},
        )  # fmt: skip
        self.names = self.lab.parties
        self.job = Training(self.lab.study)
        self.geometry = geometry_of(parties)
        self.collected, self.sealed = root / "collected", root / "sealed"
        self._collect()
        shutil.copytree(self.collected, self.sealed)
        with self.serving(self.sealed) as services:
            begin = services[self.names[0]]._sessions._invitation()
            assert begin is not None
            self.begin: Begin = begin

    def _collect(self) -> None:
        with self.serving(self.collected):
            for owner in self.lab.owners:
                table = read_owner_table(self.lab.study, owner, str(self.lab.root / owner / "table.npz"))
                encoded = encode_table(self.lab.study, owner, table)
                state = self.lab.root / owner / "owner-state"
                contribute_table(self.job, self.lab.identity(owner), encoded, state, "data")

    @contextlib.contextmanager
    def serving(self, base: Path) -> Iterator[dict[str, PartyService]]:
        """Services of all parties, which answer and begin no session."""
        services, ready, over = self._services(base), threading.Barrier(len(self.names) + 1), threading.Event()

        def work(reception: Reception) -> None:
            del reception
            ready.wait(30)
            over.wait()

        threads = [threading.Thread(target=one._serve, args=(work,)) for one in services.values()]
        for thread in threads:
            thread.start()
        try:
            ready.wait(30)
            yield services
        finally:
            over.set()
            for thread in threads:
                thread.join(30)

    def _services(self, base: Path) -> dict[str, PartyService]:
        return {name: PartyService(self.job, self.lab.identity(name), base / name) for name in self.names}

    # --- runs --------------------------------------------------------------------------------------------

    def run(self, script: Script, kind: type[Repn] = Repn) -> dict[str, Ending]:
        """Run a session of all parties, of this kind."""
        self._runs += 1
        base = self.root / f"run {self._runs}"
        shutil.copytree(self.sealed, base)
        try:
            return self.sessions(base, dict.fromkeys(self.names, self.begin), script, kind)
        finally:
            shutil.rmtree(base)

    def sessions(self, base: Path, begins: Mapping[str, Begin], script: Script, kind: type[Repn]) -> dict[str, Ending]:
        """Let parties take part in a session, each as it was invited, from what they have on disk."""
        errors: dict[str, Exception] = {}
        kept: dict[str, dict[str, bytes]] = {name: {} for name in self.names}
        services, ready = self._services(base), threading.Barrier(len(self.names))
        failed, exchange, save = PartySessions._failed, Mesh.exchange, PartyState.save_checkpoint

        def work(name: str, reception: Reception) -> None:
            ready.wait(30)
            if name in begins:
                services[name]._sessions._guarded(reception, begins[name])

        def note(sessions: PartySessions, error: Exception) -> None:
            errors[sessions._identity.name] = error
            failed(sessions, error)

        def saving(state: PartyState, checkpoint: Checkpoint, record: bytes) -> None:
            kept[str(state.fact("party"))][checkpoint.file] = record
            save(state, checkpoint, record)

        with contextlib.ExitStack() as patches:
            for module in SEEDS:
                patches.enter_context(mock.patch(f"cofit.{module}.fresh_seed", _Seeds().next))
            patches.enter_context(
                mock.patch.object(Mesh, "exchange", lambda *a, **named: script.exchange(exchange, *a, **named))
            )
            patches.enter_context(mock.patch.object(PartySessions, "_failed", note))
            patches.enter_context(mock.patch.object(PartyState, "save_checkpoint", saving))
            patches.enter_context(mock.patch("cofit.roles.party.sessions.scheme_of", lambda spec: kind))
            threads = [
                threading.Thread(target=services[n]._serve, args=(lambda r, n=n: work(n, r),), name=n, daemon=True)
                for n in self.names
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert not any(thread.is_alive() for thread in threads), "somebody hangs"
        return {name: self._ending(base / name, name, errors.get(name), kept[name]) for name in self.names}

    def _ending(self, folder: Path, name: str, error: Exception | None, kept: dict[str, bytes]) -> Ending:
        with contextlib.closing(PartyState(folder, self.lab.study.hash, name)) as state:
            phase = state.phase
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        events = [json.loads(line)["event"] for line in files["audit.jsonl"].splitlines()]
        return Ending(
            error, phase, files.get("published.json"), "signature.json" in files, files.get("release"), kept,
            events,
        )  # fmt: skip

    # --- what is right -----------------------------------------------------------------------------------

    @property
    def honest(self) -> Honest:
        """An honest run."""
        return self.honest_of(Repn)

    def honest_of(self, kind: type[Repn]) -> Honest:
        """An honest run of parties of this kind; once."""
        if kind not in self._honest:
            self._honest[kind] = self._honestly(kind)
        return self._honest[kind]

    def _honestly(self, kind: type[Repn]) -> Honest:
        script = Script()
        endings = self.run(script, kind)
        assert all(end.error is None and end.phase == "released" and end.signed for end in endings.values()), endings
        (published,) = {end.published for end in endings.values()}
        assert published is not None
        stored = self.shared({name: end.stored for name, end in endings.items() if end.stored})
        files = next(iter(endings.values())).checkpoints
        checkpoints = {
            file: self.shared({name: end.checkpoints[file] for name, end in endings.items()}) for file in files
        }
        counted = sum(mesh.counts.total.messages_sent for mesh in script.meshes.values())
        messages = tuple(sorted(script.messages, key=lambda one: (one.sender, one.exchange, one.receiver)))
        return Honest(published, stored, checkpoints, messages, counted)

    def shared(self, records: Mapping[str, bytes]) -> tuple[bytes, ...]:
        """The values, as bytes, whose shares these records of parties are; they must fit together."""
        summands: dict[int, dict[Group, RingArray]] = {}
        rings: dict[int, IntegerRing] = {}
        for name, record in records.items():
            groups = self.geometry.held[self.names.index(name)]
            for place, (ring, parts) in enumerate(_shares(record)):
                rings[place], found = ring, summands.setdefault(place, {})
                for group, part in zip(groups, parts, strict=True):
                    assert np.array_equal(found.setdefault(group, part), part), "honest parties stored different things"
        return tuple(rings[place].signed_sum(list(found.values())).tobytes() for place, found in summands.items())


class _Seeds:
    """What is drawn, by the thread that draws: the same in every run."""

    def __init__(self) -> None:
        self._drawn: dict[str, int] = {}

    def next(self) -> bytes:
        name = threading.current_thread().name
        self._drawn[name] = self._drawn.get(name, 0) + 1
        return hashlib.sha256(f"{name} {self._drawn[name]}".encode()).digest()


class Honest(NamedTuple):
    """What an honest run leaves, its messages, and how many the transport has counted."""

    published: bytes
    stored: tuple[bytes, ...]
    checkpoints: dict[str, tuple[bytes, ...]]
    messages: tuple[Message, ...]
    counted: int


def _record(data: bytes) -> tuple[dict[str, Any], bytes]:
    _, _, size = _PREFIX.unpack_from(data)
    end = _PREFIX.size + size
    return json.loads(data[_PREFIX.size : end]), data[end:-32]


def _shares(record: bytes) -> list[tuple[IntegerRing, list[RingArray]]]:
    """The ring and the parts of every share in a record of a release or a checkpoint."""
    header, body = _record(record)
    length, found = header.get("length", len(body)), []
    for start in range(0, len(body), length):
        facts, content = _record(body[start : start + length])
        ring = INTEGER_RINGS[facts["ring"]]
        flat = np.frombuffer(content, ring.dtype)
        found.append((ring, list(flat.reshape(-1, max(1, int(np.prod(facts["shape"])))))))
    return found
