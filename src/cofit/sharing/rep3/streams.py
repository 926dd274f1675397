"""The random streams that every two of the three parties of ``rep3`` have in common, and what they need alone.

Parties i and i-1 agree on a seed k_i, each contributing half. What is drawn from it costs no message.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.sharing.member import SPREAD
from cofit.sharing.operands import own_values
from cofit.sharing.scheme import Scheme
from cofit.sharing.shares import Share
from cofit.sharing.spec import Spec
from cofit.sharing.steps import Messages, Protocol, Steps
from cofit.transport import Mesh


class CommonStreams(Steps, Scheme):
    """One of the three parties, with its two streams."""

    _own: Generator  # of seed k_i, shared with the left neighbour
    _next: Generator  # of seed k_{i+1}, shared with the right neighbour

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._left = (self.rank - 1) % 3
        self._right = (self.rank + 1) % 3
        self._constant_part = {0: 0, 1: None, 2: 1}[self.rank]  # a constant is summand x_0
        self._agreed = False

    def _common_state(self, rank: int) -> int:
        """The position in the stream that we share with that neighbour, spread over 32 bits."""
        if not self._agreed:
            return 0
        stream = self._own if rank == self._left else self._next
        return (stream.position * SPREAD) & 0xFFFFFFFF

    def setup(self) -> None:
        """Agree on the seeds. k_i = HKDF(half of party i, half of party i-1; session): fresh in every session."""
        to_left, to_right = fresh_seed(), fresh_seed()
        from_left, from_right = np.empty(SEED_BYTES, np.uint8), np.empty(SEED_BYTES, np.uint8)
        self._exchange(
            "setup",
            {self._left: [np.frombuffer(to_left, np.uint8)], self._right: [np.frombuffer(to_right, np.uint8)]},
            {self._left: from_left, self._right: from_right},
        )
        session = self.mesh.terms.session
        self._own = Generator(derive_seed(to_left + from_left.tobytes() + session, f"rep3 seed {self.rank}"))
        self._next = Generator(derive_seed(from_right.tobytes() + to_right + session, f"rep3 seed {self._right}"))
        self._agreed = True

    def input(self, source: int, values: RingArray | None, ring: Ring, shape: Shape) -> Share:
        """x_s is drawn from k_s, x_{s+1} = x - x_s is sent to party s+1, x_{s+2} = 0."""
        if self.rank == source:
            drawn = self._own.ring(ring, shape)
            rest = ring.sub(own_values(self.mesh.name, ring, values, shape), drawn)
            self._exchange("input", {self._right: [rest]})
            return Share(ring, (drawn, rest))
        if self.rank == (source + 1) % 3:
            rest = ring.empty(shape)
            self._exchange("input", {}, {self._left: rest})
            return Share(ring, (rest, ring.zeros(shape)))
        return Share(ring, (ring.zeros(shape), self._next.ring(ring, shape)))

    def _zero(self, ring: Ring, shape: Shape) -> RingArray:
        """Return our summand a_i = F(k_i) - F(k_{i+1}) of a random sharing of zero."""
        return ring.sub(self._own.ring(ring, shape), self._next.ring(ring, shape))

    def _reshare(self, operation: str, ring: Ring, masked: RingArray) -> Share:
        return self._run(operation, self._reshared(ring, masked))

    def _reshared(self, ring: Ring, masked: RingArray) -> Protocol[Share]:
        received = ring.empty(masked.shape)
        yield Messages({self._left: [masked]}, {self._right: received})
        return Share(ring, (masked, received))

    def _known_summand_2(self, ring: Ring, v: RingArray | None, shape: Shape) -> Share:
        """Return the trivial sharing (0, 0, v) of a value known to parties 1 and 2."""
        zeros = ring.zeros(shape)
        if v is None:
            return Share(ring, (zeros, zeros))
        return Share(ring, (zeros, v) if self.rank == 1 else (v, zeros))

    def _product_of_known(
        self, ring: Ring, u: RingArray | None, v: RingArray | None, shape: Shape
    ) -> tuple[Share, Share]:
        """Return sharings of u, known to party 0, and of u v, where v is known to parties 1 and 2.

        Party 0 shares u = u_0 + u_1 (u_0 drawn from k_0, u_1 sent to party 1). Then party 1 holds u_1 v and party 2
        holds u_0 v. The product is shared as (s_0, s_1, uv - s_0 - s_1) with s_i drawn from k_i: parties 1 and 2 send
        each other u_1 v - s_1 and u_0 v - s_0. Two rounds, three elements.
        """
        shared = self.input(0, u, ring, shape)
        if self.rank == 0 or v is None:
            return shared, Share(ring, (self._own.ring(ring, shape), self._next.ring(ring, shape)))
        stream, other, part = (self._own, 2, 0) if self.rank == 1 else (self._next, 1, 1)
        drawn = stream.ring(ring, shape)
        ours = ring.sub(ring.mul(shared.parts[part], v), drawn)
        theirs = ring.empty(shape)
        self._exchange("product", {other: [ours]}, {other: theirs})
        joint = ring.add(ours, theirs)
        return shared, Share(ring, (drawn, joint) if self.rank == 1 else (joint, drawn))
