"""A whole noisy descent with ``rep3``: one opening, uniform messages before it, traffic that data cannot move."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import Party, run_local
from cofit.errors import CofitError
from cofit.learn.private_training import private_training
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.program import descend
from cofit.roles import LocalRun
from cofit.roles.files.release_store import MemoryStore
from cofit.secret.stored import ReleaseStore
from support.chance import ALPHA, accept
from support.descent import Table, contributed, plan_of, table_of
from support.masks import without_zero_sharing
from support.training import COIN
from support.views import Views, p_uniform_bytes, watched

PARTIES = ("party-a", "party-b", "party-c")
KINDS = ("owners", "parties, level, centred", "calibrated", "pure")


def observed(plan: DescentPlan, table: Table) -> tuple[LocalRun[npt.NDArray[np.float64]], Views]:
    owners, holders = contributed(plan, table)
    stores: dict[str, ReleaseStore] = {name: MemoryStore() for name in PARTIES}
    program = partial(private_training, plan=plan, holders=holders, stores=stores, key="test")
    with watched() as views:
        run = run_local(program, parties=PARTIES, owners=owners, timeout=120)
    return run, views


def tables(plan: DescentPlan) -> list[Table]:
    """One value everywhere and one class, so that structure would shine through; and something lively."""
    rng = np.random.default_rng(61)
    return [table_of("zeros", plan, rng, "all 1"), table_of("random", plan, rng)]


def is_public(label: str) -> bool:
    """The opening itself; whether a record of the release exists; and the seeds that the parties start from."""
    return label in ("open", "release/announce", "setup")


def masked(views: Views, party: str) -> bytes:
    return b"".join(data for _, label, data in views.received[party] if not is_public(label))


@pytest.mark.parametrize(
    "kind", [KINDS[1], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != KINDS[1])]
)
def test_one_opening_uniform_messages_and_the_same_traffic_for_all_data(kind: str) -> None:
    plan = plan_of(kind, rows=60, scheme="rep3")
    runs = [observed(plan, table) for table in tables(plan)]
    released = 6 + int(bool(plan.calibration)) + int(plan.level is not None) + 5 * int(plan.centre is not None)
    assert plan.released == released
    found = {}
    for i, (run, views) in enumerate(runs):
        (opening,) = run.openings
        assert (opening.reason, opening.shape, opening.learned_by) == (plan.release_reason, (released,), PARTIES)
        for party in PARTIES:
            seen = masked(views, party)
            assert len(seen) > 20_000
            found[f"messages to {party}, run {i}"] = p_uniform_bytes(seen)
            opened = [data for _, label, data in views.received[party] if label.split("/")[-1] == "open"]
            assert [len(data) for data in opened] == [released * plan.formats.ring.bits // 8]
            for label in {label for _, label, _ in views.received[party] if not is_public(label)}:
                if len(data := views.of(party, label)) >= 2_000:
                    found[f"'{label}' to {party}, run {i}"] = p_uniform_bytes(data)
    accept(found)
    shapes: list[Any] = [
        {party: [(sender, label, len(data)) for sender, label, data in views.received[party]] for party in PARTIES}
        for _, views in runs
    ]
    assert shapes[0] == shapes[1], "sizes, order or senders of messages depend on the data"
    assert runs[0][0].traffic == runs[1][0].traffic, "rounds or bytes depend on the data"


def test_unmasked_products_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken on purpose: resharing without the mask of zero shares."""

    plan = plan_of("parties, level, centred", scheme="rep3")
    without_zero_sharing(monkeypatch)
    _, views = observed(plan, tables(plan)[0])
    assert p_uniform_bytes(masked(views, PARTIES[0])) < ALPHA


def test_the_descent_alone_opens_nothing_and_keeps_no_data() -> None:
    plan = plan_of("parties, level, centred", scheme="rep3")
    owners, holders = contributed(plan, tables(plan)[1])

    def program(party: Party) -> int:
        descend(party, plan, holders, COIN)
        with pytest.raises(CofitError, match="forget_inputs"):
            party.joined([("owner-0", "features")], 0)
        return len(party.audit.openings)

    run = run_local(program, owners=owners)
    assert run.openings == ()
    assert set(run.results.values()) == {0}
