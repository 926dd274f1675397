"""A run whose shares exceed the memory: they lie in files, the peak shows it, and nothing else changes."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cofit import Contribution, FixedPoint, run_local
from cofit.benchmarks.scale import measure_scale
from cofit.errors import InvalidInputError, StateError
from cofit.learn.facts import training_facts
from cofit.learn.memory import Memory
from cofit.learn.plan import plan_training
from cofit.roles.local.disk import disk_of
from unit.roles import programs

LONG = 120.0
LIMIT = 60 << 20  # above a party that does nothing
SHAPE = 8_000, 400  # of two owners each: 102 MB for every party


def owners() -> dict[str, dict[str, Contribution]]:
    rng = np.random.default_rng(3)
    return {
        name: {"x": Contribution(rng.integers(0, 2, SHAPE, dtype=np.int8), 1, FixedPoint(0))}
        for name in ("north", "south")
    }


@pytest.mark.slow  # always run: test_no_more_is_resident_than_a_block
@pytest.mark.timeout(300)
def test_the_peak_of_a_party_is_bounded_and_would_not_be_without_files(tmp_path: Path) -> None:
    run = partial(run_local, programs.large_products, processes=True, timeout=LONG)
    idle = max(run_local(programs.square, processes=True, timeout=LONG).peak_memory.values())
    on_disk, in_memory = run(owners=owners(), disk=tmp_path), run(owners=owners())
    assert on_disk.results == in_memory.results
    assert on_disk.traffic == in_memory.traffic
    parties = ("party-a", "party-b", "party-c")
    assert max(on_disk.peak_memory[name] for name in parties) - idle < LIMIT
    assert min(in_memory.peak_memory[name] for name in parties) - idle > 2 * 8 * 2 * np.prod(SHAPE)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"The 'disk' parameter of run_local must be a directory that exists"):
        run_local(programs.square, disk=tmp_path / "none")
    with pytest.raises(InvalidInputError, match=r"None with scheme 'semi2k': parties and dealer hold a mask"):
        run_local(programs.square, scheme="semi2k", disk=tmp_path)


def test_where_a_plan_has_its_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk(memory: str | None) -> Path | None:
        plan = plan_training(training_facts(100_000, 100, memory=memory))
        with disk_of(plan, 3, 2, tmp_path) as found:
            if found is not None:
                assert found.stat().st_mode & 0o777 == 0o700
            return found

    assert disk(None) is None
    assert disk("2 GB") is None
    used = disk("400 MB")
    assert used is not None
    assert not used.exists()
    with pytest.raises(InvalidInputError, match=r"The 'memory' parameter of a plan must be at least \d+ MB"):
        disk("20 MB")
    monkeypatch.setattr(os, "statvfs", lambda _: type("Free", (), {"f_bavail": 10, "f_frsize": 1000}))
    with pytest.raises(StateError, match=r"need 480 MB on the disk of .*, where 10 kB are free"):
        disk("400 MB")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_training_on_disk_sends_what_training_in_memory_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = measure_scale(400, 30, 10**12)
    monkeypatch.setattr(Memory, "exceeds", lambda *_: True)
    found = measure_scale(400, 30, 10**12)
    assert (kept.on_disk, found.on_disk) == (False, True)
    assert (found.rounds, found.bytes_total) == (kept.rounds, kept.bytes_total)
    assert found.forecast_processor_ratio > 0.1, "processes of the members are counted"
    assert list(tmp_path.iterdir()) == []
