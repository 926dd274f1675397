"""What the check of rows returns beside its verdicts: the lengths that it has computed, for whoever needs them too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.learn.checked_rows import checked
from cofit.learn.facts import training_facts
from cofit.learn.inputs import gathered
from cofit.learn.plan import plan_training
from cofit.roles.local.run import run_local
from cofit.secret import Party
from support.lies import COIN, contributions, lying, raw
from support.schemes import local

ROWS = 70
KINDS: dict[str, dict[str, Any]] = {
    "clipped": {"cols": 6, "clip_rows": True, "epsilon": 30.0},
    "level": {"cols": 70, "clip_rows": False, "feature_bound": 1.0, "feature_lower": 0.0, "epsilon": 5.0},
    "1-norm": {"cols": 40, "delta": 0.0, "row_nonzeros": 3},
    "columns": {"cols": 6, "clip_rows": False, "partition": "vertical"},
}


@pytest.mark.parametrize("scheme", ["clear/1", "rep3", "semi2k", "rep4"])
@pytest.mark.parametrize("kind", KINDS)
def test_squared_lengths_are_those_of_the_rows_or_none(kind: str, scheme: str) -> None:
    facts = dict(KINDS[kind])
    cols = facts.pop("cols")
    plan = plan_training(training_facts(ROWS, cols, **facts))
    rng = np.random.default_rng(3)
    rows = rng.integers(-40, 40, (ROWS, cols)).astype(object)
    rows[5, 2] = (1 << 63) - 5  # a lie, whose length wraps
    by_columns = kind == "columns"
    blocks = [rows[:, :2], rows[:, 2:]] if by_columns else [rows[:30], rows[30:]]
    labels = [np.zeros(ROWS, object)] if by_columns else [np.zeros(30, object), np.zeros(ROWS - 30, object)]
    given, holders = contributions(plan, [raw(b) for b in blocks], [raw(one) for one in labels])

    def program(party: Party) -> list[Any] | None:
        x, y = gathered(party, plan, holders, plan.constant)
        _, squares = checked(party, plan, holders, x, y, COIN)
        if squares is None:
            return None
        opened = party._scheme.open(squares._share)
        assert opened is not None
        return [int(v) for v in squares.format.ring.to_int(opened)]

    with lying():
        found = next(iter(run_local(program, **local(scheme), owners=given, timeout=120).results.values()))
    if kind in ("1-norm", "columns"):
        assert found is None
        return
    bits = plan.formats.ring.bits
    expected = [(int(v) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for v in (rows**2).sum(axis=1)]
    assert found == expected
