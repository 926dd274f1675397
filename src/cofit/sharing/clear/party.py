"""``clear``: the cleartext twin. Same interface, no secrecy: every party holds every value.

For debugging and golden results. Truncation is the exact floor, so another scheme's result is that or one unit more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofit.arithmetic import Generator, IntegerRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import to_planes, unpack
from cofit.arithmetic.prg import SEED_BYTES, fresh_seed
from cofit.errors import InvalidInputError, parameter_error
from cofit.sharing.adder import planes_of
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.boolean import Boolean
from cofit.sharing.costs import BitCosts, Cost, Costs
from cofit.sharing.numbers import plain_numbers
from cofit.sharing.operands import own_values
from cofit.sharing.packed_bits import PackedBits, PackedBoolean, common_count, words_of
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import BitShare, PlacedBits, Share
from cofit.sharing.spec import SchemeInfo, Spec
from cofit.sharing.summands import SummandInputs
from cofit.transport import Mesh


class Clear(Scheme):
    """One of any number of parties who all see everything."""

    info = SchemeInfo(
        name="clear",
        parties=(1, None),
        default_parties=3,
        adversary="none: every party sees every value",
        most_corrupted=lambda _: 0,
        corrupted="{threshold}",
        assumptions="for debugging only",
        secret=False,
    )
    _constant_part = 0
    _coins: Generator

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self.boolean: Boolean = PackedBoolean(self, self._random_words, self._bilinear_words)

    @property
    def _part_count(self) -> int:
        return 1

    @classmethod
    def costs(cls, spec: Spec) -> Costs:
        """Inputs are sent to everybody; all the rest is free."""
        others, free = spec.parties - 1, Cost(0, 0)
        waits = min(others, 1)
        return Costs(
            setup_rounds=waits,
            setup_bytes=others * SEED_BYTES,
            input=Cost(waits, others),
            open=free,
            product=free,
            bits=BitCosts(input=Cost(waits, others), open=free, product=free),
            refresh=free,
            truncated_product=free,
            truncation=free,
            bit_to_ring=free,
            carry_signals=None,
            product_terms=1,
            inner_terms=1,
            public_terms=1,
            unmasked=free,
            unmasked_words=0,
        )

    def setup(self) -> None:
        """The first party draws the seed of the common coins."""
        seed = np.frombuffer(fresh_seed(), np.uint8).copy()
        self._broadcast("setup", 0, seed)
        self._coins = Generator(seed.tobytes()[:SEED_BYTES])

    def _broadcast(self, operation: str, source: int, array: RingArray) -> None:
        others = [rank for rank in range(len(self.names)) if rank != source]
        if self.rank == source:
            self._exchange(operation, {rank: [array] for rank in others})
        else:
            self._exchange(operation, {}, {source: array})

    @classmethod
    def inputs(cls, spec: Spec) -> SummandInputs:
        """One summand, in full, to everybody."""
        return SummandInputs(cls.info.name, ((0,),) * spec.parties, 0)

    def refresh(self, share: Share) -> Share:
        return share

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        values = ring.empty(shape) if self.rank != source else own_values(self.mesh.name, ring, values, shape)
        self._broadcast("input", source, values)
        return Share(ring, (values,))

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        return share.parts[0].copy() if to is None or self.rank in to else None

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        return self._floor(ring, _added(ring, ring.mul(a.parts[0], b.parts[0]), plus), shift)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        return self._floor(ring, _added(ring, a.placed.matmul_sum(b.parts), plus), shift)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        return self._floor(ring, a.placed.inner_sum((0,), b.placed, (0,)), shift)

    def _truncate(self, a: Share, shift: int) -> Share:
        return self._floor(a.ring, a.parts[0], shift)

    @staticmethod
    def _floor(ring: Ring, product: RingArray, shift: int) -> Share:
        if shift and isinstance(ring, IntegerRing):
            product = ring.sar(product, shift)
        return Share(ring, (product,))

    def _random_words(self, shape: Shape) -> Share:
        return Share(BITS, (self._coins.ring(BITS, shape),))

    def to_bits(self, a: Share, bits: int | None = None) -> BitShare:
        if not isinstance(a.ring, IntegerRing):
            raise InvalidInputError(f"Elements of {a.ring.name} have no bits to take.")
        end = a.ring.bits if bits is None else bits
        if not 0 < end <= a.ring.bits:
            raise parameter_error("bits", "taking bits", f"above 0 and at most {a.ring.bits}", bits)
        return PackedBits(Share(BITS, (to_planes(a.ring, a.parts[0])[:end],)), a.parts[0].size)

    def sign_bits(self, a: Share, low: int = 0, bits: int | None = None) -> BitShare:
        if low or bits is not None:
            planes_of(a, low, bits)
        return self.boolean.select_rows(self.to_bits(a, bits), [-1])

    def top_bits(self, a: Share, low: int = 0) -> BitShare:
        if low:
            planes_of(a, low)
        return self.boolean.select_rows(self.to_bits(a), [-2, -1])

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        return Share(BITS, (form.apply(a.parts[0], b.parts[0]),))

    def from_numbers(self, numbers: Sequence[PlacedBits], ring: IntegerRing) -> Share:
        total = ring.zeros((common_count(*(bits for _, bits in numbers)),))
        for place, bits in numbers:
            number, _ = plain_numbers(ring, words_of(bits).parts[0], bits.count)
            total = ring.add(total, ring.shl(number, place))
        return Share(ring, (total,))

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        return Share(ring, (ring.from_int(unpack(words_of(bits).parts[0], bits.count)),))


def _added(ring: Ring, product: RingArray, plus: Share | None) -> RingArray:
    return product if plus is None else ring.add(product, plus.parts[0])
