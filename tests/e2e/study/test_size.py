"""Large contributions: memory of a party against the shares it holds, and the time of a whole study (told only)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing
from support.memory import available_memory, forget_peak, peak_memory
from support.nursery import environment
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]
SHORT = {"epochs": 3, "allow_unproven": True}
"""Few epochs; without a proof the plan takes the larger ring."""
NEEDED_MEMORY, NEEDED_DISK = 12 << 30, 6 << 30


@dataclass(frozen=True)
class Shape:
    """Data of two owners: rows of each (or of both, if vertical), columns."""

    partition: str
    rows: tuple[int, int]
    features: int

    def shares(self, lab: Lab) -> int:
        """The bytes that a party holds of the features: two summands of a ring element for every value."""
        rows = sum(self.rows) if self.partition == "horizontal" else self.rows[0]
        return 2 * lab.plan.formats.ring.element_bytes * rows * self.features

    def __str__(self) -> str:
        return f"{self.partition} {self.rows[0]}x{self.features}"


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("shape", "ring", "model"),
    [
        (Shape("horizontal", (12_000, 12_000), 600), Z64, {}),
        (Shape("vertical", (6_000, 6_000), 1200), Z64, {}),
        (Shape("horizontal", (6_000, 6_000), 600), Z128, SHORT),
        (Shape("vertical", (6_000, 6_000), 600), Z128, SHORT),
        (Shape("horizontal", (100_000, 100_000), 20), Z128, SHORT),
        (Shape("vertical", (60_000, 60_000), 40), Z128, SHORT),
    ],
    ids=str,
)
def test_a_party_needs_less_than_two_and_a_half_times_its_shares(
    make_lab: MakeLab,
    shape: Shape,
    ring: PowerOfTwoRing,
    model: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In both rings; for many columns, and for few, where what is computed row by row could exceed the data."""
    lab = make_lab(partition=shape.partition, rows=shape.rows, features=shape.features, model=model)
    assert lab.plan.formats.ring is ring
    lab.start()
    idle = idle_memory(lab)
    for owner in lab.owners:
        assert lab.contribute(owner).wait(200) == 0, lab.log(owner)
    lab.wait_released(200)
    factors = beyond(lab, idle, shape.shares(lab))
    lab.check_one_release()
    with capsys.disabled():
        print(f"\n{shape}: {shape.shares(lab) >> 20} MB of shares in {ring.name}; beyond idle, in shares: {factors}")
    assert max(factors.values()) < 2.5
    assert min(factors.values()) > 0.8, "the shares themselves were not seen"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_contribution_of_two_gigabytes_is_streamed(
    make_lab: MakeLab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One owner brings 2 GiB of shares. While they arrive, a party stays as it is idle."""
    disk = shutil.disk_usage(tmp_path).free
    if available_memory() < NEEDED_MEMORY or disk < NEEDED_DISK:
        pytest.skip(
            f"needs {NEEDED_MEMORY >> 30} GiB of memory and {NEEDED_DISK >> 30} GiB of disk for all participants"
        )
    shape = Shape("horizontal", (1 << 16, 100), 1 << 10)
    lab = make_lab(rows=shape.rows, features=shape.features, model=SHORT)
    shares = shape.shares(lab)
    assert shares >= 2 << 30
    lab.X = np.empty((0, 0))
    began = time.monotonic()
    lab.start()
    idle = idle_memory(lab)
    large, of_owner = lab.contribute("owner-a"), 0
    while large.poll() is None:
        of_owner = max(of_owner, peak_memory(large.pid))
        time.sleep(0.05)
    assert large.code == 0, lab.log("owner-a")
    contributed = time.monotonic()
    receiving = {party: (peak_memory(lab.children[party].pid) - idle[party]) >> 20 for party in PARTIES}
    assert lab.contribute("owner-b").wait(100) == 0, lab.log("owner-b")
    lab.wait_released(400)
    factors = beyond(lab, idle, shares)
    lab.check_one_release()
    lab.stop()
    shutil.rmtree(lab.root)
    with capsys.disabled():
        print(
            f"\n{shares >> 20} MB of shares at each party: while they arrive, MB beyond idle: {receiving}; in all, in "
            f"shares: {factors}; the owner: {of_owner / shares:.2f}; contribute {contributed - began:.0f} s, train "
            f"{time.monotonic() - contributed:.0f} s"
        )
    assert max(receiving.values()) < 64
    assert max(factors.values()) < 2.5
    assert min(factors.values()) > 0.8, "the shares themselves were not seen"
    assert of_owner < 1.25 * shares, "more than the table and its encoding"


def idle_memory(lab: Lab) -> dict[str, int]:
    """What each party needs before anybody contributes; its peak counts from here."""
    lab.up()
    time.sleep(0.5)
    for party in PARTIES:
        forget_peak(lab.children[party].pid)
    return {party: peak_memory(lab.children[party].pid) for party in PARTIES}


def beyond(lab: Lab, idle: dict[str, int], shares: int) -> dict[str, float]:
    """The peak of each party beyond idle, in shares."""
    return {party: round((peak_memory(lab.children[party].pid) - idle[party]) / shares, 2) for party in PARTIES}


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
