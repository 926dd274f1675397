"""``semi2k``: additive sharing among two or more parties, passive security, dishonest majority, with a dealer.

x = x_0 + ... + x_{n-1} over Z_2^64, Z_2^128 or bits; party i holds x_i. Products open their operands under masks whose
product a dealer has shared before (Beaver 1991); a matrix that takes part in many products is opened under its mask
once (``hold``), so that a product with it sends vectors. The dealer, a trusted initialiser as in the paper, sees no
data and no masked data. Sources, argument and what everybody sees: ``proof.md``. The other end is
``dealer.py``, the correlations are behind ``../correlations.py``.

Cost in ring elements (all parties and the dealer together) and rounds; a and b are the numbers of elements of the
operands, z that of the result, m = n (n - 1), 2 for two parties:

    operation               rounds  elements             where
    input by an owner            1  z + seeds            ``inputs`` (one way; each message waited for is a round)
    input by a party             0  0                    ``input``; ``known`` for data that outlive a run
    open to all                  1  m z                  ``open``
    product of any kind          1  m a + m b + z        ``_product``; m a + z for a square
    those, with truncation       2  that + (m + 2) z     ``_truncate``
    product with a held matrix   1  m b + z              likewise; row-wise squares of it: z
    holding a matrix             1  m a                  ``hold`` (in chunks; each counts as a round)
    holding what a party knows   1  (n - 1) a            likewise; all of it at once, whichever party knows it
    truncation                   1  (m + 2) z            ``_truncate``
    fresh sharing                0  0                    ``refresh``
    random bits (Boolean)        0  0                    ``_random_words``
    bit -> ring element          1  z and m words for every 64 bits
    bits of a number -> element  1  2 z and m words for every 64 digits; the additions of ``from_numbers``
    public bilinear forms        1  as products of bits; every row of an operand counts once
    ring element -> k bits       n = 2: 1 + ceil(log2(k-1)); (2 m + 1) k bits and the ANDs of ``add_from_signals``
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from cofit.arithmetic import Ring, RingArray, Shape, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.prg import SEED_BYTES
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.carry_save import levels
from cofit.sharing.correlations import (
    Mask,
    Multiply,
    Product,
    ProductMask,
    Truncation,
    held_product,
)
from cofit.sharing.costs import BitCosts, Cost, Costs, StreamCost
from cofit.sharing.held import HeldMask, HeldShare, held, known_elements
from cofit.sharing.inputs import chunks
from cofit.sharing.packed_bits import PackedBoolean
from cofit.sharing.regions import Region, cut, paste, regions_in
from cofit.sharing.semi2k.conversion import Semi2kConversion
from cofit.sharing.shares import Share
from cofit.sharing.spec import FROM_A_DEALER, SchemeInfo, Spec
from cofit.transport import Mesh


class Semi2k(Semi2kConversion):
    """One of the computing parties."""

    in_memory = "parties and dealer hold a mask as large as the data, and open the data under it"
    info = SchemeInfo(
        name="semi2k",
        parties=(2, None),
        default_parties=2,
        adversary="passive: corrupted parties follow the protocol but look at all they see",
        most_corrupted=lambda parties: parties - 1,
        corrupted="all but one of n (dishonest majority), the dealer not among them",
        assumptions="the dealer follows the protocol and colludes with no party; AES-256 is a pseudorandom function",
        correlations=FROM_A_DEALER,
        knows_inputs=True,
    )

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.boolean = PackedBoolean(self, self._random_words, self._bilinear_words)

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        """The table at the head of this file, for programs that count."""
        parties = spec.parties
        opened = parties * (parties - 1)
        ands = parties - 1  # for every word of bit planes, until two numbers are left and their carries generated
        return Costs(
            setup_rounds=1,
            setup_bytes=(opened + parties) * SEED_BYTES,
            input=Cost(0, 0),
            open=Cost(1, parties - 1),
            product=Cost(1, 1, left=opened, right=opened),
            bits=BitCosts(input=Cost(0, 0), open=Cost(1, parties - 1), product=Cost(1, 1, left=opened, right=opened)),
            refresh=Cost(0, 0),
            truncated_product=Cost(2, opened + 3, left=opened, right=opened),
            truncation=Cost(1, opened + 2),
            bit_to_ring=Cost(1, 1),
            carry_signals=Cost(1 + levels(parties), ands * (2 * opened + 1)),
            product_terms=2,
            inner_terms=2,
            public_terms=1,
            unmasked=Cost(1, 2),
            unmasked_words=opened,
            bit_words=opened,
            hold=StreamCost(opened),
            hold_known=StreamCost(parties - 1),
            listeners=1,
        )

    # --- products ----------------------------------------------------------------------------------------

    def hold(self, a: Share, products: int = 1, *, owned: bool = False) -> Share:
        """Open a under a mask, chunk by chunk, in the memory of our share of it where that is ours, else in a copy.

        What nobody knows is opened by all; what a party knows it sends alone, under a mask of its own.
        """
        if isinstance(a, HeldShare):
            return a
        ring, own, regions = a.ring, a.parts[0], regions_in(a)
        mask = self._source.ask(Mask(ring, a.shape, regions))
        flags = own.flags
        public = own if owned and flags.owndata and flags.writeable and flags.c_contiguous else own.copy(order="C")
        for place, piece in mask.pieces:
            block = public[place]
            for chunk in chunks(ring, piece.size):
                paste(block, chunk, ring.sub(cut(block, chunk), cut(piece, chunk)))
        for region in regions:
            if region.holder is None:
                block = public[region.place]
                for chunk in chunks(ring, region.size):
                    opened = self._reveal("hold", ring, cut(block, chunk), range(len(self.names)))
                    assert opened is not None  # noqa: S101 - for the type checker: everybody receives
                    paste(block, chunk, opened)
        self._tell_known(ring, public, regions)
        return held(self.engine, ring, public, mask.pieces, mask.number, known_elements(regions), self.rank == 0)

    def _tell_known(self, ring: Ring, public: RingArray, regions: Sequence[Region]) -> None:
        """Every holder sends the others its regions of ``public``, which it has masked; all holders at once."""
        told: dict[int, list[tuple[RingArray, slice]]] = {}
        for region in regions:
            if region.holder is not None:
                block = public[region.place]
                told.setdefault(region.holder, []).extend((block, chunk) for chunk in chunks(ring, region.size))
        for step in zip_longest(*told.values()):
            now = {holder: message for holder, message in zip(told, step, strict=True) if message is not None}
            heard = {rank: ring.empty((at.stop - at.start,)) for rank, (_, at) in now.items() if rank != self.rank}
            own = [cut(*now[self.rank])] if self.rank in now else []
            send = {rank: own for rank in self._others if own}
            self._exchange("hold", send, heard)
            for rank, elements in heard.items():
                block, chunk = now[rank]
                paste(block, chunk, elements)

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        """As ``_product``, for operands that may have to be broadcast; the square of a value opens it once."""
        left, right = a.parts[0], b.parts[0]
        if a is b:
            masks = self._source.ask(Product(ring, "mul", left.shape, None, shape))
            (e,) = self._opened("mul", ring, [ring.sub(left, masks.left)])
            return self._finished(
                "mul", ring, ring.mul(e, ring.add(left, masks.left)), masks.product, shape, shift, plus
            )
        masks = self._source.ask(Product(ring, "mul", left.shape, right.shape, shape))
        e, f = self._opened("mul", ring, [ring.sub(left, masks.left), ring.sub(right, masks.right)])
        return self._finished("mul", ring, ring.mul_sum((e, masks.left), (right, f)), masks.product, shape, shift, plus)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        right = b.parts[0]
        if isinstance(a, HeldShare):
            f, rest = self._held_product("matmul", ring, a.mask, right, shape)
            return self._finished("matmul", ring, a.matmul(right, f), rest, shape, shift, plus)
        e, f, masks = self._masked("matmul", ring, "matmul", a.parts[0], right, shape)
        product = ring.matmul_sum((e, masks.left), (right, f))
        return self._finished("matmul", ring, product, masks.product, shape, shift, plus)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        if isinstance(a, HeldShare) and a is b:
            rest = self._source.ask(held_product(ring, "inner", a.mask, None, shape)).product
            self._opened("inner", ring, [])
            return self._finished("inner", ring, a.squares(), rest, shape, shift, None)
        if isinstance(a, HeldShare):
            right = b.parts[0]
            f, rest = self._held_product("inner", ring, a.mask, right, shape)
            return self._finished("inner", ring, a.inner(right, f), rest, shape, shift, None)
        own = a.parts[0]
        if a is b:
            masks = self._source.ask(Product(ring, "inner", own.shape, None, shape))
            (e,) = self._opened("inner", ring, [ring.sub(own, masks.left)])
            product = ring.inner_sum((e, e), (own, masks.left))
        else:
            right = b.parts[0]
            e, f, masks = self._masked("inner", ring, "inner", own, right, shape)
            product = ring.inner_sum((e, masks.left), (right, f))
        return self._finished("inner", ring, product, masks.product, shape, shift, None)

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        left, right = a.parts[0], b.parts[0]
        masks = self._source.ask(Product(BITS, form, left.shape, right.shape, shape))
        e, f = self._opened("forms", BITS, [BITS.sub(left, masks.left), BITS.sub(right, masks.right)])
        product = form.sum((e, masks.left), (right, f))
        return self._finished("forms", BITS, product, masks.product, shape, 0, None)

    def _masked(
        self, operation: str, ring: Ring, multiply: Multiply, left: RingArray, right: RingArray, shape: Shape
    ) -> tuple[RingArray, RingArray, ProductMask]:
        """Open a - A and b - B."""
        masks = self._source.ask(Product(ring, multiply, left.shape, right.shape, shape))
        e, f = self._opened(operation, ring, [ring.sub(left, masks.left), ring.sub(right, masks.right)])
        return e, f, masks

    def _held_product(
        self, operation: str, ring: Ring, left: HeldMask, right: RingArray, shape: Shape
    ) -> tuple[RingArray, RingArray]:
        """Open b - B; return it, and our share of A . B."""
        masks = self._source.ask(held_product(ring, operation, left, right.shape, shape))
        assert masks.right is not None  # noqa: S101 - for the type checker: there is a right operand
        (f,) = self._opened(operation, ring, [ring.sub(right, masks.right)])
        return f, masks.product

    def _finished(
        self,
        operation: str,
        ring: Ring,
        product: RingArray,
        rest: RingArray,
        shape: Shape,
        shift: int,
        plus: Share | None,
    ) -> Share:
        """Add our share of the masks' product, and ``plus``; truncate."""
        terms = [product.reshape(shape), rest] if plus is None else [product.reshape(shape), rest, plus.parts[0]]
        summand = ring.signed_sum(terms)
        return self._masked_truncation(operation, ring, summand, shift) if shift else Share(ring, (summand,))

    # --- truncation that never fails ---------------------------------------------------------------------

    def _truncate(self, a: Share, shift: int) -> Share:
        return self._masked_truncation("truncate", a.ring, a.parts[0], shift)

    def _masked_truncation(self, operation: str, ring: Ring, summand: RingArray, shift: int) -> Share:
        """Open c = z + 2^(k-2) + r and undo the mask; see ``proof.md``, "Truncation"."""
        ring = power_of_two(ring, "Truncation by a masked opening")
        masks = self._source.ask(Truncation(ring, summand.shape, shift))
        (opened,) = self._opened(operation, ring, [ring.add(summand, masks.mask)])
        result = ring.unmask([opened], masks.shifted, masks.top, None, shift, adds_opened=self.rank == 0)
        return Share(ring, (result,))

    # --- bits --------------------------------------------------------------------------------------------

    def _random_words(self, shape: Shape) -> Share:
        """Words of our own, which nobody else knows: the dealer neither."""
        return Share(BITS, (self._coins.ring(BITS, shape),))
