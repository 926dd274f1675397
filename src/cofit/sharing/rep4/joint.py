"""What the four parties of ``rep4`` do to be sure of what they receive: common keys, joint messages, echoes.

Keys. Key K_j is known to the three parties other than j. Each of them contributes to it, and every two compare what
they derived before any key is used, so a party that told two others different things is found out. Drawing from a key
costs no message.

Joint messages. Two parties know a value and a third is to learn it. One of the two sends it, the other one vouches for
it with a SHA-256 digest, **in the same exchange**; the receiver compares as soon as the exchange is over, before it
computes or sends anything. At most one of the two is corrupt, so the receiver has the right value, or stops. Digests
are bound to the session, the numbers of the exchange and of the message in it, and the three parties.

So no check is ever put off. One that fails is terminal: the mesh is closed with a reason that names the parties in
dispute, the keys are forgotten, and every later call raises.
"""

from __future__ import annotations

import functools
import hashlib
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from cofit.arithmetic import Generator, Ring, RingArray, Shape
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, fresh_seed
from cofit.sharing.active import Active
from cofit.sharing.inputs import DIGEST_BYTES
from cofit.sharing.member import SPREAD, as_bytes
from cofit.sharing.spec import Spec
from cofit.transport import Mesh

_BINDING = struct.Struct("<QBBBB")
_ALL = 4  # the place of the key that all four know, after K_0 to K_3


class Joint(NamedTuple):
    """Some arrays that two ranks know and a third is to learn: who sends them, who vouches, who receives."""

    sender: int
    voucher: int
    receiver: int
    arrays: int = 1


Schedule: TypeAlias = tuple[Joint, ...]
"""The joint messages of one exchange."""


class _Load(NamedTuple):
    """What goes between two ranks in one exchange: the data of these messages, then the digests of those."""

    peer: int
    data: tuple[int, ...]
    digests: tuple[int, ...]


@dataclass(frozen=True)
class _Route:
    """One rank's part in a schedule."""

    out: tuple[_Load, ...]
    back: tuple[_Load, ...]
    peers: tuple[int, ...]


@functools.cache
def _route(schedule: Schedule, rank: int) -> _Route:
    out, back = [], []
    numbered = list(enumerate(schedule))
    for peer in range(4):
        sent = tuple(n for n, joint in numbered if (joint.sender, joint.receiver) == (rank, peer))
        vouched = tuple(n for n, joint in numbered if (joint.voucher, joint.receiver) == (rank, peer))
        received = tuple(n for n, joint in numbered if (joint.sender, joint.receiver) == (peer, rank))
        heard = tuple(n for n, joint in numbered if (joint.voucher, joint.receiver) == (peer, rank))
        if sent or vouched:
            out.append(_Load(peer, sent, vouched))
        if received or heard:
            back.append(_Load(peer, received, heard))
    return _Route(tuple(out), tuple(back), tuple({load.peer for load in (*out, *back)}))


class JointMessages(Active):
    """One of four parties, with its keys and checks."""

    def __init__(self, mesh: Mesh, names: Sequence[str], dealer: str | None = None, spec: Spec | None = None) -> None:
        super().__init__(mesh, names, dealer, spec)
        self._others = tuple(rank for rank in range(4) if rank != self.rank)
        self._keys: dict[int, Generator] = {}
        self._step = 0
        self._drawn = 0

    # --- keys --------------------------------------------------------------------------------------------

    def setup(self) -> None:
        """Agree on K_0 to K_3 (all but our own) and on a key of all four. 2 rounds.

        A key is HKDF(the contributions of its holders, by rank; session). Who holds a key may choose its contribution
        last and so influence the key, but it knows that key anyway; a key that it lacks is made by the three others.
        """
        own = {place: fresh_seed() for place in (*self._others, _ALL)}
        heard = {rank: np.empty((3, SEED_BYTES), np.uint8) for rank in self._others}
        self._exchange(
            "setup",
            {rank: [np.frombuffer(own[p], np.uint8) for p in self._common_places(rank)] for rank in self._others},
            heard,
        )
        session = self.mesh.terms.session
        proofs: dict[int, bytes] = {}
        keys: dict[int, Generator] = {}
        for place, mine in own.items():
            told = {self.rank: mine}
            for rank in self._others:
                if rank != place:
                    told[rank] = heard[rank][self._common_places(rank).index(place)].tobytes()
            material = b"".join(told[rank] for rank in sorted(told)) + session
            keys[place] = Generator(derive_seed(material, f"rep4 key {place}"))
            proofs[place] = derive_seed(material, f"rep4 proof {place}")
        self._agree_on(
            "setup",
            {rank: b"".join(proofs[place] for place in self._common_places(rank)) for rank in self._others},
            "The parties do not have the same keys: one of them told two others different things.",
        )
        self._keys = keys

    def _common_places(self, rank: int) -> tuple[int, ...]:
        """The keys that we share with a rank."""
        return (*(j for j in self._others if j != rank), _ALL)

    def _draw(self, key: int, ring: Ring, shape: Shape, count: int) -> RingArray:
        """Return ``count`` arrays drawn from K_key, or none at the rank that lacks the key, as rows of one array.

        All four parties call this at the same point of the program: who lacks the key takes note of the draw.
        """
        self.verification.refuse_after_failure()
        size = count * math.prod(shape) * ring.element_bytes
        self._drawn = (self._drawn * SPREAD + (key + 1) * size + 1) & 0xFFFFFFFF
        if key == self.rank:
            return ring.empty((0, *shape))
        return self._keys[key].ring(ring, (count, *shape))

    def _draw_common(self, ring: Ring, shape: Shape, count: int) -> RingArray:
        """Return arrays drawn from the key that all four know."""
        return self._draw(_ALL, ring, shape, count)

    def _common_state(self, rank: int) -> int:
        """What was drawn so far, in order, and the step. All four have it in common."""
        del rank
        return self._drawn ^ (self._step & 0xFFFFFFFF)

    # --- joint messages ----------------------------------------------------------------------------------

    def _jointly(
        self,
        operation: str,
        ring: Ring,
        shape: Shape,
        schedule: Schedule,
        known: Mapping[int, Sequence[RingArray]],
    ) -> dict[int, RingArray]:
        """Run the joint messages of one exchange and check all that came. 1 round.

        ``known``: the arrays of each message that we send or vouch for, by its number in the schedule. Returns what we
        received, by number, each of shape (arrays, *shape). All four parties call this, also with nothing to do.
        """
        self.verification.refuse_after_failure()
        self._step += 1
        route, size = _route(schedule, self.rank), math.prod(shape) * ring.element_bytes
        names = self.names
        send: dict[str, list[memoryview | bytes]] = {
            names[peer]: [
                *(as_bytes(array) for n in data for array in known[n]),
                *(self._digest(n, schedule[n], *map(as_bytes, known[n])) for n in digests),
            ]
            for peer, data, digests in route.out
        }
        buffers = [
            np.empty(sum(schedule[n].arrays for n in data) * size + len(digests) * DIGEST_BYTES, np.uint8)
            for _, data, digests in route.back
        ]
        state = self._common_state(self.rank) ^ self._agreement
        self.mesh.exchange(
            self._label + operation,
            send,
            {names[load.peer]: buffer.data for load, buffer in zip(route.back, buffers, strict=True)},
            {names[peer]: state for peer in route.peers},
        )
        received: dict[int, RingArray] = {}
        vouched: dict[int, bytes] = {}
        for load, buffer in zip(route.back, buffers, strict=True):
            start = 0
            for n in load.data:
                end = start + schedule[n].arrays * size
                received[n] = buffer[start:end]
                start = end
            for n in load.digests:
                vouched[n] = buffer[start : start + DIGEST_BYTES].tobytes()
                start += DIGEST_BYTES
        self._check(operation, [(n, schedule[n], data, vouched[n]) for n, data in received.items()])
        return {n: data.view(ring.dtype).reshape(schedule[n].arrays, *shape) for n, data in received.items()}

    def _digest(self, number: int, joint: Joint, *data: memoryview) -> bytes:
        binding = _BINDING.pack(self._step, number, joint.sender, joint.voucher, joint.receiver)
        digest = hashlib.sha256(self.mesh.terms.session + binding)
        for piece in data:
            digest.update(piece)
        return digest.digest()

    def _check(self, operation: str, arrived: Iterable[tuple[int, Joint, RingArray, bytes]]) -> None:
        """Compare everything that was received, by the number of the message, with what was vouched for."""
        for number, joint, data, vouched in arrived:
            if self._digest(number, joint, data.data) != vouched:
                pair = self.names[joint.sender], self.names[joint.voucher]
                raise self._failed(
                    operation, f"What '{pair[0]}' sent is not what '{pair[1]}' vouches for: one of them lies.", pair
                )

    # --- the end -----------------------------------------------------------------------------------------

    def _parts_in_common(self, rank: int) -> list[int]:
        return [part for part, index in enumerate(self._others) if index != rank]

    def _forget(self) -> None:
        self._keys = {}
