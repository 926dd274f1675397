"""A whole private training with ``repn`` in which one party tampers with one message: no wrong release, ever.

As for ``rep4`` (``test_tamper_sweep.py``), with the same changes; here checks come late, so that other parties may
have gone on for a while. Seeds are fixed, so that an honest run always releases the same weights.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import random
import threading
from typing import Any
from unittest import mock

import numpy as np
import pytest

from adversary.protocol.test_tamper_sweep import CHANGES, Message, Script
from cofit.errors import CofitError
from cofit.learn.private_training import private_training
from cofit.roles.files.release_store import MemoryStore
from cofit.roles.local.member import Agenda, run_owner
from cofit.secret import Party
from cofit.sharing.repn.party import Repn
from cofit.transport import Mesh, Terms, memory_meshes
from support.training import contributions, planned

NAMES = tuple(f"party-{rank}" for rank in range(3))
PLAN = planned(3, 1, epochs=1, scheme="repn", mechanism="laplace", epsilon=4.0, allow_unproven=True)
SAMPLE = 12
SLOW = 300
CHUNKS = 20


def train(script: Script, timeout: float = 20.0, kind: type[Repn] = Repn) -> dict[str, Any]:
    """Run all members; return each party's released weights, or its error."""
    rng = np.random.default_rng(3)
    shared, holders = contributions(PLAN, rng.uniform(-1, 1, (3, 1)), np.array([0, 1, 1]))
    facts = {owner: {name: c.facts() for name, c in named.items()} for owner, named in shared.items()}
    agenda = Agenda(Repn.info.spec(), NAMES, facts, Terms(bytes(16), bytes(32), "repn"), timeout)
    outcomes: dict[str, Any] = {}
    drawn: dict[str, int] = {}

    def seed() -> bytes:
        name = threading.current_thread().name
        drawn[name] = drawn.get(name, 0) + 1
        return hashlib.sha256(f"{name} {drawn[name]}".encode()).digest()

    def party(mesh: Mesh) -> Any:
        scheme = kind(mesh, NAMES)
        scheme.setup()
        own = Party(scheme, facts)
        own.collect()
        mesh.exchange("receipt", dict.fromkeys(facts, b"\x01"), {})
        return private_training(own, PLAN, holders, {mesh.name: MemoryStore()}, "sweep")

    def member(name: str, mesh: Mesh) -> None:
        try:
            with mesh:
                outcomes[name] = run_owner(mesh, agenda, shared[name]) if name in shared else party(mesh)
        except Exception as error:
            outcomes[name] = error

    original = Mesh.exchange

    def exchange(mesh: Mesh, *arguments: Any, **named: Any) -> None:
        script.exchange(original, mesh, *arguments, **named)

    modules = (
        "sharing.group_streams", "sharing.repn.check", "sharing.repn.masked_bits", "roles.local.member",
        "secret.common_coin",
    )  # fmt: skip
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
            thread.join(90)
        assert not any(thread.is_alive() for thread in threads), "somebody hangs"
    return outcomes


@functools.cache
def honest() -> tuple[bytes, tuple[Message, ...]]:
    """The weights that an honest run releases, and all its messages between parties."""
    script = Script()
    outcomes = train(script)
    released = {np.asarray(outcomes[name]).tobytes() for name in NAMES}
    assert len(released) == 1, outcomes
    messages = [
        Message(sender, number, receiver)
        for sender in NAMES
        for number, sent in enumerate(script.sent[sender])
        for receiver in sent
        if receiver in NAMES
    ]
    return released.pop(), tuple(messages)


def problem(message: Message, change: str, kind: type[Repn] = Repn) -> str:
    """Run with one change; return what is wrong with the outcome, or nothing."""
    weights, _ = honest()
    outcomes = train(Script(message, CHANGES[change]), 2.0 if change == "drop" else 20.0, kind)
    for name in set(NAMES) - {message.sender}:
        outcome = outcomes[name]
        if not isinstance(outcome, Exception) and np.asarray(outcome).tobytes() != weights:
            return f"'{name}' released other weights after '{change}' in {message}"
        if isinstance(outcome, Exception) and not isinstance(outcome, CofitError):
            return f"'{name}' broke down after '{change}' in {message}: {outcome!r}"
    return ""


def picked(seed: int, count: int) -> list[tuple[Message, str]]:
    rng = random.Random(seed)
    changes = [name for name in CHANGES if name != "drop" or rng.random() < 0.3]
    return [(rng.choice(honest()[1]), rng.choice(changes)) for _ in range(count)]


def test_an_honest_run_is_the_same_every_time() -> None:
    weights, messages = honest()
    assert all(np.asarray(value).tobytes() == weights for name, value in train(Script()).items() if name in NAMES)
    assert len(messages) > 200


@pytest.mark.timeout(300)
def test_a_sample_of_the_sweep() -> None:
    assert [found for message, change in picked(5, SAMPLE) if (found := problem(message, change))] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_sweep(chunk: int) -> None:
    cases = picked(100 + chunk, SLOW // CHUNKS)
    assert [found for message, change in cases if (found := problem(message, change))] == []
