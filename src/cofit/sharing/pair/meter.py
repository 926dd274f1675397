"""What a program costs two parties alone: transfers and masks are made in stocks, so that all of it is run through.

Bytes of all operations, for n elements of b bytes and k bits (W: words of 64 that hold n bits, D = ``number_bytes``),
both parties together; every line takes one round:

    operation                           transfers each way    bytes
    AND of n words                      64 n                  32 n
    AND of what each party knows        64 n one way          16 n
    form                                64 W a row and piece  16 W (1 + rows of the result) for each of these
    product of numbers                  64 k W                2 D + 16 k W
    square, product of known numbers    64 k W one way        D + 8 k W
    truncation, bit to element          64 W one way          b n + 8 W
    K digits to number                  64 W one way          b n + 8 (K + 1) W, after the additions
    product with a held matrix          none                  2 b (elements of the right operand)

Transfers take 25/4 bytes for one each way, and a round whenever stocks are filled up. Masks of products with a matrix
take what their packing says (``rlwe/packing.py``), and two rounds for all that are made together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple

import numpy as np

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, Shape, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length
from cofit.arithmetic.engine import LOCAL
from cofit.sharing.adder import plane_count
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.blank import nothing
from cofit.sharing.boolean import Boolean
from cofit.sharing.meter import Meter
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.pair.allowance import Allowance
from cofit.sharing.pair.boolean import BlankPairBoolean
from cofit.sharing.pair.crossing import number_bytes, number_words
from cofit.sharing.pair.held import (
    MaskedProduct,
    PairHeld,
    crossed,
    known_regions,
    pair_held,
    regions_inside,
    square_steps,
)
from cofit.sharing.pair.messages import PREPARE
from cofit.sharing.pair.products import MOST_WORDS, batches, number_pieces, pieces
from cofit.sharing.pair.rlwe.client import key_bytes
from cofit.sharing.pair.rlwe.packing import Packing
from cofit.sharing.pair.rlwe.parameters import Parameters
from cofit.sharing.pair.rules import by_encryption, inner_by_encryption, matrix_by_encryption
from cofit.sharing.pair.transfers import WORD, Refills, refill_bytes
from cofit.sharing.regions import Region, regions_in, whole
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import BitShare, Share
from cofit.sharing.spec import Spec
from cofit.sharing.tally import Tally

_WORD_BYTES = BITS.element_bytes


class PairMeter(Meter):
    """The party of rank 0 of a run between two parties that does not take place."""

    def __init__(self, target: type[Scheme], spec: Spec | None = None) -> None:
        super().__init__(target, spec)
        self.boolean = BlankPairBoolean(self, self._random_words, self._bilinear_words)
        self._refills = Refills()
        self._turns = 0
        self._keys: set[Parameters] = set()
        self._allowance = Allowance(lambda: self.sessions)

    # --- stocks ------------------------------------------------------------------------------------------

    def _take(self, words: int) -> None:
        """Count transfers in both directions."""
        self._fill(self._refills.take(WORD * words, WORD * words))

    def _take_one_way(self, counts: Sequence[int], sender: int | None = None) -> None:
        """Count transfers of one sender, by default the one whose turn it is."""
        if sender is None:
            self._turns += 1
            sender = self._turns % 2
        for words in counts:
            both = (WORD * words, 0) if sender == 0 else (0, WORD * words)
            self._fill(self._refills.take(*both))

    def _fill(self, made: int) -> None:
        if made:
            self._prepare(Tally(1, refill_bytes(made), transfers=2 * made))

    def _prepare(self, tally: Tally) -> None:
        with self.label(PREPARE):
            self._tally[:] = astuple(Tally(*self._tally) + tally)
        self.prepared_tally += tally

    def _encrypt(self, tasks: Sequence[tuple[int, Packing]]) -> None:
        """Count products under encryption: who serves, and how each is packed."""
        if not tasks:
            return
        for parameters in dict.fromkeys(packing.parameters for _, packing in tasks):
            if parameters not in self._keys:
                self._keys.add(parameters)
                self._prepare(Tally(1, 2 * key_bytes(parameters)))
        size = sum(packing.request_bytes + packing.reply_bytes for _, packing in tasks)
        work = sum(packing.transforms for _, packing in tasks)
        self._prepare(Tally(len({server for server, _ in tasks}), size, transforms=work))

    # --- products ----------------------------------------------------------------------------------------

    def hold(self, a: Share, products: int = 1, *, owned: bool = False) -> Share:
        if isinstance(a, PairHeld) or len(a.shape) != 2 or not isinstance(a.ring, PowerOfTwoRing):
            return a
        return pair_held(LOCAL.place(a.ring, (nothing(a.ring, a.shape),)), regions_in(a), products)

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        count = math.prod(shape)
        if ring is BITS:
            for piece in pieces(count, MOST_WORDS):
                self._take(piece.stop - piece.start)
            self._send(1, 4 * count * _WORD_BYTES)
            self._tally[5] += 64 * count
            return self._blank(ring, shape)
        self._numbers(ring, count, square=a is b)
        return self._shifted(self._blank(ring, shape), shift)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        if a is b and by_encryption(a.shape):
            self._squares(a)
        elif a is not b and inner_by_encryption(a.shape):
            row = self.hold(Share(ring, (nothing(ring, (1, *a.shape)),)))
            return self._matmul(ring, row, b, (1,), shift, None).linear(lambda part: part.reshape(shape))
        else:
            self._numbers(ring, math.prod(a.shape), square=a is b)
        self._count_products(ring, math.prod(a.shape))
        return self._shifted(self._blank(ring, shape), shift)

    def _squares(self, a: Share) -> None:
        if not isinstance(a, PairHeld) or a.transposed:
            self._row_squares(a.ring, known_regions(a))
            return
        rows, columns = a.place
        for some in a.kept.missing(a.place):
            inside = slice(some.start - rows.start, some.stop - rows.start), whole(a.shape)[1]
            self._row_squares(a.ring, regions_inside(a.regions, inside))
            a.kept.keep((some, columns), nothing(a.ring, (some.stop - some.start,)))

    def _row_squares(self, ring: Ring, regions: Sequence[Region]) -> None:
        numbers = power_of_two(ring, "Squares of rows, between two parties alone,")
        for step in square_steps(regions):
            self._encrypt([(block.server, self._allowance.rows(numbers, *block.sizes)) for block in step])

    def high_squares(self, a: Share, shift: int) -> Share:
        if not by_encryption(a.shape):
            return super().high_squares(a, shift)
        self._row_squares(a.ring, known_regions(a))
        self._count_products(a.ring, math.prod(a.shape))
        return self._blank(a.ring, a.shape[:1])

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        if len(a.shape) == 1 and len(b.shape) == 2:
            return self._matmul(ring, b.map(np.transpose), a, shape, shift, plus)
        columns = math.prod(b.shape[1:])
        self._count_products(ring, math.prod(a.shape) * columns)
        if isinstance(a, PairHeld) or matrix_by_encryption(a.shape, b.shape):
            held = a if isinstance(a, PairHeld) else self.hold(a, columns)
            assert isinstance(held, PairHeld)  # noqa: S101 - for the type checker: it has two axes
            self._held_product(power_of_two(ring, "A product with a matrix, between two parties alone,"), held, b.shape)
        else:
            self._numbers(ring, math.prod(a.shape) * columns, square=False)
        return self._shifted(self._blank(ring, shape), shift)

    def _held_product(self, ring: PowerOfTwoRing, a: PairHeld, right: Shape) -> None:
        columns, made = math.prod(right[1:]), a.ahead.made[a.transposed]
        due = a.ahead.due(a.transposed, columns)
        if due:
            blocks = crossed(a.regions, a.transposed)
            self._encrypt([(block.server, self._allowance.matrix(ring, *block.sizes, due)) for block in blocks])
            made.extend([MaskedProduct(nothing(ring, ()), nothing(ring, ()))] * due)
        for _ in range(columns):
            made.popleft()
        self._send(1, 2 * math.prod(right) * ring.element_bytes)

    def _numbers(self, ring: Ring, count: int, *, square: bool) -> None:
        numbers = power_of_two(ring, "A product between two parties alone")
        taken = [number_words(numbers, piece.stop - piece.start) for piece in number_pieces(numbers, count)]
        if square:
            self._take_one_way(taken)
        else:
            for words in taken:
                self._take(words)
        self._send(1, (1 if square else 2) * (number_bytes(numbers, count) + sum(taken) * _WORD_BYTES))

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        words, sent = shape[1], 0
        made = batches(form.reached(a.shape[0], b.shape[0]), words)
        for batch in made:
            self._take(len(batch) * words)
            sent += len(batch) * words * (1 + batch[0].bits)
        self._send(1 if made else 0, 2 * sent * _WORD_BYTES)
        self._tally[5] += 64 * math.prod(shape)
        return self._blank(BITS, shape)

    # --- between numbers and bits ------------------------------------------------------------------------

    def _truncate(self, a: Share, shift: int) -> Share:
        return self._shifted(a, shift)

    def _shifted(self, a: Share, shift: int) -> Share:
        if not shift:
            return a
        count = math.prod(a.shape)
        self._known_bits(a.ring, packed_length(count), count)
        return self._blank(a.ring, a.shape)

    def _known_bits(self, ring: Ring, words: int, count: int, sender: int | None = None) -> None:
        self._take_one_way([words], sender)
        self._send(1, count * ring.element_bytes + words * _WORD_BYTES)

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        self._known_bits(ring, math.prod(words_of(bits).shape), bits.rows * bits.count)
        return self._blank(ring, (bits.rows, bits.count))

    def _unmasked(self, masked: BitShare, kept: None, ring: IntegerRing) -> Share:
        self._known_bits(ring, packed_length(masked.count), masked.count, sender=0)
        self._send(0, math.prod(words_of(masked).shape) * _WORD_BYTES)
        return self._blank(ring, (masked.count,))

    def _bits_of(
        self, a: Share, planes: slice, rows: int, adder: Callable[[Boolean, BitShare, BitShare], BitShare]
    ) -> BitShare:
        count = math.prod(a.shape)
        shape = (plane_count(planes), packed_length(count))
        words = math.prod(shape)
        self._take_one_way([piece.stop - piece.start for piece in pieces(words, MOST_WORDS)])
        self._send(1, 2 * words * _WORD_BYTES)
        self._tally[5] += 64 * words
        signal = PackedBits(self._blank(BITS, shape), count)
        return adder(self.boolean, signal, signal)
