"""How an owner's values reach the parties: in components, the same in a local run and in a study.

A component is a piece of what an owner deals: a seed, or a summand in full. It goes, the same, to one party or to
several. In a study components are files, which an upload that broke sends again; in a local run they are messages: all
short ones for a party in the first, then every long one in chunks. So bytes and messages follow from the public facts
of the components (``layout``), and forecasts count them from there.

A digest of what two parties were dealt in common says to both whether an owner dealt them the same.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.arithmetic.engine import LOCAL
from cofit.arithmetic.mapped import give_back
from cofit.arithmetic.prg import SEED_BYTES
from cofit.arithmetic.row_blocks import RowBlocks
from cofit.sharing.shares import Component, ComponentFacts, DealtShare
from cofit.transport import Mesh

CHUNK_BYTES = 1 << 20  # a message: large enough to fill a TLS socket, small enough to stay in the cache
DIGEST_BYTES = hashlib.sha256().digest_size


Allot = Callable[[int], npt.NDArray[np.uint8]]
"""Returns memory of so many bytes for what arrives (``Engine.bytes_room``)."""
Values = RingArray | RowBlocks
"""Elements of a ring that an owner shares: an array, or a table whose rows are made as they are sent."""


class Inputs(ABC):
    """How owners share values among the parties of a scheme: what both ends need to know, and no messages."""

    @abstractmethod
    def layout(self, ring: Ring, shape: Shape) -> tuple[ComponentFacts, ...]:
        """Return the public facts of the components of a value of this shape."""

    @abstractmethod
    def components(self, ring: Ring, values: Values, seed: bytes) -> tuple[Component, ...]:
        """Share an owner's values, elements of the ring. Everything follows from ``seed``, which must be fresh for
        every value and stay with the owner: the same seed gives the same components.
        """

    @abstractmethod
    def assemble(
        self, ring: Ring, shape: Shape, rank: int, received: Mapping[str, memoryview], offset: int = 0
    ) -> DealtShare:
        """Return the share of ``rank`` from the components that it got, by name.

        offset: of some rows of a value alone, how many of its elements come before them (``pieces.py``). Of what is
        dealt in full only these rows were received then.
        """

    @abstractmethod
    def known(self, ring: Ring, shape: Shape, rank: int, holder: int, values: RingArray | None) -> DealtShare:
        """Return the share of ``rank`` of values that the party ``holder`` knows: it has them, the others nothing.

        Only where ``info.knows_inputs``. Whoever has nothing passes None.
        """


def chunks(ring: Ring, count: int) -> Iterator[slice]:
    """Yield the places of ``count`` elements that go into one message each."""
    step = CHUNK_BYTES // ring.element_bytes
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def in_chunks(ring: Ring, values: Values) -> Iterator[RingArray]:
    """Yield an owner's elements, row by row, as many at a time as go into one message; a table of ``RowBlocks`` in the
    same buffer each time.
    """
    if isinstance(values, RowBlocks):
        yield from _chunks_of_blocks(ring, values)
        return
    flat = ring.check(values).reshape(-1)
    for chunk in chunks(ring, flat.size):
        yield flat[chunk]


def _chunks_of_blocks(ring: Ring, values: RowBlocks) -> Iterator[RingArray]:
    buffer = ring.empty((min(math.prod(values.shape), CHUNK_BYTES // ring.element_bytes),))
    filled = 0
    for block in values.blocks():
        flat = ring.check(block).reshape(-1)
        while flat.size:
            taken = min(flat.size, buffer.size - filled)
            buffer[filled : filled + taken] = flat[:taken]
            flat, filled = flat[taken:], filled + taken
            if filled == buffer.size:
                yield buffer
                filled = 0
    if filled:
        yield buffer[:filled]


# --- components as messages ------------------------------------------------------------------------------


def send_components(mesh: Mesh, label: str, names: Sequence[str], components: Sequence[Component]) -> None:
    """Send the components of one value to the parties ``names``, by rank."""
    first: dict[str, list[memoryview]] = {}
    for component in components:
        if _is_short(component.facts):
            for rank in component.facts.ranks:
                first.setdefault(names[rank], []).extend(component.content())
    if first:
        mesh.exchange(label, first, {})
    for component in components:
        if _is_long(component.facts):
            for piece in component.content():
                mesh.exchange(label, {names[rank]: piece for rank in component.facts.ranks}, {})


class Room:
    """Memory for several inputs, in which components of one name lie one after the other, as they come: inputs that are
    joined row by row are in their places then, and nobody touches memory twice for them.
    """

    def __init__(
        self,
        layouts: Iterable[Sequence[ComponentFacts]],
        rank: int,
        allot: Allot = LOCAL.bytes_room,
    ) -> None:
        sizes: dict[str, int] = {}
        for layout in layouts:
            for facts in layout:
                if rank in facts.ranks and _is_long(facts):
                    sizes[facts.name] = sizes.get(facts.name, 0) + facts.size
        self._left = {name: allot(size).data for name, size in sizes.items()}

    def take(self, facts: ComponentFacts) -> memoryview:
        """Return the place of the next component of this name."""
        left = self._left[facts.name]
        self._left[facts.name] = left[facts.size :]
        return left[: facts.size]


def receive_components(
    mesh: Mesh,
    label: str,
    owner: str,
    layout: Sequence[ComponentFacts],
    rank: int,
    room: Room | None = None,
    allot: Allot = LOCAL.bytes_room,
) -> dict[str, memoryview]:
    """Receive what ``send_components`` sends to ``rank``; return it by name. ``room``: where long ones go; None: to
    what ``allot`` returns for each.
    """
    mine = [facts for facts in layout if rank in facts.ranks]
    received = {
        facts.name: allot(facts.size).data if room is None or not _is_long(facts) else room.take(facts)
        for facts in mine
    }
    short = [facts for facts in mine if _is_short(facts)]
    if short:
        joint = memoryview(bytearray(sum(facts.size for facts in short)))
        mesh.exchange(label, {}, {owner: joint})
        start = 0
        for facts in short:
            received[facts.name][:] = joint[start : start + facts.size]
            start += facts.size
    for facts in mine:
        if _is_long(facts):
            for start in range(0, facts.size, CHUNK_BYTES):
                piece = received[facts.name][start : start + CHUNK_BYTES]
                mesh.exchange(label, {}, {owner: piece})
                give_back(piece)
    return received


def messages_of(layout: Sequence[ComponentFacts]) -> int:
    """Return how many messages the party that gets most of them gets."""
    ranks = {rank for facts in layout for rank in facts.ranks}
    return max((_messages_to(rank, layout) for rank in ranks), default=0)


def _messages_to(rank: int, layout: Sequence[ComponentFacts]) -> int:
    mine = [facts for facts in layout if rank in facts.ranks]
    long = sum(-(-facts.size // CHUNK_BYTES) for facts in mine if _is_long(facts))
    return long + any(map(_is_short, mine))


def bytes_of(layout: Sequence[ComponentFacts]) -> int:
    """Return what the owner sends to all parties together."""
    return sum(facts.size * len(facts.ranks) for facts in layout)


def _is_short(facts: ComponentFacts) -> bool:
    return 0 < facts.size <= SEED_BYTES


def _is_long(facts: ComponentFacts) -> bool:
    return facts.size > SEED_BYTES


def common_digests(layout: Sequence[ComponentFacts], received: Mapping[str, memoryview], rank: int) -> dict[int, bytes]:
    """Return, for every other rank, a digest of the components that both got; nothing for a rank without any.

    It tells a party that has these components nothing new, and goes to no other.
    """
    digests = {name: _digest(content) for name, content in received.items()}
    common: dict[int, bytes] = {}
    for facts in layout:
        if rank in facts.ranks:
            for other in facts.ranks:
                if other != rank:
                    common[other] = common.get(other, b"") + digests[facts.name]
    return {other: hashlib.sha256(text).digest() for other, text in common.items()}


def _digest(content: memoryview) -> bytes:
    digest = hashlib.sha256()
    for start in range(0, len(content), CHUNK_BYTES):
        digest.update(content[start : start + CHUNK_BYTES])
        give_back(content[start : start + CHUNK_BYTES])
    return digest.digest()
