"""kill -9 of the dealer, and of parties of all schemes but rep3: training goes on, and there is exactly one release."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from adversary.study.test_kill import POINTS, SETTINGS, finish
from cofit.roles.analyst.fetch import statuses
from support.nursery import until
from support.studies import DEALER, Lab

MakeLab = Callable[..., Lab]
DEALER_POINTS = (
    "before audit started", "before answer dealer.state", "after answer dealer.state", "before answer dealer.begin",
    "after answer dealer.begin", "before audit session begins", "before connect", "after connect",
    "progress train", "progress train#9", "progress noise", "before barrier", "after barrier", "before barrier#2",
    "after barrier#2", "before audit session done", "after audit session done",
)  # fmt: skip
DEALER_SAMPLE = {"before answer dealer.begin", "progress train#9", "before barrier"}
PARTY_SAMPLE = {
    ("semi2k", "party-a", "after checkpoint"),
    ("pair", "party-b", "after checkpoint"),
    ("rep4", "party-d", "before confirm"),
}
SCHEMES: dict[str, tuple[dict[str, int], tuple[str, ...]]] = {
    "semi2k": ({}, ("party-a", "party-b")),
    "pair": ({}, ("party-a", "party-b")),
    "rep4": ({}, ("party-a", "party-d")),
    "shamir": ({"count": 5}, ("party-a", "party-c", "party-e")),  # an opener that leads, an opener, a masker
}
"""How many parties, and who of them dies."""
CHOSEN = (
    "before commit", "before phase sealed", "after phase sealed", "after checkpoint", "progress noise", "after charge",
    "after save release", "before barrier", "before confirm", "after confirm", "before begin opening", "after open",
    "after write published.json", "after phase released",
)  # fmt: skip


def dying(point: str) -> dict[str, int]:
    step, _, count = point.partition("#")
    return {step: int(count or 1)}


@pytest.mark.parametrize(
    "point", [pytest.param(p, marks=() if p in DEALER_SAMPLE else pytest.mark.slow) for p in DEALER_POINTS]
)
def test_a_dealer_killed_at_any_point(make_lab: MakeLab, point: str) -> None:
    lab = make_lab(scheme="semi2k", **SETTINGS)
    lab.start(DEALER, die=dying(point))
    lab.start(*lab.parties)
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    assert lab.children[DEALER].wait() == -9
    lab.start(DEALER)
    finish(lab, owners)
    if point == "progress train#9":
        for party in lab.parties:
            assert max(lab.first_epochs(party)) > 0, "it must go on from a checkpoint"
    sessions = [record["session"] for record in lab.audit(DEALER) if record["event"] == "session begins"]
    assert len(set(sessions)) == len(sessions), "every session is a new one, with new seeds"


@pytest.mark.parametrize(
    ("scheme", "party", "point"),
    [
        pytest.param(scheme, party, point, marks=() if (scheme, party, point) in PARTY_SAMPLE else pytest.mark.slow)
        for scheme, (_, parties) in SCHEMES.items()
        for party in parties
        for point in CHOSEN
    ],
)
def test_a_party_killed_at_a_point(make_lab: MakeLab, scheme: str, party: str, point: str) -> None:
    assert point in POINTS
    lab = make_lab(scheme=scheme, **SCHEMES[scheme][0], **SETTINGS)
    for name in lab.servers:
        lab.start(name, die=dying(point) if name == party else {})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    assert lab.children[party].wait() == -9
    lab.start(party)
    finish(lab, owners)


def test_a_dealer_that_is_not_there_is_waited_for(make_lab: MakeLab) -> None:
    lab = make_lab(scheme="semi2k", compute={"timeout": 2})
    lab.start(*lab.parties)
    lab.contribute_all()
    until(lambda: f"waits for '{DEALER}'" in lab.log("party-a"), lambda: lab.log("party-a"))
    told: dict[str, Any] = statuses(lab.study, lab.identity("analyst"), 1.0)
    assert isinstance(told[DEALER], str), "status says that it does not answer"
    for party in lab.parties:
        assert set(told[party]["contributions"].values()) == {"complete"}
        assert "session begins" not in lab.events(party)
    lab.kill("party-b")
    lab.start("party-b", DEALER)
    lab.wait_released()
    lab.check_one_release()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_dealer_killed_again_and_again(make_lab: MakeLab) -> None:
    """At random moments; training crawls. Every session gets a little further."""
    lab = make_lab(scheme="semi2k", **(SETTINGS | {"model": {"epochs": 40}}))
    slowly = {"progress train": 0.05}
    lab.start(*lab.parties, pause=slowly)
    lab.start(DEALER)
    lab.contribute_all()
    for seconds in (0.7, 1.9, 1.2, 2.3):
        time.sleep(seconds)
        lab.kill(DEALER)
        lab.start(DEALER)
    lab.wait_released(150)
    lab.check_one_release()
