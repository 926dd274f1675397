"""Whole studies by recipe best: level, centre and weights in one release, a model that classifies, one draw in spite
of kills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from cofit import save_sparse_table
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.models.study_model import StudyModel
from cofit.study.plan import study_plan
from support.studies import Lab

MakeLab = Callable[..., Lab]
BEST: dict[str, Any] = {"model": {"recipe": "best"}, "epsilon": 4.0}
HORIZONTAL = {"rows": (300, 500)}
VERTICAL = {"partition": "vertical", "rows": (700, 700), "features": 4}
BOTH_ROLES = {"owners": ("party-b", "owner-a"), "rows": (300, 500)}


def check_model(lab: Lab) -> None:
    """One opening, of what the plan says; and its model is right for nearly all rows of an easy table."""
    release, plan = lab.check_one_release(), study_plan(lab.study)
    assert isinstance(plan, DescentPlan)
    assert len(release.weights) == plan.released > plan.opened.weights, "level and centre are part of the release"
    for party in lab.parties:
        openings = [(r["reason"], r["shape"]) for r in lab.audit(party) if r["event"] == "opening"]
        assert set(map(str, openings)) == {str((plan.release_reason, [plan.released]))}
    model = StudyModel.from_release(lab.study, release.weights, release.certificate)
    right = (model.model.predict(lab.X) == lab.y).mean()
    commoner = np.bincount(lab.y).max() / len(lab.y)
    assert right > (1 + commoner) / 2, (right, commoner)
    assert release.certificate.method == "descent"
    assert release.certificate.proven


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(HORIZONTAL, id="rep3-horizontal"),
        pytest.param({"scheme": "semi2k", **VERTICAL}, id="semi2k-vertical"),
        pytest.param({**VERTICAL, "classes": 3}, id="rep3-vertical-three-classes"),
        pytest.param({**HORIZONTAL, "classes": 3}, id="rep3-three-classes", marks=pytest.mark.slow),
        pytest.param({"scheme": "rep4", **BOTH_ROLES, "classes": 3}, id="rep4-three-classes", marks=pytest.mark.slow),
        pytest.param(VERTICAL, id="rep3-vertical", marks=pytest.mark.slow),
        pytest.param({"scheme": "rep4", **BOTH_ROLES}, id="rep4-owner-is-party", marks=pytest.mark.slow),
        pytest.param({"scheme": "repn", **BOTH_ROLES}, id="repn-owner-is-party", marks=pytest.mark.slow),
        pytest.param({"scheme": "semi2k", **BOTH_ROLES}, id="semi2k-owner-is-party", marks=pytest.mark.slow),
        pytest.param({"scheme": "pair", **BOTH_ROLES}, id="pair-owner-is-party", marks=pytest.mark.slow),
        pytest.param({"scheme": "pair", **VERTICAL}, id="pair-vertical", marks=pytest.mark.slow),
    ],
)
def test_a_study_gives_every_party_the_model(make_lab: MakeLab, settings: dict[str, Any]) -> None:
    lab = make_lab(**BEST, **settings)
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    check_model(lab)
    lab.stop()


@pytest.mark.slow
@pytest.mark.parametrize("settings", [HORIZONTAL, {"scheme": "semi2k", **BOTH_ROLES}], ids=["rep3", "semi2k"])
def test_a_study_with_sparse_tables_gives_the_model(make_lab: MakeLab, settings: dict[str, Any]) -> None:
    """Owners bring sparse matrices: one that is a party keeps its values, the others share them."""
    lab = make_lab(**BEST, **settings)
    for number, owner in enumerate(lab.owners):
        x, y, _ = lab.part(number)
        save_sparse_table(lab.root / owner / "table.npz", csr_array(x), y)
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    check_model(lab)
    lab.stop()


@pytest.mark.parametrize(
    ("party", "point"),
    [
        pytest.param("party-b", "progress train#8"),
        pytest.param("party-a", "progress noise", marks=pytest.mark.slow),
        pytest.param("party-c", "before save release", marks=pytest.mark.slow),
        pytest.param("party-a", "after confirm", marks=pytest.mark.slow),
        pytest.param("party-b", "before begin opening", marks=pytest.mark.slow),
        pytest.param("party-c", "after open", marks=pytest.mark.slow),
    ],
)
def test_a_killed_party_begins_again_and_there_is_one_release(make_lab: MakeLab, party: str, point: str) -> None:
    lab = make_lab(**BEST, **HORIZONTAL, compute={"timeout": 5, "connect_timeout": 5})
    step, _, count = point.partition("#")
    for name in lab.parties:
        lab.start(name, die={step: int(count or 1)} if name == party else {})
    owners = {owner: lab.contribute(owner) for owner in lab.owners}
    assert lab.children[party].wait() == -9
    lab.start(party)
    for owner, child in owners.items():
        if child.wait(60):
            assert lab.contribute(owner).wait(60) == 0, lab.log(owner)
    lab.wait_released()
    check_model(lab)
    begun = lab.first_epochs(party)
    assert set(begun) <= {0}, "a run of less than a minute keeps no checkpoints: every session starts over"
