"""A whole private training in which one party tampers with one message.

Seeds are fixed, so that an honest run always releases the same weights. Sequence numbers and tags of the transport are
right in all changes but the dropped message: they are what a corrupted party would send.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from unittest import mock

import numpy as np

from cofit.errors import CofitError
from cofit.learn.private_training import private_training
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.roles.files.release_store import MemoryStore
from cofit.roles.local.member import Agenda, run_owner
from cofit.secret import Party
from cofit.sharing import Scheme
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.transport import Mesh, Terms, memory_meshes
from support.training import contributions, planned

Pieces = list[bytes]


@dataclass(frozen=True)
class Message:
    """One message of an honest run: who sends it, in which of its exchanges, and to whom."""

    sender: str
    exchange: int
    receiver: str


@dataclass
class Script:
    """What members send: everything is noted; ``message`` is changed by ``change``."""

    message: Message | None = None
    change: Callable[[Message, Script], Pieces | None] | None = None

    def __post_init__(self) -> None:
        self.sent: dict[str, list[dict[str, Pieces]]] = {}

    def exchange(
        self,
        original: Callable[..., None],
        mesh: Mesh,
        label: str,
        send: Mapping[str, memoryview | Sequence[memoryview]],
        receive: Mapping[str, memoryview],
        states: Mapping[str, int] | None = None,
    ) -> None:
        sent = self.sent.setdefault(mesh.name, [])
        messages = {
            peer: [bytes(piece) for piece in content] if isinstance(content, list | tuple) else [bytes(content)]  # type: ignore[arg-type]
            for peer, content in send.items()
        }
        sent.append(messages)
        target = self.message
        if (
            target is not None
            and self.change is not None
            and (mesh.name, len(sent) - 1) == (target.sender, target.exchange)
        ):
            changed = self.change(target, self)
            messages = {**messages, target.receiver: changed or []}
            if changed is None:
                del messages[target.receiver]
        original(mesh, label, messages, receive, states)

    def pieces(self, message: Message) -> Pieces:
        return self.sent[message.sender][message.exchange][message.receiver]


# --- what a corrupted party may do with a message -----------------------------------------------------------------


def place(message: Message, size: int) -> int:
    """A place that differs from message to message, and is the same in every run."""
    digest = hashlib.sha256(repr(message).encode()).digest()
    return int.from_bytes(digest[:8], "little") % size


def flipped(message: Message, script: Script) -> Pieces:
    pieces = script.pieces(message)
    index = place(message, len(pieces))
    data = bytearray(pieces[index])
    bit = place(message, 8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    return [*pieces[:index], bytes(data), *pieces[index + 1 :]]


def one_added(message: Message, script: Script) -> Pieces:
    """The number in the first eight bytes of an array grows by one."""
    pieces = script.pieces(message)
    index = next((i for i, piece in enumerate(pieces) if len(piece) >= 8), 0)
    data = pieces[index]
    word = (int.from_bytes(data[:8], "little") + 1) % (1 << 8 * len(data[:8]))
    return [*pieces[:index], word.to_bytes(len(data[:8]), "little") + data[8:], *pieces[index + 1 :]]


def swapped(message: Message, script: Script) -> Pieces:
    """The halves of the message change places; the same as swapping two arrays where there are two."""
    whole = b"".join(script.pieces(message))
    middle = len(whole) // 2
    return [whole[middle:] + whole[:middle]]


def replayed(message: Message, script: Script) -> Pieces:
    """An earlier message of the same size, to whomever, comes again."""
    size = len(b"".join(script.pieces(message)))
    earlier = script.sent[message.sender][: message.exchange]
    for messages in reversed(earlier):
        for pieces in messages.values():
            if len(b"".join(pieces)) == size:
                return pieces
    return script.pieces(message)


def another_hash(message: Message, script: Script) -> Pieces:
    """The last digest is one of something else."""
    whole = b"".join(script.pieces(message))
    lie = hashlib.sha256(b"something else").digest()[: min(DIGEST_BYTES, len(whole))]
    return [whole[: len(whole) - len(lie)] + lie]


def dropped(message: Message, script: Script) -> None:
    del message, script


CHANGES: dict[str, Callable[[Message, Script], Pieces | None]] = {
    "flip a bit": flipped,
    "add one": one_added,
    "swap": swapped,
    "replay": replayed,
    "another hash": another_hash,
    "drop": dropped,
}


# --- runs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """Trainings of three rows under one scheme. modules: those of ``cofit`` whose fresh seeds are fixed."""

    kind: type[Scheme]
    modules: tuple[str, ...]
    timeout: float
    patience: float
    """Seconds until a party that waits for a dropped message gives up."""

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f"party-{rank}" for rank in range(self.kind.info.default_parties))

    @functools.cached_property
    def plan(self) -> MinimiserPlan:
        scheme = self.kind.info.name
        return planned(3, 1, epochs=1, scheme=scheme, mechanism="laplace", epsilon=4.0, allow_unproven=True)

    def train(
        self, script: Script, timeout: float | None = None, kind: type[Scheme] | None = None
    ) -> dict[str, object]:
        """Run all members; return each party's released weights, or its error."""
        rng = np.random.default_rng(3)
        shared, holders = contributions(self.plan, rng.uniform(-1, 1, (3, 1)), np.array([0, 1, 1]))
        facts = {owner: {name: c.facts() for name, c in named.items()} for owner, named in shared.items()}
        terms = Terms(bytes(16), bytes(32), self.kind.info.name)
        agenda = Agenda(self.kind.info.spec(), self.names, facts, terms, timeout or self.timeout)
        outcomes: dict[str, object] = {}
        drawn: dict[str, int] = {}

        def seed() -> bytes:
            name = threading.current_thread().name
            drawn[name] = drawn.get(name, 0) + 1
            return hashlib.sha256(f"{name} {drawn[name]}".encode()).digest()

        def party(mesh: Mesh) -> object:
            scheme = (kind or self.kind)(mesh, self.names)
            scheme.setup()
            own = Party(scheme, facts)
            own.collect()
            mesh.exchange("receipt", dict.fromkeys(facts, b"\x01"), {})
            return private_training(own, self.plan, holders, {mesh.name: MemoryStore()}, "sweep")

        def member(name: str, mesh: Mesh) -> None:
            try:
                with mesh:
                    outcomes[name] = run_owner(mesh, agenda, shared[name]) if name in shared else party(mesh)
            except Exception as error:
                outcomes[name] = error

        original = Mesh.exchange

        def exchange(mesh: Mesh, *arguments: object, **named: object) -> None:
            script.exchange(original, mesh, *arguments, **named)  # type: ignore[arg-type]

        with contextlib.ExitStack() as patches:
            for module in (*self.modules, "roles.local.member", "secret.common_coin"):
                patches.enter_context(mock.patch(f"cofit.{module}.fresh_seed", seed))
            patches.enter_context(mock.patch.object(Mesh, "exchange", exchange))
            meshes = memory_meshes(agenda.members, agenda.terms, agenda.timeout, agenda.links())
            threads = [
                threading.Thread(target=member, args=(name, mesh), name=name, daemon=True)
                for name, mesh in meshes.items()
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(90)
            assert not any(thread.is_alive() for thread in threads), "somebody hangs"
        return outcomes

    @functools.cached_property
    def honest(self) -> tuple[bytes, tuple[Message, ...], Script]:
        """The weights that an honest run releases, all its messages between parties, and the run."""
        script = Script()
        outcomes = self.train(script)
        released = {np.asarray(outcomes[name]).tobytes() for name in self.names}
        assert len(released) == 1, outcomes
        messages = [
            Message(sender, number, receiver)
            for sender in self.names
            for number, sent in enumerate(script.sent[sender])
            for receiver in sent
            if receiver in self.names
        ]
        return released.pop(), tuple(messages), script

    def changed(self, message: Message, change: str, kind: type[Scheme] | None = None) -> tuple[dict[str, object], str]:
        """Run with one change; return the outcomes, and what is wrong with those of the honest, or nothing."""
        weights, _, _ = self.honest
        outcomes = self.train(Script(message, CHANGES[change]), self.patience if change == "drop" else None, kind)
        for name in set(self.names) - {message.sender}:
            outcome = outcomes[name]
            if not isinstance(outcome, Exception) and np.asarray(outcome).tobytes() != weights:
                return outcomes, f"'{name}' released other weights after '{change}' in {message}"
            if isinstance(outcome, Exception) and not isinstance(outcome, CofitError):
                return outcomes, f"'{name}' broke down after '{change}' in {message}: {outcome!r}"
        return outcomes, ""

    def is_the_same_again(self) -> bool:
        """Whether another honest run releases the same weights."""
        again = self.train(Script())
        return all(np.asarray(again[name]).tobytes() == self.honest[0] for name in self.names)
