"""The dealer of ``semi2k``: it runs the party program on shares without values and sends what comes next.

Shapes and control flow are public, so the program itself says which correlation every step needs. The dealer waits for
nobody but at announcements: it streams ahead of the parties as far as the connection holds, and its work overlaps
theirs. It sees no share, no opening and no masked value; see ``proof.md``, "What the dealer sees".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from cofit.arithmetic import IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape, power_of_two
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.engine import LOCAL
from cofit.errors import InvalidInputError
from cofit.sharing.adder import TakesBits, plane_count
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.blank import Blank, blank_bits, nothing
from cofit.sharing.carry_save import carry_signals
from cofit.sharing.correlations import (
    Bits,
    Correlations,
    Demand,
    Digits,
    Mask,
    MaskDigits,
    Number,
    Product,
    Request,
    Truncation,
    held_product,
)
from cofit.sharing.held import HeldMask, HeldShare, known_elements
from cofit.sharing.numbers import FromNumbers
from cofit.sharing.regions import regions_in
from cofit.sharing.semi2k.from_dealer import Dealing
from cofit.sharing.semi2k.party import Semi2k
from cofit.sharing.shares import BitShare, Share
from cofit.sharing.spec import Spec
from cofit.transport import Mesh

T = TypeVar("T")


class Semi2kDealer(TakesBits, FromNumbers, Blank):
    """The dealer's side of a run of ``semi2k``; its rank is the one after the last party's."""

    info = Semi2k.info

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._source: Correlations = Dealing(self._exchange, len(self.names))
        self._started = False

    def _common_state(self, rank: int) -> int:
        return self._source.position(rank) if self._started else 0

    def setup(self) -> None:
        """Send every party a seed of its own."""
        self._exchange("setup", *self._source.travelling())
        self._source.start(self.mesh.terms.session)
        self._started = True

    def prepare(self, demand: Demand) -> None:
        self._source.prepare(demand)

    def _ask(self, operation: str, request: Request[T]) -> T:
        """Ask as the parties do, and send what they wait for."""
        if not self._started:
            raise InvalidInputError("The dealer has not been set up: call setup() first.")
        answer = self._source.ask(request)
        send, receive = self._source.travelling()
        if send or receive:
            self._exchange(operation, send, receive)
        return answer

    # --- what the parties do without the dealer ----------------------------------------------------------

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        return self._blank(ring, shape)

    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        """The dealer sees nothing of it: zeros stand for what the parties see."""
        return share.ring.zeros(share.shape) if to is None else None

    def refresh(self, share: Share) -> Share:
        return self._blank(share.ring, share.shape)

    # --- what it deals for -------------------------------------------------------------------------------

    def hold(self, a: Share, products: int = 1, *, owned: bool = False) -> Share:
        if isinstance(a, HeldShare):
            return a
        regions = regions_in(a)
        made = self._ask("hold", Mask(a.ring, a.shape, regions))
        placed = tuple((place, self.engine.place(a.ring, (piece,))) for place, piece in made.pieces)
        mask = HeldMask(a.shape, placed, known_elements(regions), number=made.number, record=made)
        return HeldShare(LOCAL.place(a.ring, (nothing(a.ring, a.shape),)), mask, adds_public=False)

    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        return self._product("mul", ring, a, b, shape, shift)

    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share:
        if isinstance(a, HeldShare):
            self._ask("matmul", held_product(ring, "matmul", a.mask, b.shape, shape))
            return self._truncated("matmul", self._blank(ring, shape), shift)
        self._ask("matmul", Product(ring, "matmul", a.shape, b.shape, shape))
        return self._truncated("matmul", self._blank(ring, shape), shift)

    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        if not isinstance(a, HeldShare):
            return self._product("inner", ring, a, b, shape, shift)
        self._ask("inner", held_product(ring, "inner", a.mask, None if a is b else b.shape, shape))
        return self._truncated("inner", self._blank(ring, shape), shift)

    def _product(self, operation: str, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share:
        """A product of two values, or of one with itself."""
        self._ask(operation, Product(ring, operation, a.shape, None if a is b else b.shape, shape))
        return self._truncated(operation, self._blank(ring, shape), shift)

    def _truncate(self, a: Share, shift: int) -> Share:
        return self._truncated("truncate", a, shift)

    def _truncated(self, operation: str, a: Share, shift: int) -> Share:
        if not shift:
            return a
        self._ask(operation, Truncation(power_of_two(a.ring, "Truncation by a masked opening"), a.shape, shift))
        return self._blank(a.ring, a.shape)

    # --- bits --------------------------------------------------------------------------------------------

    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        self._ask("from_bits", Bits(ring, bits.rows, bits.count))
        return self._blank(ring, (bits.rows, bits.count))

    def _bilinear_words(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share:
        self._ask("forms", Product(BITS, form, a.shape, b.shape, shape))
        return self._blank(BITS, shape)

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], MaskDigits]:
        """The dealer knows the digits, and keeps them until the sum is opened, which it does not see."""
        return [blank_bits(width, count)], self._ask("unmask", Digits(BITS, width, count))

    def _unmasked(self, masked: BitShare, kept: MaskDigits, ring: IntegerRing) -> Share:
        self._ask("unmask", Number(ring, kept.number, masked.rows, masked.count, kept.words))
        return self._blank(ring, (masked.count,))

    def _carry_signals(self, a: Share, ring: PowerOfTwoRing, planes: slice) -> tuple[BitShare, BitShare]:
        del ring
        count = math.prod(a.shape)
        return carry_signals(self.boolean, [blank_bits(plane_count(planes), count) for _ in self.names])
