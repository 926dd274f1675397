"""What a leader may bring back: with a scheme that withstands active corruption, nothing that owners have replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from cofit.roles.files.audit import read_audit
from cofit.roles.party.sealing import Sealing
from cofit.roles.service.doors import RefusedError
from unit.roles.desks import Counter, planned

DATE = "2026-01-02T03:04:05+00:00"


@pytest.mark.parametrize("take_back", [True, False])
def test_a_set_that_owners_have_replaced(tmp_path: Path, take_back: bool) -> None:
    counter = Counter(tmp_path, planned("horizontal"))
    sealing = Sealing(tuple(counter.expected), counter.state, counter.audit, take_back=take_back)
    for owner in counter.expected:
        counter.whole(owner)
    old = sealing.ready()
    sealing.hold(old, None)
    counter.whole("owner-a")
    new = sealing.ready()
    assert old is not None and new is not None and old != new
    if take_back:
        sealing.seal(DATE, old)
        assert sealing.ready() == old
        return
    with pytest.raises(RefusedError, match="not those of the invitation"):
        sealing.seal(DATE, old)
    assert counter.state.phase == "collecting"
    sealing.seal(DATE, new)
    assert (counter.state.phase, sealing.ready()) == ("sealed", new)


def test_owners_who_told_another_party_something_else_are_named_until_they_repeat_it(horizontal: Counter) -> None:
    sealing = horizontal.sealing
    for owner in horizontal.expected:
        horizontal.whole(owner)
    mine = sealing.ready()
    assert mine is not None
    assert sealing.compare("party-b", mine, mine) == []
    for _ in range(2):  # asked twice, noted once
        assert sealing.compare("party-b", mine, {**mine, "owner-a": "0" * 64}) == ["owner-a"]
    assert sealing.compare("party-c", mine, mine) == []
    assert horizontal.told() == {"owner-a": "shares differ", "owner-b": "complete"}
    log = read_audit(horizontal.folder / "state" / "audit.jsonl")
    named = [(line["owners"], line["party"]) for line in log if line["event"] == "shares differ"]
    assert named == [(["owner-a"], "party-b")]
    assert sealing.compare("party-b", mine, mine) == [], "the other party has got what is here"
    assert horizontal.told()["owner-a"] == "complete"
    sealing.compare("party-b", mine, {})
    horizontal.whole("owner-a")
    assert horizontal.told() == {"owner-a": "complete", "owner-b": "shares differ"}


def test_a_party_whose_answers_change_all_the_time_adds_no_lines(horizontal: Counter) -> None:
    """It is believed for as long as it says so, and told once for each contribution here."""
    sealing = horizontal.sealing
    for owner in horizontal.expected:
        horizontal.whole(owner)
    mine = sealing.ready()
    assert mine is not None
    for i in range(300):
        liar = ("owner-a", "owner-b")[i % 2]
        assert sealing.compare("party-b", mine, {**mine, liar: f"{i:064x}"}) == [liar]
    log = read_audit(horizontal.folder / "state" / "audit.jsonl")
    assert [line["owners"] for line in log if line["event"] == "shares differ"] == [["owner-a"], ["owner-b"]]
