"""Sessions of shards without Dask: every worker is an object here, connected to the others by real TLS."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cofit.arithmetic import Z64, FixedPoint
from cofit.arithmetic.prg import fresh_seed
from cofit.learn.division import divided_rows
from cofit.roles.shards.delegation import Place, delegation
from cofit.roles.shards.session import Offer, Setting, ShardSession
from cofit.roles.shards.stored_rows import StoredRows, Wanted, digest_of, piece_name
from cofit.secret import InputFacts, SecretArray
from cofit.sharing.known_inputs import components_of
from cofit.sharing.pieces import component_range
from cofit.study.document import PartyEntry
from cofit.transport import fingerprint, generate_identity
from support.runs import in_threads
from support.schemes import form

FORMAT = FixedPoint(8, Z64)
OWNER, NAME = "owner", "x"
ROWS, COLUMNS = 7, 2


@dataclass
class ShardWorld:
    """The workers of all parties, ``shards`` each, with rows of one owner. ``failed``: called where a check fails."""

    directory: Path
    scheme: str = "rep3"
    shards: int = 2
    timeout: float = 5.0
    connect_timeout: float = 5.0
    failed: Callable[[str, int], None] = lambda party, shard: None
    sessions: dict[tuple[str, int], ShardSession] = field(default_factory=dict)
    stored: dict[tuple[str, int], StoredRows] = field(default_factory=dict)
    offers: dict[tuple[str, int], Offer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kind, self.spec = form(self.scheme)
        self.parties = tuple(f"party-{k}" for k in range(self.spec.parties))
        self.identities = {name: generate_identity(name) for name in self.parties}
        entries = []
        for name in self.parties:
            pem = self.identities[name].certificate_pem
            entries.append(PartyEntry(name, pem, fingerprint(pem), "127.0.0.1", 9))
        self.entries = tuple(entries)
        self.values = np.random.default_rng(3).integers(-200, 200, (ROWS, COLUMNS)) / 256
        self.inputs = {OWNER: {NAME: InputFacts((ROWS, COLUMNS), FORMAT, 1.0)}}
        self.rows = divided_rows(self.inputs, self.shards)
        self.places = [Place("ab" * 32, secrets.token_bytes(16), k, self.shards) for k in range(self.shards)]
        self.places = [Place("ab" * 32, self.places[0].session, k, self.shards) for k in range(self.shards)]
        dealt = components_of(self.kind, self.spec, Z64, FORMAT.encode(self.values), fresh_seed(), None)
        self.components = {c.facts: b"".join(map(bytes, c.content())) for c in dealt}
        for rank, party in enumerate(self.parties):
            for k in range(self.shards):
                self._make(rank, party, k)

    def _make(self, rank: int, party: str, k: int) -> None:
        where = self.directory / f"{party}-{k}"
        where.mkdir()
        stored = self.stored[party, k] = StoredRows(where)
        for facts, content in self.components.items():
            if rank in facts.ranks:
                piece = content[component_range(facts, (ROWS, COLUMNS), self.rows[k][OWNER])]
                wanted = Wanted(len(piece), digest_of(memoryview(piece)))
                stored.write(piece_name(OWNER, NAME, facts.name), wanted, 0, piece)
        setting = Setting(
            self.places[k], party, self.entries, None, self.spec, self.inputs, self.rows[k], {},
            self.connect_timeout, self.timeout, False,
        )  # fmt: skip
        self.sessions[party, k] = ShardSession(setting, stored, where, lambda: self.failed(party, k))
        self.offers[party, k] = self.sessions[party, k].offer("127.0.0.1", "127.0.0.1")

    def records(self, k: int) -> list[bytes]:
        """What all heads sign of shard k, by rank."""
        return [delegation(self.identities[p], self.places[k], *self.offers[p, k]) for p in self.parties]

    def join(self, k: int) -> None:
        """Let shard k of all parties meet."""
        told = self.records(k)
        self.at_all(k, lambda party, session: session.join(told))

    def at_all(self, k: int, do: Callable[[str, ShardSession], Any]) -> dict[str, Any]:
        """Do something in shard k of all parties at once."""
        return in_threads({p: lambda p=p: do(p, self.sessions[p, k]) for p in self.parties})  # type: ignore[misc]

    def close(self) -> None:
        for session in self.sessions.values():
            session.interrupt()
            session.close(well=False)


@contextlib.contextmanager
def shard_world(directory: Path, **settings: Any) -> Iterator[ShardWorld]:
    """A world whose connections end with the block."""
    world = ShardWorld(directory, **settings)
    try:
        yield world
    finally:
        world.close()


def gram(x: SecretArray) -> SecretArray:
    """The squares and products of columns, summed over rows: something that takes messages."""
    return x.T @ x
