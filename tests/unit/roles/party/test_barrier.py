"""Party.barrier: nobody passes before all have arrived."""

from __future__ import annotations

import threading
import time

import pytest

from cofit import Party, run_local
from cofit.errors import PartyFailedError, SequenceError

SETTINGS = pytest.mark.parametrize(("scheme", "parties"), [("rep3", 3), ("clear", 1), ("clear", 2), ("clear", 5)])


@SETTINGS
@pytest.mark.parametrize("late", [0, -1])
def test_nobody_passes_before_all_have_arrived(scheme: str, parties: int, late: int) -> None:
    arrived: set[str] = set()
    lock = threading.Lock()

    def program(party: Party) -> set[str]:
        if party.name == party.parties[late]:
            time.sleep(0.1)
        with lock:
            arrived.add(party.name)
        party.barrier("meeting")
        with lock:
            return set(arrived)

    run = run_local(program, scheme=scheme, parties=parties, timeout=20)
    assert all(len(seen) == parties for seen in run.results.values())


@SETTINGS
def test_the_cost_of_a_barrier(scheme: str, parties: int) -> None:
    run = run_local(lambda party: party.barrier("meeting"), scheme=scheme, parties=parties)
    for counts in run.traffic.values():
        barrier = counts.get_or_zero("meeting/announce")
        assert (barrier.rounds, barrier.messages_sent, barrier.bytes_sent) == (
            int(parties > 1),
            parties - 1,
            parties - 1,
        )


def test_another_barrier_is_refused() -> None:
    with pytest.raises(PartyFailedError) as info:
        run_local(lambda party: party.barrier("a" if party.rank else "b"), timeout=5)
    assert any(isinstance(error, SequenceError) for error in info.value.failures.values())


@SETTINGS
def test_announcements_come_by_rank(scheme: str, parties: int) -> None:
    run = run_local(lambda party: party._scheme.announce("who", bytes([party.rank, 7])), scheme=scheme, parties=parties)
    assert set(run.results.values()) == {tuple(bytes([rank, 7]) for rank in range(parties))}
