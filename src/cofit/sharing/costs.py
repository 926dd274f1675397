"""What the primitive operations of a scheme cost, as the scheme publishes it.

Everything else that a party program does is made of these, so its rounds and bytes follow from public shapes alone: see
``meter.py``. Rounds of an operation are messages that wait for one another: those of the party that waits most, or more
where several parties wait in turn (products through one party).
"""

from __future__ import annotations

from dataclasses import dataclass

from cofit.arithmetic import Ring
from cofit.sharing.inputs import CHUNK_BYTES


@dataclass(frozen=True)
class Cost:
    """Rounds, and what all parties and the dealer together send: ring elements for each element of the result, for each
    one of the ``left`` and of the ``right`` operand (where operands are opened under masks: not again for a held left
    one, and once for the square of a value), and ``fixed_bytes`` once for the whole operation, whatever its size (the
    digests of an active scheme). ``deferred``: checks that are put off, for each element of the result. ``packed``:
    words for every 64 elements of the result, where bits of them travel.
    """

    rounds: int
    elements: int
    fixed_bytes: int = 0
    left: int = 0
    right: int = 0
    deferred: int = 0
    packed: int = 0


@dataclass(frozen=True)
class StreamCost:
    """What is sent in messages of up to ``CHUNK_BYTES``, one after the other: so many elements for each one, of all
    parties together. Every message that a party waits for counts as a round.
    """

    elements: int

    def rounds(self, ring: Ring, count: int) -> int:
        """Return how many messages a party receives for ``count`` elements."""
        return max(1, -(-count // (CHUNK_BYTES // ring.element_bytes)))

    def bytes(self, ring: Ring, count: int) -> int:
        """Return what all parties together send."""
        return self.elements * count * ring.element_bytes


@dataclass(frozen=True)
class VerificationCost:
    """What it takes to make the checks that were put off, however many: rounds and bytes once, and again for every time
    that their number is halved until one is left.
    """

    rounds: int
    bytes: int
    halving_rounds: int = 0
    halving_bytes: int = 0

    def of(self, checks: int) -> tuple[int, int]:
        """Return rounds, and bytes of all parties together, of so many checks; nothing for none."""
        if not checks:
            return 0, 0
        halvings = (checks - 1).bit_length()
        return self.rounds + halvings * self.halving_rounds, self.bytes + halvings * self.halving_bytes


@dataclass(frozen=True)
class BitCosts:
    """The costs of shared bits, where an element is a word of 64 of them: input by a party, opening to one receiver,
    and ANDs and bilinear forms.
    """

    input: Cost
    open: Cost
    product: Cost


@dataclass(frozen=True)
class Costs:
    """The costs of a scheme among a given number of parties.

    ``open`` is for one receiver: m receivers take as many rounds and m times the bytes. ``product`` holds for element-
    wise, matrix and inner products. ``bits``: of shared bits. ``refresh``: a fresh sharing. ``echo``: what an
    announcement takes beside the messages themselves. ``carry_signals``: what ``to_bits`` and ``sign_bits`` send for
    every word of bit planes before the ANDs of ``adder.py``; None where bits are taken without any message.
    ``product_terms``, ``inner_terms`` and ``public_terms``: how many products of plain matrices (of plain rows) a party
    computes for one of secrets, and for one of a secret and a public matrix. ``bit_words``: words that ``from_bits``
    sends for every packed word, beside the elements of ``bit_to_ring``. ``unmasked``: what ``from_numbers`` takes after
    its additions, in elements of the ring; ``unmasked_words``: and for every word of digits; ``number_masks``: how many
    masks are among what it adds. ``high_part``: of the operation of that name. ``compared``: what the
    parties exchange to see that an owner dealt them one value; what the owner sends follows from ``Inputs.layout``.
    ``hold``: what preparing a value for many products takes; None if nothing. ``hold_known``: the same for a part of it
    that one party knows. ``listeners``: how many hear announcements beside the
    parties. ``verification``: of checks that are put off (``Cost.deferred``).
    """

    setup_rounds: int
    setup_bytes: int
    input: Cost
    open: Cost
    product: Cost
    bits: BitCosts
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
    number_masks: int = 1
    high_part: Cost = Cost(0, 0)
    echo: Cost = Cost(0, 0)
    bit_words: int = 0
    compared: Cost = Cost(0, 0)
    hold: StreamCost | None = None
    hold_known: StreamCost | None = None
    listeners: int = 0
    verification: VerificationCost = VerificationCost(0, 0)
