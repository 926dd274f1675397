"""Faults in the middle of a whole party program: typed errors at the parties, never a hang, never a wrong result."""

from __future__ import annotations

import functools
import secrets
import threading
import time
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from cofit.arithmetic import FixedPoint
from cofit.errors import CofitError, PeerAbortedError, PeerClosedError, PeerSilentError, TransportError
from cofit.roles.local.member import Agenda, Contribution, Outcome, run_owner, run_party
from cofit.secret import Party
from cofit.sharing import scheme_named
from cofit.transport import (
    Corrupt,
    Drop,
    Duplicate,
    Fault,
    FaultPlan,
    Mesh,
    Reorder,
    Terms,
    Truncate,
    faulty_links,
    memory_meshes,
)

TIMEOUT = 1.0
PARTIES = ("party-a", "party-b", "party-c")
VALUES = np.array([0.5, -0.25, 0.125])
TRUE_RESULT = float(VALUES @ (VALUES * VALUES))
FAULTS: dict[str, Fault] = {
    "drop": Drop(),
    "drop in the middle": Drop(after=45),
    "corrupt the magic": Corrupt(byte=0),
    "corrupt the session": Corrupt(byte=12),
    "corrupt the sequence number": Corrupt(byte=20),
    "corrupt the length": Corrupt(byte=30, bit=7),
    "truncate": Truncate(keep=20),
    "reorder": Reorder(),
    "duplicate": Duplicate(),
}


def program(party: Party) -> float:
    x = party.input("owner", "x")
    return float(party.open(x @ (x * x), reason="test"))


def run(sender: str, receiver: str, fault: Fault, frame: int) -> tuple[dict[str, object], float]:
    """Run everybody; ``fault`` hits one frame on one link. Return what came of each member, and the seconds."""
    contribution = {"x": Contribution(VALUES, 1.0, FixedPoint(16))}
    terms = Terms(secrets.token_bytes(16), bytes(32), "rep3")
    agenda = Agenda(
        scheme_named("rep3").info.spec(), PARTIES, {"owner": {"x": contribution["x"].facts()}}, terms, TIMEOUT
    )
    wrap = {sender: faulty_links({receiver: FaultPlan({frame: fault})})}
    meshes = memory_meshes(agenda.members, terms, TIMEOUT, agenda.links(), wrap=wrap)
    jobs: Mapping[str, Callable[[Mesh], Outcome[float] | Outcome[None]]] = {
        **{name: functools.partial(run_party, agenda=agenda, program=program) for name in PARTIES},
        "owner": functools.partial(run_owner, agenda=agenda, contributions=contribution),
    }
    outcomes: dict[str, object] = {}

    def member(name: str) -> None:
        try:
            with meshes[name] as mesh:
                outcomes[name] = jobs[name](mesh).result
        except Exception as error:
            outcomes[name] = error

    threads = [threading.Thread(target=member, args=(name,), daemon=True) for name in agenda.members]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10 * TIMEOUT)
    assert not any(thread.is_alive() for thread in threads), "somebody hangs"
    return outcomes, time.monotonic() - start


BETWEEN = [("party-a", "party-b"), ("party-c", "party-b"), ("party-b", "party-a")]
FRAMES = [(*link, frame) for link in BETWEEN for frame in (1, 2)] + [("owner", "party-c", 1)]  # it sends one for sure


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("sender", "receiver", "frame"), FRAMES)
def test_a_fault_ends_the_run_with_typed_errors(sender: str, receiver: str, fault: str, frame: int) -> None:
    outcomes, seconds = run(sender, receiver, FAULTS[fault], frame)
    assert seconds < 5 * TIMEOUT
    errors = {name: o for name, o in outcomes.items() if isinstance(o, Exception)}
    assert all(isinstance(error, TransportError) for error in errors.values()), errors
    harmless = fault == "duplicate" and not errors  # the copy of a link's last frame is never read
    assert errors or harmless
    for name in PARTIES:
        if not isinstance(outcomes[name], Exception):
            assert outcomes[name] == pytest.approx(TRUE_RESULT, abs=1e-3), "a wrong result"
    if errors:
        named = {error.peer for error in errors.values() if isinstance(error, TransportError)}
        assert {sender, receiver} & named, f"nobody names the culprits: {named}"
        assert not any(str(v) in str(e) for e in errors.values() for v in VALUES), "a secret in a message"


def test_a_dropped_connection_reaches_every_party() -> None:
    outcomes, _ = run("party-a", "party-b", Drop(), 2)
    for name in PARTIES:
        assert isinstance(outcomes[name], PeerClosedError | PeerAbortedError | PeerSilentError), outcomes


def test_without_a_fault_the_same_run_succeeds() -> None:
    outcomes, _ = run("party-a", "party-b", Drop(), 10_000)
    assert not any(isinstance(o, CofitError) for o in outcomes.values())
    for name in PARTIES:
        assert outcomes[name] == pytest.approx(TRUE_RESULT, abs=1e-3)
