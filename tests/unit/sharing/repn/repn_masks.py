"""What t parties of ``repn`` see together in an operation, and which draws that they lack hide it.

The argument, its search by shifts of single draws, and columns of 64: see ``support.masks`` and ``support.coalitions``.
Draws are those of pairs and groups, and bits that a masker draws for itself. The latter it deals under draws of groups;
shifting both, so that what it tells stays the same, is one more shift: of the summand that a group has of the bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import unpack
from cofit.sharing import Scheme
from cofit.sharing.group_streams import Group
from cofit.sharing.repn.geometry import geometry_of
from cofit.sharing.repn.party import Repn
from cofit.sharing.steps import Messages, Protocol
from support.coalitions import Change, Draw, Key, N, Scripted, in_column, shift_of
from support.masks import unsettled_by
from support.runs import run_scheme


@dataclass
class Seen:
    """A message: who sent it to whom, and of which ring it is."""

    sender: int
    receiver: int
    ring: Ring
    array: RingArray


@dataclass
class Log:
    """Messages in their order at each receiver; how often every stream was drawn from."""

    messages: dict[int, list[Seen]] = field(default_factory=dict)
    draws: dict[Key, int] = field(default_factory=dict)
    bits: dict[Draw, npt.NDArray[np.uint8]] = field(default_factory=dict)
    """The bits that a masker drew for itself."""
    under: dict[Draw, list[Draw]] = field(default_factory=dict)
    """Under which draws of groups it dealt them."""


def watching(kind: type[Repn], log: Log, changes: Mapping[Draw, Change]) -> type[Repn]:
    """A party with scripted streams whose messages are noted."""

    class Watching(kind):  # type: ignore[misc, valid-type]
        _drew: Draw | None = None

        def setup(self) -> None:
            super().setup()
            self._pairs = {r: Scripted(("pair", tuple(sorted((r, self.rank)))), changes) for r in self._others}
            self._groups = {g: Scripted(("group", g), changes) for g in self._own_groups}
            self._own_stream = Scripted(("own", (self.rank,)), changes)
            for r in self._others:
                self._common[r] = [self._pairs[r], *(self._groups[g] for g in self._own_groups if r in g)]
            log.messages[self.rank] = []

        def _own_bits(self, rows: int, count: int) -> npt.NDArray[np.uint8]:
            self._drew = (self._own_stream.key, self._own_stream.calls)
            log.bits[self._drew] = unpack(self._own_stream.ring(BITS, (rows, -(-count // 64))), count)
            return log.bits[self._drew]

        def _dealt(self, ring: Ring, shape: Shape, dealers: Sequence[int], own: RingArray | None) -> Any:
            if self._drew is not None:
                log.under[self._drew], self._drew = self._draws_under(dealers), None
            return self._noted(ring, super()._dealt(ring, shape, dealers, own))

        def _draws_under(self, dealers: Sequence[int]) -> list[Draw]:
            """The draws that will hide what we deal, after those of the dealers before us."""
            drawn, before = self.geometry.drawn_groups, dealers[: list(dealers).index(self.rank)]
            return [
                (("group", group), self._groups[group].calls + sum(group in drawn[other] for other in before))
                for group in drawn[self.rank]
            ]

        def _to_openers(self, ring: Ring, own: RingArray) -> Any:
            return self._noted(ring, super()._to_openers(ring, own))

        def _noted(self, ring: Ring, protocol: Protocol[Any]) -> Protocol[Any]:
            messages: Messages = next(protocol)
            yield messages
            seen = [Seen(sender, self.rank, ring, array.copy()) for sender, array in messages.receive.items()]
            log.messages[self.rank] += seen
            return (yield from protocol)

    return Watching


def run_scripted(
    kind: type[Repn], parties: int, work: Callable[[Repn], object], changes: Mapping[Draw, Change] | None = None
) -> Log:
    """Run with scripted streams, and note everything."""
    log = Log()

    def program(s: Scheme) -> None:
        assert isinstance(s, Repn)
        work(s)
        streams = [*s._pairs.values(), *s._groups.values(), vars(s)["_own_stream"]]
        log.draws |= {stream.key: stream.calls for stream in streams if isinstance(stream, Scripted)}

    run_scheme(watching(kind, log, changes or {}), program, parties=parties)
    return log


def _by_column(ring: Ring, array: RingArray) -> RingArray:
    """Rows of 64: of elements, or of bits as bytes."""
    return unpack(array.reshape(-1, 1), N) if ring is BITS else array.reshape(-1, N)


def _effects(plain: Seen, changed: Seen, turn: int) -> tuple[Any, Any]:
    """By column: whether a message is as it was; and whether it is shifted, up or down."""
    ring = plain.ring
    before, after = _by_column(ring, plain.array), _by_column(ring, changed.array)
    shift = shift_of(ring, plain.array.size, turn)
    if ring is BITS:
        return (before == after).all(axis=0), ((before ^ after) == shift).all(axis=0)
    up, down = ring.add(before, shift), ring.sub(before, shift)
    return (before == after).all(axis=0), (up == after).all(axis=0) | (down == after).all(axis=0)


@dataclass
class Recorded:
    """A plain run; and runs with shifted draws: the turn, the column of every draw, and the run."""

    parties: int
    plain: Log
    shifted: list[tuple[int, dict[Draw, int], Log]]

    @functools.cached_property
    def draws(self) -> list[Draw]:
        return [*draws_of(self.plain), *joint_draws(self.plain)]

    def view(self, log: Log, corrupted: Group) -> list[Seen]:
        return [m for rank in corrupted for m in log.messages[rank] if m.sender not in corrupted and m.array.size]

    def exposed(self, corrupted: Group) -> list[Seen]:
        """Which messages to T are not proved to be hidden. Copies of a message count once."""
        plain = self.view(self.plain, corrupted)
        others = [self.view(log, corrupted) for _, _, log in self.shifted]
        copies = [tuple(one.array.tobytes() for one in each) for each in zip(plain, *others, strict=True)]
        first = [i for i, one in enumerate(copies) if one not in copies[:i]]
        found = [
            [_effects(plain[i], other[i], turn) for i in first]
            for (turn, _, _), other in zip(self.shifted, others, strict=True)
        ]
        changes = []
        for draw in self.draws:
            if set(draw[0][1]) & set(corrupted):
                continue
            runs = [(columns[draw], found[k]) for k, (_, columns, _) in enumerate(self.shifted) if draw in columns]
            changes.append([_effect([(at[i][0][c], at[i][1][c]) for c, at in runs]) for i in range(len(first))])
        return [plain[first[i]] for i in unsettled_by(changes, len(first))]

    def all_exposed(self) -> dict[Group, list[tuple[int, int, str]]]:
        """By coalition: what is left; sender, receiver and ring."""
        coalitions = combinations(range(self.parties), geometry_of(self.parties).threshold)
        left = {some: [(m.sender, m.receiver, m.ring.name) for m in self.exposed(some)] for some in coalitions}
        return {some: messages for some, messages in left.items() if messages}


def draws_of(log: Log) -> list[Draw]:
    """All draws of a run."""
    return [(key, call) for key, calls in sorted(log.draws.items()) for call in range(calls)]


def joint_draws(log: Log) -> list[Draw]:
    """Bits of a masker together with the summand that one of the groups has of them; named by masker and group."""
    return [
        ((f"{key[1][0]} and", group), 1000 * call + number)
        for (key, call), under in sorted(log.under.items())
        for (_, group), number in under
    ]


def _changes(log: Log, draw: Draw, column: int, turn: int) -> dict[Draw, Change]:
    (kind, group), number = draw
    if not kind.endswith(" and"):
        return {draw: in_column(column, turn)}
    own: Draw = (("own", (int(kind.split()[0]),)), number // 1000)
    flips = shift_of(BITS, len(log.bits[own]), turn)[:, column].astype(np.int64)
    more = flips * (1 - 2 * log.bits[own][:, column].astype(np.int64))

    def as_much(ring: Ring, shape: Shape) -> RingArray:
        added = np.zeros(shape, np.int64)
        added[: len(more), column] = more
        return ring.from_int(added)

    return {own: in_column(column, turn), (("group", group), number % 1000): as_much}


def _effect(runs: list[tuple[bool, bool]]) -> str:
    if all(same for same, _ in runs):
        return "none"
    return "shift" if all(moved for _, moved in runs) else "otherwise"


def recorded(kind: type[Repn], parties: int, work: Callable[[Repn], object]) -> Recorded:
    """Run as it is, and with every draw shifted, by other shifts in two turns."""
    plain = run_scripted(kind, parties, work)
    found = Recorded(parties, plain, [])
    for turn in (0, 1):
        for start in range(0, len(found.draws), N):
            columns = {draw: column for column, draw in enumerate(found.draws[start : start + N])}
            changes: dict[Draw, list[Change]] = {}
            for draw, column in columns.items():
                for one, change in _changes(plain, draw, column, turn).items():
                    changes.setdefault(one, []).append(change)
            together = {draw: _together(some) for draw, some in changes.items()}
            found.shifted.append((turn, columns, run_scripted(kind, parties, work, together)))
    return found


def _together(changes: Sequence[Change]) -> Change:
    """Changes of one draw in several columns."""
    return lambda ring, shape: functools.reduce(ring.add, [change(ring, shape) for change in changes])
