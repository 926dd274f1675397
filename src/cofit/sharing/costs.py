"""What the primitive operations of a scheme cost, as the scheme publishes it.

Everything else that a party program does is made of these, so its rounds and bytes follow from public shapes alone: see
``meter.py``. Rounds of an operation are those of the party that waits most.
"""

from __future__ import annotations

from dataclasses import dataclass

from cofit.arithmetic import Ring


@dataclass(frozen=True)
class Cost:
    """Rounds, and ring elements sent by all parties together for each element of the result."""

    rounds: int
    elements: int


@dataclass(frozen=True)
class DealingCost:
    """An owner's input: ``seed_bytes`` once, then ``elements`` for each value, in messages of up to ``chunk_bytes``.

    ``chunk_bytes`` None: all in the first message. All of it flows one way, but every message that a party waits for
    counts as a round.
    """

    seed_bytes: int
    elements: int
    chunk_bytes: int | None = None

    def rounds(self, ring: Ring, count: int) -> int:
        """Return how many messages the party that waits most receives for ``count`` values."""
        return 1 if self.chunk_bytes is None else 1 - (-count // (self.chunk_bytes // ring.element_bytes))

    def bytes(self, ring: Ring, count: int) -> int:
        """Return what the owner sends to all parties together."""
        return self.seed_bytes + self.elements * count * ring.element_bytes


@dataclass(frozen=True)
class Costs:
    """The costs of a scheme among a given number of parties.

    ``open`` is for one receiver: m receivers take as many rounds and m times the elements. ``product`` holds for
    element-wise, matrix and inner products, for a fresh sharing, and for ANDs, where an element is a word of 64 bits.
    ``carry_signals``: what ``to_bits`` and ``sign_bits`` send for every word of bit planes before the ANDs of
    ``adder.py``; None where bits are taken without any message. ``product_terms`` and ``inner_terms``: how many
    products of plain matrices (of plain rows) a party computes for one of secrets.
    """

    setup_rounds: int
    setup_bytes: int
    dealing: DealingCost
    input: Cost
    open: Cost
    product: Cost
    truncated_product: Cost
    truncation: Cost
    bit_to_ring: Cost
    carry_signals: Cost | None
    product_terms: int
    inner_terms: int
