"""A scheme without values: it runs a party program and counts what the program would cost with another scheme.

The program runs on shares that hold nothing (``blank.py``), and every operation adds to the tally what the target
scheme publishes for it (``Scheme.costs``). Taking bits runs the same adder as the schemes do, so its ANDs are counted,
not estimated.

Rounds are added up operation by operation, each with those of the party that waits most. The counters of a real run say
the same at that party if it is the same one throughout, as in programs whose values come from owners and from draws;
where parties wait in turn (``shamir``, several maskers or one party in the middle), every counter says less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple

import numpy as np

from cofit.arithmetic import IntegerRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length
from cofit.arithmetic.engine import LOCAL
from cofit.errors import InvalidInputError
from cofit.sharing.adder import (
    add_from_signals,
    plane_count,
    planes_of,
    top_bit_from_signals,
    top_two_from_signals,
)
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.blank import blank_bits, nothing
from cofit.sharing.boolean import Boolean
from cofit.sharing.costs import Cost, Costs, Sent
from cofit.sharing.held import HeldMask, HeldShare, known_elements, masked_elements
from cofit.sharing.inputs import Room, bytes_of, messages_of
from cofit.sharing.known_inputs import known_layout
from cofit.sharing.live import Live
from cofit.sharing.metered_sums import MeteredSums
from cofit.sharing.numbers import FromNumbers
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.regions import regions_in, whole
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import BitShare, ComponentFacts, DealtShare, Share
from cofit.sharing.spec import SchemeInfo, Spec
from cofit.sharing.tally import Tally
from cofit.transport import Terms, memory_meshes


class Meter(FromNumbers, MeteredSums):
    """The party of rank 0 of a run that does not take place; ``target`` is the scheme whose costs it counts.

    ``spec``: in which form; None: the usual one.
    """

    info = SchemeInfo(
        name="meter",
        parties=(1, None),
        default_parties=3,
        adversary="none: there are no values",
        most_corrupted=lambda _: 0,
        corrupted="{threshold}",
        assumptions="for planning only",
        secret=False,
    )

    def __init__(self, target: type[Scheme], spec: Spec | None = None) -> None:
        spec = target.info.spec() if spec is None else spec
        names = [f"party-{rank}" for rank in range(spec.parties)]
        terms = Terms(bytes(16), bytes(32), self.info.name)
        super().__init__(memory_meshes(names[:1], terms)[names[0]], names)
        self._costs = target.costs(spec)
        self._target_inputs = target.inputs(spec)
        self._tally = list(astuple(Tally()))
        self._tallies = {"": self._tally}
        self._late = None if self._costs.late is None else self._costs.late()
        self._by_blocks = target.in_memory is None
        self.live = Live()
        """What the program holds, of one part of a share."""
        self.verification_tally = Tally()
        """What late checks took so far, under whatever label."""
        self.prepared_tally = Tally()
        """What it took so far to make stocks, under whatever label."""

    @property
    def tally(self) -> Tally:
        """What was counted so far."""
        return sum((self.tally_of(label) for label in self._tallies), Tally())

    def tally_of(self, label: str) -> Tally:
        """Return what was counted so far under an outermost label, or under none ('')."""
        return Tally(*self._tallies.get(label, ()))

    @contextmanager
    def label(self, name: str) -> Iterator[None]:
        outer = self._tally
        with super().label(name):
            self._tally = self._tallies.setdefault(self._label.split("/")[0], list(astuple(Tally())))
            try:
                yield
            finally:
                self._tally = outer

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        raise InvalidInputError("A meter has no costs of its own: it counts those of another scheme.")

    # --- counting ----------------------------------------------------------------------------------------

    def _blank(self, ring: Ring, shape: Shape) -> Share:
        """Count a result as one operation, and what it would take in memory."""
        self._tally[2] += 1
        return Share(ring, (self.live.array(ring, shape),))

    def _send(self, rounds: int, size: int) -> None:
        self._tally[0] += rounds
        self._tally[1] += size

    def _count(self, cost: Cost, ring: Ring, shape: Shape, *operands: Shape | None, shift: int = 0) -> Share:
        """Count an operation with messages, and return its result; see ``Cost.bytes``."""
        self._send(cost.rounds, cost.bytes(ring, shape, *operands, shift=shift))
        self._note(cost, ring, math.prod(shape))
        return self._blank(ring, shape)

    def _note(self, cost: Cost, ring: Ring, count: int) -> None:
        """Put on the list what an operation of so many results adds to it."""
        if self._late is None:
            return
        self._late.told()
        if cost.notes is not None:
            products, inner, zeros, words, zero_words = astuple(cost.notes)
            packed = count if ring is BITS else packed_length(count)
            self._late.products(ring, products * count)
            self._late.products(ring, count if inner else 0, inner)
            self._late.zeros(ring, zeros * count)
            self._late.ands(words * packed)
            self._late.zeros(BITS, zero_words * packed)

    def _grown(self, result: Share) -> Share:
        """Check what is due after an operation."""
        if self._late is not None:
            self._check(self._late.grown())
        return result

    def _check(self, sent: Sent) -> None:
        if sent.rounds:
            with self.label("verify"):
                self._tally[6] += 1
                self._send(*sent)
            self.verification_tally += Tally(*sent, checks=1)

    def verify(self) -> None:
        if self._late is not None:
            self._check(self._late.verify())

    def _count_products(self, ring: Ring, multiply_adds: int) -> None:
        self._tally[3 if ring.bits <= 64 else 4] += multiply_adds

    # --- messages, inputs and openings -------------------------------------------------------------------

    def announce(self, label: str, message: bytes) -> tuple[bytes, ...]:
        parties, echo = len(self.names), self._costs.echo
        hearers = parties - 1 + self._costs.listeners
        with self.label(label):
            self._send(min(parties - 1, 1), parties * hearers * len(message))
            self._send(echo.rounds, echo.fixed_bytes)
        return (message,) * parties

    def setup(self) -> None:
        self._send(self._costs.setup_rounds, self._costs.setup_bytes)

    def refresh(self, share: Share) -> Share:
        return self._grown(self._count(self._costs.refresh, share.ring, share.shape))

    def receive_input(self, owner: str, ring: Ring, shape: Shape, room: Room | None = None) -> DealtShare:
        self._send_components(self._target_inputs.layout(ring, shape))
        self._send(self._costs.compared.rounds, self._costs.compared.fixed_bytes)
        return super().receive_input(owner, ring, shape, room)

    def receive_known(self, ring: Ring, shape: Shape, holder: int) -> DealtShare:
        """Count the input of an owner that is the party ``holder``: its values, as they are, from one to the other."""
        self._send_components(known_layout(ring, shape, holder))
        return self.inputs(self.spec).known(ring, shape, self.rank, holder, None)

    def _send_components(self, layout: Sequence[ComponentFacts]) -> None:
        self._send(messages_of(layout), bytes_of(layout))

    def hold(self, a: Share, products: int = 1, *, owned: bool = False) -> Share:
        """Count the messages that open the masked value; those of parties that know a part each go at once."""
        cost = self._costs.hold
        if self._late is not None:
            return super().hold(a, products, owned=owned)
        if cost is None or isinstance(a, HeldShare):
            return a
        regions, known = regions_in(a), self._costs.hold_known or cost
        rounds: dict[int, int] = {}
        for region in regions:
            if region.holder is None:
                self._send(cost.rounds(a.ring, region.size), cost.bytes(a.ring, region.size))
            else:
                rounds[region.holder] = rounds.get(region.holder, 0) + known.rounds(a.ring, region.size)
                self._send(0, known.bytes(a.ring, region.size))
        self._send(max(rounds.values(), default=0), 0)
        blank = LOCAL.place(a.ring, (nothing(a.ring, a.shape),))
        mask = HeldMask(a.shape, ((whole(a.shape), blank),), known_elements(regions))
        return HeldShare(blank, mask, adds_public=False)

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        return self._count(self._costs.bits.input if ring is BITS else self._costs.input, ring, shape)

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        receivers = range(len(self.names)) if to is None else to
        self.verify()
        cost, times = self._costs.bits.open if share.ring is BITS else self._costs.open, len(receivers)
        each = cost.elements * math.prod(share.shape) * share.ring.element_bytes + cost.fixed_bytes
        self._send(cost.rounds, times * each)
        opened = self._blank(share.ring, share.shape)
        return opened.parts[0] if self.rank in receivers else None

    # --- products ----------------------------------------------------------------------------------------

    def _matrix_product(self, ring: Ring, a: Shape, b: Shape) -> Share:
        product = super()._matrix_product(ring, a, b)
        self._count_products(ring, self._costs.public_terms * math.prod(product.shape) * a[-1])
        return product

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        if self._late is not None:
            if ring is BITS:
                self._late.ands(math.prod(shape))
            else:
                self._late.products(ring, math.prod(shape))
        return self._product(ring, a.shape, None if b is a else b.shape, shape, shift)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        self._count_products(ring, self._terms(a, self._costs.product_terms) * math.prod(b.shape[1:]))
        if self._late is not None:
            turned = len(a.shape) == 1 and len(b.shape) == 2  # x B = B^T x
            left, columns = (b.map(np.transpose), 1) if turned else (a, math.prod(b.shape[1:]))
            self._late.matrix(left, columns)
        return self._product(ring, None if isinstance(a, HeldShare) else a.shape, b.shape, shape, shift)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        self._count_products(ring, self._terms(a, self._costs.inner_terms))
        left = None if isinstance(a, HeldShare) else a.shape
        if self._late is not None:
            self._late.products(ring, math.prod(shape), a.shape[-1])
        return self._product(ring, left, None if b is a else b.shape, shape, shift)

    def squares_mask(self, ring: Ring, count: int) -> Share | None:
        return self._blank(ring, (count,)) if self._costs.foresees_squares else None

    def foreseen_squares(self, a: Share, row: Share, weights: Share, mask: Share, masked: Share) -> Share:
        self.open(self.sub(weights, mask))
        self._count_products(a.ring, self._costs.product_terms * math.prod(a.shape))
        return self._product(a.ring, a.shape, weights.shape, a.shape[:1], 0)

    def _terms(self, a: Share, terms: int) -> int:
        """Return how many multiply-adds a product of a with one vector takes: fewer where there is no mask."""
        full = math.prod(a.shape)
        if not isinstance(a, HeldShare):
            return terms * full
        return (terms - 1) * full + masked_elements(a.shape, a.mask.known, len(self.names))

    def _product(self, ring: Ring, left: Shape | None, right: Shape | None, shape: Shape, shift: int) -> Share:
        cost = self._costs.truncated_product if shift else self._costs.product
        if ring is BITS:
            cost = self._costs.bits.product
            self._tally[5] += 64 * math.prod(shape)
        return self._grown(self._count(cost, ring, shape, left, right, shift=shift))

    def _truncate(self, a: Share, shift: int) -> Share:
        if self._late is not None:
            self._late.zeros(a.ring, math.prod(a.shape))
        return self._grown(self._count(self._costs.truncation, a.ring, a.shape, shift=shift))

    # --- bits --------------------------------------------------------------------------------------------

    @property
    def summands(self) -> int:
        """Those of the target."""
        return max(super().summands, self._costs.summands)

    def to_bits(self, a: Share, bits: int | None = None) -> BitShare:
        _, planes = planes_of(a, 0, bits)
        return self._bits_of(a, planes, plane_count(planes), add_from_signals)

    def sign_bits(self, a: Share, low: int = 0, bits: int | None = None) -> BitShare:
        return self._bits_of(a, planes_of(a, low, bits)[1], 1, top_bit_from_signals)

    def top_bits(self, a: Share, low: int = 0) -> BitShare:
        return self._bits_of(a, planes_of(a, low)[1], 2, top_two_from_signals)

    def _bits_of(
        self, a: Share, planes: slice, rows: int, adder: Callable[[Boolean, BitShare, BitShare], BitShare]
    ) -> BitShare:
        count, signals = math.prod(a.shape), self._costs.carry_signals
        if signals is None:
            return blank_bits(rows, count)
        shape = (plane_count(planes), packed_length(count))
        signal = PackedBits(self._grown(self._count(signals, BITS, shape)), count)
        return adder(self.boolean, signal, signal)

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        if self._late is None:
            return self._product(BITS, a.shape, b.shape, shape, 0)
        for words in self._late.form_pieces(form, a.shape[0], b.shape[0], shape[1]):
            wide = words.stop - words.start
            self._late.form(form.part(words), a.shape[0], b.shape[0], wide)
            self._product(BITS, None, None, (shape[0], wide), 0)
        return self._blank(BITS, shape)

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], None]:
        digits = self._costs.mask_digits
        if digits.rounds:
            self._grown(self._count(digits, ring, (width + self._costs.mask_bits, count)))
        return [blank_bits(width, count)] * self._costs.number_masks, None

    def high_squares(self, a: Share, shift: int) -> Share:
        """A scheme that can have the data on disk makes high parts of some rows at a time, and holds the sums alone."""
        if self._costs.high_part.rounds:
            return self._high_squares_in_pieces(a, shift)
        if not self._by_blocks:
            return super().high_squares(a, shift)
        with self.live.paused():
            squares = super().high_squares(a, shift)
        return Share(squares.ring, (self.live.array(squares.ring, squares.shape),))

    def high_part(self, a: Share, shift: int) -> Share:
        return super().high_part(self._count(self._costs.high_part, a.ring, a.shape), shift)

    def _unmasked(self, masked: BitShare, kept: None, ring: IntegerRing) -> Share:
        self._send_words(self._costs.unmasked_words, masked)
        return self._grown(self._count(self._costs.unmasked, ring, (masked.count,)))

    @property
    def weighs_bits(self) -> bool:
        return self._costs.weighed_bits is not None

    def weighed_bits(self, bits: BitShare, weights: RingArray, ring: Ring) -> Share:
        if self._costs.weighed_bits is None:
            return super().weighed_bits(bits, weights, ring)
        of_bits, of_sums = self._costs.weighed_bits
        self._count(of_bits, ring, (bits.rows, bits.count))
        return self._count(of_sums, ring, (len(weights), bits.count))

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        self._send_words(self._costs.bit_words, bits)
        return self._grown(self._count(self._costs.bit_to_ring, ring, (bits.rows, bits.count)))

    def _send_words(self, times: int, bits: BitShare) -> None:
        """Count the opening of bits under a mask."""
        words = math.prod(words_of(bits).shape)
        self._send(0, times * words * BITS.element_bytes)
        if self._late is not None:
            self._late.zeros(BITS, words)
