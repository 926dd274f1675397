"""What two parties alone send where nothing is taken from a stock; all else is counted in ``meter.py``."""

from __future__ import annotations

from cofit.arithmetic.prg import SEED_BYTES
from cofit.sharing.costs import BitCosts, Cost, Costs
from cofit.sharing.pair.transfers import SETUP_BYTES, SETUP_ROUNDS

_COUNTED = Cost(0, 0)  # by the meter itself


def pair_costs() -> Costs:
    """Return inputs, openings and announcements, and how many products a party computes."""
    return Costs(
        setup_rounds=SETUP_ROUNDS,
        setup_bytes=SETUP_BYTES + 2 * SEED_BYTES,
        input=Cost(0, 0),
        open=Cost(1, 1),
        product=_COUNTED,
        bits=BitCosts(input=Cost(0, 0), open=Cost(1, 1), product=_COUNTED),
        refresh=Cost(0, 0),
        truncated_product=_COUNTED,
        truncation=_COUNTED,
        bit_to_ring=_COUNTED,
        carry_signals=_COUNTED,
        product_terms=1,
        inner_terms=1,
        public_terms=1,
        unmasked=_COUNTED,
        unmasked_words=0,
        in_stocks=True,
    )
