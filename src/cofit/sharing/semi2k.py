"""``semi2k``: additive sharing among two or more parties, passive security, dishonest majority, with a dealer.

x = x_0 + ... + x_{n-1} over Z_2^64, Z_2^128 or bits; party i holds x_i. Products open their operands under masks whose
product a dealer has shared before (Beaver 1991); a matrix that takes part in many products is opened under its mask
once (``hold``), so that a product with it sends vectors. The dealer, a trusted initialiser as in the paper, sees no
data and no masked data. Sources, argument and what everybody sees: ``semi2k_proof.md``. The other end is
``semi2k_dealer.py``, the correlations are behind ``preprocessing.py``.

Cost in ring elements (all parties and the dealer together) and rounds; a and b are the numbers of elements of the
operands, z that of the result, m = n (n - 1), 2 for two parties:

    operation               rounds  elements             where
    input by an owner            1  z + seeds            ``deal`` (one way; each message waited for counts as a round)
    input by a party             0  0                    ``input``
    open to all                  1  m z                  ``open``
    product of any kind          1  m a + m b + z        ``_product``; m a + z for a square
    those, with truncation       2  that + (m + 2) z     ``_truncate``
    product with a held matrix   1  m b + z              likewise; row-wise squares of it: z
    holding a matrix             1  m a                  ``hold`` (in chunks; each counts as a round)
    truncation                   1  (m + 2) z            ``_truncate``
    fresh sharing                0  0                    ``refresh``
    random bits (Boolean)        0  0                    ``random_bits``
    bit -> ring element          1  z and m words for every 64 bits
    ring element -> k bits       n = 2: 1 + ceil(log2(k-1)); (2 m + 1) k bits and the ANDs of ``add_from_signals``
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cofit.arithmetic import Generator, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, to_planes, unpack
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.errors import InvalidInputError, PeerClosedError
from cofit.sharing.adder import add_from_signals, top_bit_from_signals
from cofit.sharing.carry_save import carry_signals, levels
from cofit.sharing.costs import Cost, Costs, DealingCost
from cofit.sharing.dealing import CHUNK_BYTES, chunks, last_summand
from cofit.sharing.from_dealer import SPREAD, FromDealer
from cofit.sharing.held import HeldShare
from cofit.sharing.preprocessing import Bilinear, ProductMask
from cofit.sharing.scheme import Bytes, Place, Scheme, SchemeInfo, as_bytes
from cofit.sharing.shares import BitShare, Component, ComponentFacts, DealtShare, Share
from cofit.transport import Mesh


@dataclass(frozen=True, slots=True, repr=False)
class Semi2kDealt:
    """What an owner dealt to one party: a seed, or (to rank 0) the summand itself."""

    ring: Ring
    shape: Shape
    content: bytes | RingArray

    def expand(self) -> Share:
        """Draw the summand if it came as a seed."""
        if isinstance(self.content, bytes):
            return Share(self.ring, (Generator(self.content).ring(self.ring, self.shape),))
        return Share(self.ring, (self.content,))

    def expand_into(self, out: RingArray) -> None:
        """Write the summand to its place in a larger array."""
        if isinstance(self.content, bytes):
            Generator(self.content).ring_into(self.ring, out)
        else:
            out[...] = self.content


class Semi2k(Scheme):
    """One of the computing parties."""

    info = SchemeInfo(
        name="semi2k",
        parties=(2, None),
        default_parties=2,
        adversary="passive: corrupted parties follow the protocol but look at all they see",
        threshold="all but one of n (dishonest majority), the dealer not among them",
        assumptions="the dealer follows the protocol and colludes with no party; AES-256 is a pseudorandom function",
        dealer=True,
    )
    _source: FromDealer

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None) -> None:
        super().__init__(mesh, names, dealer)
        self._others = [rank for rank in range(len(self.names)) if rank != self.rank]
        self._constant_part = 0 if self.rank == 0 else None
        self._pairs: dict[int, Generator] = {}
        self._coins = Generator(fresh_seed())

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
            dealing=DealingCost((parties - 1) * SEED_BYTES, 1, CHUNK_BYTES, seeds_first=False),
            input=Cost(0, 0),
            open=Cost(1, parties - 1),
            product=Cost(1, 1, left=opened, right=opened),
            refresh=Cost(0, 0),
            truncated_product=Cost(2, opened + 3, left=opened, right=opened),
            truncation=Cost(1, opened + 2),
            bit_to_ring=Cost(1, 1),
            carry_signals=Cost(1 + levels(parties), ands * (2 * opened + 1)),
            product_terms=2,
            inner_terms=2,
            public_terms=1,
            bit_words=opened,
            hold=DealingCost(0, opened, CHUNK_BYTES, seeds_first=False),
            listeners=1,
        )

    def _common_state(self, rank: int) -> int:
        """The positions of the streams that we share with that member, spread over 32 bits."""
        if not self._pairs:
            return 0
        if rank == len(self.names):
            return self._source.position_at_dealer
        return (self._pairs[rank].position * SPREAD ^ self._source.position) & 0xFFFFFFFF

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
            if error.peer != self._members[-1]:
                raise
            raise PeerClosedError(
                error.peer,
                f"{error} If it did not fail, its program ended before ours: the dealer sees no opened value, so a "
                "program must not branch on one.",
            ) from error

    def setup(self) -> None:
        """Agree on seeds with every other party, k_ij = HKDF(half of i, half of j; session), and hear the dealer's."""
        mine = {rank: fresh_seed() for rank in self._others}
        heard = {rank: np.empty(SEED_BYTES, np.uint8) for rank in (*self._others, len(self.names))}
        self._exchange("setup", {rank: [np.frombuffer(half, np.uint8)] for rank, half in mine.items()}, heard)
        session = self.mesh.terms.session
        for rank in self._others:
            halves = (mine[rank], heard[rank].tobytes())
            low, high = min(rank, self.rank), max(rank, self.rank)
            ordered = halves if self.rank == low else halves[::-1]
            self._pairs[rank] = Generator(derive_seed(b"".join(ordered) + session, f"semi2k seed {low} {high}"))
        dealt = derive_seed(heard[len(self.names)].tobytes() + session, f"semi2k dealer {self.rank}")
        self._source = FromDealer(dealt, len(self.names), self.rank == len(self.names) - 1)

    def verify(self) -> None:
        """Nothing to check: security is passive."""

    # --- input and output --------------------------------------------------------------------------------

    @classmethod
    def deal(cls, ring: Ring, values: RingArray, parties: int) -> Iterator[Mapping[int, Bytes]]:
        """Seeds to all but the first party, which gets the rest in chunks (the last hears from the dealer already)."""
        cls.info.check_parties(parties)
        seeds = {rank: fresh_seed() for rank in range(1, parties)}
        yield {rank: memoryview(seed) for rank, seed in seeds.items()}
        for rest in last_summand(ring, values, list(seeds.values())):
            yield {0: rest}

    def receive_input(self, owner: str, ring: Ring, shape: Shape) -> DealtShare:
        if self.rank:
            seed = np.empty(SEED_BYTES, np.uint8)
            self.mesh.exchange(self._label + "input", {}, {owner: seed.data})
            return Semi2kDealt(ring, shape, seed.tobytes())
        values = ring.empty(shape)
        for chunk in chunks(ring, values.size):
            self.mesh.exchange(self._label + "input", {}, {owner: as_bytes(values.reshape(-1)[chunk])})
        return Semi2kDealt(ring, shape, values)

    @classmethod
    def layout(cls, ring: Ring, shape: Shape, parties: int) -> tuple[ComponentFacts, ...]:
        cls.info.check_parties(parties)
        seeds = [ComponentFacts(f"seed_{rank}", (rank,), SEED_BYTES) for rank in range(1, parties)]
        return (*seeds, ComponentFacts("x_0", (0,), math.prod(shape) * ring.element_bytes))

    @classmethod
    def components(cls, ring: Ring, values: RingArray, parties: int, seed: bytes) -> tuple[Component, ...]:
        *facts, rest = cls.layout(ring, values.shape, parties)
        seeds = [derive_seed(seed, f"semi2k summand {fact.ranks[0]}") for fact in facts]
        drawn = [
            Component(fact, functools.partial(_whole, content)) for fact, content in zip(facts, seeds, strict=True)
        ]
        return (*drawn, Component(rest, lambda: last_summand(ring, values, seeds)))

    @classmethod
    def assemble(cls, ring: Ring, shape: Shape, rank: int, received: Mapping[str, memoryview]) -> DealtShare:
        if rank:
            return Semi2kDealt(ring, shape, bytes(received[f"seed_{rank}"]))
        return Semi2kDealt(ring, shape, np.frombuffer(received["x_0"], ring.dtype).reshape(shape))

    def _expand_joined(self, ring: Ring, shape: Shape, pieces: Iterable[tuple[DealtShare, Place]]) -> Share:
        joint = ring.empty(shape)
        for dealt, place in pieces:
            if not isinstance(dealt, Semi2kDealt):
                raise InvalidInputError(f"Only shares dealt by semi2k can be joined; got {type(dealt).__name__}.")
            dealt.expand_into(joint[place])
        return Share(ring, (joint,))

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
        self._exchange(operation, send, {**theirs, **self._source.awaited()})
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
        """Open a under a mask, chunk by chunk, in the memory of our share of it (in a copy if that is a view)."""
        if isinstance(a, HeldShare):
            return a
        ring, own = a.ring, a.parts[0]
        mask = self._source.matrix(ring, a.shape)
        public = own if own.flags.owndata and own.flags.writeable and own.flags.c_contiguous else own.copy(order="C")
        flat, masks = public.reshape(-1), mask.reshape(-1)
        for chunk in chunks(ring, flat.size):
            piece = ring.sub(flat[chunk], masks[chunk])
            opened = self._reveal("hold", ring, piece, range(len(self.names)))
            flat[chunk] = opened
        return HeldShare(ring, public, mask, adds_public=self.rank == 0)

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        """As ``_product``, for operands that may have to be broadcast; the square of a value opens it once."""
        left, right = a.parts[0], b.parts[0]
        if a is b:
            masks = self._source.product(ring.mul, ring, left.shape, None, shape)
            (e,) = self._opened("mul", ring, [ring.sub(left, masks.left)])
            return self._finished("mul", ring, ring.mul(e, ring.add(left, masks.left)), masks, shape, shift, plus)
        masks = self._source.product(ring.mul, ring, left.shape, right.shape, shape)
        e, f = self._opened("mul", ring, [ring.sub(left, masks.left), ring.sub(right, masks.right)])
        return self._finished("mul", ring, ring.mul_sum((e, masks.left), (right, f)), masks, shape, shift, plus)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        right = b.parts[0]
        e, f, masks = self._masked("matmul", ring, ring.matmul, a, right, shape)
        product = ring.matmul_sum((e, masks.left), (right, f))
        return self._finished("matmul", ring, product, masks, shape, shift, plus)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        multiply = functools.partial(_rows_product, ring)
        if isinstance(a, HeldShare) and a is b:
            masks = self._source.product(multiply, ring, a.mask, None, shape)
            self._opened("inner", ring, [])
            twice = [(a.public, a.mask)] * 2 + ([(a.public, a.public)] if self.rank == 0 else [])
            product = ring.inner_sum(*zip(*twice, strict=True))
        elif a is b:
            own = a.parts[0]
            masks = self._source.product(multiply, ring, own.shape, None, shape)
            (e,) = self._opened("inner", ring, [ring.sub(own, masks.left)])
            product = ring.inner_sum((e, e), (own, masks.left))
        else:
            right = b.parts[0]
            e, f, masks = self._masked("inner", ring, multiply, a, right, shape)
            product = ring.inner_sum((e, masks.left), (right, f))
        return self._finished("inner", ring, product, masks, shape, shift, None)

    def _masked(
        self, operation: str, ring: Ring, multiply: Bilinear, a: Share, right: RingArray, shape: Shape
    ) -> tuple[RingArray, RingArray, ProductMask]:
        """Open a - A and b - B; of a held a only the latter."""
        if isinstance(a, HeldShare):
            masks = self._source.product(multiply, ring, a.mask, right.shape, shape)
            (f,) = self._opened(operation, ring, [ring.sub(right, masks.right)])
            return a.public, f, masks
        left = a.parts[0]
        masks = self._source.product(multiply, ring, left.shape, right.shape, shape)
        e, f = self._opened(operation, ring, [ring.sub(left, masks.left), ring.sub(right, masks.right)])
        return e, f, masks

    def _opened(self, operation: str, ring: Ring, own: Sequence[RingArray]) -> list[RingArray]:
        """Open several masked values to everybody in one exchange."""
        if not own:
            awaited = self._source.awaited()
            if awaited:
                self._exchange(operation, {}, awaited)
            return []
        joint = own[0].reshape(-1) if len(own) == 1 else np.concatenate([array.reshape(-1) for array in own])
        opened = self._reveal(operation, ring, joint, range(len(self.names)))
        assert opened is not None  # noqa: S101 - for the type checker: everybody receives
        ends = np.cumsum([array.size for array in own])
        return [opened[end - array.size : end].reshape(array.shape) for array, end in zip(own, ends, strict=True)]

    def _finished(
        self,
        operation: str,
        ring: Ring,
        product: RingArray,
        masks: ProductMask,
        shape: Shape,
        shift: int,
        plus: Share | None,
    ) -> Share:
        """Add our share of the masks' product, and ``plus``; truncate."""
        summand = ring.add(product.reshape(shape), masks.product)
        if plus is not None:
            summand = ring.add(summand, plus.parts[0])
        return self._masked_truncation(operation, ring, summand, shift) if shift else Share(ring, (summand,))

    # --- truncation that never fails ---------------------------------------------------------------------

    def _truncate(self, a: Share, shift: int) -> Share:
        return self._masked_truncation("truncate", a.ring, a.parts[0], shift)

    def _masked_truncation(self, operation: str, ring: Ring, summand: RingArray, shift: int) -> Share:
        """Open c = z + 2^(k-2) + r and undo the mask; see ``semi2k_proof.md``, "Truncation"."""
        if not isinstance(ring, PowerOfTwoRing):
            raise InvalidInputError(f"Elements of {ring.name} cannot be truncated.")
        masks = self._source.truncation(ring, summand.shape, shift)
        (opened,) = self._opened(operation, ring, [ring.add(summand, masks.mask)])
        masked = ring.add(opened, _element(ring, ring.bits - 2))
        not_wrapped = ring.shr(masked, ring.bits - 1)
        wrap = ring.shl(ring.sub(masks.top, ring.mul(masks.top, not_wrapped)), ring.bits - shift)
        result = ring.sub(wrap, masks.shifted)
        if self.rank == 0:
            result = ring.add(result, ring.sub(ring.shr(masked, shift), _element(ring, ring.bits - 2 - shift)))
        return Share(ring, (result,))

    # --- bits --------------------------------------------------------------------------------------------

    def random_bits(self, rows: int, count: int) -> BitShare:
        """Words of our own, which nobody else knows: the dealer neither."""
        return BitShare(Share(BITS, (self._coins.ring(BITS, (rows, packed_length(count))),)), count)

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """Open b XOR rho for a bit rho that is shared in both worlds; b = c + rho - 2 c rho."""
        double = self._source.bits(ring, bits.rows, bits.count)
        (opened,) = self._opened("from_bits", BITS, [BITS.add(bits.packed.parts[0], double.words)])
        c = ring.from_int(unpack(opened, bits.count))
        flipped = ring.mul(double.elements, ring.add(c, c))
        result = ring.sub(double.elements, flipped)
        return Share(ring, (ring.add(result, c) if self.rank == 0 else result,))

    def to_bits(self, a: Share) -> BitShare:
        with self.label("to_bits"):
            return add_from_signals(self, *carry_signals(self, self._summand_bits(a)))

    def sign_bits(self, a: Share) -> BitShare:
        with self.label("sign_bits"):
            return top_bit_from_signals(self, *carry_signals(self, self._summand_bits(a)))

    def _summand_bits(self, a: Share) -> list[BitShare]:
        """Return the bits of every party's summand, each shared as itself by that party and zero elsewhere."""
        ring = a.ring
        if not isinstance(ring, PowerOfTwoRing):
            raise InvalidInputError(f"Elements of {ring.name} have no bits to take.")
        count = math.prod(a.shape)
        planes = to_planes(ring, a.parts[0])
        zeros = BITS.zeros(planes.shape)
        parts = [planes if rank == self.rank else zeros for rank in range(len(self.names))]
        return [BitShare(Share(BITS, (part,)), count) for part in parts]


def _rows_product(ring: Ring, a: RingArray, b: RingArray) -> RingArray:
    return ring.inner_sum([a], [b])


def _whole(content: bytes) -> Iterator[Bytes]:
    yield memoryview(content)


def _element(ring: PowerOfTwoRing, exponent: int) -> RingArray:
    return ring.from_int(np.asarray(1 << exponent, dtype=object))
