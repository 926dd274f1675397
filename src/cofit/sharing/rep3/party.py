"""``rep3``: replicated sharing among three parties, passive security, honest majority.

Source: Araki, Furukawa, Lindell, Nof, Ohara, "High-throughput semi-honest secure three-party computation with an
honest majority", CCS 2016, sections 2.1 to 2.3. Ranks are taken modulo 3.

Sharing. x = x_0 + x_1 + x_2; party i holds (x_i, x_{i+1}). So share x_i is known to parties i and i-1, and any one
party misses one uniform summand: its view says nothing about x. Boolean sharing is the same over GF(2).

Correlated randomness. Parties i and i-1 agree on a seed k_i, each contributing half (``setup``). Everything below that
is "drawn from k_i" costs no message. The masks a_i = F(k_i) - F(k_{i+1}) sum to zero, and to each of the other two
parties a_i is uniform, because either misses one of the two seeds.

Cost in ring elements per output element (all parties together) and rounds:

    operation               rounds  elements   where
    input by an owner            2  2 + seeds  ``inputs`` (a one-way stream; the counters count each message waited for)
                                               and a digest from each party to each other one
    input by a party             1  1          ``input``
    open to all                  1  3          ``open``
    product, matrix product,
      row-wise inner product     1  3          ``_reshare``; adding a shared value to the product is free
    those, with truncation       2  3          ``_truncated``; likewise, before the truncation; and three numbers of as
                                               many bytes as the bits that are cut off need
    sums of products             1  3          ``product_sums``, however many; with truncation 2 rounds, and the numbers
    sum, truncated and clipped   4 + ceil(log2(k/4)); 8 elements, two such numbers, bits and ANDs (``clip.py``);
                                 k: the bits of its range
    truncation                   2  3          ``_truncated``; and the numbers
    fresh sharing                1  3          ``refresh``
    random bits (Boolean)        0  0          ``_random_words``
    bit -> ring element          2  3          ``from_bits``
    squares of rows, foreseen    2  3          and three for every column (``foreseen_squares``)
    bits -> public sum of them   2  2          and one for every bit (``weighed_bits``)
    bits of a number -> element  2  4          and the additions and words of ``from_numbers`` (``numbers.py``)
    public bilinear forms        1  3          for each row of the result (``_bilinear_words``)
    ring element -> k bits       2 + ceil(log2(k-1)); 3 k bits and the ANDs of ``add_from_signals``
    sign of a ring element       2 + ceil(log2(k-1)); 3 k bits and 2 (k-2) ANDs at most; k: the bits of the ring, or as
                                 many as a proven range takes

Security of the messages. Every message is a value plus a mask drawn from a seed that its receiver lacks, and no two
messages to one receiver use the same mask, so a simulator replaces them by uniform elements. The argument for
truncation and conversion stands in ``proof.md`` beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cofit.arithmetic import Ring, RingArray, Shape, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.prg import SEED_BYTES
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.compared import ComparesDealt
from cofit.sharing.costs import BitCosts, ClipCosts, Cost, Costs
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.operands import common_ring
from cofit.sharing.packed_bits import PackedBoolean
from cofit.sharing.placed import PlacedShare
from cofit.sharing.rep3.clip import Rep3Clips
from cofit.sharing.rep3.summed import FIRST, held_factors, summed
from cofit.sharing.shares import Share
from cofit.sharing.spec import SchemeInfo, Spec
from cofit.sharing.steps import Messages, Protocol
from cofit.sharing.summands import SummandInputs
from cofit.sharing.sums import Kind, PartialSum, Product, ProductSum
from cofit.transport import Mesh

_CACHED = 1 << 18  # bytes of an array, several of which stay in the cache of a processor
_MATRIX = 2
_DEALER = 2  # the party that knows the mask of a truncation
_TRUNCATION_DRAWS = ((2, 0), (0, 1), (1, 2))  # by rank: elements, and as many numbers, drawn from k_i and from k_{i+1}


class _Masks(NamedTuple):
    """What is added to and subtracted from our summand, and what was drawn for a truncation from either stream."""

    plus: list[RingArray]
    minus: list[RingArray]
    own: list[RingArray]
    following: list[RingArray]


class Rep3(ComparesDealt, Rep3Clips):
    """One of the three parties."""

    info = SchemeInfo(
        name="rep3",
        parties=(3, 3),
        default_parties=3,
        adversary="passive: a corrupted party follows the protocol but looks at all it sees",
        most_corrupted=lambda _: 1,
        corrupted="{threshold} of {parties} (honest majority)",
        assumptions="AES-256 is a pseudorandom function; no two parties collude",
    )

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.boolean = PackedBoolean(self, self._random_words, self._bilinear_words)

    @property
    def _part_count(self) -> int:
        return 2

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        """The table at the head of this file, for programs that count."""
        return Costs(
            setup_rounds=1,
            setup_bytes=6 * SEED_BYTES,
            compared=Cost(1, 0, 6 * DIGEST_BYTES),
            input=Cost(1, 1),
            open=Cost(1, 1),
            product=Cost(1, 3),
            bits=BitCosts(input=Cost(1, 1), open=Cost(1, 1), product=Cost(1, 3)),
            refresh=Cost(1, 3),
            truncated_product=Cost(2, 3, high=3),
            truncation=Cost(2, 3, high=3),
            bit_to_ring=Cost(2, 3),
            weighed_bits=(Cost(1, 1), Cost(1, 2)),
            foresees_squares=True,
            carry_signals=Cost(2, 3),
            product_terms=2,
            inner_terms=3,
            public_terms=2,
            unmasked=Cost(2, 4),
            unmasked_words=2,
            joins_sums=True,
            adds_products=True,
            clip=ClipCosts(Cost(1, 2), 1, Cost(1, 2), Cost(2, 6, high=2), Cost(2, 6)),
        )

    # --- input and output --------------------------------------------------------------------------------

    @classmethod
    def inputs(cls, spec: Spec) -> SummandInputs:
        """Seeds of x_0 and x_1, and x_2 in full. Any two parties are dealt one summand in common."""
        return SummandInputs(cls.info.name, ((0, 1), (1, 2), (2, 0)), 2)

    def refresh(self, share: Share) -> Share:
        """Reshare x_i + a_i, where the a_i sum to zero: as after a product. 1 round, 3 elements."""
        return self._reshare("refresh", share.ring, share.ring.add(share.parts[0], self._zero(share.ring, share.shape)))

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        """Party i misses x_{i-1}; its left neighbour sends it."""
        receivers = range(3) if to is None else to
        missing = share.ring.empty(share.shape)
        self._exchange(
            "open",
            {self._right: [share.parts[0]]} if self._right in receivers else {},
            {self._left: missing} if self.rank in receivers else {},
        )
        if self.rank not in receivers:
            return None
        ring = share.ring
        return ring.add(ring.add(share.parts[0], share.parts[1]), missing)

    # --- products ----------------------------------------------------------------------------------------

    def hold(self, a: Share, products: int = 1, *, owned: bool = False) -> Share:
        """Party 0 keeps a sum of its summands, if that is read often enough to be worth writing it."""
        if self.rank != FIRST or products <= 1 or isinstance(a, PlacedShare) or len(a.shape) != _MATRIX or 0 in a.shape:
            return super().hold(a, products, owned=owned)
        return summed(self.engine, a, owned=owned)

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        many = ring.element_bytes * math.prod(shape) > _CACHED
        if many and not shift and plus is None and _in_one_piece(shape, a, b):
            return self._reshare("mul", ring, self._masked_product(ring, a, b, shape))
        masks = self._masks(ring, shape, shift, plus)
        summand = ring.cross_product(a.parts, b.parts, masks.plus, masks.minus)
        return self._reduce("mul", ring, summand, shape, shift, masks)

    def _masked_product(self, ring: Ring, a: Share, b: Share, shape: Shape) -> RingArray:
        """Return the summands of a product of many elements, with a sharing of zero."""
        left, right = ([part.reshape(-1) for part in share.parts] for share in (a, b))
        out = ring.empty((math.prod(shape),))
        for piece, own, following in self._zeros_in_pieces(ring, out.shape):
            x, y = ([part[piece] for part in side] for side in (left, right))
            out[piece] = ring.cross_product(x, y, [own], [following])
        return out.reshape(shape)

    def squared_distances(self, a: Share, row: Share) -> Share:
        """With d = a - row, (d_i + d_{i+1})^2 - d_{i+1}^2 is our summand: one product, and no second table."""
        ring, shape = common_ring(a, row), a.shape
        if len(shape) != 2 or row.shape != shape[1:] or not _in_one_piece(shape, a):
            return super().squared_distances(a, row)
        out, parts = ring.empty(shape), a.parts
        for piece, own, following in self._zeros_in_pieces(ring, shape):
            ring.squared_distances([part[piece] for part in parts], row.parts, [own], [following], out[piece])
        return self._reshare("mul", ring, out)

    def squares_mask(self, ring: Ring, count: int) -> Share:
        """Summand i is drawn from k_i. Free."""
        return Share(ring, (self._own.ring(ring, (count,)), self._next.ring(ring, (count,))))

    def foreseen_squares(self, a: Share, row: Share, weights: Share, mask: Share, masked: Share) -> Share:
        """Our summands of the squares, weighed by what is opened, are made in pieces and never leave us."""
        ring = common_ring(a, row)
        opened = self.open(self.sub(weights, mask))
        assert opened is not None  # noqa: S101 - to all parties
        sums = ring.empty(a.shape[:1])
        step = _rows_in_cache(ring, a.shape)
        for start in range(0, len(sums), step):
            rows = a.block((slice(start, start + step), slice(None))).parts
            squares = ring.empty(rows[0].shape)
            ring.squared_distances(rows, row.parts, [], [], squares)
            sums[start : start + step] = ring.matmul(squares, opened)
        masks = self._masks(ring, sums.shape, 0, masked)
        return self._reshare("squares", ring, ring.signed_sum([sums, *masks.plus], masks.minus))

    def _zeros_in_pieces(self, ring: Ring, shape: Shape) -> Iterator[tuple[slice, RingArray, RingArray]]:
        """Yield both draws for a sharing of zero, some rows at a time, so that they stay in the cache, and which rows
        these are. Streams are read in the order of ``_masks``.
        """
        rest, step = shape[1:], _rows_in_cache(ring, shape)
        for start in range(0, shape[0], step):
            piece = slice(start, min(start + step, shape[0]))
            drawn = (piece.stop - start, *rest)
            yield piece, self._own.ring(ring, drawn), self._next.ring(ring, drawn)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        """The factors of a_i and of a_{i+1} are vectors or small matrices."""
        product = self._matrix_summand(ring, a, b)
        masks = self._masks(ring, shape, shift, plus)
        summand = ring.signed_sum([product, *masks.plus], masks.minus)
        return self._reduce("matmul", ring, summand, shape, shift, masks)

    def _matrix_summand(self, ring: Ring, a: Share, b: Share) -> RingArray:
        """z_i = a_i (b_i + b_{i+1}) + a_{i+1} b_i; of a matrix that is held, what ``summed.py`` says."""
        own, following = b.parts
        held = isinstance(a, PlacedShare)
        factors = held_factors(ring, self.rank, own, following) if held else (ring.add(own, following), own)
        return a.placed.matmul_sum(factors)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, high: int = 0) -> Share:
        """The three terms of z_i one by one: the sum b_i + b_{i+1} would be a temporary as large as b."""
        product = a.placed.inner_sum((0, 0, 1), b.placed, (0, 1, 0), high)
        masks = self._masks(ring, shape, shift, None)
        summand = ring.signed_sum([product, *masks.plus], masks.minus)
        return self._reduce("inner", ring, summand, shape, shift, masks)

    def high_squares(self, a: Share, shift: int) -> Share:
        """Some rows at a time: no second matrix."""
        return self._inner(a.ring, a, a, a.shape[:-1], 0, shift)

    def _masks(self, ring: Ring, shape: Shape, shift: int, plus: Share | None) -> _Masks:
        """Draw all masks of an operation from both streams: those of a truncation, or else of a sharing of zero.

        a_i = F(k_i) - F(k_{i+1}) is our summand of zero. Party i adds the first of its two parts of ``plus``: p_0, p_1
        and p_2 are each added by one party. Before a truncation parties 0 and 1 add their part of its mask, which hides
        their summands; party 2 sends none.
        """
        plus_parts = [] if plus is None else [plus.parts[0]]
        if not shift:
            return _Masks([*plus_parts, self._own.ring(ring, shape)], [self._next.ring(ring, shape)], [], [])
        from_own, from_next = _TRUNCATION_DRAWS[self.rank]
        drawn = [
            [*stream.rings(ring, shape, count), *stream.narrow(math.prod(shape), shift, count)]
            for stream, count in ((self._own, from_own), (self._next, from_next))
        ]
        masks = _Masks(plus_parts, [], *drawn)
        if self.rank != _DEALER:
            masks.plus.append(masks.own[0] if self.rank == 0 else masks.following[0])
        return masks

    def _reduce(self, operation: str, ring: Ring, summand: RingArray, shape: Shape, shift: int, masks: _Masks) -> Share:
        return self._run(operation, self._reduced(ring, summand, shape, shift, masks))

    def _reduced(self, ring: Ring, summand: RingArray, shape: Shape, shift: int, masks: _Masks) -> Protocol[Share]:
        """Turn additive summands, masked, one at each party, into a replicated sharing of their sum over 2^shift."""
        return self._truncated(ring, summand, shape, shift, masks) if shift else self._reshared(ring, summand)

    # --- sums of products --------------------------------------------------------------------------------

    def product_sums(self, wanted: Sequence[ProductSum | PartialSum]) -> list[Share]:
        """Summands are added up before anything is sent, and all sums travel together."""
        protocols = [self._summed(one) for one in wanted]
        return self._together("sums", *protocols)

    def partial_sum(self, one: ProductSum) -> PartialSum:
        """Our summand z_i. Local: the masks are those of ``product_sums``, which takes the sum of summands."""
        return PartialSum(one.ring, (self._summand(one),), one.shift)

    def _summed(self, one: ProductSum | PartialSum) -> Protocol[Share]:
        ring, shape, shift = one.ring, one.shape, one.shift
        if isinstance(one, PartialSum):
            (summand,), plus = one.parts, None
        else:
            summand, plus = self._summand(one._replace(plus=None)), one.plus
        masks = self._masks(ring, shape, shift, plus)
        summand = ring.signed_sum([summand, *masks.plus], masks.minus)
        return (yield from self._reduced(ring, summand, shape, shift, masks))

    def _summand(self, one: ProductSum) -> RingArray:
        ring, shape = one.ring, one.shape
        terms = [self._product_summand(ring, product) for product in one.products]
        terms += [] if one.plus is None else [one.plus.parts[0]]
        return terms[0] if len(terms) == 1 else ring.signed_sum([np.broadcast_to(term, shape) for term in terms])

    def _product_summand(self, ring: Ring, product: Product) -> RingArray:
        a, b = product.lefts[0], product.rights[0]
        if product.kind is Kind.MATMUL:
            return self._matrix_summand(ring, a, b)
        if product.kind is Kind.INNER:
            return a.placed.inner_sum((0, 0, 1), b.placed, (0, 1, 0))
        pairs = [_element_wise(ring, a, b) for a, b in zip(product.lefts, product.rights, strict=True)]
        return pairs[0] if len(pairs) == 1 else ring.signed_sum(pairs)

    # --- truncation that never fails ---------------------------------------------------------------------

    def _truncate(self, a: Share, shift: int) -> Share:
        ring = a.ring
        masks = self._masks(ring, a.shape, shift, None)
        parts = a.parts if self.rank == 0 else (a.parts[1],)  # x_0 + x_1 and x_2; party 2 has nothing to add
        summand = None if self.rank == _DEALER else ring.signed_sum([*parts, *masks.plus])
        return self._run("truncate", self._truncated(ring, summand, a.shape, shift, masks))

    def _truncated(
        self, ring: Ring, summand: RingArray | None, shape: Shape, shift: int, masks: _Masks
    ) -> Protocol[Share]:
        """Divide z = z_0 + z_1 + z_2 by 2^shift; the error is 0 or +1 against the floor, always.

        Party 2 knows the mask r = r_0 + r_1 - z_2 (r_0 drawn from k_0, r_1 from k_2, and its own summand z_2, if any)
        and deals parties 0 and 1 shares of r >> shift, which are summands of the result, and of the top bit of r; those
        two open c = z + 2^(k-2) + r = (z_0 + r_0) + (z_1 + r_1) + 2^(k-2) to each other and never to party 2, which
        needs to say nothing of z_2. What is multiplied by 2^(k-shift) travels as narrow numbers.
        ``summand``: z_0 + r_0, z_1 + r_1, or z_2; None for a z_2 of 0.
        """
        ring = power_of_two(ring, "Truncation by a masked opening")
        if self.rank == _DEALER or summand is None:
            r_0, out_0, top_0, high_0 = masks.following
            r_1, high_2 = masks.own
            rest = r_1 if summand is None else ring.sub(r_1, summand)
            out_2, top_1 = ring.mask_parts((r_0, rest), out_0, top_0, shift)
            yield Messages({1: [out_2, top_1]}, {})
            return Share(ring, (ring.add_high(out_2, [high_2], shift), ring.add_high(out_0, [high_0], shift)))

        other = 1 - self.rank
        theirs = ring.empty(shape)
        if self.rank == 0:
            yield Messages({other: [summand]}, {other: theirs})
            _, out, top, hidden = masks.own
        else:
            _, hidden = masks.following
            dealt = np.empty(theirs.nbytes + hidden.nbytes, np.uint8)
            yield Messages({other: [summand]}, {other: theirs, _DEALER: dealt})
            out = dealt[: theirs.nbytes].view(ring.dtype).reshape(shape)
            top = dealt[theirs.nbytes :]
        opened, high = ring.open_masked([summand, theirs], top, hidden, shift)
        heard = np.empty_like(high)
        yield Messages({other: [high]}, {other: heard})
        own, joint = ring.add_high(out, [hidden], shift), ring.add_high(opened, [high, heard], shift)
        return Share(ring, (own, joint) if self.rank == 0 else (joint, own))

    # --- bits --------------------------------------------------------------------------------------------

    def _random_words(self, shape: Shape) -> Share:
        return Share(BITS, (self._own.ring(BITS, shape), self._next.ring(BITS, shape)))

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        product = form.sum(a.parts, (BITS.add(b.parts[0], b.parts[1]), b.parts[0]))
        masks = self._masks(BITS, shape, 0, None)
        return self._reduce("forms", BITS, BITS.signed_sum([product, *masks.plus], masks.minus), shape, 0, masks)


def _element_wise(ring: Ring, a: Share, b: Share) -> RingArray:
    """Return our summand of a * b, which is a public combination of the parts of a where b is one number."""
    own, following = b.parts
    if a.shape and own.size and (own.size == 1 or not any(own.strides)):  # one element, perhaps repeated
        number, both = own.reshape(-1)[:1], ring.add(own.reshape(-1)[:1], following.reshape(-1)[:1])
        return ring.combined(a.parts, np.stack([both, number], axis=1))[0]
    return ring.cross_product(a.parts, b.parts)


def _rows_in_cache(ring: Ring, shape: Shape) -> int:
    """Return how many rows of an array of this shape stay in the cache together."""
    return max(1, _CACHED // (ring.element_bytes * max(1, math.prod(shape[1:]))))


def _in_one_piece(shape: Shape, *shares: Share) -> bool:
    """Whether all parts have this shape and lie in memory as one row of elements."""
    return all(part.shape == shape and part.flags.c_contiguous for share in shares for part in share.parts)
