"""kill -9 of workers, nannies, schedulers, heads and dealers of studies with shards: one release, of all rows.

Whatever ends, the session ends everywhere within seconds, and the next one goes on from a checkpoint. Zeros stand for
the noise, so that the release tells whether the rows of every shard are in it: see ``support.noiseless``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from adversary.study.test_kill import finish
from e2e.study.test_shards import check_numbers
from support.clusters import alive, kill, own_cluster, train_reached, worker_trace, workers_of
from support.noiseless import BEFORE
from support.nursery import until
from support.studies import DEALER, Lab

MakeLab = Callable[..., Lab]
SHARDED: dict[str, Any] = {
    "model": {"recipe": "best"},
    "epsilon": 4.0,
    "rows": (100, 150),
    "compute": {"shards": 2, "checkpoint_epochs": 4, "timeout": 10, "connect_timeout": 20},
}
SLOWLY = {"progress train": 0.1}
RESUME_SECONDS = 10.0
pytestmark = pytest.mark.timeout(300)
slow = pytest.mark.slow


def start(lab: Lab, *servers: str, **job: Any) -> None:
    """Start parties, each with one worker, and the dealer."""
    for name in servers or lab.servers:
        own = {"workers": 1, "worker": {}, **job} if name in lab.parties else {}
        lab.start(name, before=BEFORE, **own)


def training(lab: Lab, party: str, step: int) -> None:
    until(lambda: train_reached(lab, party, step), lambda: "\n".join(map(lab.log, lab.servers)), 120)


def resumed(lab: Lab, since: float, seconds: float = RESUME_SECONDS) -> None:
    """All parties are in another session soon."""

    def begun() -> bool:
        return all(
            any(at > since and point == "after connect" for at, point in lab.timed_trace(party))
            for party in lab.parties
        )

    until(begun, lambda: "the next session\n" + "\n".join(map(lab.log, lab.servers)), seconds)


def check_end(lab: Lab, owners: dict[str, Any], goes_on: bool = True) -> None:
    """One release of all rows; training went on from a checkpoint, with the noise of the first session."""
    finish(lab, owners)
    check_numbers(lab)
    for party in lab.parties:
        if goes_on:
            first, *later = lab.first_epochs(party)
            assert first == 0 and later and min(later) >= 4, lab.first_epochs(party)
            assert lab.trace(party).count("progress noise: 0") == 1, "what was drawn is kept"


@slow
@pytest.mark.parametrize(
    ("scheme", "victim"),
    [
        (scheme, victim)
        for scheme in ("rep3", "semi2k", "rep4", "repn", "pair", "shamir")
        for victim in ("party-a", "party-b")
    ],
)
def test_a_worker_killed_in_the_middle_of_training(make_lab: MakeLab, scheme: str, victim: str) -> None:
    lab = make_lab(scheme=scheme, **SHARDED)
    start(lab, pause={"progress train": 0.03} if scheme == "rep3" else {})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    training(lab, victim, 6)
    (worker,) = workers_of(lab.children[victim].pid)
    killed_at = time.time()
    kill(worker)
    resumed(lab, killed_at)
    check_end(lab, owners)
    assert "The worker of shard" in lab.log(victim)


@slow
@pytest.mark.parametrize("victim", ["party-a", "party-c"])
@pytest.mark.parametrize(
    "point",
    [
        "before missing", "after missing", "before write", "after write", "before write#5", "before offer",
        "after offer", "before join", "after join", "before run", "after run", "before leave",
        *(f"before run#{k}" for k in (2, 3, 4, 5, 6, 9, 20, 33)), *(f"after run#{k}" for k in (2, 3, 4, 7, 21)),
    ],
)  # fmt: skip
def test_a_worker_killed_at_any_point(make_lab: MakeLab, victim: str, point: str) -> None:
    """Also in each thing that a head wants from its shards: never is there a sum without one of them."""
    lab = make_lab(**SHARDED)
    step, _, count = point.partition("#")
    for party in lab.parties:
        start(lab, party, worker={"die": {step: int(count or 1)}} if party == victim else {})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    until((lab.root / victim / f"done {step}").exists, lambda: lab.log(victim), 120)
    check_end(lab, owners, goes_on=False)


@slow
def test_a_worker_killed_between_storing_and_opening(make_lab: MakeLab) -> None:
    lab = make_lab(**SHARDED)
    start(lab, pause={"after save release": 2.0})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    until(
        lambda: any(p.startswith("after save release") for p in lab.trace("party-b")), lambda: lab.log("party-b"), 120
    )
    for worker in workers_of(lab.children["party-b"].pid):
        kill(worker)
    finish(lab, owners)
    check_numbers(lab)
    for party in lab.parties:
        assert sum(p.startswith("after save release") for p in lab.trace(party)) == 1, "the same stored numbers"


@slow
@pytest.mark.parametrize("victim", ["party-a", "party-b"])
def test_a_head_killed_in_the_middle_of_training_takes_its_workers_with_it(make_lab: MakeLab, victim: str) -> None:
    lab = make_lab(**SHARDED)
    start(lab, pause=SLOWLY)
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    training(lab, victim, 6)
    workers = workers_of(lab.children[victim].pid)
    assert workers
    lab.kill(victim)
    until(lambda: not any(map(alive, workers)), "the end of its workers, with their rows", 15)
    start(lab, victim)
    check_end(lab, owners)


@slow
@pytest.mark.parametrize("step", [0, 6])
def test_a_dealer_killed_in_the_middle(make_lab: MakeLab, step: int) -> None:
    """The dealer is the slowest: otherwise it may have dealt all by then, and the parties train to the end."""
    lab = make_lab(scheme="semi2k", **SHARDED)
    start(lab, *lab.parties, pause=SLOWLY)
    lab.start(DEALER, before=BEFORE, pause={"progress train": 0.3})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    training(lab, "party-a", step)
    killed_at = time.time()
    lab.kill(DEALER)
    start(lab, DEALER)
    resumed(lab, killed_at)
    check_end(lab, owners, goes_on=step > 0)


@pytest.mark.parametrize("what", [pytest.param("scheduler", marks=slow), pytest.param("nanny", marks=slow), "worker"])
def test_a_part_of_a_cluster_elsewhere_is_killed(make_lab: MakeLab, what: str) -> None:
    lab = make_lab(**SHARDED)
    with own_cluster(lab.root / "party-b", 2) as cluster:
        cluster.up()
        start(lab, "party-a", "party-c", pause=SLOWLY)
        lab.start("party-b", cluster=cluster.address, before=BEFORE, pause=SLOWLY)
        owners = {owner: lab.contribute(owner) for owner in lab.owners}
        training(lab, "party-b", 6)
        if what == "worker":
            killed_at = time.time()
            kill(cluster.workers()[0])
            resumed(lab, killed_at)
            assert "The worker of shard" in lab.log("party-b")
        if what == "nanny":
            workers = cluster.workers()
            cluster.nannies[0].kill()
            cluster.nannies[0].wait()
            until(lambda: not all(map(alive, workers)), "the end of the nanny's worker", 30)
            cluster.restart_nanny(0)
        if what == "scheduler":
            cluster.scheduler.kill()
            cluster.scheduler.wait()
            cluster.restart_scheduler()
            for number, nanny in enumerate(cluster.nannies):  # Dask's workers end with their scheduler
                nanny.wait(60)
                cluster.restart_nanny(number)
        check_end(lab, owners)


@slow
def test_a_head_that_was_stopped_for_long_gets_other_workers(make_lab: MakeLab) -> None:
    """Its shards have taken it for gone, and have dropped their rows."""
    lab = make_lab(**SHARDED)
    start(lab, pause=SLOWLY)
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    training(lab, "party-c", 6)
    os.kill(lab.children["party-c"].pid, 19)  # SIGSTOP
    time.sleep(36)
    os.kill(lab.children["party-c"].pid, 18)  # SIGCONT
    check_end(lab, owners)
    assert "cannot schedule" not in lab.log("party-c") and "unexpected" not in lab.log("party-c")
    assert worker_trace(lab, "party-c")
