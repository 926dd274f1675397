"""Whole studies that name a table of public rows: where owners hold columns, and where the model stays shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.models.study_model import StudyModel
from cofit.roles.client.ask import PrivateAnswers, ask_privately
from cofit.roles.files.studies import load_study
from cofit.study.plan import study_plan
from support.studies import Lab

MakeLab = Callable[..., Lab]
REFERENCED: dict[str, Any] = {"model": {"recipe": "best"}, "epsilon": 4.0, "reference": 60}
VERTICAL: dict[str, Any] = {"partition": "vertical", "rows": (700, 700), "features": 4}
CLIENT = "client"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(VERTICAL, id="rep3"),
        pytest.param({**VERTICAL, "scheme": "semi2k", "directions": True}, id="semi2k", marks=pytest.mark.slow),
        pytest.param({**VERTICAL, "scheme": "rep4", "classes": 3}, id="rep4-classes", marks=pytest.mark.slow),
        pytest.param({**VERTICAL, "scheme": "repn"}, id="repn", marks=pytest.mark.slow),
        pytest.param({**VERTICAL, "scheme": "shamir"}, id="shamir", marks=pytest.mark.slow),
        pytest.param({**VERTICAL, "scheme": "pair"}, id="pair", marks=pytest.mark.slow),
        pytest.param({"rows": (300, 500)}, id="owners-of-rows", marks=pytest.mark.slow),
    ],
)
def test_every_party_gets_the_model_of_the_same_map(make_lab: MakeLab, settings: dict[str, Any]) -> None:
    lab = make_lab(**REFERENCED, **settings)
    reference, plan = lab.study.data.reference, study_plan(lab.study)
    assert reference is not None
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    release = lab.check_one_release()
    assert isinstance(plan, DescentPlan)
    assert release.certificate.facts["reference"] == reference.hash
    assert release.certificate.proven
    model = StudyModel.from_release(lab.study, release.weights, release.certificate)
    right = (model.model.predict(lab.X) == lab.y).mean()
    assert right > (1 + np.bincount(lab.y).max() / len(lab.y)) / 2, right
    lab.stop()


def test_who_has_other_rows_has_another_study(make_lab: MakeLab) -> None:
    lab = make_lab(**REFERENCED, **VERTICAL)
    folder = lab.root / "owner-a"
    assert load_study(folder / "study.toml").hash == lab.study.hash
    rows = pq.read_table(folder / "reference.parquet")
    pq.write_table(rows.slice(1), folder / "reference.parquet")
    assert load_study(folder / "study.toml").hash != lab.study.hash


def asked(make_lab: MakeLab, count: int, **settings: Any) -> tuple[Lab, PrivateAnswers]:
    """A trained study, and the scores that a client gets for some of its rows."""
    lab = make_lab(**REFERENCED, clients={CLIENT: None}, **settings)
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    return lab, ask_privately(lab.study, lab.identity(CLIENT), lab.X[:count], "scores")


@pytest.mark.parametrize(
    "settings", [pytest.param({"rows": (300, 500)}, id="rows"), pytest.param(VERTICAL, marks=pytest.mark.slow)]
)
def test_private_answers_are_those_of_the_model(make_lab: MakeLab, settings: dict[str, Any]) -> None:
    lab, found = asked(make_lab, 12, **settings)
    release = lab.release()
    model = StudyModel.from_release(lab.study, release.weights, release.certificate).model
    assert found.statement.error is not None
    assert np.abs(found.values[:, 0] - model.decision_function(lab.X[:12])).max() <= found.statement.error
    lab.stop()


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"rows": (300, 500)}, VERTICAL], ids=["rows", "columns"])
def test_a_shared_model_answers_for_rows_that_the_client_maps(make_lab: MakeLab, settings: dict[str, Any]) -> None:
    lab, found = asked(make_lab, 200, terms={"model": "shared"}, **settings)
    assert ((found.values[:, 0] > 0) == lab.y[:200]).mean() > 0.8
    lab.stop()
