"""Whole studies: every process in its own directory, real TLS, from keys to the model."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from cofit.learn.opened import REASON
from e2e.study.weights import check_weights
from support.nursery import until
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]
LARGE = 20.0


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"rows": (300, 500)}, marks=pytest.mark.slow),  # five owners are two and more
        {"owners": tuple(f"owner-{x}" for x in "abcde"), "rows": (100, 50, 250, 1, 300)},
        {"partition": "vertical", "rows": (700, 700), "features": 4},
        {"owners": ("party-b", "owner-a"), "rows": (300, 500)},
    ],
    ids=["two-owners", "five-owners", "vertical", "owner-is-party"],
)
def test_a_study_gives_every_party_the_weights_within_noise(make_lab: MakeLab, settings: dict[str, Any]) -> None:
    lab = make_lab(epsilon=LARGE, **settings)
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    check_weights(lab)
    for party in PARTIES:
        openings = [record for record in lab.audit(party) if record["event"] == "opening"]
        assert [(o["reason"], o["shape"]) for o in openings] == [(REASON, [len(lab.minimum())])]
    lab.stop()
    assert all(lab.events(party)[-1] == "stopped" for party in PARTIES)


ORDERS = list(itertools.permutations(PARTIES))


@pytest.mark.parametrize("order", [ORDERS[5], *(pytest.param(o, marks=pytest.mark.slow) for o in ORDERS[:5])])
@pytest.mark.parametrize(
    "early", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["owners-first", "parties-first"]
)
def test_parties_start_in_any_order_and_owners_need_not_wait_for_all(
    make_lab: MakeLab, order: tuple[str, ...], early: bool
) -> None:
    lab = make_lab(compute={"connect_timeout": 20})
    owners = [lab.contribute(owner) for owner in lab.owners] if early else []
    for party in order:
        lab.start(party)
        lab.up(party)
        time.sleep(0.5)
    owners = owners or [lab.contribute(owner) for owner in lab.owners]
    assert [owner.wait() for owner in owners] == [0, 0], "\n".join(map(lab.log, lab.owners))
    lab.wait_released()
    lab.check_one_release()


def test_what_a_party_tells_while_it_waits_and_afterwards(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.start()
    assert lab.contribute("owner-a").wait() == 0
    told = lab.statuses()
    for party in PARTIES:
        status = told[party]
        assert isinstance(status, dict)
        assert (status["phase"], status["study"]) == ("collecting", lab.study.hash)
        assert status["contributions"] == {"owner-a": "complete", "owner-b": "missing"}
    assert lab.contribute("owner-b").wait() == 0
    lab.wait_released()
    until(lambda: all(isinstance(s, dict) and s["phase"] == "released" for s in lab.statuses().values()), "released")


def test_a_party_alone_keeps_a_contribution_over_restarts_of_everybody(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.start()
    assert lab.contribute("owner-a").wait() == 0
    lab.stop()
    lab.start()
    assert lab.contribute("owner-b").wait() == 0
    lab.wait_released()
    first = lab.check_one_release()
    lab.stop()
    lab.start()
    lab.up()
    assert lab.check_one_release() == first
