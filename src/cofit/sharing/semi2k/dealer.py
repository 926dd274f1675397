"""The dealer of ``semi2k``: it runs the party program on shares without values and sends what comes next.

Shapes and control flow are public, so the program itself says which correlation every step needs. The dealer waits for
nobody but at announcements: it streams ahead of the parties as far as the connection holds, and its work overlaps
theirs. It sees no share, no opening and no masked value; see ``proof.md``, "What the dealer sees".

A mask that is held for many products is kept here, once as large as the matrix, whoever has which part of it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length
from cofit.arithmetic.engine import LOCAL
from cofit.arithmetic.prg import derive_seed, fresh_seed
from cofit.errors import InvalidInputError
from cofit.sharing.adder import TakesBits, plane_count
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.blank import Blank, blank_bits, nothing
from cofit.sharing.carry_save import carry_signals
from cofit.sharing.held import HeldMask, HeldShare, known_elements, matrix_product, rows_product
from cofit.sharing.numbers import FromNumbers
from cofit.sharing.regions import Region, regions_in, whole
from cofit.sharing.semi2k.from_dealer import Dealing
from cofit.sharing.semi2k.party import Semi2k, _rows_product
from cofit.sharing.shares import BitShare, Share


class Semi2kDealer(TakesBits, FromNumbers, Blank):
    """The dealer's side of a run of ``semi2k``; its rank is the one after the last party's."""

    info = Semi2k.info
    _dealing: Dealing | None = None

    def _common_state(self, rank: int) -> int:
        return 0 if self._dealing is None else self._dealing.position(rank)

    @property
    def _sure(self) -> Dealing:
        if self._dealing is None:
            raise InvalidInputError("The dealer has not been set up: call setup() first.")
        return self._dealing

    def setup(self) -> None:
        """Send every party a seed of its own."""
        seeds = [fresh_seed() for _ in self.names]
        self._exchange("setup", {rank: [np.frombuffer(seed, np.uint8)] for rank, seed in enumerate(seeds)})
        session = self.mesh.terms.session
        self._dealing = Dealing([derive_seed(s + session, f"semi2k dealer {i}") for i, s in enumerate(seeds)])

    def _send(self, operation: str, array: RingArray) -> None:
        self._exchange(operation, {len(self.names) - 1: [array]})

    # --- what the parties do without the dealer ----------------------------------------------------------

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        return self._blank(ring, shape)

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        """The dealer sees nothing of it: zeros stand for what the parties see."""
        return share.ring.zeros(share.shape) if to is None else None

    def refresh(self, share: Share) -> Share:
        return self._blank(share.ring, share.shape)

    # --- what it deals for -------------------------------------------------------------------------------

    def hold(self, a: Share) -> Share:
        if isinstance(a, HeldShare):
            return a
        regions = regions_in(a)
        if len(regions) == 1:
            joint = self._mask_of(a.ring, regions[0])
        else:
            joint = a.ring.empty(a.shape)
            for region in regions:
                joint[region.place] = self._mask_of(a.ring, region)
        mask = HeldMask(a.shape, ((whole(a.shape), self.engine.place(a.ring, (joint,))),), known_elements(regions))
        return HeldShare(LOCAL.place(a.ring, (nothing(a.ring, a.shape),)), mask, adds_public=False)

    def _mask_of(self, ring: Ring, region: Region) -> RingArray:
        if region.holder is None:
            return self._sure.matrix(ring, region.shape)
        return self._sure.known_matrix(ring, region.shape, region.holder)

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        dealt = self._sure.product(ring.mul, ring, a.shape, None if a is b else b.shape, shape)
        return self._sent("mul", ring, dealt, shape, shift)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        if isinstance(a, HeldShare):
            dealt = self._sure.held_product(matrix_product, ring, a.mask, b.shape, shape)
        else:
            dealt = self._sure.product(ring.matmul, ring, a.shape, b.shape, shape)
        return self._sent("matmul", ring, dealt, shape, shift)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        multiply = functools.partial(_rows_product, ring)
        if not isinstance(a, HeldShare):
            dealt = self._sure.product(multiply, ring, a.shape, None if a is b else b.shape, shape)
        elif a is b:
            dealt = self._sure.held_square(ring, a.mask, shape)
        else:
            dealt = self._sure.held_product(rows_product, ring, a.mask, b.shape, shape)
        return self._sent("inner", ring, dealt, shape, shift)

    def _sent(self, operation: str, ring: Ring, dealt: RingArray, shape: Shape, shift: int) -> Share:
        """Send what was dealt for a product; return the product."""
        self._send(operation, dealt)
        product = self._blank(ring, shape)
        return self._truncated(operation, product, shift) if shift else product

    def _truncate(self, a: Share, shift: int) -> Share:
        return self._truncated("truncate", a, shift)

    def _truncated(self, operation: str, a: Share, shift: int) -> Share:
        ring = power_of_two(a.ring, "Truncation by a masked opening")
        self._send(operation, self._sure.truncation(ring, a.shape, shift))
        return self._blank(a.ring, a.shape)

    # --- bits --------------------------------------------------------------------------------------------

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        self._send("from_bits", self._sure.bits(ring, bits.rows, bits.count))
        return self._blank(ring, (bits.rows, bits.count))

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        self._send("forms", self._sure.product(form.apply, BITS, a.shape, b.shape, shape))
        return self._blank(BITS, shape)

    def _number_mask(self, width: int, count: int) -> tuple[BitShare, RingArray]:
        """The dealer knows the digits, and keeps them until the sum is opened, which it does not see."""
        return blank_bits(width, count), self._sure.matrix(BITS, (width, packed_length(count)))

    def _unmasked(self, masked: BitShare, kept: RingArray, ring: IntegerRing) -> Share:
        self._send("unmask", self._sure.number(ring, kept, masked.count))
        return self._blank(ring, (masked.count,))

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        del ring
        count = int(np.prod(a.shape, dtype=np.int64))
        return carry_signals(self.boolean, [blank_bits(plane_count(planes), count) for _ in self.names])
