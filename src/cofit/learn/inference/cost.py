"""What a query costs its parties: rounds and bytes, counted by running the party program without values."""

from __future__ import annotations

import numpy as np

from cofit.arithmetic.prg import SEED_BYTES
from cofit.learn.inference.plan import MASK, ROWS, InferencePlan
from cofit.learn.inference.program import blank_weights, secret_answers
from cofit.learn.inference.served import PublicWeights
from cofit.secret import Party
from cofit.secret.common_coin import MemoryCoinStore, common_coin
from cofit.secret.masked import masked
from cofit.sharing import Spec, meter_of, scheme_of
from cofit.sharing.known_inputs import layout_of
from cofit.sharing.tally import Tally

_CLIENT = "client"


def query_cost(plan: InferencePlan, spec: Spec, rows: int, kind: str) -> Tally:
    """Return what the parties send each other to answer so many rows: the coin, the check, the answers, their opening.

    Not counted: what the client sends, and what every session begins and ends with (seeds, agreements, barriers).
    """
    meter = meter_of(scheme_of(spec), spec)
    inputs = plan.inputs(rows, kind)
    party = Party(meter, {_CLIENT: inputs})
    meter.setup()
    for name, facts in inputs.items():
        party.take(_CLIENT, name, meter.receive_input(_CLIENT, facts.format.ring, facts.shape))
    start = meter.tally
    answer(party, plan, kind, _CLIENT)
    return meter.tally - start


def answer(party: Party, plan: InferencePlan, kind: str, client: str) -> None:
    """The program of a query on blank weights, as every member runs it, up to the opening."""
    coin = common_coin(party, MemoryCoinStore(), bytes(SEED_BYTES))
    served = plan.served
    public = PublicWeights(np.zeros((served.columns, served.outputs)), np.zeros(served.outputs))
    weights = public if plan.public else blank_weights(party, plan)
    answers = secret_answers(party, plan, kind, party.input(client, ROWS), weights, coin)
    party.open(masked(party, answers, client, MASK), reason="counted, and not opened")


def upload_bytes(plan: InferencePlan, spec: Spec, rows: int, kind: str) -> int:
    """Return what a client sends to all parties together, without the salts of files."""
    facts = plan.inputs(rows, kind).values()
    layouts = [layout_of(scheme_of(spec), spec, one.format.ring, one.shape, None) for one in facts]
    return sum(component.size * len(component.ranks) for layout in layouts for component in layout)
