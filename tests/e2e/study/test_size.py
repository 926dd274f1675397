"""Large contributions: memory of a party against the shares it holds, and the time of a whole study (told only)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.studies import PARTIES, Lab, environment

MakeLab = Callable[..., Lab]


class Peak:
    """The largest resident memory of processes, sampled, in bytes, by name: all of it, and without mapped files."""

    def __init__(self, pids: dict[str, int]) -> None:
        self.most = dict.fromkeys(pids, 0)
        self.own = dict.fromkeys(pids, 0)
        self._pids = pids
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._over.wait(0.02):
            for name, pid in self._pids.items():
                resident, mapped = map(int, Path(f"/proc/{pid}/statm").read_text().split()[1:3])
                self.most[name] = max(self.most[name], resident * page)
                self.own[name] = max(self.own[name], (resident - mapped) * page)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "partition",
    [
        "horizontal",
        pytest.param("vertical", marks=pytest.mark.xfail(strict=True, reason="a vertical study takes 3.1 times")),
    ],
)
def test_a_party_needs_less_than_two_and_a_half_times_its_shares(
    make_lab: MakeLab, partition: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shares of some hundred MB: two summands of 8 bytes for every value."""
    rows = (12_000, 12_000) if partition == "horizontal" else (6_000, 6_000)
    features = 600 if partition == "horizontal" else 1200
    lab = make_lab(partition=partition, rows=rows, features=features, model={"epochs": 3, "allow_unproven": True})
    shares = 2 * 8 * (sum(rows) if partition == "horizontal" else rows[0]) * features
    lab.start()
    lab.up()
    time.sleep(0.5)
    with Peak({party: lab.children[party].pid for party in PARTIES}) as idle:
        time.sleep(0.2)
    with Peak({party: lab.children[party].pid for party in PARTIES}) as peak:
        for owner in lab.owners:
            assert lab.contribute(owner).wait(200) == 0, lab.log(owner)
        lab.wait_released(200)
    lab.check_one_release()
    told = {
        party: tuple(
            round((after[party] - before[party]) / shares, 2)
            for after, before in ((peak.most, idle.most), (peak.own, idle.own))
        )
        for party in PARTIES
    }
    with capsys.disabled():
        print(f"\n{partition}: {shares >> 20} MB of shares at each party")
        print(f"memory beyond idle, in shares (all, and without mapped files): {told}")
    assert all(peak.most[party] < 2.5 * shares + idle.most[party] for party in PARTIES), told


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_time_of_a_study_of_the_size_of_the_paper(make_lab: MakeLab, capsys: pytest.CaptureFixture[str]) -> None:
    """1713 x 1874 between two owners. Tells; asserts nothing about seconds."""
    lab = make_lab(rows=(856, 857), features=1874)
    lab.start()
    lab.up()
    began = time.monotonic()
    lab.contribute_all()
    contributed = time.monotonic()
    lab.wait_released(200)
    released = time.monotonic()
    lab.release()
    fetched = time.monotonic()
    lab.check_one_release()
    lab.stop()
    bench = subprocess.run(
        [sys.executable, "-m", "cofit.cli.main", "bench", "train", "--json"],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    with capsys.disabled():
        print(
            f"\ncontribute {contributed - began:.2f} s, train and release {released - contributed:.2f} s, "
            f"fetch {fetched - released:.2f} s, all {fetched - began:.2f} s; epochs {lab.plan.epochs}"
        )
        print("cofit bench train:", _shortened(bench.stdout) if bench.returncode == 0 else bench.stderr[-500:])


def _shortened(text: str) -> str:
    try:
        return json.dumps(json.loads(text))[:1500]
    except ValueError:
        return text[:1500]
