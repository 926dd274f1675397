"""A whole private training with ``rep4`` in which one party tampers with one message: no wrong release, ever.

Every message that every party sends, from the setup to the opening of the release, is changed in every way below, one
change a run. Seeds are fixed, so that an honest run always releases the same weights. After a change each honest party
has stopped with an error, or released those very weights; and who was sent something else than it should have been has
stopped (a change that is none, such as swapping equal pieces, is left out).

Sequence numbers and tags of the transport are right in all changes but the dropped message: they are what a corrupted
party would send. Thousands of runs are slow; a sample runs always.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pytest

from cofit.errors import CofitError, DisputeError, ProtocolError
from cofit.learn.inputs import Holders
from cofit.learn.private_training import private_training
from cofit.roles.files.release_store import MemoryStore
from cofit.roles.local.member import Agenda, run_owner
from cofit.secret import Party
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.rep4.party import Rep4
from cofit.transport import Mesh, Terms, memory_meshes
from support.training import contributions, planned

NAMES = tuple(f"party-{rank}" for rank in range(4))
PLAN = planned(3, 1, epochs=1, scheme="rep4", mechanism="laplace", epsilon=4.0, allow_unproven=True)
CHUNKS = 60
SAMPLE = 50
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


# --- one run ------------------------------------------------------------------------------------------------------


def train(script: Script, timeout: float = 10.0, kind: type[Rep4] = Rep4) -> dict[str, object]:
    """Run all members; return each party's released weights, or its error."""
    rng = np.random.default_rng(3)
    shared, holders = contributions(PLAN, rng.uniform(-1, 1, (3, 1)), np.array([0, 1, 1]))
    facts = {owner: {name: c.facts() for name, c in named.items()} for owner, named in shared.items()}
    agenda = Agenda(Rep4.info.spec(), NAMES, facts, Terms(bytes(16), bytes(32), "rep4"), timeout)
    outcomes: dict[str, object] = {}
    drawn: dict[str, int] = {}

    def seed() -> bytes:
        name = threading.current_thread().name
        drawn[name] = drawn.get(name, 0) + 1
        return hashlib.sha256(f"{name} {drawn[name]}".encode()).digest()

    def member(name: str, mesh: Mesh) -> None:
        try:
            with mesh:
                outcomes[name] = run_owner(mesh, agenda, shared[name]) if name in shared else party(mesh, holders)
        except Exception as error:
            outcomes[name] = error

    def party(mesh: Mesh, holders: Holders) -> object:
        scheme = kind(mesh, NAMES)
        scheme.setup()
        own = Party(scheme, facts)
        own.collect()
        mesh.exchange("receipt", dict.fromkeys(facts, b"\x01"), {})
        return private_training(own, PLAN, holders, {mesh.name: MemoryStore()}, "sweep")

    original = Mesh.exchange

    def exchange(mesh: Mesh, *arguments: object, **named: object) -> None:
        script.exchange(original, mesh, *arguments, **named)  # type: ignore[arg-type]

    modules = ("sharing.rep4.joint", "roles.local.member", "secret.common_coin")
    with contextlib.ExitStack() as patches:
        for module in modules:
            patches.enter_context(mock.patch(f"cofit.{module}.fresh_seed", seed))
        patches.enter_context(mock.patch.object(Mesh, "exchange", exchange))
        meshes = memory_meshes(agenda.members, agenda.terms, timeout, agenda.links())
        threads = [
            threading.Thread(target=member, args=(name, mesh), name=name, daemon=True) for name, mesh in meshes.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads), "somebody hangs"
    return outcomes


@functools.cache
def honest() -> tuple[bytes, tuple[Message, ...], Script]:
    """The weights that an honest run releases, and all its messages between parties."""
    script = Script()
    outcomes = train(script)
    released = {bytes(np.asarray(outcomes[name]).tobytes()) for name in NAMES}
    assert len(released) == 1, outcomes
    messages = [
        Message(sender, number, receiver)
        for sender in NAMES
        for number, sent in enumerate(script.sent[sender])
        for receiver in sent
        if receiver in NAMES
    ]
    return released.pop(), tuple(messages), script


def problem(message: Message, change: str, kind: type[Rep4] = Rep4) -> str:
    """Run with one change; return what is wrong with the outcome, or nothing."""
    weights, _, plain = honest()
    script = Script(message, CHANGES[change])
    outcomes = train(script, 0.7 if change == "drop" else 10.0, kind)
    altered = None if change == "drop" else b"".join(CHANGES[change](message, plain) or [])
    if altered == b"".join(plain.pieces(message)):
        return ""
    for name in set(NAMES) - {message.sender}:
        outcome = outcomes[name]
        if not isinstance(outcome, Exception) and np.asarray(outcome).tobytes() != weights:
            return f"'{name}' released other weights after '{change}' in {message}"
        if isinstance(outcome, Exception) and not isinstance(outcome, CofitError):
            return f"'{name}' broke down after '{change}' in {message}: {outcome!r}"
    if not isinstance(outcomes[message.receiver], Exception):
        return f"'{message.receiver}' did not notice '{change}' in {message}"
    if change != "drop":
        disputes = [e for name, e in outcomes.items() if name != message.sender and isinstance(e, DisputeError)]
        if disputes and not any(message.sender in e.parties for e in disputes):
            return f"the dispute after '{change}' in {message} does not name the culprit: {disputes}"
    return ""


def cases() -> list[tuple[Message, str]]:
    return [(message, change) for message in honest()[1] for change in CHANGES]


def test_an_honest_run_is_the_same_every_time() -> None:
    weights, messages, _ = honest()
    again = train(Script())
    assert all(np.asarray(again[name]).tobytes() == weights for name in NAMES)
    assert len(messages) > 300


def test_a_sample_of_the_sweep() -> None:
    picked = random.Random(5).sample(cases(), SAMPLE)
    assert [found for message, change in picked if (found := problem(message, change))] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_whole_sweep(chunk: int) -> None:
    assert [found for message, change in cases()[chunk::CHUNKS] if (found := problem(message, change))] == []


class Trusting(Rep4):
    """Looks at no digest."""

    def _check(self, operation: str, arrived: object) -> None:
        del operation, arrived


def test_the_sweep_notices_a_party_that_does_not_check() -> None:
    picked = [case for case in random.Random(5).sample(cases(), SAMPLE) if case[1] in ("flip a bit", "add one")]
    assert any(problem(message, change, Trusting) for message, change in picked[:20])


def test_a_failed_check_is_a_protocol_error() -> None:
    assert issubclass(DisputeError, ProtocolError)
