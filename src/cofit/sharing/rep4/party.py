"""``rep4``: replicated sharing among four parties; one of them may be actively corrupted; security with abort.

Source: Dalskov, Escudero, Keller, "Fantastic Four: Honest-Majority Four-Party Secure Computation With Malicious
Security", USENIX Security 2021: the sharing, the joint messages (``joint.py``) and the product. Every check is
made in the exchange that brings the data.

Sharing. x = x_0 + x_1 + x_2 + x_3; party i holds all but x_i, in this order. Any one party misses one uniform summand.
Boolean sharing is the same over GF(2). Whatever two parties know they can deal (a "joint deal"): v, known to i and j,
is r + (v - r) with r, drawn from K_h, as summand h and v - r, sent to h, as summand g. One element and one digest.

Cost in ring elements per output element, digests of 32 bytes per operation (all parties together) and rounds:

    operation               rounds  elements  digests   where
    input by an owner            2  3 + seeds      12   ``inputs`` (the counters count each message waited for)
    input by a party             2  2               2   ``input``
    open to all                  1  4               4   ``open``
    product, matrix product,
      row-wise inner product     1  6               6   ``_reduce``; adding a shared value to the product is free
    those, with truncation       2  16              9   ``_truncated_sum``; likewise, before the truncation
    truncation                   2  12              9   ``_truncate``
    fresh sharing                0  0               0   ``refresh``
    random bits (Boolean)        0  0               0   ``_random_words``
    bit -> ring element          1  8               8   ``from_bits``
    bits of a number -> element  2  10             12   and the additions and words of ``from_numbers``
    public bilinear forms        1  6               6   for each row of the result (``_bilinear_words``)
    ring element -> k bits       1 + ceil(log2(k-1)); 8 k bits and the ANDs of ``add_from_signals``
    sign of a ring element       1 + ceil(log2(k-1)); 8 k bits and 2 (k-2) ANDs at most; k: the bits of the ring, or as
                                 many as a proven range takes

Security. Every element that is sent carries a mask of its own, drawn from a key that its receiver lacks; every digest
is of data that its receiver gets or has. What a party receives it checks before it sends anything more. The argument
stands in ``proof.md`` beside this file.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, to_planes, unpack
from cofit.arithmetic.prg import SEED_BYTES
from cofit.sharing.adder import TakesBits, plane_count
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.costs import BitCosts, Cost, Costs
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.masked_opening import power
from cofit.sharing.member import as_bytes
from cofit.sharing.numbers import FromNumbers, plain_numbers
from cofit.sharing.operands import own_values
from cofit.sharing.packed_bits import PackedBits, PackedBoolean, words_of
from cofit.sharing.rep4.joint import Joint, Schedule
from cofit.sharing.rep4.known import BESIDE, FUSED, KNOWN, SECOND, TRUNCATION, KnownProducts
from cofit.sharing.shares import BitShare, Share
from cofit.sharing.spec import SchemeInfo, Spec
from cofit.sharing.summands import SummandInputs
from cofit.sharing.sums import Kind, PartialSum, ProductSum
from cofit.transport import Mesh

# A product is the sum of v_gh over these pairs, each known to the two parties outside the pair:
# v_gh = x_g y_h + x_h y_g, and x_g y_g too in the first four. Who deals to whom is chosen so that few links are used.
PAIRS = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3))
_WITH_SQUARE = 4
PRODUCT: Schedule = (Joint(2, 3, 1), Joint(3, 0, 2), Joint(0, 1, 2), Joint(2, 1, 3), Joint(1, 3, 2), Joint(2, 0, 3))
_MASKS_OF = {key: tuple(n for n, joint in enumerate(PRODUCT) if joint.receiver == key) for key in (1, 2, 3)}
_LACKED = {2: (2, 4, 1), 3: (2, 3, 5)}  # the pairs whose terms 2 and 3 lack, in the order of the messages


def _digests(*schedules: Schedule) -> int:
    return DIGEST_BYTES * sum(map(len, schedules))


class Rep4(TakesBits, FromNumbers, KnownProducts):
    """One of the four parties."""

    info = SchemeInfo(
        name="rep4",
        parties=(4, 4),
        default_parties=4,
        adversary="active: a corrupted party may do anything; a run that it disturbs is aborted",
        most_corrupted=lambda _: 1,
        corrupted="{threshold} of {parties} (honest majority)",
        active=True,
        assumptions="AES-256 is a pseudorandom function; SHA-256 is collision-resistant; no two parties collude",
    )

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._constant_part = None if self.rank == 0 else 0  # a constant is summand x_0
        self._known_pairs = tuple(n for n, pair in enumerate(PAIRS) if self.rank not in pair)
        self.boolean = PackedBoolean(self, self._random_words, self._bilinear_words)

    @property
    def _part_count(self) -> int:
        return 3

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        """The table at the head of this file, for programs that count."""
        every_two = Cost(1, 0, 12 * DIGEST_BYTES)
        given, opened = Cost(2, 2, 2 * DIGEST_BYTES), Cost(1, 1, DIGEST_BYTES)
        product = Cost(1, 6, _digests(PRODUCT))
        return Costs(
            setup_rounds=2,
            setup_bytes=12 * (3 * SEED_BYTES + DIGEST_BYTES),
            compared=every_two,
            input=given,
            open=opened,
            product=product,
            bits=BitCosts(given, opened, product),
            refresh=Cost(0, 0),
            truncated_product=Cost(2, 16, _digests(FUSED, SECOND)),
            truncation=Cost(2, 12, _digests(TRUNCATION, SECOND)),
            bit_to_ring=Cost(1, 8, _digests(KNOWN)),
            carry_signals=Cost(1, 8, _digests(KNOWN)),
            product_terms=6,
            inner_terms=8,
            public_terms=3,
            unmasked=Cost(2, 10, _digests(_opening((2, 3)), BESIDE)),
            unmasked_words=2,
            echo=every_two,
            adds_products=True,
        )

    def _summand(self, share: Share, index: int) -> RingArray:
        """Return x_index, which must not be the one that we lack."""
        return share.parts[self._part(index)]

    def _part(self, index: int) -> int:
        """Return which of our parts x_index is."""
        return index - (index > self.rank)

    # --- input and output --------------------------------------------------------------------------------

    @classmethod
    def inputs(cls, spec: Spec) -> SummandInputs:
        """Seeds of x_0, x_1 and x_2, and x_3 in full."""
        return SummandInputs(cls.info.name, tuple(tuple(j for j in range(4) if j != rank) for rank in range(4)), 3)

    def refresh(self, share: Share) -> Share:
        """Add a sharing of zero that is drawn from the key of all four. Free.

        It separates stored shares from those of other times. No party gains by knowing it: of any sharing, old or
        fresh, each party knows all summands but one.
        """
        ring = share.ring
        drawn = self._draw_common(ring, share.shape, 3)
        zero = (*drawn, ring.neg(ring.sum(drawn, axis=0)))
        return Share(ring, tuple(ring.add(self._summand(share, j), zero[j]) for j in self._others))

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        """With j, h, k after the source: x_j and x_h are drawn from K_j and K_h; j and h are sent the rest, x_k, and
        compare it before they use it; x_source = 0.
        """
        j, h, k = ((source + i) % 4 for i in (1, 2, 3))
        self.verification.refuse_after_failure()
        self._step += 1
        given = own_values(self.mesh.name, ring, values, shape) if self.rank == source else None
        summands = {source: ring.zeros(shape)}
        for key in (j, h):
            for drawn in self._draw(key, ring, shape, 1):  # one, or none
                summands[key] = drawn
        if given is not None:
            summands[k] = ring.sub(ring.sub(given, summands[j]), summands[h])
            self._exchange("input", {rank: [summands[k]] for rank in (j, h)})
        elif self.rank in (j, h):
            summands[k] = ring.empty(shape)
            self._exchange("input", {}, {source: summands[k]})
            self._agree_on(
                "input",
                {j + h - self.rank: hashlib.sha256(as_bytes(summands[k])).digest()},
                f"'{self.names[source]}' has sent two parties different values, or one of them lies.",
            )
        return Share(ring, tuple(summands[index] for index in self._others))

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        """Party i misses x_i: the next one sends it, the one after that vouches."""
        receivers = tuple(range(4)) if to is None else tuple(sorted(set(to)))
        schedule = _opening(receivers)
        known = {
            n: [self._summand(share, joint.receiver)]
            for n, joint in enumerate(schedule)
            if self.rank in (joint.sender, joint.voucher)
        }
        received = self._jointly("open", share.ring, share.shape, schedule, known)
        if self.rank not in receivers:
            return None
        return share.ring.signed_sum([*share.parts, received[receivers.index(self.rank)][0]])

    # --- products ----------------------------------------------------------------------------------------

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        return self._reduce("mul", ring, self._mul_terms(ring, a, b), shape, shift, plus)

    def _mul_terms(self, ring: Ring, a: Share, b: Share) -> dict[int, RingArray]:
        terms = {}
        for n in self._known_pairs:
            g, h = PAIRS[n]
            x, y = ((self._summand(value, g), self._summand(value, h)) for value in (a, b))
            terms[n] = ring.cross_product(x, y) if n < _WITH_SQUARE else ring.mul_sum(x, y[::-1])
        return terms

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        return self._reduce("matmul", ring, self._matmul_terms(ring, a, b), shape, shift, plus)

    def _matmul_terms(self, ring: Ring, a: Share, b: Share) -> dict[int, RingArray]:
        if len(a.shape) + len(b.shape) == 3:  # x @ B = B^T @ x
            matrix, vector = (a, b) if len(a.shape) == 2 else (b.map(np.transpose), a)
            return self._matvec_terms(ring, matrix, vector)
        return self._terms(ring, b, lambda pair, factors: a.placed.only(*pair).matmul_sum(factors))

    def _terms(
        self, ring: Ring, b: Share, product: Callable[[tuple[int, int], Sequence[RingArray]], RingArray]
    ) -> dict[int, RingArray]:
        """Return v_gh of a and b for the pairs that we know, by number.

        product: of two of our parts of a, with one factor for each.
        """
        terms = {}
        for n in self._known_pairs:
            g, h = PAIRS[n]
            factors = (self._first_factor(ring, b, n), self._summand(b, g))
            terms[n] = product((self._part(g), self._part(h)), factors)
        return terms

    def _matvec_terms(self, ring: Ring, a: Share, b: Share) -> dict[int, RingArray]:
        """The same for a matrix and a vector: each x_j is in two of the three terms, and is read once for both."""
        places, factors = [], []
        for index in self._others:
            for n in self._known_pairs:
                if index in PAIRS[n]:
                    g, _ = PAIRS[n]
                    places.append(n)
                    factors.append(self._first_factor(ring, b, n) if index == g else self._summand(b, g))
        products = a.placed.matvec_pairs(factors)
        return {
            n: ring.signed_sum([p for p, m in zip(products, places, strict=True) if m == n]) for n in self._known_pairs
        }

    def _first_factor(self, ring: Ring, b: Share, n: int) -> RingArray:
        """What x_g is multiplied with in v_gh: y_h, and y_g too where the pair carries the square."""
        g, h = PAIRS[n]
        other = self._summand(b, h)
        return ring.add(self._summand(b, g), other) if n < _WITH_SQUARE else other

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, high: int = 0) -> Share:
        return self._reduce("inner", ring, self._inner_terms(a, b, high), shape, shift, None)

    def _inner_terms(self, a: Share, b: Share, high: int = 0) -> dict[int, RingArray]:
        """The terms of v_gh one by one: the sum y_g + y_h would be a temporary as large as b."""
        terms = {}
        for n in self._known_pairs:
            g, h = PAIRS[n]
            first, second = self._part(g), self._part(h)
            count = 2 + (n < _WITH_SQUARE)
            own, others = (first, second, first)[:count], (second, first, first)[:count]
            terms[n] = a.placed.inner_sum(own, b.placed, others, high)
        return terms

    def high_squares(self, a: Share, shift: int) -> Share:
        """Some rows at a time: no second matrix."""
        return self._inner(a.ring, a, a, a.shape[:-1], 0, shift)

    def _reduce(
        self, operation: str, ring: Ring, terms: dict[int, RingArray], shape: Shape, shift: int, plus: Share | None
    ) -> Share:
        """Turn the terms v_gh that we know, by the number of the pair, into a sharing of (z + plus) / 2^shift."""
        if shift:
            return self._truncated_sum(operation, ring, terms, shape, shift, plus)
        product = self._deal_terms(operation, ring, terms, shape)
        return product if plus is None else self.add(product, plus)

    def partial_sum(self, one: ProductSum) -> PartialSum:
        """The terms v_gh that we know. The first product is local; what is added to it costs what it does always."""
        ring, plus, (kind, a, b) = one.ring, self._with_others(one), self._operands(one.products[0])
        if kind is Kind.MATMUL:
            terms = self._matmul_terms(ring, a, b)
        else:
            terms = self._mul_terms(ring, a, b) if kind is Kind.MUL else self._inner_terms(a, b)
        self._add_to_squares(ring, terms, plus)
        return PartialSum(ring, tuple(terms[n] for n in self._known_pairs), one.shift)

    def _sum_in_turn(self, one: ProductSum | PartialSum) -> Share:
        if isinstance(one, ProductSum):
            return super()._sum_in_turn(one)
        terms = dict(zip(self._known_pairs, one.parts, strict=True))
        return self._reduce("sums", one.ring, terms, one.shape, one.shift, None)

    def _deal_terms(self, operation: str, ring: Ring, terms: Mapping[int, RingArray], shape: Shape) -> Share:
        """Deal every v_gh jointly, to g or h: its summand is the mask, the other one's is what it is sent."""
        masks: dict[int, RingArray] = {}
        for key, numbers in _MASKS_OF.items():
            masks.update(zip(numbers, self._draw(key, ring, shape, len(numbers)), strict=False))
        dealt = {n: ring.sub(term, masks[n]) for n, term in terms.items()}
        received = self._jointly(operation, ring, shape, PRODUCT, {n: [value] for n, value in dealt.items()})
        dealt.update((n, value[0]) for n, value in received.items())
        return Share(
            ring,
            tuple(
                ring.signed_sum(
                    [(masks if PRODUCT[n].receiver == j else dealt)[n] for n, pair in enumerate(PAIRS) if j in pair]
                )
                for j in self._others
            ),
        )

    # --- truncation that never fails ---------------------------------------------------------------------

    def _truncate(self, a: Share, shift: int) -> Share:
        """Party 2 lacks x_2 and party 3 lacks x_3; 0 and 1 know both."""
        own = a.ring.signed_sum(a.parts) if self.rank in (2, 3) else None
        lacked = {index: {0: self._summand(a, index)} for index in (2, 3) if index != self.rank}
        return self._masked_truncation("truncate", a.ring, a.shape, shift, lacked, own, TRUNCATION)

    def _truncated_sum(
        self, operation: str, ring: Ring, terms: dict[int, RingArray], shape: Shape, shift: int, plus: Share | None
    ) -> Share:
        self._add_to_squares(ring, terms, plus)
        own = ring.signed_sum(list(terms.values())) if self.rank in (2, 3) else None
        lacked = {
            index: {place: terms[n] for place, n in enumerate(numbers) if n in terms}
            for index, numbers in _LACKED.items()
            if index != self.rank
        }
        return self._masked_truncation(operation, ring, shape, shift, lacked, own, FUSED)

    def _add_to_squares(self, ring: Ring, terms: dict[int, RingArray], plus: Share | None) -> None:
        """Summand p_g of ``plus`` goes into the pair that carries the square of x_g."""
        if plus is not None:
            for n in self._known_pairs:
                if n < _WITH_SQUARE:
                    terms[n] = ring.add(terms[n], self._summand(plus, PAIRS[n][0]))

    # --- bits --------------------------------------------------------------------------------------------

    def _random_words(self, shape: Shape) -> Share:
        drawn = [self._draw(key, BITS, shape, 1) for key in range(4)]
        return Share(BITS, tuple(drawn[j][0] for j in self._others))

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """b = u XOR v with u = b_0 XOR b_1 known to 2 and 3, v = b_2 XOR b_3 known to 0 and 1; b = u + v - 2 u v."""
        known = ring.from_int(unpack(self._half(words_of(bits)), bits.count))
        u, v, product = self._halves("from_bits", ring, known, (bits.rows, bits.count))
        return self.sub(self.add(u, v), self.add(product, product))

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        """u = x_0 + x_1, known to 2 and 3, and v = x_2 + x_3, known to 0 and 1. 1 round."""
        half, count = to_planes(ring, self._half(a))[planes], math.prod(a.shape)
        u, v, generate = self._halves("product", BITS, half, (plane_count(planes), packed_length(count)))
        return PackedBits(generate, count), PackedBits(self.add(u, v), count)

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        terms = self._terms(BITS, b, lambda pair, factors: form.sum([a.parts[i] for i in pair], factors))
        return self._reduce("forms", BITS, terms, shape, 0, None)

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray]:
        """r = r_2 XOR r_3, drawn from K_2 and K_3: known to 0 and 1; 2 and 3 have one part each. Free."""
        shape = (width, packed_length(count))
        drawn = {key: self._draw(key, BITS, shape, 1) for key in (2, 3)}
        parts = {key: one[0] for key, one in drawn.items() if len(one)}
        zeros = BITS.zeros(shape)
        share = Share(BITS, tuple(parts.get(j, zeros) for j in self._others))
        return [PackedBits(share, count)], BITS.signed_sum(list(parts.values()))

    def _unmasked(self, masked: BitShare, kept: RingArray, ring: IntegerRing) -> Share:
        """2 and 3 learn c; with u = 1 - top(c) and v = top(r), T = c - r + 2^K u v; see ``proof.md``."""
        digits = self.open(words_of(masked), to=(2, 3))
        numbers, top = plain_numbers(ring, kept if digits is None else digits, masked.count)
        if digits is None:
            u, v, x, y = None, top, None, ring.neg(numbers)
        else:
            u, v, x, y = ring.sub(power(ring, 0), top), None, numbers, None
        shape = (masked.count,)
        product, both = self._product_and_sum("unmask", ring, u, v, x, y, shape)
        return self.add(product.linear(lambda part: ring.shl(part, masked.rows)), both)

    def _half(self, share: Share) -> RingArray:
        """The half that we know: u = x_0 + x_1 at ranks 2 and 3, v = x_2 + x_3 at ranks 0 and 1."""
        first = 2 if self.rank < 2 else 0
        return share.ring.add(self._summand(share, first), self._summand(share, first + 1))

    def _halves(self, operation: str, ring: Ring, known: RingArray, shape: Shape) -> tuple[Share, Share, Share]:
        u, v = (None, known) if self.rank < 2 else (known, None)
        return self._product_of_known(operation, ring, u, v, shape)


@functools.cache
def _opening(receivers: tuple[int, ...]) -> Schedule:
    return tuple(Joint((i + 1) % 4, (i + 2) % 4, i) for i in receivers)
