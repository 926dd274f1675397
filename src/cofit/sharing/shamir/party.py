"""``shamir``: polynomial sharing among n = 3 to 7 parties, passive security, honest majority.

Sharing. x is the value at 0 of a polynomial f of degree t over a Galois ring (``galois.py``); party i holds f(a_i), in
m words of the base ring: m = 2 for three parties, 3 for more. Any t shares are independent of x. Bits are shared in the
same way over GF(4) or GF(8). t = floor((n - 1) / 2) unless the study names a smaller one. Sources: Shamir, "How to
share a secret", CACM 1979; Abspoel et al. 2019 (Galois rings); Ben-Or, Goldwasser, Wigderson, STOC 1988, and Gennaro,
Rabin, Rabin, PODC 1998 (products); Cramer, Damgard, Ishai 2005 (random sharings without messages); Goyal, Li,
Ostrovsky, Polychroniadou, Song, "ATLAS", CRYPTO 2021, section 4 (products through one party).

Products and openings send words of the base ring, not of the Galois ring: what a party sends is its summand of a value,
the constant coefficient of its share (or product of shares) times its Lagrange weight. Who does what: ``geometry.py``.

Cost in ring elements per output element (all parties together) and rounds. g = n - t - 1; p is what a product takes;
B = 1 for t = 1, and t g + (t - 2) p + t for more, is what a secret bit of the maskers takes (``masked_bits.py``); W is
what counting wraps takes (``wraps.py``): 1, 24, 4 B for t = 1, 2, 3 with n = 2t + 1. The last column is for these;
through one party in brackets, where rounds are messages that wait for one another, of whichever party.

    operation               rounds       elements
    input by an owner       2            n - t and seeds        2, 3, 4; and a digest from each party to each other one
    input by a party        1            g                      1, 2, 3
    open to all             1            n t                    3, 10, 21
    product of any kind     1 (2)        (2t + 1) g (2t + g)    3, 10, 21 (3, 6, 9)
    truncation, and any     2, 3, 6 (9)  W + t + (t + 1)(t + g) 6, 38, 159 (111); t = 3: 14 words more, of bits (7)
      product with it
    fresh sharing           1            (t + 1) g              2, 6, 12
    random bits (Boolean)   0            0
    bit -> ring element     2, 3, 4 (5)  B + (t + 1) g          3, 12, 45 (33); and t (t + 1) words for every 64 bits
    number -> ring element  2, 3, 6 (9)  1, 18, 2 B             4, 26, 81 (57); and the additions and words of
                                           + t + (t + 1) g        ``numbers.py``; t = 3: 9 words more, of bits (5)
    ring element -> k bits  1 round and those of adding t + 1 numbers; (t + 1) g + t p words for 64 bits, and the ANDs
                            of ``add_from_signals``
    high part               1            (t + 1) g              2, 6, 12

Compare the best known protocols: t words a party for a product in one round is what resharing with pseudorandom shares
takes (Cramer, Damgard, Ishai 2005, section 4); 3t words in all through one party are fewer than the 4t of ATLAS, as
only one group needs the result. Security: ``proof.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cofit.arithmetic import Place, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.prg import SEED_BYTES
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.carry_save import levels
from cofit.sharing.compared import ComparesDealt
from cofit.sharing.costs import BitCosts, Cost, Costs
from cofit.sharing.group_streams import Group
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.packed_bits import PackedBoolean
from cofit.sharing.shamir.conversion import ShamirConversion
from cofit.sharing.shamir.digits import digit_values
from cofit.sharing.shamir.geometry import geometry_of
from cofit.sharing.shamir.inputs import GroupInputs, group_inputs, joined
from cofit.sharing.shamir.truncation import low_width, top_width
from cofit.sharing.shamir.wraps import IN_BITS
from cofit.sharing.shares import DealtShare, Share
from cofit.sharing.spec import DIRECT, KING, SchemeInfo, Spec
from cofit.sharing.sums import Kind, PartialSum, ProductSum
from cofit.transport import Mesh


class _ProductMasks(NamedTuple):
    """What is added to and taken off a summand; our draws for groups; and the masks of a truncation."""

    plus: list[RingArray]
    minus: list[RingArray]
    drawn: dict[Group, RingArray]
    opening: list[RingArray]


class Shamir(ComparesDealt, ShamirConversion):
    """One of the parties."""

    info = SchemeInfo(
        name="shamir",
        parties=(3, 7),
        default_parties=3,
        adversary="passive: corrupted parties follow the protocol but look at all they see",
        most_corrupted=lambda parties: (parties - 1) // 2,
        least_corrupted=1,
        corrupted="{threshold} of {parties} (honest majority)",
        assumptions="AES-256 is a pseudorandom function; no more than {threshold} of the {parties} parties collude",
        routes=(DIRECT, KING),
    )

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.boolean = PackedBoolean(self, self._random_words, self._bilinear_words)

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        """The table at the head of this file, for programs that count."""
        n, t, group = spec.parties, spec.threshold, spec.parties - spec.threshold
        g, reshared = group - 1, (t + 1) * (group - 1)
        product = Cost(2, 2 * t + g) if spec.route == KING else Cost(1, (2 * t + 1) * g)

        def bits(rows: int) -> int:  # of maskers, in the ring
            return rows if t == 1 else rows * (t * g + (t - 2) * product.elements + t)

        def wraps(*widths: int) -> tuple[int, int]:  # elements, and words for 64 of them
            values, sizes = digit_values(widths), sum(1 << q for q in widths)
            if t < IN_BITS:
                return (values if t == 1 else values * (t * g + t)), 0
            products = values + len(widths) + 2 * sizes
            return bits(2 * len(widths)), values * t * g + products * product.elements + 2 * len(widths) * t * (t + 1)

        top, low = top_width(t), low_width(t)
        truncating, truncating_words = wraps(top, low) if low else wraps(top)
        counting, counting_words = wraps(top)
        rounds = 1 + (3 * product.rounds + 2 if t >= IN_BITS else t)
        elements = truncating + t + (t + 1) * t + reshared
        truncation = Cost(rounds, elements, packed=truncating_words)
        degree = geometry_of(n, t).degree
        return Costs(
            setup_rounds=1,
            setup_bytes=SEED_BYTES * (n * (n - 1) + math.comb(n, t) * group * (group - 1)),
            compared=Cost(1, 0, n * (n - 1) * DIGEST_BYTES),
            input=Cost(1, g),
            open=Cost(1, t),
            product=product,
            bits=BitCosts(input=Cost(1, g), open=Cost(1, t), product=product),
            refresh=Cost(1, reshared),
            truncated_product=truncation,
            truncation=truncation,
            bit_to_ring=Cost(2 + min(t - 1, 1) + max(0, t - 2) * product.rounds, bits(1) + reshared),
            bit_words=t * (t + 1),
            carry_signals=Cost(1 + (levels(t + 1) + 1) * product.rounds, reshared + t * product.elements),
            product_terms=degree,
            inner_terms=degree * degree,
            public_terms=degree,
            unmasked=Cost(rounds, counting + t + reshared, packed=counting_words),
            unmasked_words=t * (t + 1),
            number_masks=t,
            high_part=Cost(1, reshared),
            adds_products=True,
        )

    # --- input -------------------------------------------------------------------------------------------

    @classmethod
    def inputs(cls, spec: Spec) -> GroupInputs:
        """Seeds of the summands of all groups but one, which gets its summand in full."""
        return group_inputs(cls.info.name, geometry_of(spec.parties, spec.threshold))

    def _joined(self, ring: Ring, shape: Shape, pieces: Iterable[tuple[DealtShare, Place]]) -> Share:
        """Summands become shares on the way."""
        return joined(ring, shape, pieces, self._part_count, self._expansion(ring, shape))

    # --- products ----------------------------------------------------------------------------------------

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        masks = self._product_masks(ring, shape, shift, plus)
        summand = None
        if self._multiplies:
            table = self._tables(ring).product(self.rank)
            summand = ring.bilinear(a.parts, b.parts, table, masks.plus, masks.minus)
        return self._reduced("mul", ring, summand, shape, shift, masks)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        masks = self._product_masks(ring, shape, shift, plus)
        summand = None
        if self._multiplies:
            summand = ring.signed_sum([self._matmul_summand(ring, a, b), *masks.plus], masks.minus)
        return self._reduced("matmul", ring, summand, shape, shift, masks)

    def _matmul_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
        """The form is applied to b, a vector or a small matrix: then every part of a is read once."""
        return a.placed.matmul_sum(ring.combined(b.parts, self._tables(ring).product(self.rank)))

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        masks = self._product_masks(ring, shape, shift, None)
        summand = None
        if self._multiplies:
            summand = ring.signed_sum([self._inner_summand(ring, a, b), *masks.plus], masks.minus)
        return self._reduced("inner", ring, summand, shape, shift, masks)

    def _inner_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
        """The inner products of all parts with all, of which the form is the sum: no temporary is as large as b."""
        left, right, table = a.placed, b.placed, self._tables(ring).product(self.rank)
        places = [(c, d) for c in range(len(table)) for d in range(len(table)) if a is not b or c <= d]
        sums = [left.inner_sum((c,), right, (d,)) for c, d in places]
        weights = [ring.add(table[c, d], table[d, c]) if a is b and c < d else table[c, d] for c, d in places]
        return ring.combined(sums, np.stack(weights)[None])[0]

    def partial_sum(self, one: ProductSum) -> PartialSum:
        """Our summand, if we multiply. The first product is local; what is added to it costs what it does always."""
        ring, plus, (kind, a, b) = one.ring, self._with_others(one), self._operands(one.products[0])
        if not self._multiplies:
            return PartialSum(ring, (ring.zeros(one.shape),), one.shift)
        if kind is Kind.MUL:
            summand = ring.bilinear(a.parts, b.parts, self._tables(ring).product(self.rank))
        else:
            summand = (self._matmul_summand if kind is Kind.MATMUL else self._inner_summand)(ring, a, b)
        own = [] if plus is None else [self._summand(plus, self.geometry.multipliers)]
        return PartialSum(ring, (ring.signed_sum([summand, *own]),), one.shift)

    def _sum_in_turn(self, one: ProductSum | PartialSum) -> Share:
        if isinstance(one, ProductSum):
            return super()._sum_in_turn(one)
        masks = self._product_masks(one.ring, one.shape, one.shift, None)
        summand = one.ring.signed_sum([one.parts[0], *masks.plus], masks.minus) if self._multiplies else None
        return self._reduced("sums", one.ring, summand, one.shape, one.shift, masks)

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        masks = self._product_masks(BITS, shape, 0, None)
        summand = None
        if self._multiplies:
            rights = BITS.combined(b.parts, self._tables(BITS).product(self.rank))
            summand = BITS.signed_sum([form.sum(a.parts, rights), *masks.plus], masks.minus)
        return self._reduced("forms", BITS, summand, shape, 0, masks)

    def _product_masks(self, ring: Ring, shape: Shape, shift: int, plus: Share | None) -> _ProductMasks:
        """Draw the masks of a product. Our summand of ``plus`` is added with them."""
        own = [self._summand(plus, self.geometry.multipliers)] if plus is not None and self._multiplies else []
        if shift:
            return _ProductMasks(own, [], {}, self._opening_masks(ring, shape))
        masks = self._masks(ring, shape, self.geometry.multipliers, self._relay)
        return _ProductMasks([*own, *masks.plus], masks.minus, masks.drawn, [])

    def _reduced(
        self, operation: str, ring: Ring, summand: RingArray | None, shape: Shape, shift: int, masks: _ProductMasks
    ) -> Share:
        """Turn the multipliers' summands, with what was added to them, into a sharing of their sum over 2^shift."""
        if shift:
            return self._truncated(operation, ring, summand, shape, shift, masks.opening)
        senders = self.geometry.multipliers
        return self._run(operation, self._shared(ring, shape, senders, summand, masks.drawn, self._relay))

    # --- bits --------------------------------------------------------------------------------------------

    def _random_words(self, shape: Shape) -> Share:
        return self._random(BITS, shape)[0]
