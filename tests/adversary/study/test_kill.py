"""kill -9 at every step of every role: nothing acknowledged is lost, and there is exactly one release.

A process kills itself (SIGKILL) at a named point of the program, or is killed at a random moment; then it starts again.
``check_one_release`` compares the release of all parties and what was ever stored, charged and opened.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit.roles.files.published import Release
from cofit.roles.party.state import PartyState
from support.nursery import until
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]
SETTINGS: dict[str, Any] = {
    "model": {"epochs": 12},
    "compute": {"checkpoint_epochs": 2, "timeout": 5, "connect_timeout": 5},
}
POINTS = (
    "before audit started", "before begin upload", "after begin upload", "before append", "after append",
    "before commit", "after commit", "after audit upload complete", "before phase sealed", "after phase sealed",
    "before audit contributions sealed", "before audit session begins",
    "before save coin", "after save coin", "before save coin#2", "after save coin#2", "before save coin#3",
    "after save coin#3", "before audit coin drawn", "after audit coin drawn", "before checkpoint",
    "before replace in checkpoints", "after checkpoint", "progress noise", "before charge", "after charge",
    "before save release", "after save release", "before phase stored", "after phase stored",
    "before audit release stored", "before barrier", "after barrier", "before drop checkpoints",
    "after drop checkpoints", "before confirm", "after confirm",
    "before barrier#2", "after barrier#2", "before begin opening", "after begin opening",
    "before audit opening", "after audit opening", "after open", "before write published.json",
    "before replace in state", "before replace in state#2", "before replace in state#3", "before replace in state#4",
    "before replace in state#5", "after write published.json", "before write signature.json",
    "after write signature.json", "after audit release signed", "before phase released", "after phase released",
    "after audit released",
)  # fmt: skip
SEALING = [
    *((party, f"{when} hold") for party in ("party-b", "party-c") for when in ("before", "after")),
    *(
        ("party-a", f"{when} request {request}")
        for request in ("party.hold", "party.hold#2", "party.begin", "party.begin#2")
        for when in ("before", "after")
    ),
]
"""What only the leader does, and what only the others do."""
SAMPLE = {
    ("party-a", "after request party.hold"),
    ("party-b", "before save release"),
    ("party-a", "after confirm"),
    ("party-c", "before replace in checkpoints"),
    ("party-a", "after phase sealed"),
    ("party-b", "before write signature.json"),
    ("party-b", "after save coin#2"),
    ("party-c", "before save coin#3"),
}


def finish(lab: Lab, owners: dict[str, Any]) -> Release:
    """Let owners whose upload was cut off repeat it, and wait for the release."""
    for owner, child in owners.items():
        if child.wait(60):
            assert lab.contribute(owner).wait(60) == 0, lab.log(owner)
    lab.wait_released()
    return lab.check_one_release()


@pytest.mark.parametrize(
    ("party", "point"),
    [
        pytest.param(party, point, marks=() if (party, point) in SAMPLE else pytest.mark.slow)
        for party, point in [*((party, point) for point in POINTS for party in PARTIES), *SEALING]
    ],
)
def test_a_party_killed_at_any_point(make_lab: MakeLab, party: str, point: str) -> None:
    lab = make_lab(**SETTINGS)
    for name in PARTIES:
        step, _, count = point.partition("#")
        lab.start(name, die={step: int(count or 1)} if name == party else {})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    assert lab.children[party].wait() == -9
    lab.start(party)
    finish(lab, owners)


@pytest.mark.parametrize("dying", [("party-a",), pytest.param(PARTIES, marks=pytest.mark.slow)], ids=["one", "all"])
def test_training_goes_on_from_a_checkpoint(make_lab: MakeLab, dying: tuple[str, ...]) -> None:
    lab = make_lab(**SETTINGS)
    for name in PARTIES:
        lab.start(name, die={"after checkpoint": 3} if name in dying else {})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    for name in dying:
        assert lab.children[name].wait() == -9
        assert lab.state(name).joinpath("checkpoints").exists()
    lab.start(*dying)
    finish(lab, owners)
    for name in PARTIES:
        first, second = lab.first_epochs(name)
        assert first == 0 and second in (4, 6), "it must not start from the beginning, where checkpoints exist"


def test_a_checkpoint_that_one_party_has_not_saved_is_not_used(make_lab: MakeLab) -> None:
    lab = make_lab(**SETTINGS)
    lab.start("party-a", "party-b")
    lab.start("party-c", die={"before replace in checkpoints": 3})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    assert lab.children["party-c"].wait() == -9
    lab.start("party-c")
    finish(lab, owners)
    assert [lab.first_epochs(name) for name in PARTIES] == [[0, 4]] * 3


def test_a_checkpoint_after_the_clock_was_set_back_counts_as_the_newest(make_lab: MakeLab) -> None:
    """Parties keep the last two: which those are must not depend on the clock."""
    back = (
        "import os, pathlib\n"
        "replace = pathlib.Path.replace\n"
        "def older(self, target):\n"
        "    if 'checkpoints' in str(target):\n"
        "        past = 1e9 - 1000 * int(target.name.split('.')[0])\n"
        "        os.utime(self, (past, past))\n"
        "    return replace(self, target)\n"
        "pathlib.Path.replace = older\n"
    )
    lab = make_lab(**SETTINGS)
    lab.start("party-a", "party-b")
    lab.start("party-c", before=back, die={"after checkpoint": 4})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    assert lab.children["party-c"].wait() == -9
    lab.start("party-c")
    finish(lab, owners)
    assert all(lab.first_epochs(name)[1] in (6, 8) for name in PARTIES)


@pytest.mark.parametrize(
    "point",
    [
        "before send upload.chunk",
        pytest.param("before request upload.begin", marks=pytest.mark.slow),
        pytest.param("after request upload.begin", marks=pytest.mark.slow),
        pytest.param("after send upload.chunk", marks=pytest.mark.slow),
        pytest.param("before request upload.commit", marks=pytest.mark.slow),
        pytest.param("after request upload.commit", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("count", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_an_owner_killed_in_mid_upload_goes_on_where_it_was(make_lab: MakeLab, point: str, count: int) -> None:
    lab = make_lab(**SETTINGS)
    lab.start()
    lab.up()
    owner = lab.contribute("owner-a", die={point: count})
    assert owner.wait() == -9, lab.log("owner-a")
    assert lab.contribute("owner-b").wait() == 0
    time.sleep(0.5)
    phases = set(lab.phases())
    complete = [
        any(r["event"] == "upload complete" and r["owner"] == "owner-a" for r in lab.audit(party)) for party in PARTIES
    ]
    assert all(complete) or phases == {"collecting"}, "its last requests may have been under way when it died"
    assert lab.contribute("owner-a").wait() == 0, "repeated, it is complete or goes on, sealed or not"
    lab.wait_released()
    lab.check_one_release()
    for party in PARTIES:
        uploads = {
            r["upload"] for r in lab.audit(party) if r["event"] == "upload announced" and r["owner"] == "owner-a"
        }
        only_announced = party == "party-a" and (point, count) == ("after request upload.begin", 1)
        assert len(uploads) == 1 + only_announced, "the same shares again, not new ones"


def test_acknowledged_contributions_survive_the_death_of_all_parties(make_lab: MakeLab) -> None:
    lab = make_lab(**SETTINGS)
    lab.start()
    assert lab.contribute("owner-a").wait() == 0
    lab.kill(*PARTIES)
    lab.start()
    assert lab.contribute("owner-b").wait() == 0
    lab.wait_released()
    lab.check_one_release()


def test_a_release_record_removed_after_an_opening_gives_no_second_draw(make_lab: MakeLab) -> None:
    """The classic attack on "draw once": open, delete the own record, ask for a restart."""
    lab = make_lab(**SETTINGS)
    lab.start("party-a", "party-b")
    lab.start("party-c", die={"after open": 1})
    lab.contribute_all()
    assert lab.children["party-c"].wait() == -9
    until(lambda: lab.phases()[:2] == ["released"] * 2 or "stored" in lab.phases()[:2], "the others are past storing")
    (lab.state("party-c") / "release").unlink()
    state = PartyState(lab.state("party-c"), lab.study.hash, "party-c")
    state._database.execute("UPDATE facts SET value = 'sealed' WHERE name = 'phase'")
    state._database.execute("DELETE FROM facts WHERE name NOT IN ('phase', 'study', 'party', 'created')")
    state.close()
    records = {party: (lab.state(party) / "release").read_bytes() for party in ("party-a", "party-b")}
    lab.start("party-c")
    until(lambda: "check failed" in lab.events("party-c"), "party-c sees that it is refused")
    time.sleep(1.0)
    for party, record in records.items():
        assert (lab.state(party) / "release").read_bytes() == record
        assert lab.trace(party).count("progress noise: 0") == 1
        assert lab.phase(party) in ("released", "failed")
    assert not (lab.state("party-c") / "release").exists()


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("seed", range(4))
def test_parties_killed_at_random_moments(make_lab: MakeLab, seed: int) -> None:
    """Every party dies again and again; training crawls, so that most deaths fall into its middle."""
    rng = np.random.default_rng(seed)
    lab = make_lab(**(SETTINGS | {"model": {"epochs": 40}}))
    slowly = {"progress train": 0.05, "before charge": 0.2, "before open": 0.2, "before write published.json": 0.2}
    lab.start(pause=slowly)
    lab.contribute_all()
    deaths = 0
    deadline = time.monotonic() + 45
    while "collecting" in lab.phases() or set(lab.phases()) != {"released"}:
        time.sleep(rng.uniform(0.3, 2.5))
        victims = rng.choice(PARTIES, rng.integers(1, 4), replace=False).tolist()
        if time.monotonic() > deadline:
            break
        lab.kill(*victims)
        deaths += len(victims)
        time.sleep(rng.uniform(0.0, 0.3))
        lab.start(*victims, pause=slowly)
    assert deaths > 1
    lab.wait_released(90)
    lab.check_one_release()
    if len(lab.first_epochs("party-a")) > 2:
        assert max(lab.first_epochs("party-a")) > 0
