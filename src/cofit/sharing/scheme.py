"""The interface of a secret-sharing scheme, as one party runs it.

A scheme is a subclass of ``Scheme`` in a package of its own, registered in ``registry.py``. It is ring-polymorphic: the
ring travels with the share. Everything local and linear is written here once, over the ``parts`` of a share; a scheme
adds what needs messages or its own structure. Nothing above this layer looks inside a share.

The interface was checked against the schemes to come: additive sharing (one part; a dealer is one more peer on the
mesh), four-party replicated sharing (three parts; ``verify``), Shamir sharing over a prime field (one part; ``Ring``
is a field; bits are field elements, so ``BitShare`` is opaque).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack, packed_length, unpack
from cofit.arithmetic.ring import broadcast_shape, inner_shape, matmul_shape
from cofit.errors import InvalidInputError, parameter_error
from cofit.sharing.bit_forms import BitForm
from cofit.sharing.costs import Costs
from cofit.sharing.inputs import Inputs, receive_components
from cofit.sharing.member import Member
from cofit.sharing.operands import check_plus, check_shift, common_count, common_ring, shifting
from cofit.sharing.shares import BitShare, ComponentFacts, DealtShare, Place, PlacedBits, Share
from cofit.sharing.summands import joined

_FEWEST_SUMMANDS = 4


class Scheme(Member):
    """One party's running instance of a secret-sharing scheme.

    ``mesh`` connects this party to the other computing parties ``names`` (in the order of their ranks), to the owners,
    and to the ``dealer`` where the scheme has one; the dealer's rank is the one after the last party's. Every method
    must be called by all computing parties (and the dealer) in the same order with the same public arguments.
    """

    holds_values: ClassVar[bool] = True
    """Whether this member has shares, and something to say: not so of a dealer or a meter (``blank``)."""
    _constant_part: int | None  # which of our parts carries a public constant

    @classmethod
    @abstractmethod
    def costs(cls, parties: int) -> Costs:
        """Return what the primitive operations cost among this many parties; the conformance suite holds it true."""

    # --- life --------------------------------------------------------------------------------------------

    @abstractmethod
    def setup(self) -> None:
        """Agree on fresh correlated randomness with the other parties. Called once, before anything else."""

    @abstractmethod
    def verify(self) -> None:
        """Raise ProtocolError if any check of an active scheme is open or failed; passive schemes have none."""

    # --- input and output --------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def inputs(cls, parties: int) -> Inputs:
        """Return how owners share values among this many parties."""

    def receive_input(self, owner: str, ring: Ring, shape: Shape) -> DealtShare:
        """Receive this party's components of what ``owner`` deals in a run, and see that it dealt to all the same.

        Expanding the share is left to a moment when nobody waits.
        """
        inputs = self.inputs(len(self.names))
        layout = inputs.layout(ring, shape)
        received = receive_components(self.mesh, self._label + "input", owner, layout, self.rank)
        self._compare_dealt(owner, layout, received)
        return inputs.assemble(ring, shape, self.rank, received)

    def _compare_dealt(self, owner: str, layout: Sequence[ComponentFacts], received: Mapping[str, memoryview]) -> None:
        """Raise DisputeError if parties that were dealt one component have different ones; where none is, do nothing.

        The protocols may be for parties that do not cheat; owners may cheat with any.
        """

    def check_stored(self, shares: Sequence[Share]) -> None:
        """Raise ProtocolError unless shares that the parties stored earlier are sharings of one value each.

        Nothing to check where security is passive.
        """
        del shares

    @abstractmethod
    def refresh(self, share: Share) -> Share:
        """Return a fresh, independent sharing of the same value: for shares that outlive a session."""

    def expand_joined(
        self,
        ring: Ring,
        shape: Shape,
        pieces: Iterable[tuple[DealtShare, Place]],
        constant: tuple[RingArray, Place] | None = None,
    ) -> Share:
        """Expand dealt shares, each into its place in one array of this shape. Local.

        ``constant``: a public element that fills one more place. A piece is taken only when the one before it is done,
        and not kept, so that whoever hands them over one by one never holds the data twice.
        """
        share = joined(ring, shape, pieces, self._part_count)
        if constant is not None:
            element, place = constant
            for i, part in enumerate(share.parts):
                part[place] = element if i == self._constant_part else ring.zeros(())
        return share

    def hold(self, a: Share) -> Share:
        """Return the value of ``a``, prepared for many products with it on the left. ``a`` is used up.

        By default nothing needs to be prepared. A scheme that opens masked operands does so here, once for all of them.
        """
        return a

    @abstractmethod
    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        """Share values that the computing party of rank ``source`` holds (it alone passes ``values``)."""

    @abstractmethod
    def open(self, share: Share, to: Sequence[int] | None = None) -> RingArray | None:
        """Reveal a value to the ranks in ``to`` (by default all); the others get None."""

    # --- local, linear -----------------------------------------------------------------------------------

    def constant(self, ring: Ring, values: RingArray) -> Share:
        """Return the trivial sharing of a public value."""
        zeros = ring.zeros(values.shape)
        parts = [zeros] * self._part_count
        if self._constant_part is not None:
            parts[self._constant_part] = ring.check(values)
        return Share(ring, tuple(parts))

    @property
    @abstractmethod
    def _part_count(self) -> int: ...

    def add(self, a: Share, b: Share) -> Share:
        """Return a + b (XOR for bits). Local."""
        ring = common_ring(a, b)
        return Share(ring, tuple(ring.add(x, y) for x, y in zip(a.parts, b.parts, strict=True)))

    def sub(self, a: Share, b: Share) -> Share:
        """Return a - b. Local."""
        ring = common_ring(a, b)
        return Share(ring, tuple(ring.sub(x, y) for x, y in zip(a.parts, b.parts, strict=True)))

    def neg(self, a: Share) -> Share:
        """Return -a. Local."""
        return a.linear(a.ring.neg)

    def add_public(self, a: Share, values: RingArray) -> Share:
        """Return a + values. Local."""
        shape = broadcast_shape(a.shape, values.shape)
        parts = [np.broadcast_to(part, shape) for part in a.parts]
        if self._constant_part is not None:
            parts[self._constant_part] = a.ring.add(parts[self._constant_part], values)
        return Share(a.ring, tuple(parts))

    def mul_public(self, a: Share, values: RingArray) -> Share:
        """Return a * values, element-wise. Local."""
        return a.linear(lambda part: a.ring.mul(part, values))

    def matmul_public(self, a: Share, values: RingArray) -> Share:
        """Return a @ values. Local."""
        return a.linear(lambda part: a.ring.matmul(part, values))

    def rmatmul_public(self, values: RingArray, a: Share) -> Share:
        """Return values @ a. Local."""
        return a.linear(lambda part: a.ring.matmul(values, part))

    def sum(self, a: Share, axis: int | None) -> Share:
        """Return the sum over one axis, or over all elements. Local."""
        return a.linear(lambda part: a.ring.sum(part, axis))

    def select(self, a: Share, index: Any) -> Share:
        """Return a[index], by NumPy's rules. Local."""
        return a.linear(lambda part: np.asarray(part[index]))

    def concatenate(self, pieces: Sequence[Share], axis: int) -> Share:
        """Join shares of one ring along an axis. Local."""
        parts = zip(*(piece.parts for piece in pieces), strict=True)
        return Share(pieces[0].ring, tuple(np.concatenate(part, axis=axis) for part in parts))

    def narrow(self, a: Share, ring: PowerOfTwoRing) -> Share:
        """Return a modulo the smaller power of two of ``ring``. Local: reduction is a homomorphism of rings."""
        wide = a.ring
        if not isinstance(wide, PowerOfTwoRing):
            raise InvalidInputError(f"Elements of {wide.name} cannot be reduced to those of {ring.name}.")
        return Share(ring, tuple(wide.narrow(part, ring) for part in a.parts))

    # --- products ----------------------------------------------------------------------------------------

    def mul(self, a: Share, b: Share, shift: int = 0, plus: Share | None = None) -> Share:
        """Return a * b + plus element-wise (AND and XOR for bits), divided by 2^shift as ``truncate`` does.

        ``plus``, of the shape of the product, costs no message.
        """
        ring = common_ring(a, b)
        shape = broadcast_shape(a.shape, b.shape)
        check_shift(ring, shift)
        check_plus(ring, shape, plus)
        return self._mul(ring, a, b, shape, shift, plus)

    def matmul(self, a: Share, b: Share, shift: int = 0, plus: Share | None = None) -> Share:
        """Return a @ b + plus, divided by 2^shift; ``plus`` as in ``mul``."""
        ring = common_ring(a, b)
        shape = matmul_shape(a.shape, b.shape)
        check_shift(ring, shift)
        check_plus(ring, shape, plus)
        return self._matmul(ring, a, b, shape, shift, plus)

    def inner(self, a: Share, b: Share, shift: int = 0) -> Share:
        """Return the sum of a * b over the last axis, divided by 2^shift. Sends messages for the sums only."""
        ring = common_ring(a, b)
        shape = inner_shape(a.shape, b.shape)
        check_shift(ring, shift)
        return self._inner(ring, a, b, shape, shift)

    def truncate(self, a: Share, shift: int) -> Share:
        """Return floor(a / 2^shift) or that plus one, reading a as signed; never anything else.

        Needs -2^(k-2) <= a < 2^(k-2) in a ring of k bits, which the caller must have proved.
        """
        check_shift(a.ring, shift)
        return self._truncate(a, shift) if shift else a

    @abstractmethod
    def _mul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share: ...

    @abstractmethod
    def _matmul(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int, plus: Share | None) -> Share: ...

    @abstractmethod
    def _inner(self, ring: Ring, a: Share, b: Share, shape: Shape, shift: int) -> Share: ...

    @abstractmethod
    def _truncate(self, a: Share, shift: int) -> Share: ...

    # --- bits --------------------------------------------------------------------------------------------

    @abstractmethod
    def random_bits(self, rows: int, count: int) -> BitShare:
        """Return shared uniform bits that nobody knows."""

    @abstractmethod
    def to_bits(self, a: Share, bits: int | None = None) -> BitShare:
        """Return the k bits of every element of a (two's complement), least significant row first.

        bits: for less, only so many of them, the lowest.
        """

    @abstractmethod
    def sign_bits(self, a: Share, low: int = 0, bits: int | None = None) -> BitShare:
        """Return the top bit of every element of a, one row: 1 where it is negative, reading a as signed.

        low: for less, of a number that is below a by less than ``summands`` 2^low, modulo the ring.
        bits: for less, of that number modulo 2^bits, a sum of shares modulo 2^bits: its sign if the caller has proved
        -2^(bits-1) <= a < 2^(bits-1), and nothing to rely on where not.
        """

    @abstractmethod
    def top_bits(self, a: Share, low: int = 0) -> BitShare:
        """Return the two top bits of every element of a, or of such a number, the lower one first."""

    @property
    def summands(self) -> int:
        """How many summands a shared value has at most, as bits are taken and parts are shifted."""
        return max(_FEWEST_SUMMANDS, len(self.names))

    def high_part(self, a: Share, shift: int) -> Share:
        """Return floor(a / 2^shift) less a number below ``summands``, modulo 2^(k - shift) alone. Local.

        The sum of the shifted parts lacks the carries from below, and has those out of the top too much: multiples of
        2^(k - shift).
        """
        return a.linear(shifting(a.ring, shift))

    def high_squares(self, a: Share, shift: int) -> Share:
        """Return the sum of the squares of ``high_part`` over the last axis. Sends what ``inner`` does."""
        high = self.high_part(a, shift)
        return self.inner(high, high)

    def fold(self, a: BitShare, groups: int) -> BitShare:
        """Return the same bits in ``groups`` times as many rows of as many times fewer, a multiple of 64. Local.

        Row r becomes the rows r groups, ..., r groups + groups - 1.
        """
        count = a.count // groups
        if count * groups != a.count or count % 64:
            raise parameter_error("groups", "fold", "such that rows of a multiple of 64 bits are left", groups)
        return BitShare(a.packed.linear(lambda part: part.reshape(a.rows * groups, -1)), count)

    @abstractmethod
    def from_bits(self, bits: BitShare, ring: Ring) -> Share:
        """Return the bits as ring elements 0 and 1, shape (rows, count)."""

    def random_ring_bits(self, ring: Ring, shape: Shape) -> Share:
        """Return shared uniform bits that nobody knows, as ring elements 0 and 1."""
        count = int(np.prod(shape, dtype=np.int64))
        return self.from_bits(self.random_bits(1, count), ring).map(lambda part: part.reshape(shape))

    def input_bits(self, source: int, bits: npt.NDArray[np.uint8] | None, rows: int, count: int) -> BitShare:
        """Share bits, shape (rows, count), that the party of rank ``source`` holds."""
        shape = (rows, packed_length(count))
        return BitShare(self.input(source, None if bits is None else pack(bits), BITS, shape), count)

    def constant_bits(self, bits: npt.NDArray[np.uint8]) -> BitShare:
        """Return the trivial sharing of public bits, shape (rows, count)."""
        return BitShare(self.constant(BITS, pack(bits)), bits.shape[-1])

    def xor(self, a: BitShare, b: BitShare) -> BitShare:
        """Return a XOR b. Local."""
        count = common_count(a, b)
        return BitShare(self.add(a.packed, b.packed), count)

    def and_(self, a: BitShare, b: BitShare) -> BitShare:
        """Return a AND b."""
        count = common_count(a, b)
        return BitShare(self.mul(a.packed, b.packed), count)

    def bilinear(self, a: BitShare, b: BitShare, form: BitForm) -> BitShare:
        """Return a public bilinear map of two shared arrays of bits; messages are for its results, as for ANDs."""
        count = common_count(a, b)
        shape = (form.rows(a.rows, b.rows), packed_length(count))
        with self.agreeing_on(repr(form.facts)):
            return BitShare(self._bilinear(a.packed, b.packed, form, shape), count)

    @abstractmethod
    def _bilinear(self, a: Share, b: Share, form: BitForm, shape: Shape) -> Share: ...

    @abstractmethod
    def from_numbers(self, numbers: Sequence[PlacedBits], ring: PowerOfTwoRing) -> Share:
        """Return the sum of numbers whose binary digits are shared, as ring elements; each is its digits' number times
        2^place. In a ring of k bits the sum must be below 2^(k-2), however large each is.
        """

    def not_(self, a: BitShare) -> BitShare:
        """Return NOT a. Local."""
        return BitShare(self.add_public(a.packed, pack(np.ones((1, a.count), np.uint8))), a.count)

    def select_rows(self, a: BitShare, rows: slice | Sequence[int]) -> BitShare:
        """Return some rows of shared bits. Local."""
        return BitShare(a.packed.map(lambda part: part[rows]), a.count)

    def stack_rows(self, pieces: Sequence[BitShare]) -> BitShare:
        """Return the rows of all pieces, in order. Local."""
        count = common_count(*pieces)
        parts = zip(*(piece.packed.parts for piece in pieces), strict=True)
        return BitShare(Share(BITS, tuple(np.concatenate(part) for part in parts)), count)

    def gather_rows(self, pieces: Sequence[tuple[BitShare, slice | Sequence[int]]]) -> BitShare:
        """Return some rows of each piece, in order: ``select_rows`` and ``stack_rows`` at once. Local."""
        count = common_count(*(bits for bits, _ in pieces))
        parts = zip(*(bits.packed.parts for bits, _ in pieces), strict=True)
        chosen = [rows for _, rows in pieces]
        gathered = (np.concatenate([x[rows] for x, rows in zip(part, chosen, strict=True)]) for part in parts)
        return BitShare(Share(BITS, tuple(gathered)), count)

    def open_bits(self, bits: BitShare, to: Sequence[int] | None = None) -> npt.NDArray[np.uint8] | None:
        """Reveal bits to the ranks in ``to`` (by default all)."""
        words = self.open(bits.packed, to)
        return None if words is None else unpack(words, bits.count)
