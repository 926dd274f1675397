"""Values shared as a sum: all summands but one are drawn from seeds, and each is known to some of the parties.

x = x_0 + x_1 + ...; which parties hold which summands is what tells one scheme from another. An owner deals a seed for
every summand but one; the explicit one, x minus all the others, is computed and sent in chunks, so that nobody holds
the data twice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Generator, Place, Ring, RingArray, Shape
from cofit.arithmetic.mapped import give_back
from cofit.arithmetic.prg import SEED_BYTES, derive_seed, elements_from
from cofit.errors import DisputeError, InvalidInputError, ProtocolError
from cofit.sharing.expansion import Expansion
from cofit.sharing.inputs import CHUNK_BYTES, Inputs, Values, in_chunks
from cofit.sharing.member import as_bytes
from cofit.sharing.shares import Component, ComponentFacts, DealtShare, Share

SEED = "seed_"
"""With which the name of a component begins that is a seed; every other one is elements, row by row."""


@dataclass(frozen=True, slots=True, repr=False)
class DealtSummands:
    """What an owner dealt to one party of its summands, in the order of the parts of a share.

    A content is a seed, the summand itself, or None for zeros. ``holder``: the party that the owner is, if it is one,
    and keeps its values as they are: it has them, and the others have nothing. ``offset``: where these are some rows of
    a value, how many of its elements come before them; as many of a seed are passed over. Summands are of these rows.
    """

    ring: Ring
    shape: Shape
    contents: tuple[bytes | RingArray | None, ...]
    holder: int | None = None
    offset: int = 0

    def expand(self) -> Share:
        """Draw the summands that came as seeds."""
        return Share(self.ring, tuple(self._drawn(content) for content in self.contents))

    def _drawn(self, content: bytes | RingArray | None) -> RingArray:
        if content is None:
            return self.ring.zeros(self.shape)
        if not isinstance(content, bytes):
            return content
        return elements_from(content, self.ring, self.offset).ring(self.ring, self.shape)


@dataclass(frozen=True)
class SummandInputs(Inputs):
    """``held``: by rank, the summands that a party holds, in the order of its parts. ``explicit``: the one in full."""

    scheme: str
    held: tuple[tuple[int, ...], ...]
    explicit: int

    def layout(self, ring: Ring, shape: Shape) -> tuple[ComponentFacts, ...]:
        explicit = ComponentFacts(
            f"x_{self.explicit}", self._holders(self.explicit), math.prod(shape) * ring.element_bytes
        )
        return (*(ComponentFacts(f"{SEED}{j}", self._holders(j), SEED_BYTES) for j in self._seeded), explicit)

    @property
    def _seeded(self) -> tuple[int, ...]:
        return tuple(sorted({j for held in self.held for j in held if j != self.explicit}))

    def _holders(self, summand: int) -> tuple[int, ...]:
        return tuple(rank for rank, held in enumerate(self.held) if summand in held)

    def components(self, ring: Ring, values: Values, seed: bytes) -> tuple[Component, ...]:
        *facts, explicit = self.layout(ring, values.shape)
        seeds = [derive_seed(seed, f"{self.scheme} summand {j}") for j in self._seeded]
        drawn = [Component(fact, functools.partial(_whole, own)) for fact, own in zip(facts, seeds, strict=True)]
        return (*drawn, Component(explicit, functools.partial(_last_summand, ring, values, seeds)))

    def assemble(
        self, ring: Ring, shape: Shape, rank: int, received: Mapping[str, memoryview], offset: int = 0
    ) -> DealtShare:
        """That holders of a component have the same one is left to whoever transports the components."""
        summands = tuple(
            np.frombuffer(received[f"x_{j}"], ring.dtype).reshape(shape)
            if j == self.explicit
            else bytes(received[f"{SEED}{j}"])
            for j in self.held[rank]
        )
        if not all(isinstance(summand, bytes) or ring.admits(summand) for summand in summands):
            raise ProtocolError(f"A component holds what is no element of {ring.name}.")
        return DealtSummands(ring, shape, summands, offset=offset)

    def known(self, ring: Ring, shape: Shape, rank: int, holder: int, values: RingArray | None) -> DealtShare:
        raise InvalidInputError(f"With scheme '{self.scheme}' no party keeps its own data as they are: share them.")


def _whole(content: bytes) -> Iterator[memoryview]:
    yield memoryview(content)


def _last_summand(ring: Ring, values: Values, seeds: Sequence[bytes]) -> Iterator[memoryview]:
    """Yield what is left of the values when the draws from all seeds are taken off, in chunks in the same buffer."""
    streams = [Generator(seed) for seed in seeds]
    most = min(math.prod(values.shape), CHUNK_BYTES // ring.element_bytes)
    last, mask = (ring.empty((most,)) for _ in range(2))
    for chunk in in_chunks(ring, values):
        rest, size = chunk, chunk.size
        for stream in streams:
            stream.ring_into(ring, mask[:size])
            rest = ring.sub(rest, mask[:size], out=last[:size])
        yield as_bytes(rest)


def joined(ring: Ring, shape: Shape, pieces: Iterable[tuple[DealtShare, Place]], parts: int, into: Expansion) -> Share:
    """Expand dealt summands, each into its place in one array of this shape.

    Explicit ones are copied first: only seeds are left of a piece then, and the other arrays do not exist yet. Those
    that came to lie in their places already stay there.
    """
    taken = [_checked(dealt, place) for dealt, place in pieces]
    arrays: dict[int, RingArray] = {}
    for part in range(parts):
        filled = [(dealt.contents[part], place) for dealt, place in taken if math.prod(dealt.shape)]
        if filled and (together := _in_place(ring, shape, filled)) is not None:
            arrays[part] = together
        del filled
    seeds = []
    while taken:
        dealt, place = taken.pop(0)
        seeds.append((_settled(ring, shape, dealt, place, arrays, into), place, dealt.offset))
        del dealt
    whole = [arrays[part] if part in arrays else into.room() for part in range(parts)]
    for left, place, offset in seeds:
        for part, seed in left:
            stream, target = elements_from(seed, ring, offset), whole[part][place]
            for rows in into.blocks([target]):
                stream.ring_into(ring, target[rows])
    return Share(ring, tuple(whole))


def _checked(dealt: DealtShare, place: Place) -> tuple[DealtSummands, Place]:
    if not isinstance(dealt, DealtSummands):
        raise InvalidInputError(f"Only shares of this scheme can be joined; got {type(dealt).__name__}.")
    return dealt, place


def _in_place(ring: Ring, shape: Shape, pieces: Sequence[tuple[bytes | RingArray | None, Place]]) -> RingArray | None:
    """Return explicit summands, received into one ``Room``, as the array of this shape that they fill; None if they do
    not.
    """
    memory = _memory_of(pieces[0][0])
    if memory is None or memory.nbytes != math.prod(shape) * ring.element_bytes:
        return None
    whole, end = memory.view(ring.dtype).reshape(shape), 0
    for content, place in pieces:
        target = whole[place]
        if not isinstance(content, np.ndarray) or _memory_of(content) is not memory or place[0].start != end:
            return None
        if content.shape != target.shape or target.shape[1:] != shape[1:] or _address(content) != _address(target):
            return None
        end = place[0].stop
    return whole if end == shape[0] else None


def _memory_of(content: bytes | RingArray | None) -> npt.NDArray[np.uint8] | None:
    """Return the bytes that an array was received into, among others maybe."""
    while isinstance(content, np.ndarray):
        content = content.base
    received = content.obj if isinstance(content, memoryview) else None
    return received if isinstance(received, np.ndarray) and received.dtype == np.uint8 else None


def _address(array: RingArray) -> int:
    return int(array.__array_interface__["data"][0])


def _settled(
    ring: Ring, shape: Shape, dealt: DealtSummands, place: Place, arrays: dict[int, RingArray], into: Expansion
) -> list[tuple[int, bytes]]:
    """Copy the explicit summands of a piece into their places; return the seeds, which are the rest of it, by part."""
    seeds: list[tuple[int, bytes]] = []
    for part, content in enumerate(dealt.contents):
        if isinstance(content, bytes):
            seeds.append((part, content))
            continue
        if part not in arrays:
            arrays[part] = into.room()
        target = arrays[part][place]
        if content is None:
            target[...] = ring.zeros(())
        elif _address(content) != _address(target):
            for rows in into.blocks([target]):
                target[rows] = content[rows]
                give_back(content[rows])
    return seeds


def dealt_differently(owner: str, party: str, other: str) -> DisputeError:
    """Return what ``party`` raises where ``other`` says that it was dealt something else by an owner."""
    return DisputeError(
        f"Owner '{owner}' has dealt '{party}' and '{other}' shares that do not fit together, or '{other}' says so "
        f"falsely. Nothing is computed with them. '{owner}' must share its data again, with the software as it is.",
        (owner, other),
    )
