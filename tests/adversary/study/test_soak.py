"""The long run of ``make soak``, made short: so that it can be relied on when somebody runs it for an hour."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.nursery import Nursery
from support.soak import Soak, soak
from support.vital_signs import Sample, Watch, growth, plot


@pytest.mark.timeout(200)
def test_one_study_with_one_kill_and_one_cut(nursery: Nursery, tmp_path: Path) -> None:
    run = Soak(tmp_path, nursery, seed=5, mischief={"kill server": 1, "cut all": 1})
    watch = Watch(run.processes, step=0.1)
    run.study(0)
    watch.end()
    assert run.releases == 1 and run.sessions >= 1
    assert run.done == {"kill server": 1, "cut all": 1}
    assert len({sample.process for sample in watch.samples}) == 3
    assert all(sample.memory and sample.descriptors and sample.threads for sample in watch.samples)
    assert max(sample.memory for sample in watch.samples) > 20 << 20
    assert not run.processes(), "nothing is watched that has ended"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_short_soak(tmp_path: Path) -> None:
    result, watch = soak(tmp_path, 30.0, seed=3)
    assert not result["problems"], result["problems"]
    assert result["studies"] == result["releases"] >= 1
    assert sum(times for what, times in result["happened"].items() if what.startswith("veteran")) >= 1
    plot(watch.samples, tmp_path / "soak.svg")
    assert (tmp_path / "soak.svg").stat().st_size > 1000
    json.dumps(result)


def samples(**last: int) -> list[Sample]:
    """A process that stays as it is, up to its last third."""
    usual = {"memory": 100 << 20, "descriptors": 20, "threads": 4, "state": 1 << 20}
    return [Sample(float(i), "party", **(usual if i < 200 else usual | last)) for i in range(300)]


@pytest.mark.parametrize(
    ("kind", "size"), [("memory", 120 << 20), ("descriptors", 40), ("threads", 12), ("state", 5 << 20)]
)
def test_growth_is_noticed(kind: str, size: int) -> None:
    assert not growth(samples())
    (found,) = growth(samples(**{kind: size}))
    assert found.startswith(f"{kind} of party grew")
