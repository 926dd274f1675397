"""Queries without a network: rows, masks and weights dealt to every party as a client and a training run leave them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import RingArray
from cofit.arithmetic.prg import SEED_BYTES, Generator, fresh_seed
from cofit.learn.facts import training_facts
from cofit.learn.inference.plan import MASK, ROWS, InferencePlan, plan_inference
from cofit.learn.inference.program import blank_weights, bounded, secret_answers
from cofit.learn.inference.served import PublicWeights
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.formats import towards_zero
from cofit.roles.local.run import LocalRun, run_local
from cofit.secret import InputFacts, Party
from cofit.secret.common_coin import MemoryCoinStore, common_coin
from cofit.secret.masked import masked
from cofit.sharing import scheme_of
from cofit.sharing.known_inputs import assembled, components_of
from support.schemes import form, local

Reals = npt.NDArray[np.float64]
CLIENT, MODEL, DRAWN = "client", "model", "drawn"
TWO: dict[str, Any] = {"rows": 2000, "cols": 6, "calibrate_intercept": True}
PAPER: dict[str, Any] = {"rows": 2000, "cols": 6, "recipe": "paper", "l2": 0.1}
FIVE: dict[str, Any] = {"rows": 20_000, "cols": 6, "classes": 5}
NUMBER: dict[str, Any] = {"rows": 2000, "cols": 6, "loss": "huber"}


def inference(facts: Mapping[str, Any], *, noise: bool = True, public: bool = False) -> InferencePlan:
    """Return the plan of answers for these facts of a study."""
    return plan_inference(plan_training(training_facts(**facts, shared_model=True)), noise=noise, public=public)


@dataclass(frozen=True)
class Asked:
    """Rows as integers of the ring, drawn numbers in their units, a mask, and the exact scores of the rows."""

    plan: InferencePlan
    kind: str
    rows: RingArray
    drawn: Reals
    weights: PublicWeights
    mask: RingArray
    scores: Reals

    @property
    def inputs(self) -> dict[str, InputFacts]:
        return self.plan.inputs(len(self.scores), self.kind)


def asked(plan: InferencePlan, kind: str, rows: int, seed: int = 0, masked_by: RingArray | None = None) -> Asked:
    """Return a question about random rows of length 1, with random weights."""
    rng, served = np.random.default_rng(seed), plan.served
    z = rng.standard_normal((rows, served.columns))
    z = towards_zero(z / np.linalg.norm(z, axis=1, keepdims=True), plan.row_bits)
    drawn = np.rint(rng.standard_normal(served.weights) / float(served.unit) * 2.0**served.drawn.fraction_bits)
    table = (drawn * float(served.unit) / 2.0**served.drawn.fraction_bits).reshape(-1, served.outputs)
    intercepts = float(served.constant) * table[served.columns] if served.constant else np.zeros(served.outputs)
    if served.offset_bits is not None:
        offsets = np.rint(rng.standard_normal(served.outputs) * 2.0**served.offset_bits)
        intercepts = intercepts + offsets / 2.0**served.offset_bits
        drawn = np.concatenate([drawn, offsets])
    format = plan.inputs(rows, kind)[ROWS].format
    shape = plan.inputs(rows, kind)[MASK].shape
    mask = plan.ring.uniform(Generator(fresh_seed()).draw, shape) if masked_by is None else masked_by
    weights = PublicWeights(table[: served.columns], np.asarray(intercepts))
    scores = z @ weights.weights + weights.intercepts
    return Asked(plan, kind, format.encode(z), drawn, weights, mask, scores)


def run_query(name: str, question: Asked, *, with_mask: bool = True) -> LocalRun[Any]:
    """Answer at every party of a form of a scheme; each result is what that party sees opened."""
    spec, plan = form(name).spec, question.plan
    kind = scheme_of(spec)
    facts = {CLIENT: question.inputs}
    values = {(CLIENT, ROWS): question.rows, (CLIENT, MASK): question.mask}
    if not plan.public:
        format = plan.served.drawn
        facts[MODEL] = {DRAWN: InputFacts((plan.served.count,), format, float(plan.served.largest / plan.served.unit))}
        values[MODEL, DRAWN] = format.ring.from_int(question.drawn.astype(np.int64))
    dealt = {
        place: components_of(kind, spec, facts[place[0]][place[1]].format.ring, value, fresh_seed(), None)
        for place, value in values.items()
    }
    content = {
        place: {one.facts.name: (one.facts.ranks, b"".join(one.content())) for one in components}
        for place, components in dealt.items()
    }

    def program(given: Party) -> Any:
        party = Party(given._scheme, facts, given.audit)
        for (owner, input_name), components in content.items():
            one = facts[owner][input_name]
            mine = {c: memoryview(data) for c, (ranks, data) in components.items() if party.rank in ranks}
            ring, shape = one.format.ring, one.shape
            party.take(owner, input_name, assembled(type(given._scheme), spec, ring, shape, party.rank, mine, None))
        weights: Any = question.weights
        if not plan.public:
            weights = blank_weights(party, plan) if party.deals else bounded(plan, party.input(MODEL, DRAWN))
        elif party.deals:
            weights = PublicWeights(np.zeros_like(weights.weights), np.zeros_like(weights.intercepts))
        coin = common_coin(party, MemoryCoinStore(), bytes(SEED_BYTES))
        answers = secret_answers(party, plan, question.kind, party.input(CLIENT, ROWS), weights, coin)
        return party.open(masked(party, answers, CLIENT, MASK) if with_mask else answers, reason="a test")

    return run_local(program, **local(name))


def unmasked(question: Asked, opened: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the answers as the client reads them, a row for each row."""
    ring = question.plan.ring
    plain = ring.to_int(ring.sub(ring.from_int(opened), question.mask))
    return np.asarray(plain).astype(np.float64).reshape(len(question.scores), -1)


def worst(question: Asked, answers: npt.NDArray[Any]) -> float:
    """Return how far answers are from the exact ones; of classes, how many are wrong."""
    scores, unit = question.scores, 2.0**question.plan.score_bits
    if question.kind == "classes":
        right = scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0
        return float((answers[:, 0] != right).sum())
    if question.kind == "probabilities":
        return float(np.abs(answers / unit - 1 / (1 + np.exp(-question.plan.served.margins * scores))).max())
    exact = np.clip(scores, -1, 1) if question.plan.ranged else scores
    return float(np.abs(answers / unit - exact).max())
