"""Studies among more than three parties with ``shamir``: thresholds and routes that they choose, deaths, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.roles.jobs.training import Training
from cofit.study.plan import study_plan
from e2e.study.test_best import check_model
from e2e.study.weights import check_weights
from support.nursery import until
from support.studies import Lab

MakeLab = Callable[..., Lab]
FIVE: dict[str, Any] = {"scheme": "shamir", "count": 5, "rows": (300, 500), "epsilon": 20.0}
NEXT_DOOR, FAR_AWAY = 1e-6, 0.05
CHECKPOINTS = {"checkpoint_epochs": 2, "timeout": 5, "connect_timeout": 5}


def run(lab: Lab) -> None:
    lab.start()
    lab.contribute_all()
    lab.wait_released(120)


def test_five_parties_of_whom_one_dies_between_storing_and_opening(make_lab: MakeLab) -> None:
    lab = make_lab(**FIVE, compute=CHECKPOINTS)
    lab.start(*lab.parties[:3], lab.parties[4])
    lab.start("party-d", die={"after save release": 1})
    lab.contribute_all()
    assert lab.children["party-d"].wait(60) == -9
    lab.start("party-d")
    lab.wait_released()
    check_weights(lab)
    certificate = lab.release().certificate
    assert (certificate.threshold, len(certificate.parties)) == ("2 of 5 (honest majority)", 5)
    assert certificate.adversary.startswith("passive")
    assert "computing parties, corrupted at most: 2 of 5" in " ".join(certificate.to_text().split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "spec"),
    [
        pytest.param({"compute": {"threshold": 1}}, "shamir/5/1/none", id="threshold 1 of 5"),
        pytest.param({"compute": {"threshold": 2}}, "shamir/5/2/none", id="threshold 2, stated"),
        pytest.param({"compute": {"latency": NEXT_DOOR}}, "shamir/5/2/none/king", id="king"),
        pytest.param({"compute": {"latency": FAR_AWAY}}, "shamir/5/2/none", id="far away"),
        pytest.param({"compute": {"latency": NEXT_DOOR, "threshold": 1}}, "shamir/5/1/none/king", id="king, 1 of 5"),
        pytest.param({"count": 3}, "shamir/3/1/none", id="three"),
        pytest.param({"count": 4}, "shamir/4/1/none", id="four"),
        pytest.param({"count": 7}, "shamir/7/3/none", id="seven"),
        pytest.param({"count": 7, "compute": {"latency": NEXT_DOOR}}, "shamir/7/3/none/king", id="seven, king"),
        pytest.param({"owners": ("party-e", "owner-a", "party-b"), "rows": (300, 300, 200)}, "shamir/5/2/none",
                     id="owners that are parties"),
        pytest.param({"partition": "vertical", "rows": (700, 700), "features": 4}, "shamir/5/2/none", id="vertical"),
    ],
)  # fmt: skip
def test_forms_that_a_study_may_name(make_lab: MakeLab, settings: dict[str, Any], spec: str) -> None:
    lab = make_lab(**{**FIVE, **settings})
    run(lab)
    check_weights(lab)
    job, certificate = Training(lab.study), lab.release().certificate
    assert job.spec.agreed == spec
    assert certificate.spec == job.spec
    assert certificate.facts.get("route") == ("king" if spec.endswith("king") else None)
    lab.stop()


@pytest.mark.slow
@pytest.mark.parametrize("latency", [None, NEXT_DOOR], ids=["direct", "king"])
def test_recipe_best(make_lab: MakeLab, latency: float | None) -> None:
    compute = {} if latency is None else {"latency": latency}
    lab = make_lab(**{**FIVE, "model": {"recipe": "best"}, "epsilon": 4.0, "compute": compute})
    run(lab)
    check_model(lab)
    assert study_plan(lab.study).facts.route == (None if latency is None else "king")


@pytest.mark.slow
def test_two_parties_that_die_at_once_and_again(make_lab: MakeLab) -> None:
    """As many as may collude: nothing goes on without them, and nothing is drawn twice."""
    lab = make_lab(**FIVE, model={"epochs": 12}, compute=CHECKPOINTS)
    lab.start(*lab.parties[1:4])
    for name in ("party-a", "party-e"):
        lab.start(name, die={"after checkpoint": 2})
    lab.contribute_all()
    for name in ("party-a", "party-e"):
        assert lab.children[name].wait(60) == -9
    lab.start("party-a", "party-e", die={"after charge": 1})
    for name in ("party-a", "party-e"):
        assert lab.children[name].wait(60) == -9
    lab.start("party-a", "party-e")
    lab.wait_released(120)
    check_weights(lab)
    assert all(max(lab.first_epochs(party)) > 0 for party in lab.parties), "it must go on from a checkpoint"


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "count"), [("shamir", 5), ("rep4", 4)])
def test_a_party_that_stays_away_is_named_and_waited_for(make_lab: MakeLab, scheme: str, count: int) -> None:
    """In the same words under every scheme: nothing is released without it."""
    lab = make_lab(scheme=scheme, count=count, model={"epochs": 12}, compute=CHECKPOINTS)
    gone = lab.parties[-1]
    lab.start(*lab.parties[:-1])
    lab.start(gone, die={"after checkpoint": 1})
    lab.contribute_all()
    assert lab.children[gone].wait(60) == -9
    until(lambda: f"waits for '{gone}'" in lab.log("party-a"), lambda: lab.log("party-a"), 60)
    assert "released" not in lab.phases()
    assert all("check failed" not in lab.events(party) for party in lab.parties)
    told = lab.statuses()
    assert isinstance(told[gone], str)
    assert all(isinstance(told[party], dict) for party in lab.parties[:-1])


@pytest.mark.parametrize("count", [2, 8])
def test_fewer_or_more_parties_than_the_scheme_has_are_refused(tmp_path: Path, count: int) -> None:
    lab = Lab(tmp_path / "lab", None, scheme="shamir", count=count)
    with pytest.raises(InvalidInputError, match=f"must be from 3 to 7 computing parties. Got {count} instead"):
        _ = lab.study


def swapped(text: str, first: str, second: str) -> str:
    """The study's file with the tables of two parties in each other's place."""
    tables = text.split("[[")
    places = [i for i, table in enumerate(tables) if f'name = "{first}"' in table or f'name = "{second}"' in table]
    i, j = places
    tables[i], tables[j] = tables[j], tables[i]
    return "[[".join(tables)


def renamed(text: str, first: str, second: str) -> str:
    """The same with their names exchanged, each with the other's address and certificate."""
    names = {f'name = "{first}"': f'name = "{second}"', f'name = "{second}"': f'name = "{first}"'}
    return "\n".join(names.get(line, line) for line in text.split("\n"))


@pytest.mark.parametrize("change", [swapped, renamed])
@pytest.mark.parametrize("deviant", ["party-a", pytest.param("party-e", marks=pytest.mark.slow)])
def test_parties_whose_files_order_the_others_differently_do_not_begin(
    make_lab: MakeLab, change: Callable[[str, str, str], str], deviant: str
) -> None:
    lab = make_lab(**FIVE)
    path = lab.root / deviant / "study.toml"
    before = path.read_text()
    path.write_text(change(before, "party-b", "party-d"))
    assert sorted(path.read_text().split()) == sorted(before.split()) and path.read_text() != before
    lab.start()
    lab.up()
    owner = lab.contribute("owner-a")
    assert owner.wait(60) == 1 and "StudyMismatchError" in lab.log("owner-a")
    refused = [(r["kind"], r["peer"]) for r in lab.audit(deviant) if r["event"] == "connection refused"]
    assert ("study", "owner-a") in refused
    assert lab.phases() == ["collecting"] * 5
    assert all("session begins" not in lab.events(party) for party in lab.parties)
