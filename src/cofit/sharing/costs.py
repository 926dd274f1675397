"""What the primitive operations of a scheme cost, as the scheme publishes it.

Everything else that a party program does is made of these, so its rounds and bytes follow from public shapes alone: see
``meter.py``. Rounds of an operation are those of the party that waits most.
"""

from __future__ import annotations

from dataclasses import dataclass

from cofit.arithmetic import Ring


@dataclass(frozen=True)
class Cost:
    """Rounds, and what all parties and the dealer together send: ring elements for each element of the result, for each
    one of the ``left`` and of the ``right`` operand (where operands are opened under masks: not again for a held left
    one, and once for the square of a value), and ``fixed_bytes`` once for the whole operation, whatever its size (the
    digests of an active scheme).
    """

    rounds: int
    elements: int
    fixed_bytes: int = 0
    left: int = 0
    right: int = 0


@dataclass(frozen=True)
class DealingCost:
    """An owner's input: ``seed_bytes`` once, then ``elements`` for each value, in messages of up to ``chunk_bytes``.

    ``chunk_bytes`` None: all in the first message. All of it flows one way, but every message that a party waits for
    counts as a round. ``check``: what the parties then exchange to see that they were dealt one value. ``seeds_first``:
    whether whoever gets the elements gets a seed before them.
    """

    seed_bytes: int
    elements: int
    chunk_bytes: int | None = None
    check: Cost = Cost(0, 0)
    seeds_first: bool = True

    def rounds(self, ring: Ring, count: int) -> int:
        """Return how many messages the party that waits most receives for ``count`` values."""
        chunks = 0 if self.chunk_bytes is None else -(-count // (self.chunk_bytes // ring.element_bytes))
        return (1 + chunks if self.seeds_first else max(1, chunks)) + self.check.rounds

    def bytes(self, ring: Ring, count: int) -> int:
        """Return what the owner sends to all parties together, and they to each other."""
        elements = (self.elements + self.check.elements) * count
        return self.seed_bytes + elements * ring.element_bytes + self.check.fixed_bytes


@dataclass(frozen=True)
class Costs:
    """The costs of a scheme among a given number of parties.

    ``open`` is for one receiver: m receivers take as many rounds and m times the bytes. ``product`` holds for
    element-wise, matrix and inner products, and for ANDs, where an element is a word of 64 bits. ``refresh``: a fresh
    sharing. ``echo``: what an announcement takes beside the messages themselves. ``carry_signals``: what ``to_bits``
    and ``sign_bits`` send for every word of bit planes before the ANDs of ``adder.py``; None where bits are taken
    without any message. ``product_terms``, ``inner_terms`` and ``public_terms``: how many products of plain matrices
    (of plain rows) a party computes for one of secrets, and for one of a secret and a public matrix. ``bit_words``:
    words that ``from_bits`` sends for every packed word, beside the elements of ``bit_to_ring``. ``unmasked``: what
    ``from_numbers`` takes after its additions, in elements of the ring; ``unmasked_words``: and for every word of
    digits. ``hold``: what preparing a value for many products takes; None if nothing. ``hold_known``: the same for a
    part of it that one party knows. ``listeners``: how many hear announcements beside the parties.
    """

    setup_rounds: int
    setup_bytes: int
    dealing: DealingCost
    input: Cost
    open: Cost
    product: Cost
    refresh: Cost
    truncated_product: Cost
    truncation: Cost
    bit_to_ring: Cost
    carry_signals: Cost | None
    product_terms: int
    inner_terms: int
    public_terms: int
    unmasked: Cost
    unmasked_words: int
    echo: Cost = Cost(0, 0)
    bit_words: int = 0
    hold: DealingCost | None = None
    hold_known: DealingCost | None = None
    listeners: int = 0
