"""A liar among owners of columns whose rows the parties map by a public reference: what it puts in counts as nothing.

Until the verdict is multiplied in, the liar's row is any integers of the ring: through the product with the map, the
truncation, squares and roots. Each attack runs as the parties compute, where it must fail, and with every record passed
unseen, where it must succeed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from adversary.privacy.test_lying_owners import COLS, ROWS, Reals, integers, unchecked, without_noise
from cofit import Party, SecretArray
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent import mapped_rows, program, rows
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.reference import reference_map
from cofit.roles.local.run import run_local
from support.lies import COIN, contributions, lying
from support.schemes import also_slow, form, local

RNG = np.random.default_rng(31)
MAP = reference_map(RNG.normal(size=(40, COLS)), ROWS, epsilon=8.0, delta=1e-6, directions_only=True)
X = RNG.uniform(-1, 1, (ROWS, COLS))
LABELS = RNG.integers(0, 2, ROWS).astype(object)
LIES = ((1 << 62, 0), (1 << 40, 1), (-(1 << 63), 0), (3 << 16, 1))


def released(scheme: str, lie: int, label: int) -> Reals:
    """What a run opens without noise, in units of a step's sensitivity; one record holds the lie in an owner's part."""
    facts = training_facts(
        ROWS,
        MAP.columns,
        partition="vertical",
        scheme=form(scheme).spec.name,
        epsilon=8.0,
        reference=MAP.hash,
        reference_inputs=COLS,
    )
    plan = plan_training(facts)
    assert isinstance(plan, DescentPlan)
    values, labels = integers(plan, X), LABELS.copy()
    values[7, 2:], labels[7] = lie, label
    given, holders = contributions(plan, [values[:, :2], values[:, 2:]], [labels])
    holders = replace(holders, reference=MAP.public)

    def whole(party: Party) -> Reals:
        return np.asarray(party.open(program.descend(party, plan, holders, COIN), reason="an attack"))

    with lying(), without_noise():
        run = run_local(whole, **local(scheme), owners=given, timeout=120)
    step = float(plan.steps[0].sensitivity) * 2.0**-plan.formats.weights
    return plan.opened.in_units(next(iter(run.results.values()))) / step


@pytest.mark.parametrize("scheme", also_slow(["clear/1", "rep3"], "semi2k", "rep4", "repn", "shamir/5"))
def test_whatever_a_liar_puts_in_the_release_is_the_same(scheme: str) -> None:
    first, *others = (released(scheme, *lie) for lie in LIES)
    for other in others:
        assert np.linalg.norm(other - first) < 0.02


def test_nothing_of_a_liar_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both squared lengths of its row are 0 when roots are taken, which rest on their proven ranges."""
    found, roots = [], rows.inverse_roots

    def spied(squares: SecretArray, *others: Any) -> SecretArray:
        found.append(int(squares._share.parts[0][7]))
        return roots(squares, *others)

    for module in (rows, mapped_rows):
        monkeypatch.setattr(module, "inverse_roots", spied)
    released("clear/1", *LIES[0])
    assert found == [0, 0]


def test_without_the_check_lies_move_the_release() -> None:
    with unchecked():
        first, *others = (released("clear/1", *lie) for lie in LIES)
    assert max(float(np.linalg.norm(other - first)) for other in others) > 0.5
