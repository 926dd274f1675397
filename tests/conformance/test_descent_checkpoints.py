"""Noisy descent that is interrupted and taken up again, by every scheme: it releases what one session releases.

The noise of the first session is fixed; another session that drew any would not go unnoticed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from cofit.errors import PartyFailedError
from cofit.learn.forecast import forecast
from cofit.learn.recipes.descent import noisy, program
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.secret.checkpoints import CHECKPOINT
from conformance.test_descent import reference
from support.checkpointed import Sessions
from support.descent import FEW, Table, fixed_noise, plan_of, table_of
from support.schemes import EVERY, also_slow, form

SEED = 44
STEPS = {"owners": 7, "parties, level, centred": 0, "calibrated": -2, "clipped": 3, "pure": -1, "knorm": 1}
"""Where a session of each kind is interrupted: before the first step, in the middle, between the last iterates, and
in the calibration."""
SHORT = [("calibrated", "rep3"), ("clipped", "rep3"), ("pure", "semi2k"), ("pure", "repn"), ("owners", "rep4"),
         ("parties, level, centred", "shamir"), ("pure", "pair"), ("clipped", "clear"), ("knorm", "rep3")]  # fmt: skip
LONG = [(kind, scheme) for kind in FEW for scheme in EVERY if (kind, scheme) not in SHORT]


def data(plan: DescentPlan) -> Table:
    return table_of("random", plan, np.random.default_rng(45))


def interrupted(sessions: Sessions, step: int) -> None:
    with fixed_noise(SEED), pytest.raises(PartyFailedError, match="InterruptedRunError"):
        sessions.run(stop=step)


def disagreement(sessions: Sessions, table: Table) -> float:
    """What the last session releases, against the recipe with the noise of the first: in units of that noise."""
    with (
        mock.patch.object(noisy, "_draws", side_effect=AssertionError("noise is drawn again")),
        mock.patch.object(program, "checked", side_effect=AssertionError("rows are checked again")),
    ):
        released = sessions.plan.opened.in_units(sessions.run())
    wanted = reference(sessions.plan, table, SEED).released()
    return float(np.abs(released - wanted).max()) / sessions.plan.noise_of_weights


@pytest.mark.parametrize(("kind", "scheme"), also_slow(SHORT, *LONG))
def test_two_sessions_release_what_one_does(kind: str, scheme: str, tmp_path: Path) -> None:
    plan = plan_of(kind, scheme=form(scheme).spec.name)
    table, step = data(plan), plan.state.steps[STEPS[kind]]
    sessions = Sessions(tmp_path, plan, table, scheme, [step])
    interrupted(sessions, step)
    cells = 0.01  # what a step releases is rounded to 2^-8 to 2^-7 of its noise
    assert disagreement(sessions, table) < (0.05 if plan.clipped else cells if plan.formats.cells else 0.002)


def test_a_run_may_be_interrupted_again_and_go_back(tmp_path: Path) -> None:
    """Steps 6 and 7 are computed in three sessions, and count once."""
    plan = plan_of("parties, level, centred", scheme="rep3")
    table = data(plan)
    sessions = Sessions(tmp_path, plan, table, "rep3", [2, 5, 12, 18])
    for step in (5, 7, 7, 12, 19):
        interrupted(sessions, step)
    assert disagreement(sessions, table) < 0.002
    for state in sessions.states.values():
        assert [one.epoch for one in state.checkpoints()] == [18], "what not all go on from is deleted"


def test_a_party_that_lost_its_checkpoint_makes_all_begin_anew_with_fresh_noise(tmp_path: Path) -> None:
    plan = plan_of("parties, level, centred", scheme="rep3")
    table = data(plan)
    sessions = Sessions(tmp_path, plan, table, "rep3", [5])
    interrupted(sessions, 5)
    sessions.states["party-b"].drop_checkpoints()
    with fixed_noise(SEED + 1):
        released = plan.opened.in_units(sessions.run())
    wanted = reference(plan, table, SEED + 1).released()
    assert np.abs(released - wanted).max() < 0.002 * plan.noise_of_weights, (
        "level, centre and all steps are of one draw"
    )


# --- cost ------------------------------------------------------------------------------------------------


DUE = (0, 4, 11)


def counted(plan: DescentPlan, scheme: str, root: Path) -> tuple[int, int]:
    """Rounds at the party that waits most, and bytes of all members, under the label of checkpoints."""
    run = Sessions(root, plan, data(plan), scheme, DUE).counted()
    own = [[c for label, c in counts.items() if label.startswith(f"{CHECKPOINT}/")] for counts in run.traffic.values()]
    return max(sum(c.rounds for c in part) for part in own), sum(c.bytes_sent for part in own for c in part)


@pytest.mark.parametrize(
    ("kind", "scheme"),
    also_slow(
        [("calibrated", "rep3"), ("owners", "semi2k"), ("pure", "repn")],
        ("owners", "repn"),
        *((kind, scheme) for kind in ("calibrated", "clipped") for scheme in EVERY if scheme not in ("clear", "rep3")),
    ),
)
def test_forecasts_count_checkpoints(kind: str, scheme: str, tmp_path: Path) -> None:
    spec = form(scheme).spec
    plan = plan_of(kind, scheme=spec.name)
    kept = replace(plan.state, due=frozenset(DUE))
    rounds, sent = counted(plan, scheme, tmp_path)
    cost = forecast(plan, parties=spec.parties, kept=kept)
    assert cost.checkpoints is not None
    assert cost.checkpoints.bytes == sent
    assert cost.checkpoints.rounds == rounds or (spec.name in ("repn", "shamir") and cost.checkpoints.rounds > rounds)
    without = forecast(plan, parties=spec.parties)
    assert without.checkpoints is None
    if spec.soundness_bits is None:
        assert cost.total.rounds - without.total.rounds == cost.checkpoints.rounds
        assert cost.total.bytes - without.total.bytes == sent


def test_rounds_and_bytes_of_a_checkpoint_with_rep3(tmp_path: Path) -> None:
    """One round; three ring elements for every number: n verdicts, 2 d iterates, d for every step to come, and what
    prepares rows. A file holds two of three summands."""
    plan = plan_of("parties, level, centred", scheme="rep3")
    n, d, features, steps = plan.layout.rows, plan.cols, plan.layout.features, plan.epochs
    numbers = [n + 2 * d + 1 + features + d * (steps - step) for step in DUE]
    assert [replace(plan.state, due=frozenset(DUE)).size(step) for step in DUE] == numbers
    element = plan.formats.ring.element_bytes
    assert counted(plan, "rep3", tmp_path) == (len(DUE), 3 * element * sum(numbers))
    for folder in (tmp_path / name / "checkpoints" for name in ("party-a", "party-b", "party-c")):
        sizes = {int(path.name.split(".")[0]): path.stat().st_size for path in folder.iterdir()}
        assert set(sizes) == {4, 11}
        for step, size in sizes.items():
            body = 2 * element * numbers[DUE.index(step)]
            assert body < size < body + 600, "beside the shares, two headers"
