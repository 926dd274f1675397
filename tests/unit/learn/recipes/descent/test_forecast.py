"""Rounds and bytes of noisy descent: a forecast is what a run counts, and an epoch has few rounds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from cofit import run_local
from cofit.cli.demo_report import PHASES
from cofit.learn.forecast import forecast
from cofit.learn.private_training import private_training
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.roles import LocalRun
from cofit.roles.files.release_store import MemoryStore
from cofit.roles.local.run import party_names
from cofit.secret.stored import ReleaseStore
from cofit.sharing import scheme_named
from support.descent import FEW, KINDS, contributed, descent_plan, plan_of, table_of, truncating


def run_of(plan: DescentPlan) -> LocalRun[Any]:
    owners, holders = contributed(plan, table_of("random", plan, np.random.default_rng(51)))
    names = party_names(scheme_named(plan.facts.scheme).info.default_parties)
    stores: dict[str, ReleaseStore] = {name: MemoryStore() for name in names}
    program = partial(private_training, plan=plan, holders=holders, stores=stores, key="test")
    return run_local(program, scheme=plan.facts.scheme, parties=names, owners=owners, timeout=120)


def counted(run: LocalRun[Any]) -> dict[str, tuple[int, int]]:
    """Rounds at the party that waits most, and payload bytes of all members, in every phase of a run."""
    result = {}
    for phase in ("share", "check", "train", "noise", "release"):
        own = [
            [counts[label] for label in counts if PHASES[label.split("/")[0]] == phase]
            for counts in run.traffic.values()
        ]
        result[phase] = max(sum(c.rounds for c in part) for part in own), sum(c.bytes_sent for p in own for c in p)
    return result


@pytest.mark.parametrize("kind", [k if k in FEW else pytest.param(k, marks=pytest.mark.slow) for k in KINDS])
@pytest.mark.parametrize(
    "scheme", ["rep3", *(pytest.param(s, marks=pytest.mark.slow) for s in ("semi2k", "rep4", "shamir", "pair"))]
)
def test_rounds_and_bytes_are_those_of_a_run(scheme: str, kind: str) -> None:
    plan = plan_of(kind, scheme=scheme)
    cost = forecast(plan, owners=2)
    assert {name: (phase.rounds, phase.bytes) for name, phase in cost.phases.items()} == counted(run_of(plan))


@pytest.mark.parametrize("kind", [k if k == "owners" else pytest.param(k, marks=pytest.mark.slow) for k in KINDS])
def test_bytes_are_those_of_a_run_with_late_checks(kind: str) -> None:
    """With repn parties wait in turn, so that a party counts fewer rounds than there are messages in a chain."""
    plan = plan_of(kind, scheme="repn")
    cost, found = forecast(plan, owners=2), counted(run_of(plan))
    assert {name: phase.bytes for name, phase in cost.phases.items()} == {n: sent for n, (_, sent) in found.items()}
    assert all(rounds <= cost.phases[name].rounds for name, (rounds, _) in found.items())


@pytest.mark.parametrize("kind", ["owners", "parties, level, centred", "clipped"])
def test_rounds_and_bytes_are_those_of_a_run_with_truncated_weights(kind: str) -> None:
    usual = plan_of(kind, scheme="rep3")
    plan = truncating(usual)
    cost = forecast(plan, owners=2)
    assert {name: (phase.rounds, phase.bytes) for name, phase in cost.phases.items()} == counted(run_of(plan))
    assert cost.epoch.rounds <= forecast(usual).epoch.rounds + 4  # the truncation, and a wider comparison


@pytest.mark.parametrize(
    ("kind", "rounds"),
    [
        ("owners", 11),
        ("owners, no intercept", 11),
        ("pure", 11),
        ("parties", 12),
        ("parties, level", 12),
        ("owners, centred", 12),
        ("mapped by parties", 12),
        ("parties, level, centred", 12),
        ("clipped", 14),
    ],
)
def test_rounds_of_an_epoch_with_rep3(kind: str, rounds: int) -> None:
    """Two comparisons at once, and a few products: what a wide-area network waits for."""
    assert forecast(plan_of(kind, scheme="rep3")).epoch.rounds == rounds


@pytest.mark.parametrize(
    ("cols", "facts", "most"),
    [
        (5, {}, 15),
        (20, {"partition": "vertical"}, 15),
        (5, {"clip_rows": False, "epsilon": 0.001}, 15),
        (5, {"partition": "vertical", "clip_rows": False}, 21),
    ],
    ids=["few columns", "columns of owners", "plain", "level and centre"],
)
@pytest.mark.parametrize("rows", [10**3, 10**5, 10**6])
def test_rounds_of_an_epoch_do_not_depend_on_the_rows(rows: int, cols: int, facts: dict[str, Any], most: int) -> None:
    """Rows do not go in batches one after the other, however few columns there are beside what a step holds."""
    plan = descent_plan(rows, cols, scheme="rep3", **facts)
    prepared = plan.level is not None and plan.centre is not None
    assert prepared == (most > 15) or rows == 10**3  # few rows: no centre
    assert forecast(plan).epoch.rounds <= most


@pytest.mark.parametrize(
    ("scheme", "few", "many"),
    [("rep4", 16, 30), ("semi2k", 16, 30), ("shamir", 18, 34), ("pair", 17, 53), ("repn", 19, 89)],
)
def test_rounds_of_an_epoch_with_other_schemes_grow_with_the_rows(scheme: str, few: int, many: int) -> None:
    """Their rows go in batches; 1,000 plain rows, and 100,000 that are clipped."""
    assert forecast(descent_plan(10**3, 20, scheme=scheme, epsilon=0.5)).epoch.rounds == few
    assert forecast(descent_plan(10**5, 20, scheme=scheme, epsilon=0.5)).epoch.rounds == many
