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

import functools
import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np

from cofit.arithmetic import Generator, IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import to_planes, unpack
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.errors import InvalidInputError, PeerClosedError
from cofit.sharing.adder import TakesBits
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.carry_save import carry_signals, levels
from cofit.sharing.correlations import (
    Bits,
    Demand,
    Digits,
    Mask,
    Multiply,
    Number,
    Product,
    ProductMask,
    Truncation,
    held_product,
)
from cofit.sharing.costs import BitCosts, Cost, Costs, StreamCost
from cofit.sharing.held import HeldMask, HeldShare, held, known_elements
from cofit.sharing.inputs import chunks
from cofit.sharing.member import as_bytes
from cofit.sharing.numbers import FromNumbers, plain_numbers, without_wrap
from cofit.sharing.packed_bits import PackedBits, PackedBoolean, words_of
from cofit.sharing.regions import Region, cut, paste, regions_in
from cofit.sharing.semi2k.from_dealer import SPREAD
from cofit.sharing.semi2k.inputs import DealtToParties
from cofit.sharing.semi2k.sources import SOURCES
from cofit.sharing.shares import BitShare, Share
from cofit.sharing.spec import FROM_A_DEALER, SchemeInfo
from cofit.transport import Mesh


class Semi2k(TakesBits, FromNumbers, DealtToParties):
    """One of the computing parties."""

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

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None) -> None:
        super().__init__(mesh, names, dealer)
        self._others = [rank for rank in range(len(self.names)) if rank != self.rank]
        self._constant_part = 0 if self.rank == 0 else None
        self._pairs: dict[int, Generator] = {}
        self._coins = Generator(fresh_seed())
        self._source = SOURCES[self.spec.correlations](self._exchange, self.rank, len(self.names))
        self.boolean = PackedBoolean(self, self._random_words, self._bilinear_words)

    @property
    def _part_count(self) -> int:
        return 1

    @classmethod
    def costs(cls, parties: int) -> Costs:
        """The table at the head of this file, for programs that count."""
        cls.info.check_parties(parties)
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

    def _common_state(self, rank: int) -> int:
        """The positions of the streams that we share with that member, spread over 32 bits."""
        if not self._pairs:
            return 0
        if rank == len(self.names):
            return self._source.position(rank)
        return (self._pairs[rank].position * SPREAD ^ self._source.position(rank)) & 0xFFFFFFFF

    def _exchange(
        self,
        operation: str,
        send: Mapping[int, Sequence[RingArray]] | None = None,
        receive: Mapping[int, RingArray] | None = None,
    ) -> None:
        """As every scheme does; a dealer that left may have come to the end of a program with fewer steps."""
        try:
            super()._exchange(operation, send, receive)
        except PeerClosedError as error:
            if not self.spec.dealer or error.peer != self._members[-1]:
                raise
            raise PeerClosedError(
                error.peer,
                f"{error} If it did not fail, its program ended before ours: the dealer sees no opened value, so a "
                "program must not branch on one.",
            ) from error

    def setup(self) -> None:
        """Agree on seeds with every other party, k_ij = HKDF(half of i, half of j; session); the source begins too."""
        mine = {rank: fresh_seed() for rank in self._others}
        heard = {rank: np.empty(SEED_BYTES, np.uint8) for rank in self._others}
        self._exchange_all("setup", {rank: [np.frombuffer(half, np.uint8)] for rank, half in mine.items()}, heard)
        session = self.mesh.terms.session
        for rank in self._others:
            halves = (mine[rank], heard[rank].tobytes())
            low, high = min(rank, self.rank), max(rank, self.rank)
            ordered = halves if self.rank == low else halves[::-1]
            self._pairs[rank] = Generator(derive_seed(b"".join(ordered) + session, f"semi2k seed {low} {high}"))
        self._source.start(session)

    def prepare(self, demand: Demand) -> None:
        """Rounds: at the last party, a message from the dealer for every chunk; nothing at the others."""
        self._source.prepare(demand)

    def _exchange_all(
        self, operation: str, send: Mapping[int, Sequence[RingArray]], receive: Mapping[int, RingArray]
    ) -> None:
        """Exchange arrays with ranks, and take along what travels for the source of correlations."""
        out, back = self._source.travelling()
        joint = {rank: [*send.get(rank, ()), *out.get(rank, ())] for rank in {**send, **out}}
        both = {
            rank: np.empty(receive[rank].nbytes + back[rank].nbytes, np.uint8) for rank in {**receive} if rank in back
        }
        self._exchange(operation, joint, {**receive, **back, **both})
        for rank, arrived in both.items():
            own = as_bytes(receive[rank])
            own[:] = arrived[: len(own)].data
            as_bytes(back[rank])[:] = arrived[len(own) :].data

    # --- input and output --------------------------------------------------------------------------------

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        """The others' summands come from the seeds that the source shares with them."""
        if self.rank != source:
            return Share(ring, (self._pairs[source].ring(ring, shape),))
        if values is None or values.shape != shape:
            raise InvalidInputError(f"Party '{self.mesh.name}' must pass values of shape {shape} to share them.")
        drawn = (self._pairs[rank].ring(ring, shape) for rank in self._others)
        return Share(ring, (functools.reduce(ring.sub, drawn, ring.check(values)),))

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        ring, receivers = share.ring, range(len(self.names)) if to is None else to
        own = share.parts[0]
        if len(self.names) > 2:
            own = ring.add(own, self._zero(ring, share.shape))
        return self._reveal("open", ring, own, receivers)

    def _reveal(self, operation: str, ring: Ring, own: RingArray, receivers: Sequence[int]) -> RingArray | None:
        """Add up everybody's summand at the receivers, and take what the source of correlations still awaits."""
        theirs = {rank: ring.empty(own.shape) for rank in self._others} if self.rank in receivers else {}
        send = {rank: [own] for rank in self._others if rank in receivers}
        self._exchange_all(operation, send, theirs)
        return functools.reduce(ring.add, theirs.values(), own) if self.rank in receivers else None

    def _zero(self, ring: Ring, shape: Shape) -> RingArray:
        """Return our summand of a random sharing of zero: of every two parties one adds and one subtracts a draw."""
        total = ring.zeros(shape)
        for rank in self._others:
            drawn = self._pairs[rank].ring(ring, shape)
            total = ring.add(total, drawn) if self.rank < rank else ring.sub(total, drawn)
        return total

    def refresh(self, share: Share) -> Share:
        """Add a sharing of zero. Nothing is sent."""
        return Share(share.ring, (share.ring.add(share.parts[0], self._zero(share.ring, share.shape)),))

    # --- products ----------------------------------------------------------------------------------------

    def hold(self, a: Share) -> Share:
        """Open a under a mask, chunk by chunk, in the memory of our share of it (in a copy if that is a view).

        What nobody knows is opened by all; what a party knows it sends alone, under a mask of its own.
        """
        if isinstance(a, HeldShare):
            return a
        ring, own, regions = a.ring, a.parts[0], regions_in(a)
        mask = self._source.ask(Mask(ring, a.shape, regions))
        public = own if own.flags.owndata and own.flags.writeable and own.flags.c_contiguous else own.copy(order="C")
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

    def _opened(self, operation: str, ring: Ring, own: Sequence[RingArray]) -> list[RingArray]:
        """Open several masked values to everybody in one exchange."""
        if not own:
            self._exchange_if_due(operation)
            return []
        joint = own[0].reshape(-1) if len(own) == 1 else np.concatenate([array.reshape(-1) for array in own])
        opened = self._reveal(operation, ring, joint, range(len(self.names)))
        assert opened is not None  # noqa: S101 - for the type checker: everybody receives
        ends = np.cumsum([array.size for array in own])
        return [opened[end - array.size : end].reshape(array.shape) for array, end in zip(own, ends, strict=True)]

    def _exchange_if_due(self, operation: str) -> None:
        """Exchange what travels for the source, if there is anything."""
        out, back = self._source.travelling()
        if out or back:
            self._exchange(operation, out, back)

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

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """Open b XOR rho for a bit rho that is shared in both worlds; b = c + rho - 2 c rho."""
        double = self._source.ask(Bits(ring, bits.rows, bits.count))
        (opened,) = self._opened("from_bits", BITS, [BITS.add(words_of(bits).parts[0], double.words)])
        c = ring.from_int(unpack(opened, bits.count))
        flipped = ring.mul(double.elements, ring.add(c, c))
        result = ring.sub(double.elements, flipped)
        return Share(ring, (ring.add(result, c) if self.rank == 0 else result,))

    def _number_mask(self, width: int, count: int) -> tuple[BitShare, int]:
        """Digits that nobody knows but the dealer, who sees no opening."""
        digits = self._source.ask(Digits(BITS, width, count))
        return PackedBits(Share(BITS, (digits.words,)), count), digits.number

    def _unmasked(self, masked: BitShare, kept: int, ring: IntegerRing) -> Share:
        """Open c to all; the dealer has shared r and its top digit; see ``proof.md``."""
        mask = self._source.ask(Number(ring, kept, masked.rows, masked.count))
        (digits,) = self._opened("unmask", BITS, [words_of(masked).parts[0]])
        c, c_top = plain_numbers(ring, digits, masked.count)
        result = ring.sub(without_wrap(ring, mask.top, c_top, masked.rows), mask.value)
        return Share(ring, (ring.add(result, c) if self.rank == 0 else result,))

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        """The bits of every party's summand, each shared as itself by that party and zero elsewhere, are added."""
        count = math.prod(a.shape)
        own = to_planes(ring, a.parts[0])[planes]
        zeros = BITS.zeros(own.shape)
        parts = [own if rank == self.rank else zeros for rank in range(len(self.names))]
        return carry_signals(self.boolean, [PackedBits(Share(BITS, (part,)), count) for part in parts])
