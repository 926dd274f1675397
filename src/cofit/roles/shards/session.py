"""One session of one shard at a worker: its mesh with the same shard of the other parties, and what it computes there.

A worker opens nothing: that is the heads' part. It computes what its head tells it, step by step, and keeps what comes
of it under numbers that the head chooses; to the head it gives shares of small values, and public facts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from cofit import kernels
from cofit.errors import ProtocolError, StateError
from cofit.learn.division import Inputs, facts_of_shard
from cofit.roles.files.share_files import engine_on
from cofit.roles.shards.arrived import arrived
from cofit.roles.shards.delegation import Place, delegated
from cofit.roles.shards.stored_rows import StoredRows, piece_name
from cofit.secret import AuditLog, Opening, Party
from cofit.secret.shards import Shared
from cofit.sharing import Spec, scheme_of
from cofit.sharing.known_inputs import layout_of
from cofit.sharing.pieces import assembled_rows
from cofit.study.document import PartyEntry
from cofit.transport import (
    Conversation,
    Counts,
    Listener,
    Mesh,
    Peer,
    Reception,
    Terms,
    connect_mesh,
    generate_identity,
    listen,
)

HERE = 0
"""The number under which a worker has its own party."""


@dataclass(frozen=True)
class Setting:
    """What a head tells a worker of a session: public facts alone. ``rows``: those of this shard, of every owner.

    ranks: of owners that are parties. on_disk: whether the matrices of the session lie in files.
    """

    place: Place
    party: str
    parties: tuple[PartyEntry, ...]
    dealer: PartyEntry | None
    spec: Spec
    inputs: Inputs
    rows: Mapping[str, slice]
    ranks: Mapping[str, int]
    connect_timeout: float
    timeout: float
    on_disk: bool

    @property
    def rank(self) -> int:
        """The place of this party among all."""
        return [party.name for party in self.parties].index(self.party)


class Ref(NamedTuple):
    """Stands for what a worker keeps under this number."""

    number: int


class Step(NamedTuple):
    """Call ``do``, with traffic counted under ``label``, and keep what it returns under ``number``."""

    number: int
    label: str
    do: Callable[..., object]
    arguments: tuple[Any, ...]


class Drop(NamedTuple):
    """Keep it no longer."""

    number: int


class Offer(NamedTuple):
    """Where a worker listens for the shards of the other parties, and the certificate that it made for that."""

    host: str
    port: int
    certificate_pem: str


class ShardSession:
    """``offer``, ``join``, ``run`` as often as needed, ``close``: in one thread. ``interrupt``: from any."""

    def __init__(self, setting: Setting, stored: StoredRows, directory: Path, on_failure: Callable[[], None]) -> None:
        """on_failure: called where a check fails, before any other party is told."""
        self._setting = setting
        self._stored = stored
        self._directory = directory
        self._on_failure = on_failure
        self._identity = generate_identity(setting.party)
        self._closing = contextlib.ExitStack()
        self._listener: Listener | None = None
        self._mesh: Mesh | None = None
        self._party: Party | None = None
        self._kept: dict[int, Any] = {}
        self._interrupted = False

    @property
    def session(self) -> bytes:
        """Its id."""
        return self._setting.place.own_session

    def offer(self, bind: str, host: str, port: int = 0) -> Offer:
        """Listen at an address of this machine, which the workers of the other parties reach as ``host``."""
        try:
            self._listener = self._closing.enter_context(listen(bind, port))
        except OSError as error:
            raise StateError(
                f"A worker of '{self._setting.party}' cannot listen at {bind}:{port}: {error.strerror or error}. See "
                "COFIT_SHARD_HOST and COFIT_SHARD_PORTS."
            ) from None
        return Offer(host, self._listener.port, self._identity.certificate_pem)

    def join(self, records: Sequence[bytes]) -> None:
        """Meet the same shard of the other parties, whose heads' delegations these are, by rank; take the rows."""
        with self._failure_noted():
            self._join(records)

    def _join(self, records: Sequence[bytes]) -> None:
        setting, rank = self._setting, self._setting.rank
        peers = {
            other: delegated(record, entry, setting.place)
            for other, (record, entry) in enumerate(zip(records, setting.parties, strict=True))
            if other != rank
        }
        accept = [peer for other, peer in peers.items() if other > rank]
        if (dealer := setting.dealer) is not None:
            accept.append(Peer(dealer.name, dealer.host, dealer.port, dealer.certificate_pem))
        mesh = self._connect([peer for other, peer in peers.items() if other < rank], accept)
        engine = self._closing.enter_context(engine_on(self._directory if setting.on_disk else None))
        names = [entry.name for entry in setting.parties]
        scheme = scheme_of(setting.spec)(mesh, names, None if dealer is None else dealer.name, setting.spec)
        scheme.engine, scheme.on_failure = engine or scheme.engine, self._on_failure
        scheme.sessions = setting.place.sessions
        scheme.setup()
        self._party = Party(scheme, facts_of_shard(setting.inputs, setting.rows), AuditLog(_opens_nothing))
        self._take(self._party, rank)
        self._kept[HERE] = self._party

    def _connect(self, dial: Sequence[Peer], accept: Sequence[Peer]) -> Mesh:
        if self._listener is None:
            raise StateError("This worker was not asked for its address in this session. The session is repeated.")
        setting = self._setting
        terms = Terms(setting.place.own_session, bytes.fromhex(setting.place.study), setting.spec.agreed)
        pins = {peer.name: peer.certificate_pem for peer in (*dial, *accept)}
        reception = self._closing.enter_context(
            Reception(self._listener, self._identity, pins, list(pins), terms, _answer_nothing, timeout=setting.timeout)
        )
        kernels.keep_freed_memory(True)
        self._closing.callback(kernels.keep_freed_memory, False)
        self._mesh = connect_mesh(
            self._identity,
            reception.mesh_listener,
            dial=dial,
            accept=accept,
            terms=terms,
            connect_timeout=setting.connect_timeout,
            timeout=setting.timeout,
            lines=reception.lines,
        )
        if self._interrupted:
            self._mesh.interrupt()
        return self._mesh

    def _take(self, party: Party, rank: int) -> None:
        setting, kind = self._setting, scheme_of(self._setting.spec)
        for owner, named in setting.inputs.items():
            holder, rows = setting.ranks.get(owner), setting.rows[owner]
            for name, facts in named.items():
                ring, shape = facts.format.ring, facts.shape
                layout = layout_of(kind, setting.spec, ring, shape, holder)
                mine = {
                    c.name: self._stored.content(piece_name(owner, name, c.name)) for c in layout if rank in c.ranks
                }
                party.take(owner, name, assembled_rows(kind, setting.spec, ring, shape, rank, mine, holder, rows))

    def run(self, steps: Sequence[Step | Drop], wanted: int | None) -> Any:
        """Take the steps, in order; return what is kept under ``wanted`` then.

        ProtocolError where a check fails: the head has noted it before any other party is told.
        """
        party = self._party
        if party is None:
            raise StateError("This worker is in no session: it is a new one. The session is repeated.")
        with self._failure_noted():
            for step in steps:
                if isinstance(step, Drop):
                    self._kept.pop(step.number, None)
                    continue
                party._scheme._label = step.label
                self._kept[step.number] = step.do(*(self._at(argument) for argument in step.arguments))
        return None if wanted is None else self._kept[wanted]

    @contextlib.contextmanager
    def _failure_noted(self) -> Iterator[None]:
        """Where a check fails, let the head note it before the mesh closes, and so tells the others."""
        try:
            yield
        except ProtocolError:
            self._on_failure()
            raise

    def _at(self, argument: Any) -> Any:
        if isinstance(argument, Ref):
            return self._kept[argument.number]
        return arrived(argument).at(self._kept[HERE]) if isinstance(argument, Shared) else argument

    def counts(self) -> Counts | None:
        """Return the traffic so far, per label."""
        return None if self._mesh is None else self._mesh.counts

    def interrupt(self) -> None:
        """Make whatever waits for the other parties fail. From any thread."""
        self._interrupted = True
        if self._mesh is not None:
            self._mesh.interrupt()

    def close(self, *, well: bool) -> None:
        """End the session, after everything was computed (``well``) or before. Closing twice is fine."""
        self._kept.clear()
        if self._party is not None:
            self._party.forget_inputs()
            self._party = None
        mesh, self._mesh = self._mesh, None
        if mesh is not None and well:
            mesh.close()
        elif mesh is not None:
            mesh.abort(f"The session of '{self._setting.party}' has ended.")
        self._closing.close()


def _opens_nothing(opening: Opening) -> NoReturn:
    raise ProtocolError(f"A shard wants to open a value ({opening.reason!r}). Only heads open; nothing was opened.")


def _answer_nothing(conversation: Conversation) -> None:
    conversation.send({"error": {"kind": "refused", "message": "A worker answers no requests."}})
