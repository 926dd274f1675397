"""A worker of an active scheme sends something else than it should: the study ends for good, and nobody releases.

Whoever finds out notes it durably before any other party can know: also if it is killed at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from support.nursery import until
from support.studies import Lab

MakeLab = Callable[..., Lab]
SHARDED: dict[str, Any] = {
    "model": {"recipe": "best"},
    "epsilon": 4.0,
    "rows": (100, 150),
    "compute": {"shards": 2, "checkpoint_epochs": 4, "timeout": 10, "connect_timeout": 20},
}
FAILED = "after phase failed"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def failed(lab: Lab) -> list[str]:
    return [party for party in lab.parties if lab.phase(party) == "failed"]


def first(lab: Lab, party: str, *points: str) -> float:
    return min((at for at, point in lab.timed_trace(party) if point in points), default=float("inf"))


@pytest.mark.parametrize("killed", [False, True], ids=["", "killed"])
@pytest.mark.parametrize(
    ("scheme", "cheat", "when"),
    [("rep4", "party-b", 7), ("rep4", "party-d", 20), ("repn", "party-b", 7), ("repn", "party-a", 20)],
)
def test_a_flipped_bit_at_a_worker_ends_the_study(
    make_lab: MakeLab, scheme: str, cheat: str, when: int, killed: bool
) -> None:
    lab = make_lab(scheme=scheme, **SHARDED)
    for party in lab.parties:
        own: dict[str, Any] = {"worker": {"tamper": {"": when}}} if party == cheat else {"worker": {}}
        lab.start(party, workers=1, **own, die={FAILED: 1} if killed and party != cheat else {})
    lab.contribute_all()
    until(lambda: failed(lab), lambda: "a check fails\n" + "\n".join(map(lab.log, lab.parties)), 120)
    time.sleep(5.0)
    noted = min(first(lab, party, FAILED) for party in lab.parties)
    sessions = {party: lab.events(party).count("session begins") for party in lab.parties}
    for party in lab.parties:
        told = first(lab, party, "before audit session failed", "before audit check failed", FAILED)
        assert noted <= told, "somebody heard of it before it was noted"
        if sessions[party] == 1 and told < float("inf"):
            assert FAILED in lab.trace(party) or first(lab, party, "before audit session failed") > noted
    found = failed(lab)
    lab.stop()
    for party in lab.parties:
        lab.start(party, workers=1, worker={})
    lab.up()
    time.sleep(5.0)
    assert set(failed(lab)) >= set(found)
    for party in lab.parties:
        assert not (lab.state(party) / "published.json").exists() and not (lab.state(party) / "release").exists()
        assert not {"opening", "released", "release stored"} & set(lab.events(party))
        assert "before open" not in lab.trace(party) and "before charge" not in lab.trace(party)
        assert lab.events(party).count("session begins") == sessions[party], "nothing is resumed"
