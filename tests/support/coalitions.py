"""What t parties of ``shamir`` see together, and which draws that they lack hide it: the one-time-pad argument.

As ``support.masks`` has it, for all messages that a coalition T gets from the other parties, and all draws of streams
that no member of T is in: pairs of others, and the group of all others. A message that two members of T get counts
once: it tells them no more than one.

A run handles 64 elements, and whatever is sent is a number of rows of 64 elements (or of 64 bits, in words). Draws are
shifted many at a time, each of them in a column of its own: no operation brings columns together but by its public
inputs, which draws do not change. Where one did, a message would change where it should not, and not be settled. A
shift differs from row to row, so that rows under the same mask are noticed; bits are flipped in some rows of a draw,
then in the others.

What openers tell each other of bits b under masks, c (``_openers_summand``), are summands of its sharing. They follow
from c and T's shares: that is checked here, by computing them. So c stands in their place, once, as a message.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import Z64, Z128, Generator, IntegerRing, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack, unpack
from cofit.sharing import Scheme, Share, Spec
from cofit.sharing.group_streams import Group
from cofit.sharing.packed_bits import PackedBits
from cofit.sharing.shamir.geometry import Geometry, geometry_of, tables_of
from cofit.sharing.shamir.party import Shamir
from cofit.sharing.steps import Messages
from support.masks import unsettled_by
from support.runs import run_scheme

N = 64
Key = tuple[str, Group]
Draw = tuple[Key, int]
Change = Callable[[Ring, Shape], RingArray]
"""What is added to a draw."""


# --- scripted runs ---------------------------------------------------------------------------------------


class Scripted(Generator):
    """A stream that is the same in every run, with some of its draws changed."""

    __slots__ = ("calls", "changes", "key")

    def __init__(self, key: Key, changes: Mapping[Draw, Change], salt: int = 0) -> None:
        super().__init__(hashlib.sha256(repr((key, salt)).encode()).digest())
        self.key, self.changes, self.calls = key, changes, 0

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        drawn = super().ring(ring, shape)
        change = self.changes.get((self.key, self.calls))
        self.calls += 1
        return drawn if change is None else ring.add(drawn, change(ring, shape))


@dataclass
class Message:
    """``opening``: which opening it is a part of, if it is."""

    sender: int
    array: RingArray
    opening: int | None = None


@dataclass
class Log:
    """What happened in one run: messages by receiver, shares of openings by rank, draws of every stream.

    ``kept``: the digits that a masker has of every sum of numbers, by rank. ``masks``: which draw of a group is in
    them, by the sum, the masker and the group.
    """

    messages: dict[int, list[Message]] = field(default_factory=dict)
    opened: dict[int, list[Share]] = field(default_factory=dict)
    kept: dict[int, list[RingArray]] = field(default_factory=dict)
    masks: dict[tuple[int, int, Group], Draw] = field(default_factory=dict)
    draws: dict[int, dict[Key, int]] = field(default_factory=dict)


def run_scripted(
    kind: type[Shamir],
    spec: Spec,
    work: Callable[[Scheme], object],
    changes: Mapping[Draw, Change] | None = None,
    salt: int = 0,
) -> Log:
    """Run with scripted streams, and note everything; ``salt``: for other streams."""
    log = Log()

    def scripted(kind: str, members: Group) -> Scripted:
        return Scripted((kind, members), changes or {}, salt)

    class Noting(kind):  # type: ignore[misc, valid-type]
        of_sum: int | None = None
        joint: bool = False

        def setup(self) -> None:
            super().setup()
            self._pairs = {r: scripted("pair", tuple(sorted((r, self.rank)))) for r in self._others}
            self._groups = {g: scripted("group", g) for g in self._own_groups}
            for r in self._others:
                self._common[r] = [self._pairs[r], *(self._groups[g] for g in self._own_groups if r in g)]
            log.messages[self.rank], log.opened[self.rank], log.kept[self.rank] = [], [], []
            self.parts: dict[int, int] = {}

        def _openers_summand(self, words: Share, masks: list[Share]) -> Any:
            log.opened[self.rank].append(functools.reduce(self.add, masks, words))
            return super()._openers_summand(words, masks)

        def _to_each_other(self, ring: Ring, own: RingArray | None) -> Any:
            protocol = super()._to_each_other(ring, own)
            messages = next(protocol)
            if ring is BITS:
                self.parts |= {id(array): len(log.opened[self.rank]) - 1 for array in messages.receive.values()}
            yield messages
            return (yield from protocol)

        def _number_masks(self, width: int, count: int, ring: IntegerRing) -> Any:
            self.of_sum = len(log.kept[self.rank])
            masks, kept = super()._number_masks(width, count, ring)
            self.of_sum = None
            log.kept[self.rank].append(kept)
            return masks, kept

        def _random(self, ring: Ring, shape: Shape, known_to: int | None = None) -> Any:
            if self.of_sum is not None and known_to is not None:
                for group, stream in self._groups.items():
                    log.masks[self.of_sum, known_to, group] = (stream.key, stream.calls)
            return super()._random(ring, shape, known_to)

        def _exchange_joint(self, operation: str, messages: Sequence[Messages]) -> None:
            self.joint = True
            super()._exchange_joint(operation, messages)
            self.joint = False
            for one in messages:
                self._note(one.receive)

        def _exchange(
            self,
            operation: str,
            send: Mapping[int, Sequence[RingArray]] | None = None,
            receive: Mapping[int, RingArray] | None = None,
        ) -> None:
            super()._exchange(operation, send, receive)
            if operation != "setup" and not self.joint:
                self._note(receive or {})

        def _note(self, received: Mapping[int, RingArray]) -> None:
            for sender, array in received.items():
                log.messages[self.rank].append(Message(sender, array.copy(), self.parts.get(id(array))))
            self.parts.clear()

    def program(s: Scheme) -> None:
        assert isinstance(s, Shamir)
        work(s)
        streams = [*s._pairs.values(), *s._groups.values()]
        log.draws[s.rank] = {stream.key: stream.calls for stream in streams if isinstance(stream, Scripted)}

    run_scheme(Noting, program, spec=spec)
    return log


def draws_of(log: Log) -> list[Draw]:
    """All draws of a run; members of a stream have drawn the same."""
    counts: dict[Key, int] = {}
    for own in log.draws.values():
        for key, calls in own.items():
            assert counts.setdefault(key, calls) == calls
    return [(key, call) for key, calls in sorted(counts.items()) for call in range(calls)]


# --- rows of 64 elements, and shifts ---------------------------------------------------------------------


def ring_of(array: RingArray) -> Ring:
    """Rows of 64 elements are of a ring; those of one word are bits."""
    if array.dtype == Z128.dtype:
        return Z128
    return BITS if array.ndim and array.shape[-1] == 1 else Z64


def shift_of(ring: Ring, size: int, turn: int) -> RingArray:
    """The shift of a draw of so many elements: rows of 64, or bits as bytes."""
    if ring is BITS:
        chosen = np.arange(size) % 2 == turn if size > 1 else np.ones(1, bool)
        return np.repeat(chosen.astype(np.uint8)[:, None], N, axis=1)
    return Generator(bytes([200 + turn] * 32)).ring(ring, (size // N, N))


def in_column(column: int, turn: int) -> Change:
    """Shift one column of a draw."""

    def change(ring: Ring, shape: Shape) -> RingArray:
        size = int(np.prod(shape))
        rows = shift_of(ring, size, turn).copy()
        others = np.arange(N) != column
        if ring is BITS:
            rows[:, others] = 0
            return pack(rows).reshape(shape)
        rows[:, others] = ring.zeros(())
        return rows.reshape(shape)

    return change


def effects(plain: RingArray, changed: RingArray, turn: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """By column: whether a message is as it was; and whether it is shifted, up or down."""
    ring = ring_of(plain)
    shift = shift_of(ring, plain.size, turn)
    if ring is BITS:
        flipped = unpack(plain, N).reshape(-1, N) != unpack(changed, N).reshape(-1, N)
        return ~flipped.any(axis=0), (flipped == shift.astype(bool)).all(axis=0)
    rows, other = plain.reshape(-1, N), changed.reshape(-1, N)
    up, down = ring.add(rows, shift), ring.sub(rows, shift)
    return (rows == other).all(axis=0), (up == other).all(axis=0) | (down == other).all(axis=0)


# --- what a coalition sees -------------------------------------------------------------------------------


def simulated(
    geometry: Geometry, corrupted: Group, value: RingArray, shares: Mapping[int, Share], who: int, among: Group
) -> RingArray:
    """The summand of an honest party, computed from the value and from the shares of t others."""
    ring = next(iter(shares.values())).ring
    tables = tables_of(geometry, ring)
    galois = tables._galois
    points = (galois.whole(0), *(tables._point(rank) for rank in corrupted))
    weight = tables._weight(who, among)
    row = []
    for place in range(len(points)):
        factor = galois.mul(weight, galois.lagrange(points, place, tables._point(who)))
        row += [galois.mul(factor, galois.power(c))[0] for c in range(1 if place == 0 else galois.degree)]
    known = [value, *(part for rank in corrupted for part in shares[rank].parts)]
    return ring.combined(known, tables._elements([row]))[0]


def shares_of_all(geometry: Geometry, shares: Mapping[int, Share]) -> dict[int, Share]:
    """The shares of all parties, from those of the openers, who have seen to an opening."""
    ring = shares[0].ring
    tables = tables_of(geometry, ring)
    galois, made = tables._galois, {rank: shares[rank] for rank in geometry.openers}
    points = tuple(tables._point(rank) for rank in geometry.openers)
    for rank in set(range(geometry.parties)) - set(geometry.openers):
        weights = [galois.lagrange(points, i, tables._point(rank)) for i in range(len(points))]
        columns = [galois.mul(w, galois.power(c)) for w in weights for c in range(galois.degree)]
        rows = tables._elements([list(row) for row in zip(*columns, strict=True)])
        made[rank] = Share(ring, ring.combined([part for r in geometry.openers for part in shares[r].parts], rows))
    return made


def opened_value(geometry: Geometry, shares: Mapping[int, Share]) -> RingArray:
    ring, among = shares[0].ring, geometry.openers
    tables = tables_of(geometry, ring)
    return ring.signed_sum([ring.combined(shares[r].parts, tables.summand(r, among))[0] for r in among])


@dataclass
class Recorded:
    """A plain run; and runs with shifted draws: the turn, the column of every draw, and the run."""

    geometry: Geometry
    plain: Log
    shifted: list[tuple[int, dict[Draw, int], Log]]

    @functools.cached_property
    def draws(self) -> list[Draw]:
        return draws_of(self.plain)

    def view(self, log: Log, corrupted: Group) -> list[RingArray]:
        """What T gets from the others; values that are opened in the place of what is said of them."""
        seen, openings = [], set()
        for rank in corrupted:
            for message in log.messages[rank]:
                if message.sender in corrupted or not message.array.size:
                    continue
                if message.opening is None:
                    seen.append(message.array)
                    continue
                openings.add(message.opening)
                if log is self.plain:
                    self._check_opening(message.opening, message, corrupted)
        for number in sorted(openings):
            seen.append(opened_value(self.geometry, self._opened(log, number)))
        return seen

    def _check_opening(self, number: int, message: Message, corrupted: Group) -> None:
        """What an opener says of a value follows from it and from T's shares."""
        shares, geometry = shares_of_all(self.geometry, self._opened(self.plain, number)), self.geometry
        value = opened_value(geometry, shares)
        told = simulated(geometry, corrupted, value, shares, message.sender, geometry.openers)
        assert np.array_equal(told, message.array), "an opener says more than the value"

    def _opened(self, log: Log, number: int) -> dict[int, Share]:
        return {rank: log.opened[rank][number] for rank in self.geometry.openers}

    def exposed(self, corrupted: Group, opened: bool = True) -> list[int]:
        """Which messages of T's view are not proved to be hidden; ``opened``: with values that were opened."""
        plain = self.view(self.plain, corrupted)
        others = [self.view(log, corrupted) for _, _, log in self.shifted]
        copies = [tuple(array.tobytes() for array in each) for each in zip(plain, *others, strict=True)]
        first = [i for i, one in enumerate(copies) if one not in copies[:i]]
        found = [
            [effects(plain[i], other[i], turn) for i in first]
            for (turn, _, _), other in zip(self.shifted, others, strict=True)
        ]
        lacked = [draw for draw in self.draws if not set(draw[0][1]) & set(corrupted)]
        changes = []
        for draw in lacked:
            runs = [(columns[draw], found[k]) for k, (_, columns, _) in enumerate(self.shifted) if draw in columns]
            changes.append([_effect([(at[i][0][c], at[i][1][c]) for c, at in runs]) for i in range(len(first))])
        left = [first[i] for i in unsettled_by(changes, len(first))]
        said = {m.opening for r in corrupted for m in self.plain.messages[r] if m.sender not in corrupted} - {None}
        return left if opened else [i for i in left if i < len(plain) - len(said)]

    def all_exposed(self, coalitions: Iterable[Group] | None = None, opened: bool = True) -> list[Group]:
        """The coalitions for which something is left."""
        geometry = self.geometry
        chosen = coalitions or combinations(range(geometry.parties), geometry.threshold)
        return [corrupted for corrupted in chosen if self.exposed(corrupted, opened)]


def _effect(runs: list[tuple[bool, bool]]) -> str:
    if all(same for same, _ in runs):
        return "none"
    return "shift" if all(moved for _, moved in runs) else "otherwise"


def recorded(kind: type[Shamir], spec: Spec, work: Callable[[Scheme], object]) -> Recorded:
    """Run as it is, and with every draw shifted, up or down by other shifts in two turns."""
    plain = run_scripted(kind, spec, work)
    draws, shifted = draws_of(plain), []
    for turn in (0, 1):
        for start in range(0, len(draws), N):
            columns = {draw: column for column, draw in enumerate(draws[start : start + N])}
            changes = {draw: in_column(column, turn) for draw, column in columns.items()}
            shifted.append((turn, columns, run_scripted(kind, spec, work, changes)))
    return Recorded(geometry_of(spec.parties, spec.threshold), plain, shifted)


# --- sharings without messages ---------------------------------------------------------------------------


def shared(s: Scheme, ring: Ring, shape: Shape, salt: int) -> Share:
    """A fixed sharing, made without any message; of small numbers, which truncation takes."""
    assert isinstance(s, Shamir)
    groups = s.geometry.groups
    values = {g: Generator(hashlib.sha256(repr((salt, g)).encode()).digest()).ring(ring, shape) for g in groups}
    if isinstance(ring, IntegerRing):
        rest = ring.signed_sum([ring.from_int(np.full(shape, 12345 + salt))], [values[g] for g in groups[1:]])
        values[groups[0]] = rest
    own = s._own_groups
    return s._from_groups(ring, [(g, 1) for g in own], [values[g] for g in own])


def bits(s: Scheme, rows: int, salt: int) -> PackedBits:
    return PackedBits(shared(s, BITS, (rows, 1), salt), N)


def numbers(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (N,), salt)


def square(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (8, 8), salt)


def tall(s: Scheme, ring: PowerOfTwoRing, salt: int) -> Share:
    return shared(s, ring, (N, 3), salt)
