"""kill -9 in studies of the default recipe, whose checkpoints hold noise: one release, and one draw of noise for it.

A session that goes on from a checkpoint draws nothing: no noise, no level, no centre. One that begins anew draws all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adversary.study.test_kill import finish
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]
BEST: dict[str, Any] = {
    "model": {"recipe": "best"},
    "epsilon": 4.0,
    "rows": (100, 150),
    "compute": {"checkpoint_epochs": 4, "timeout": 5, "connect_timeout": 5},
}
CALIBRATED = BEST | {"model": {"recipe": "best", "calibrate_intercept": True}}
CLIPPED = BEST | {"model": {"recipe": "best"}, "epsilon": 30.0}


def check_draws(lab: Lab) -> None:
    """Every session of every party either draws noise and trains from the beginning, or goes on and draws none."""
    for party in lab.parties:
        begun = [points for points in lab.sessions(party) if any(p.startswith("progress train") for p in points)]
        for points in begun:
            first = next(int(p.rpartition(": ")[2]) for p in points if p.startswith("progress train"))
            drew = any(p.startswith("progress noise") for p in points)
            assert not (drew and first), "noise beside an iterate that was kept"
        draws = sum(any(p.startswith("progress noise") for p in points) for points in lab.sessions(party))
        assert draws >= 1


def killed(lab: Lab, dying: tuple[str, ...], point: str) -> None:
    """Run a study in which some parties die at a point, once, and start again; it ends with one release."""
    step, _, count = point.partition("#")
    for name in lab.servers:
        lab.start(name, die={step: int(count or 1)} if name in dying else {})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    for name in dying:
        assert lab.children[name].wait() == -9
    lab.start(*dying)
    finish(lab, owners)
    check_draws(lab)


def draws(lab: Lab, party: str) -> int:
    return lab.trace(party).count("progress noise: 0")


@pytest.mark.parametrize(
    ("dying", "point", "places"),
    [
        (("party-b",), "after checkpoint#3", (4, 8)),
        pytest.param(("party-a",), "after checkpoint", (0,), marks=pytest.mark.slow),
        pytest.param(PARTIES, "after checkpoint#3", (8,), marks=pytest.mark.slow),
        pytest.param(("party-c",), "before replace in checkpoints#3", (4,), marks=pytest.mark.slow),
        pytest.param(("party-a",), "after checkpoint#5", (12, 16), marks=pytest.mark.slow),
    ],
)
def test_training_goes_on_from_a_checkpoint_with_the_noise_that_was_drawn(
    make_lab: MakeLab, dying: tuple[str, ...], point: str, places: tuple[int, ...]
) -> None:
    lab = make_lab(**BEST)
    killed(lab, dying, point)
    for party in PARTIES:
        first, *later = lab.first_epochs(party)
        assert first == 0
        assert later and set(later) <= set(places), "it goes on where all can"
        assert draws(lab, party) == 1, "the noise of the first session is the only one"


@pytest.mark.parametrize(
    ("party", "point"),
    [
        pytest.param(party, point, marks=pytest.mark.slow)
        for party in PARTIES
        for point in (
            "progress noise", "before checkpoint", "before replace in checkpoints", "after checkpoint",
            "before checkpoint#4", "after checkpoint#5", "before charge", "before save release", "after save release",
            "after barrier", "before drop checkpoints", "after drop checkpoints", "before confirm", "after confirm",
            "after barrier#2", "before begin opening", "after begin opening", "after open",
        )
    ],
)  # fmt: skip
@pytest.mark.parametrize("settings", [CALIBRATED, CLIPPED], ids=["calibrated", "clipped"])
def test_a_party_killed_at_any_point(make_lab: MakeLab, settings: dict[str, Any], party: str, point: str) -> None:
    lab = make_lab(**settings)
    killed(lab, (party,), point)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["semi2k", "rep4", "repn", "pair", "shamir"])
def test_every_scheme_goes_on_from_a_checkpoint(make_lab: MakeLab, scheme: str) -> None:
    lab = make_lab(scheme=scheme, **CALIBRATED)
    killed(lab, ("party-b",), "after checkpoint#6")
    for party in lab.parties:
        first, *later = lab.first_epochs(party)
        assert first == 0
        assert later and set(later) <= {16, 20}
        assert draws(lab, party) == 1


@pytest.mark.slow
@pytest.mark.parametrize("also", ["before drop checkpoints", "after drop checkpoints"])
def test_where_a_stored_release_is_discarded_training_begins_anew(make_lab: MakeLab, also: str) -> None:
    """One party dies before it has stored; another one while it discards what it has stored."""
    lab = make_lab(**BEST)
    lab.start("party-a")
    lab.start("party-b", die={also: 1})
    lab.start("party-c", die={"before save release": 1})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    assert lab.children["party-c"].wait() == -9
    lab.start("party-c")
    assert lab.children["party-b"].wait() == -9
    lab.start("party-b")
    finish(lab, owners)
    check_draws(lab)
    assert "stored release discarded" in lab.events("party-a")
    for party in PARTIES:
        assert draws(lab, party) == 2, "fresh noise for everything"
        assert set(lab.first_epochs(party)) == {0}


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", range(3))
def test_parties_killed_at_random_moments(make_lab: MakeLab, seed: int) -> None:
    """Every party dies again and again; training crawls, so that most deaths fall into its middle."""
    rng = np.random.default_rng(seed)
    lab = make_lab(**CALIBRATED)
    slowly = {"progress train": 0.1, "before checkpoint": 0.1, "before charge": 0.2, "before drop checkpoints": 0.2}
    lab.start(pause=slowly)
    lab.contribute_all()
    deadline = time.monotonic() + 45
    while set(lab.phases()) != {"released"} and time.monotonic() < deadline:
        time.sleep(rng.uniform(0.5, 3.0))
        victims = rng.choice(PARTIES, rng.integers(1, 4), replace=False).tolist()
        lab.kill(*victims)
        time.sleep(rng.uniform(0.0, 0.3))
        lab.start(*victims, pause=slowly)
    lab.wait_released(120)
    lab.check_one_release()
    check_draws(lab)
