"""A whole private training with ``rep3``: one opening, uniform messages before it, traffic that data cannot move."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Party, run_local
from cofit.learn.opened import REASON
from cofit.learn.private_training import private_training
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.program import train
from cofit.roles import LocalRun
from cofit.roles.files.release_store import MemoryStore
from cofit.secret.stored import ReleaseStore
from support.chance import ALPHA, accept
from support.masks import without_zero_sharing
from support.training import COIN, contributions, planned
from support.views import Views, p_uniform_bytes, watched

PARTIES = ("party-a", "party-b", "party-c")
Table = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
SETTINGS: list[dict[str, Any]] = [
    {"rows": 24, "cols": 5},
    {"rows": 16, "cols": 3, "partition": "vertical", "mechanism": "laplace", "fit_intercept": False},
    {"rows": 16, "cols": 3, "loss": "huber_hinge", "solver": "accelerated", "mechanism": "gaussian", "delta": 1e-6},
]


def plain(plan: MinimiserPlan) -> Table:
    """Zeros, and one class: every value is the same, so that structure would shine through."""
    return np.zeros((plan.facts.rows, plan.facts.cols)), np.zeros(plan.facts.rows, np.int64)


def lively(plan: MinimiserPlan) -> Table:
    rng = np.random.default_rng(16)
    shape = (plan.facts.rows, plan.facts.cols)
    return rng.uniform(-1, 1, shape), rng.integers(0, 2, shape[0])


def observed(plan: MinimiserPlan, data: Table) -> tuple[LocalRun[npt.NDArray[np.float64]], Views]:
    owners, holders = contributions(plan, *data)
    stores: dict[str, ReleaseStore] = {name: MemoryStore() for name in PARTIES}
    program = partial(private_training, plan=plan, holders=holders, stores=stores, key="test")
    with watched() as views:
        run = run_local(program, parties=PARTIES, owners=owners, timeout=120)
    return run, views


def is_public(label: str) -> bool:
    """The opening itself; whether a record of the release exists; and the seeds that the parties start from."""
    return label in ("open", "release/announce", "setup")


@pytest.mark.parametrize("facts", SETTINGS, ids=lambda f: f.get("mechanism", "knorm"))
def test_one_opening_uniform_messages_and_the_same_traffic_for_all_data(facts: dict[str, Any]) -> None:
    plan = planned(**facts)
    seen = [observed(plan, data(plan)) for data in (plain, lively)]
    found = {}
    for i, (run, views) in enumerate(seen):
        (opening,) = run.openings
        assert opening.reason == REASON
        assert opening.shape == (plan.geometry.cols,)
        assert opening.learned_by == PARTIES
        for party in PARTIES:
            masked = b"".join(data for _, label, data in views.received[party] if not is_public(label))
            assert len(masked) > 20_000
            found[f"messages to {party}, run {i}"] = p_uniform_bytes(masked)
            opened = [data for _, label, data in views.received[party] if label.split("/")[-1] == "open"]
            assert [len(data) for data in opened] == [plan.geometry.cols * plan.formats.ring.bits // 8]
    accept(found)
    shapes = [
        {party: [(sender, label, len(data)) for sender, label, data in views.received[party]] for party in PARTIES}
        for _, views in seen
    ]
    assert shapes[0] == shapes[1], "sizes, order or senders of messages depend on the data"
    assert seen[0][0].traffic == seen[1][0].traffic, "rounds or bytes depend on the data"


def test_the_messages_of_every_step_are_uniform() -> None:
    """Label by label, so that a short unmasked message cannot hide behind long masked ones."""
    plan = planned(24, 5)
    _, views = observed(plan, plain(plan))
    tested = {}
    for party in PARTIES:
        labels = {label for _, label, data in views.received[party] if not is_public(label)}
        for label in labels:
            data = views.of(party, label)
            if len(data) >= 2_000:
                tested[f"'{label}' to {party}"] = p_uniform_bytes(data)
    assert len(tested) > 5 * len(PARTIES)
    accept(tested)


def test_unmasked_products_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken on purpose: resharing without the mask of zero shares."""
    plan = planned(24, 5)

    without_zero_sharing(monkeypatch)
    _, views = observed(plan, plain(plan))
    masked = b"".join(data for _, label, data in views.received[PARTIES[0]] if not is_public(label))
    assert p_uniform_bytes(masked) < ALPHA


def test_training_alone_opens_nothing() -> None:
    plan = planned(10, 2, epochs=2, allow_unproven=True)
    owners, holders = contributions(plan, *lively(plan))

    def program(party: Party) -> int:
        train(party, plan, holders, COIN)
        return len(party.audit.openings)

    run = run_local(program, owners=owners)
    assert run.openings == ()
    assert set(run.results.values()) == {0}
