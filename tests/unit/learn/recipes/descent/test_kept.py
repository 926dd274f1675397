"""What a checkpoint of noisy descent holds: all that later steps need, within bounds that the plan proves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.noisy import largest_draw
from cofit.secret import SecretArray
from cofit.secret.checkpoints import KeptState
from support.checkpointed import Sessions
from support.descent import FEW, KINDS, extreme_noise, fixed_noise, integers, plan_of, table_of


@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_that_is_kept_is_that_of_the_releases_to_come(kind: str) -> None:
    plan = plan_of(kind)
    later = [*plan.steps, *plan.calibration]
    assert plan.state.steps == range(len(later))
    for step in plan.state.steps:
        noise = [array for array in plan.state.after(step) if array.name.startswith("noise of ")]
        assert [array.name for array in noise] == [f"noise of {event.name}" for event in later[step:]]
        assert [array.limit for array in noise] == [largest_draw(plan, event) for event in later[step:]]
        rest = {array.name for array in plan.state.after(step)} - {array.name for array in noise}
        assert rest == {"weights", "total", "verdicts", *(part.name for part in plan.opened.parts)}


@pytest.mark.parametrize(
    "signs", [1, pytest.param(-1, marks=pytest.mark.slow), pytest.param(0, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kind", [k if k in FEW else pytest.param(k, marks=pytest.mark.slow) for k in KINDS])
def test_bounds_hold_for_the_largest_noise(kind: str, signs: int, tmp_path: Path) -> None:
    """Every value that is kept is within its bound; one session, and two, release the same."""
    plan = plan_of(kind)
    table = table_of("largest", plan, np.random.default_rng(3))
    joined = KeptState.joined

    def looking(state: KeptState, values: Mapping[str, SecretArray], step: int) -> SecretArray:
        for array in state.after(step):
            assert np.abs(integers(values[array.name])).max() <= array.limit, array.name
        return joined(state, values, step)

    with extreme_noise(plan, signs), mock.patch.object(KeptState, "joined", looking):
        whole = Sessions(tmp_path / "one", plan, table, "clear", ()).run()
        parts = Sessions(tmp_path / "two", plan, table, "clear", plan.state.steps)
        with pytest.raises(Exception, match="InterruptedRunError"):
            parts.run(stop=plan.state.steps[-1])
        assert (parts.run() == whole).all(), "with 'clear' every truncation is the floor: no unit may differ"


def test_without_an_interruption_checkpoints_change_nothing(tmp_path: Path) -> None:
    plan = plan_of("calibrated")
    table = table_of("random", plan, np.random.default_rng(4))
    with fixed_noise(5):
        without = Sessions(tmp_path / "one", plan, table, "clear", ()).run()
        kept = Sessions(tmp_path / "two", plan, table, "clear", plan.state.steps).run()
    assert (without == kept).all()


def test_the_size_that_the_page_about_studies_states() -> None:
    plan = plan_training(training_facts(1713, 1874, feature_bound=1.0, feature_lower=0.0))
    assert round(plan.state.size(0), -3) == 43_000
