"""Whole studies whose parties divide the rows among Dask workers: they release what one process does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from support.clusters import alive, own_cluster, worker_trace, workers_of
from support.noiseless import BEFORE, reference
from support.nursery import until
from support.studies import Lab

MakeLab = Callable[..., Lab]
SHARDED: dict[str, Any] = {
    "model": {"recipe": "best"},
    "epsilon": 4.0,
    "rows": (150, 200),
    "compute": {"shards": 2, "timeout": 20, "connect_timeout": 20},
}
VERTICAL = {"partition": "vertical", "rows": (300, 300), "features": 4}
SLOW = pytest.mark.slow


def check_numbers(lab: Lab) -> None:
    """No shard is missing from the sums: what is released is what one process has, but for roundings."""
    released, wanted = np.asarray(lab.check_one_release().weights), reference(lab)
    off = np.abs(released - wanted).max()
    least = min(np.abs(reference(lab, without=k) - wanted).max() for k in range(lab.compute["shards"]))
    assert off < least / 50, f"{off:.2e} off; without a shard it would be {least:.2e} at least"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="rep3"),
        pytest.param(VERTICAL, id="rep3-vertical", marks=SLOW),
        *(
            pytest.param({"scheme": scheme} | more, id=f"{scheme}{'-vertical' if more else ''}", marks=SLOW)
            for scheme in ("semi2k", "rep4", "repn", "pair", "shamir")
            for more in ({}, VERTICAL)
        ),
    ],
)
@pytest.mark.timeout(240)
def test_a_study_with_shards_releases_what_one_process_does(make_lab: MakeLab, settings: dict[str, Any]) -> None:
    lab = make_lab(**(SHARDED | settings))
    for name in lab.servers:
        lab.start(name, before=BEFORE, **({"workers": 1, "worker": {}} if name in lab.parties else {}))
    owners = [lab.contribute(owner) for owner in lab.owners]
    until(lambda: all(worker_trace(lab, party) for party in lab.parties), "workers", 100)
    workers = [pid for party in lab.parties for pid in workers_of(lab.children[party].pid)]
    lab.wait_released(150)
    assert [owner.wait() for owner in owners] == [0] * len(owners)
    check_numbers(lab)
    for party in lab.parties:
        asked = worker_trace(lab, party)
        assert {point.split(":")[1].split(" in ")[0] for point in asked} == {
            f" shard {k} of {party}" for k in (0, 1)
        }, "both shards of this party, and none of another"
    model = lab.root / "fetched.json"
    done = CliRunner().invoke(cli, ["verify", str(model), "--study", str(lab.root / "public" / "study.toml")])
    assert done.exit_code == 0, done.output
    assert "2 of its own processes" in done.output or "2 of its own processes" in model.read_text()
    lab.stop()
    until(lambda: not any(map(alive, workers)), "the end of all workers", 20)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_parties_use_clusters_that_they_have_not_started(make_lab: MakeLab) -> None:
    lab = make_lab(**SHARDED)
    with (
        own_cluster(lab.root / "party-a", 2) as first,
        own_cluster(lab.root / "party-b", 1) as second,
        own_cluster(lab.root / "party-c", 2) as third,
    ):
        for party, cluster in zip(lab.parties, (first, second, third), strict=True):
            cluster.up()
            lab.start(party, cluster=cluster.address, before=BEFORE)
        lab.contribute_all()
        lab.wait_released(150)
        check_numbers(lab)
        assert all(cluster.workers() for cluster in (first, second, third)), "clusters of others are left as they were"
        lab.stop()
