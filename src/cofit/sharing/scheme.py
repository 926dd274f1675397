"""The interface of a secret-sharing scheme, as one party runs it.

A scheme is a package, registered in ``registry.py``, and a composition of parts:

- the session with the other members: ranks, labels, messages, agreement (``member.py``);
- shared numbers: this file. The ring travels with the share; what is local and linear is written here once, over the
  ``parts`` of a share, and a scheme adds what needs messages or its own structure;
- shared bits, a part of its own (``boolean.py``), and the conversions between both (``conversion.py``);
- how owners share values (``inputs.py``), what is still to be checked (``verification.py``), and where correlated
  randomness comes from (``correlations.py``).

Nothing above this layer looks inside a share.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from cofit.arithmetic import IntegerRing, Place, Ring, RingArray, Shape
from cofit.arithmetic.engine import LOCAL, Engine
from cofit.arithmetic.mapped import blocks_of_rows
from cofit.arithmetic.power_of_two import shifting
from cofit.arithmetic.ring import broadcast_shape, inner_shape, matmul_shape
from cofit.errors import InvalidInputError
from cofit.sharing.conversion import Conversion
from cofit.sharing.correlations import Demand
from cofit.sharing.costs import Costs
from cofit.sharing.expansion import Expansion
from cofit.sharing.inputs import Inputs, Room, receive_components
from cofit.sharing.member import Member
from cofit.sharing.operands import check_plus, check_reduction, check_shift, common_ring
from cofit.sharing.placed import PlacedShare
from cofit.sharing.shares import BitShare, ComponentFacts, DealtShare, Share
from cofit.sharing.spec import Spec
from cofit.sharing.summands import joined
from cofit.sharing.sums import Clip, Kind, PartialSum, Product, ProductSum, repeated_to

_PIECE = 1 << 19  # elements of a matrix whose high parts travel at once


class Scheme(Member, Conversion):
    """One party's running instance of a secret-sharing scheme.

    ``mesh`` connects this party to the other computing parties ``names`` (in the order of their ranks), to the owners,
    and to the ``dealer`` where the scheme has one; the dealer's rank is the one after the last party's. Every method
    must be called by all computing parties (and the dealer) in the same order with the same public arguments.
    """

    holds_values: ClassVar[bool] = True
    """Whether this member has shares, and something to say: not so of a dealer or a meter (``blank``)."""
    engine: Engine = LOCAL
    """Who multiplies the big matrices of this party."""
    batch_bytes: int | None = None
    """What is computed row by row may hold so much at once; the same at all members, because it decides on rounds."""
    sessions: int = 1
    """How many sessions a run has at once, of which this is one: those of all shards, and of the heads. What a scheme
    leaves to chance in a run, all of them together do. The same at all members; set before ``setup``."""
    in_memory: ClassVar[str | None] = None
    """Why this scheme needs the data in memory, whatever its engine; None where an engine may have them in a file."""
    _constant_part: int | None  # which of our parts carries a public constant

    @classmethod
    @abstractmethod
    def costs(cls, spec: Spec) -> Costs:
        """Return what the primitive operations cost in this form of the scheme; the conformance suite holds it true."""

    # --- life --------------------------------------------------------------------------------------------

    @abstractmethod
    def setup(self) -> None:
        """Agree on fresh correlated randomness with the other parties. Called once, before anything else."""

    def prepare(self, demand: Demand) -> None:
        """Make correlated randomness ahead that the program will ask for (``demand.py``); nothing without any.

        All members prepare the same. What is left of it when the session ends is lost.
        """
        del demand

    def verify(self) -> None:
        """Make every check that was put off (``Costs.late`` says what it takes), or raise ProtocolError.

        Nothing is opened, stored or exported before. A passive scheme has nothing to check.
        """
        self.verification.refuse_after_failure()

    # --- input and output --------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def inputs(cls, spec: Spec) -> Inputs:
        """Return how owners share values in this form of the scheme."""

    def room(self, ring: Ring, shapes: Sequence[Shape]) -> Room | None:
        """Return memory for inputs that may be joined row by row; None where there is one part of a share only."""
        layout = self.inputs(self.spec).layout
        if self._part_count <= 1:
            return None
        return Room((layout(ring, shape) for shape in shapes), self.rank, self.engine.bytes_room)

    def receive_input(self, owner: str, ring: Ring, shape: Shape, room: Room | None = None) -> DealtShare:
        """Receive this party's components of what ``owner`` deals in a run, and see that it dealt to all the same.

        Expanding the share is left to a moment when nobody waits. ``room``: of ``room``, for inputs in that order.
        """
        inputs = self.inputs(self.spec)
        layout = inputs.layout(ring, shape)
        allot = self.engine.bytes_room
        received = receive_components(self.mesh, self._label + "input", owner, layout, self.rank, room, allot)
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
        share = self._joined(ring, shape, pieces)
        if constant is not None:
            element, place = constant
            for i, part in enumerate(share.parts):
                for rows in blocks_of_rows([part]):
                    part[rows][place] = element if i == self._constant_part else ring.zeros(())
        return share

    def _joined(self, ring: Ring, shape: Shape, pieces: Iterable[tuple[DealtShare, Place]]) -> Share:
        """Expand dealt shares into their places: summands, where an owner deals what a share is made of."""
        return joined(ring, shape, pieces, self._part_count, self._expansion(ring, shape))

    def _expansion(self, ring: Ring, shape: Shape) -> Expansion:
        return Expansion(self.engine, self.on_preparation, ring, shape, self._part_count)

    def hold(self, a: Share, products: int = 1, *, owned: bool = False) -> Share:
        """Return the value of ``a``, prepared for many products with it on the left.

        products: how many are foreseen with it, and as many with its transpose; there may be others. owned: that nobody
        else uses the memory of ``a``, now or later, so that it may be written to; if not, it is copied where need be.

        By default the engine takes the parts as they are. A scheme that opens masked operands does so here, once for
        all of them, and gives the engine what it multiplies then.
        """
        return a if isinstance(a, PlacedShare) else PlacedShare(self.engine.place(a.ring, a.parts))

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
        return a.times(values)

    def rmatmul_public(self, values: RingArray, a: Share) -> Share:
        """Return values @ a. Local."""
        return a.linear(lambda part: a.ring.matmul(values, part))

    @property
    def weighs_bits(self) -> bool:
        """Whether ``weighed_bits`` makes no element of every bit. Public."""
        return False

    def weighed_bits(self, bits: BitShare, weights: RingArray, ring: Ring) -> Share:
        """Return sums of the bits of every column times public elements, a row of ``weights`` for each: what
        ``from_bits`` returns, multiplied from the left. Sends no more than that does.
        """
        return self.rmatmul_public(weights, self.from_bits(bits, ring))

    def sum(self, a: Share, axis: int | None) -> Share:
        """Return the sum over one axis, or over all elements. Local."""
        return Share(a.ring, a.placed.sums(axis))

    def select(self, a: Share, index: Any) -> Share:
        """Return a[index], by NumPy's rules. Local."""
        return a.linear(lambda part: np.asarray(part[index]))

    def concatenate(self, pieces: Sequence[Share], axis: int) -> Share:
        """Join shares of one ring along an axis. Local."""
        parts = zip(*(piece.parts for piece in pieces), strict=True)
        return Share(pieces[0].ring, tuple(np.concatenate(part, axis=axis) for part in parts))

    def narrow(self, a: Share, ring: IntegerRing) -> Share:
        """Return a modulo the smaller modulus of ``ring``. Local, where reduction is a homomorphism of rings."""
        wide = check_reduction(a.ring, ring)
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

    def product_sums(self, wanted: Sequence[ProductSum | PartialSum]) -> list[Share]:
        """Return sums of products; here one product after the other. See ``sums.py``."""
        return [self._sum_in_turn(one) for one in wanted]

    def partial_sum(self, one: ProductSum) -> PartialSum:
        """Return what we have of a sum before its truncation, to be added to that of other rows.

        By default a share of it, with the messages of a product; ``product_sums`` truncates it then. A scheme whose
        products are local before their truncation sends nothing here.
        """
        return PartialSum(one.ring, self._sum_in_turn(one._replace(shift=0)).parts, one.shift)

    def _sum_in_turn(self, one: ProductSum | PartialSum) -> Share:
        if isinstance(one, PartialSum):
            return self.truncate(Share(one.ring, one.parts), one.shift)
        return self._product_of(one.products[0], one.shift, self._with_others(one))

    def _with_others(self, one: ProductSum) -> Share | None:
        """Return what is added to the first product: all others, and ``plus``."""
        plus = one.plus
        for other in one.products[1:]:
            term = repeated_to(self._product_of(other, 0, None), one.shape)
            plus = term if plus is None else self.add(plus, term)
        return plus

    def _product_of(self, product: Product, shift: int, plus: Share | None) -> Share:
        kind, a, b = self._operands(product)
        if kind is Kind.MUL:
            return self.mul(a, b, shift, plus)
        if kind is Kind.MATMUL:
            return self.matmul(a, b, shift, plus)
        if plus is None:
            return self.inner(a, b, shift)
        return self.truncate(self.add(self.inner(a, b), plus), shift)

    def _operands(self, product: Product) -> tuple[Kind, Share, Share]:
        """Return a product with one operand on either side: pairs of vectors are multiplied as rows of a table."""
        if product.kind is not Kind.PAIRS:
            return product.kind, product.lefts[0], product.rights[0]
        return Kind.INNER, self._columns(product.lefts), self._columns(product.rights)

    def _columns(self, vectors: Sequence[Share]) -> Share:
        """Return vectors as the columns of a table, each in one piece of memory."""
        rows = [vector.map(lambda part: part.reshape(1, -1)) for vector in vectors]
        return self.concatenate(rows, 0).map(np.transpose)

    @property
    def clips(self) -> bool:
        """Whether ``clipped_sum`` is an operation of this scheme. Public."""
        return False

    def clipped_sum(self, one: ProductSum, clip: Clip) -> Share:
        """Return a sum of products, truncated, and clipped to [lower, upper]: a vector. Exactly so, of the truncated
        sum.
        """
        raise InvalidInputError(f"Scheme '{self.info.name}' has no clipped sums: compare, and multiply.")

    def squared_distances(self, a: Share, row: Share) -> Share:
        """Return (a - row)^2 element-wise, for every row of a. Sends what a product does."""
        apart = self.sub(a, row)
        return self.mul(apart, apart)

    def squares_mask(self, ring: Ring, count: int) -> Share | None:
        """Return a vector that nobody knows, for ``foreseen_squares``; None for schemes that have no such operation."""
        del ring, count
        return None

    def foreseen_squares(self, a: Share, row: Share, weights: Share, mask: Share, masked: Share) -> Share:
        """Return (a - row)^2 @ weights, where ``masked`` is (a - row)^2 @ mask, for a mask that is used here alone.

        Opens weights - mask to all parties, which are uniform, and sends what a product of the result's shape does.
        """
        raise InvalidInputError(f"Scheme '{self.info.name}' foresees no squares: weigh squared_distances.")

    def truncate(self, a: Share, shift: int) -> Share:
        """Return floor(a / 2^shift) or that plus one, reading a as signed; never anything else.

        Needs -2^v <= a < 2^v, where v is the ring's ``value_bits``, which the caller must have proved.
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

    def high_part(self, a: Share, shift: int) -> Share:
        """Return floor(a / 2^shift) less a number below ``summands``, modulo 2^(k - shift) alone. Local.

        The sum of the shifted parts lacks the carries from below, and has those out of the top too much: multiples of
        2^(k - shift).
        """
        return Share(a.ring, tuple(map(shifting(a.ring, shift), a.parts)))  # no linear map

    def high_squares(self, a: Share, shift: int) -> Share:
        """Return the sum of the squares of ``high_part`` over the last axis. Sends what both do."""
        high = self.high_part(a, shift)
        return self.inner(high, high)

    def _high_squares_in_pieces(self, a: Share, shift: int) -> Share:
        """The same, some rows at a time: where high parts travel, no second matrix lies in memory."""
        step = max(1, _PIECE // max(1, math.prod(a.shape[1:])))
        rest = tuple(slice(None) for _ in a.shape[1:])
        rows = [slice(start, start + step) for start in range(0, a.shape[0], step)]
        pieces = [Scheme.high_squares(self, a.block((piece, *rest)), shift) for piece in rows]
        return pieces[0] if len(pieces) == 1 else self.concatenate(pieces, 0)
