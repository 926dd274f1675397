"""Forecasts where owners are parties, against runs in which they keep their data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import FixedPoint
from cofit.learn.forecast import Contributors, Forecast, forecast
from cofit.learn.inputs import FEATURES, LABELS, Holders
from cofit.learn.private_training import private_training
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.secret import InputFacts, Party
from cofit.sharing import Scheme, scheme_named
from cofit.sharing.known_inputs import assembled, components_of
from support.facts import paper_facts
from support.runs import Run, run_scheme

SEED = bytes(range(32))
TRAIN = ("initial", "hold", "norm", "epoch")


class Kept:
    """A store in memory."""

    record: bytes | None = None

    def load(self) -> bytes | None:
        return self.record

    def confirm(self) -> None:
        pass

    def save(self, record: bytes) -> None:
        self.record = record


def contributors(plan: MinimiserPlan, parts: tuple[int, ...], ranks: tuple[int | None, ...]) -> Contributors:
    """Unequal parts of rows, or of columns, of which the last owner has the labels."""
    formats, vertical = plan.formats, plan.facts.partition == "vertical"
    cols = plan.facts.cols if plan.constant is not None else plan.geometry.cols
    assert sum(parts) == (plan.facts.cols if vertical else plan.facts.rows)
    inputs = {}
    for i, part in enumerate(parts):
        shape = (plan.facts.rows, part) if vertical else (part, cols)
        inputs[f"o{i}"] = {FEATURES: InputFacts(shape, formats.of(formats.data), 1.0)}
        if not vertical or i == len(parts) - 1:
            inputs[f"o{i}"][LABELS] = InputFacts(shape[:1], FixedPoint(0, formats.ring), 1.0)
    names = tuple(inputs)
    known = {name: rank for name, rank in zip(names, ranks, strict=True) if rank is not None}
    return Contributors(inputs, Holders(names, names[-1:] if vertical else names), known)


def run_of(plan: MinimiserPlan, given: Contributors, parties: int) -> Run[None]:
    def program(s: Scheme) -> None:
        party = Party(s, given.inputs)
        for owner, named in given.inputs.items():
            for name, facts in named.items():
                ring, holder = facts.format.ring, given.ranks.get(owner)
                values = facts.format.encode(np.zeros(facts.shape), 1.0)
                sent = components_of(scheme_named(plan.facts.scheme), s.spec, ring, values, SEED, holder)
                mine = {
                    c.facts.name: memoryview(b"".join(map(bytes, c.content()))) for c in sent if s.rank in c.facts.ranks
                }
                party.take(owner, name, assembled(type(s), s.spec, ring, facts.shape, s.rank, mine, holder))
        private_training(party, plan, given.holders, {party.name: Kept()}, "test")

    return run_scheme(plan.facts.scheme, program, parties=parties)


def counted(run: Run[None]) -> dict[str, tuple[int, int]]:
    """Rounds at the party that waits most, and bytes of all members, in training and in what follows it."""
    found = {}
    members = [*run.traffic, *([] if run.dealer is None else [run.dealer])]
    for phase in ("train", "rest"):
        labels = [[x for x in c if (x.split("/")[0] in TRAIN) == (phase == "train")] for c in members]
        rounds = [sum(c[x].rounds for x in own) for c, own in zip(members, labels, strict=True)]
        sent = sum(c[x].bytes_sent for c, own in zip(members, labels, strict=True) for x in own)
        found[phase] = max(rounds), sent
    return found


def foretold(cost: Forecast) -> dict[str, tuple[int, int]]:
    rest = cost.check + cost.noise + cost.release
    return {"train": (cost.train.rounds, cost.train.bytes), "rest": (rest.rounds, rest.bytes)}


FEW: dict[str, Any] = {"allow_unproven": True, "mechanism": "laplace", "scheme": "semi2k", "l2": 0.01, "epochs": 3}
CASES: list[tuple[int, int, tuple[int, ...], tuple[int | None, ...], int, dict[str, Any]]] = [
    (40, 5, (15, 25), (0, 1), 2, {}),
    (40, 5, (15, 25), (1, 0), 2, {"fit_intercept": False}),
    (40, 5, (15, 20, 5), (1, None, 0), 2, {"normalised_by": "parties"}),
    (40, 5, (15, 25), (None, None), 2, {}),
    (40, 5, (2, 3), (0, 1), 2, {"partition": "vertical"}),
    (40, 6, (2, 3, 1), (None, 2, 0), 3, {"partition": "vertical"}),
    (40, 5, (15, 25), (0, 1), 2, {"scheme": "pair"}),
    (40, 5, (15, 25), (None, 0), 2, {"scheme": "pair", "fit_intercept": False}),
    (40, 30, (15, 20, 5), (1, None, 0), 2, {"scheme": "pair", "normalised_by": "parties"}),
    (40, 30, (12, 18), (1, 0), 2, {"scheme": "pair", "partition": "vertical"}),
    (40, 30, (12, 11, 7), (0, None, 1), 2, {"scheme": "pair", "partition": "vertical"}),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rounds_and_bytes_are_those_of_a_run(case: Any) -> None:
    rows, cols, parts, ranks, parties, facts = case
    plan = plan_minimiser(paper_facts(rows, cols, **{**FEW, **facts}))
    given = contributors(plan, parts, ranks)
    cost = forecast(plan, owners=given, parties=parties)
    assert foretold(cost) == counted(run_of(plan, given, parties))


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_what_owners_that_are_parties_save(partition: str) -> None:
    plan = plan_minimiser(paper_facts(40, 6, **{**FEW, "partition": partition}))
    parts = (3, 3) if partition == "vertical" else (20, 20)
    outside, inside = (
        forecast(plan, owners=contributors(plan, parts, ranks), parties=2) for ranks in ((None, None), (0, 1))
    )
    elements = 40 * plan.geometry.cols * plan.formats.ring.element_bytes
    assert outside.train.bytes - inside.train.bytes == elements
    assert outside.epoch.bytes == inside.epoch.bytes
    assert inside.train.seconds < outside.train.seconds
    seeds = 32 * (3 if partition == "vertical" else 4)
    assert outside.share.bytes - inside.share.bytes == seeds


def test_a_scheme_that_knows_no_inputs_shares_them_all() -> None:
    plan = plan_minimiser(paper_facts(40, 5, **{**FEW, "scheme": "rep3"}))
    first, second = (forecast(plan, owners=contributors(plan, (15, 25), ranks)) for ranks in ((None, None), (0, 1)))
    assert first == second
