"""After which steps checkpoints are kept: as the study says, or for a minute of work each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cofit.learn.checkpoint_steps import MOST_LOST, every, minute_by_minute
from cofit.learn.forecast import Contributors, Forecast, Phase, forecast
from cofit.learn.inputs import Holders
from cofit.roles.jobs.training import Training
from support.descent import plan_of
from support.studies import Lab

PLAN = plan_of("owners", scheme="rep3")
NOBODY = Contributors({}, Holders((), ()), {})


def test_every_third_step_and_before_the_first() -> None:
    assert every(range(20), 3) == {0, 3, 6, 9, 12, 15, 18}
    assert every(range(1, 10), 3) == {3, 6, 9}, "recipe 'paper' has nothing to keep before its first epoch"
    assert every(range(20), 50) == {0}


@pytest.mark.parametrize(
    ("prepared", "step", "due"),
    [
        (1.0, 1.0, set()),
        (59.0, 0.5, {2}),
        (60.0, 0.5, {0}),
        (10.0, 25.0, {2, 5, 8, 11, 14, 17}),
        (600.0, 61.0, set(range(20))),
    ],
)
def test_a_minute_of_work_is_lost_at_most_and_a_step(
    monkeypatch: pytest.MonkeyPatch, prepared: float, step: float, due: set[int]
) -> None:
    def expected(*_: Any, **__: Any) -> Forecast:
        cost = forecast(PLAN)
        nothing = Phase(0, 0, 0.0)
        train, check = Phase(0, 0, PLAN.epochs * step + prepared / 2), Phase(0, 0, prepared / 2)
        return replace(cost, train=train, check=check, noise=nothing, epoch=Phase(0, 0, step))

    monkeypatch.setattr("cofit.learn.checkpoint_steps.forecast", expected)
    found = minute_by_minute(PLAN, PLAN.state.steps, NOBODY, 3, None)
    assert found == due
    work = [prepared + step * done for done in range(PLAN.epochs)]
    last = 0.0
    for done, so_far in enumerate(work):
        assert so_far - last < MOST_LOST + step or done in found
        last = so_far if done in found else last


def test_studies_keep_what_they_say_or_what_a_minute_of_work_is(tmp_path: Path) -> None:
    """Short runs keep none; the same run over slow lines does, and that is a public fact of the study."""

    def state(**compute: Any) -> Any:
        folder = tmp_path / "_".join(map(str, compute.values()))
        lab = Lab(folder, None, model={"recipe": "best"}, epsilon=4.0, compute=compute)
        return Training(lab.study).state

    assert state() is None
    assert state(checkpoint_epochs=6).due == {0, 6, 12, 18}
    slow = state(latency=0.5)
    assert slow.due and max(slow.due) < 20
    assert state(latency=0.5, checkpoint_epochs=6).due == {0, 6, 12, 18}
