"""Products with the matrices of two parties, by homomorphic encryption made ahead; see ``held.py``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofit.arithmetic import PowerOfTwoRing, Ring, RingArray, Shape, power_of_two
from cofit.arithmetic.power_of_two import shifting
from cofit.sharing.held import squares as squares_of
from cofit.sharing.pair.allowance import Allowance
from cofit.sharing.pair.conversion import PairConversion
from cofit.sharing.pair.held import (
    MaskedProduct,
    PairHeld,
    crossed,
    known_regions,
    operand,
    pair_held,
    regions_inside,
    square_steps,
)
from cofit.sharing.pair.rlwe.client import Client, key_bytes
from cofit.sharing.pair.rlwe.packing import MatrixPacking, RowsPacking
from cofit.sharing.pair.rlwe.parameters import Parameters
from cofit.sharing.pair.rlwe.server import Server
from cofit.sharing.pair.rules import by_encryption
from cofit.sharing.pair.transfers import Bytes
from cofit.sharing.regions import Region, regions_in, whole
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.transport import Mesh

Task = tuple[int, MatrixPacking | RowsPacking, RingArray]
"""Who serves, how it is packed, and what we have: the matrix where we serve, and else our masks, or rows."""


class PairMatrices(PairConversion):
    """One of the two parties, with the matrices that it holds."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._ends: dict[Parameters, tuple[Client, Server]] = {}
        self._allowance = Allowance(lambda: self.sessions)

    def hold(self, a: Share, products: int = 1, *, owned: bool = False) -> Share:
        """Nothing is sent: every party multiplies its own summand."""
        if isinstance(a, PairHeld):
            return a
        if len(a.shape) != 2 or not isinstance(a.ring, PowerOfTwoRing):
            return super().hold(a, products)
        return pair_held(self.engine.place(a.ring, a.parts), regions_in(a), products)

    def _held_product(self, operation: str, ring: Ring, a: PairHeld, right: RingArray, shape: Shape) -> RingArray:
        """Open b - B, and multiply our summand."""
        ring = power_of_two(ring, "A product with a matrix, between two parties alone,")
        self._note(operation, a.transposed, a.place, a.regions)
        columns = operand(right)
        count = columns.shape[1]
        due = a.ahead.due(a.transposed, count)
        if due:
            self._make_ahead(ring, a, due)
        made = [a.ahead.made[a.transposed].popleft() for _ in range(count)]
        masks = np.stack([each.mask for each in made], axis=1)
        rest = np.stack([each.product for each in made], axis=1)
        own, theirs = ring.sub(columns, masks), ring.empty(columns.shape)
        self._swap(operation, [own], [theirs])
        sums = ring.add(columns, theirs)
        product = a.placed.matmul_sum((sums if right.ndim == 2 else sums.reshape(-1),))
        return ring.add(product.reshape(shape), rest.reshape(shape))

    def _make_ahead(self, ring: PowerOfTwoRing, a: PairHeld, count: int) -> None:
        """Draw masks for ``count`` products, and share their products with the matrix."""
        rows, inner = a.shape
        masks = self._coins.ring(ring, (inner, count))
        blocks = crossed(a.regions, a.transposed)
        matrix = a.placed.fetch()[0]
        tasks = [
            (
                block.server,
                self._allowance.matrix(ring, *block.sizes, count),
                matrix[block.place] if block.server == self.rank else masks[block.place[1]],
            )
            for block in blocks
        ]
        total = ring.zeros((rows, count))
        self.on_preparation(0, 1)
        for block, share in zip(blocks, self._encrypted(tasks), strict=True):
            total[block.place[0]] = ring.add(total[block.place[0]], share)
        self.on_preparation(1, 1)
        for i in range(count):
            a.ahead.made[a.transposed].append(
                MaskedProduct(np.ascontiguousarray(masks[:, i]), np.ascontiguousarray(total[:, i]))
            )

    def high_squares(self, a: Share, shift: int) -> Share:
        """As usual; what a party knows has high parts that it knows."""
        if not by_encryption(a.shape):
            return super().high_squares(a, shift)
        high = shifting(a.ring, shift)(a.parts[0])
        squares = a.ring.inner_sum([high], [high])
        self._add_crossed_squares(a.ring, squares, high, known_regions(a))
        return Share(a.ring, (squares,))

    def _squares(self, a: Share) -> RingArray:
        """Return our share of the squares of rows; of what is held, only those that were not asked for before."""
        if not isinstance(a, PairHeld) or a.transposed:
            squares = a.ring.inner_sum([a.parts[0]], [a.parts[0]])
            self._add_crossed_squares(a.ring, squares, a.parts[0], known_regions(a))
            return squares
        own, (rows, columns) = a.parts[0], a.place
        for some in a.kept.missing(a.place):
            inside = slice(some.start - rows.start, some.stop - rows.start), whole(a.shape)[1]
            squares = squares_of(a.placed.block(inside))
            self._add_crossed_squares(a.ring, squares, own[inside], regions_inside(a.regions, inside))
            a.kept.keep((some, columns), squares)
        return a.kept.squares(a.place)

    def _add_crossed_squares(self, ring: Ring, squares: RingArray, own: RingArray, regions: Sequence[Region]) -> None:
        """Add our share of 2 x_0 x_1, of all rows, to our own squares."""
        ring = power_of_two(ring, "Squares of rows, between two parties alone,")
        steps = square_steps(regions)
        self._note("squares", regions)
        for done, step in enumerate(steps):
            self.on_preparation(done, len(steps))
            shares = self._encrypted(
                [(block.server, self._allowance.rows(ring, *block.sizes), own[block.place]) for block in step]
            )
            for block, share in zip(step, shares, strict=True):
                rows = block.place[0]
                squares[rows] = ring.signed_sum([squares[rows], share, share])
        self.on_preparation(len(steps), len(steps))

    def _encrypted(self, tasks: Sequence[Task]) -> list[RingArray]:
        """Return our shares of products of what the servers have with what the others encrypt; 2 rounds, and one more
        with the keys the first time.
        """
        if not tasks:
            return []
        with self._preparing():
            ends = [self._ends_for(packing.parameters) for _, packing, _ in tasks]
            both = list(zip(tasks, ends, strict=True))
            asked = [end[0].request(packing, have) for (server, packing, have), end in both if server != self.rank]
            requests = self._sent_and_heard("request", asked, [p.request_bytes for s, p, _ in tasks if s == self.rank])
            served = [(packing, have, end[1]) for (server, packing, have), end in both if server == self.rank]
            answers = [server.answer(p, request, x) for (p, x, server), request in zip(served, requests, strict=True)]
            given = [(packing, end[0]) for (server, packing, _), end in both if server != self.rank]
            replies = self._sent_and_heard("reply", [reply for _, reply in answers], [p.reply_bytes for p, _ in given])
            mine = iter([share for share, _ in answers])
            theirs = iter([client.finish(p, reply) for (p, client), reply in zip(given, replies, strict=True)])
            return [next(mine) if server == self.rank else next(theirs) for server, _, _ in tasks]

    def _ends_for(self, parameters: Parameters) -> tuple[Client, Server]:
        """Return our two ends for these parameters, with fresh keys of both parties."""
        if parameters not in self._ends:
            client = Client(parameters)
            (key,) = self._sent_and_heard("key", [client.key_message], [key_bytes(parameters)])
            self._ends[parameters] = client, Server(parameters, key)
        return self._ends[parameters]

    def _sent_and_heard(self, operation: str, out: Sequence[Bytes], sizes: Sequence[int]) -> list[Bytes]:
        room = [np.empty(size, np.uint8) for size in sizes]
        self._swap(operation, out, room)
        return room
