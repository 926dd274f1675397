"""The one-time-pad argument for two parties: with ideal transfers and ideal encryption, whose draws are scripted.

As ``support.masks`` has it. One party is honest; the other sees what is sent to it, and knows all draws but these:

- of transfers that the honest party sends: the string that was not chosen;
- of transfers that it chooses: the choices;
- of products under encryption that it serves: its mask of the result, which the other party gets masked;
- its own coins, of masks for several products column by column.

Each of these is shifted, by another amount in every place; bits are flipped in some places, then in the others. What
the honest party sends must move accordingly: a message is hidden by a draw that moves all of it as it was moved itself,
and no other message that is not hidden yet. Openings are no secrets: the operations here open nothing, and of masked
digits of numbers ``test_masks_numbers.py`` tells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cofit.arithmetic import Generator, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length, unpack
from cofit.arithmetic.integers import Words
from cofit.sharing.pair.crossing import _narrowed, _rows, _widened, number_bytes
from cofit.sharing.pair.held import PairHeld
from cofit.sharing.pair.matrices import Task
from cofit.sharing.pair.party import Pair
from cofit.sharing.pair.rlwe.packing import MatrixPacking
from support.masks import unsettled_by
from support.runs import run_scheme

DIGITS = "digits"
"""What the masked digits of numbers are called: they are a part of an opening."""


class Draw(NamedTuple):
    """Of the honest party. ``what``: 'sent', 'chosen', 'coins' or 'encrypted'; ``column``: of masks of products."""

    what: str
    place: int
    column: int | None = None


class Use(NamedTuple):
    """In which group a draw is used, and in what shape."""

    ring: Ring
    shape: Shape


@dataclass(frozen=True)
class Change:
    """What is done to draws of the honest party. ``turn``: which bits are flipped, or which shifts are added."""

    shifted: Draw | None = None
    turn: int = 0
    zero: Draw | None = None
    repeat: tuple[Draw, Draw] | None = None
    uses: Mapping[Draw, Use] = field(default_factory=dict)

    def pattern(self, draw: Draw, shape: Shape) -> Words:
        """Random words; in the other turn the opposite ones."""
        drawn = stream("shift", draw).ring(BITS, shape)
        return ~drawn if self.turn else drawn

    def elements(self, ring: Ring, draw: Draw, shape: Shape) -> RingArray:
        """Random elements."""
        if not isinstance(ring, PowerOfTwoRing):
            return self.pattern(draw, shape)
        words = self.pattern(draw, (int(np.prod(shape)) * ring.words,))
        return ring.from_words(words).reshape(shape)


@dataclass
class Log:
    """What the honest party sent, by array, with the operation; its draws, and how they were used."""

    messages: list[tuple[str, RingArray]] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    uses: dict[Draw, Use] = field(default_factory=dict)


def stream(*key: object) -> Generator:
    return Generator(hashlib.sha256(repr(key).encode()).digest())


# --- transfers -------------------------------------------------------------------------------------------


def view(rows: Words, ring: Ring, planes: int = 1) -> RingArray:
    """What strings of 128 bits are as planes of bits, or as elements."""
    if isinstance(ring, PowerOfTwoRing):
        return ring.from_words(np.ascontiguousarray(rows[:, : ring.words]).reshape(-1))
    bits = np.unpackbits(np.ascontiguousarray(rows).view(np.uint8), axis=1, bitorder="little")[:, :planes].T
    return np.packbits(np.ascontiguousarray(bits), axis=1, bitorder="little").view(np.uint64)


class Strings(NamedTuple):
    """Stands for transfers, at either end; ``used`` is told how."""

    rows: tuple[Words, ...]
    choices: Words
    used: Callable[[Use], None]

    def _given(self, ring: Ring, planes: int = 1) -> Any:
        self.used(Use(ring, (planes, len(self.rows[0]))))
        made = tuple(view(each, ring, planes) for each in self.rows)
        return made if len(made) == 2 else made[0]

    def bits(self) -> Any:
        made = self._given(BITS)
        return (made[0][0], made[1][0]) if len(self.rows) == 2 else made[0]

    def planes(self, count: int) -> Any:
        return self._given(BITS, count)

    def elements(self, ring: PowerOfTwoRing) -> Any:
        return self._given(ring)


class Ideal:
    """Transfers of both directions that come from a script; step by step, as the program takes them."""

    def __init__(self, rank: int, honest: int, change: Change, log: Log) -> None:
        self._rank, self._honest, self._change, self._log = rank, honest, change, log
        self._steps = self.position = 0

    def take(self, sent: int, chosen: int) -> tuple[Any, Any]:
        step, self._steps = self._steps, self._steps + 1
        self.position += sent + chosen
        ours = self._end(self._rank, step, sent)
        theirs = self._end(1 - self._rank, step, chosen)
        return ours, theirs

    def _end(self, sender: int, step: int, words: int) -> Strings:
        draw = Draw("sent" if sender == self._honest else "chosen", step)
        if words and self._rank == self._honest:
            self._log.draws.append(draw)
        rows, choices = self._script(sender, draw, words)
        if self._rank != sender:
            bits = unpack(choices.reshape(1, -1), 64 * words)[0].astype(bool)[:, None]
            rows = (np.where(bits, rows[1], rows[0]),)
        return Strings(rows, choices, lambda use: self._used(draw, use))

    def _used(self, draw: Draw, use: Use) -> None:
        if self._rank == self._honest:
            assert draw not in self._log.uses, "a transfer is used twice"
            self._log.uses[draw] = use

    def _script(self, sender: int, draw: Draw, words: int) -> tuple[tuple[Words, ...], Words]:
        change = self._change
        if change.repeat is not None and draw == change.repeat[1]:
            draw = change.repeat[0]
        made = stream("transfers", sender, draw.place)
        zeros, ones = (made.ring(BITS, (64 * words, 2)) for _ in range(2))
        choices = made.ring(BITS, (words,))
        if draw.what == "chosen":  # the other party knows both strings, and lacks the choices
            if draw == change.shifted:
                choices = choices ^ change.pattern(draw, choices.shape)
            return (zeros, ones), np.zeros_like(choices) if draw == change.zero else choices
        bits = unpack(choices.reshape(1, -1), 64 * words)[0].astype(bool)[:, None]
        known, lacked = np.where(bits, ones, zeros), np.where(bits, zeros, ones)
        if draw == change.shifted:
            lacked = _moved(lacked, change.pattern(draw, lacked.shape), change.uses[draw].ring)
        if draw == change.zero:
            lacked = np.zeros_like(lacked)
        return (np.where(bits, lacked, known), np.where(bits, known, lacked)), choices


def _moved(rows: Words, pattern: Words, ring: Ring) -> Words:
    """Strings moved by a pattern: as bits, or as numbers."""
    if not isinstance(ring, PowerOfTwoRing):
        return rows ^ pattern
    low = rows[:, 0] + pattern[:, 0]
    carry = (low < rows[:, 0]) & (ring.words == 2)
    return np.stack([low, rows[:, 1] + pattern[:, 1] + carry.astype(np.uint64)], axis=1)


# --- coins -----------------------------------------------------------------------------------------------


class Coins(Generator):
    """The honest party's own coins, changed."""

    __slots__ = ("_change", "_log", "_made", "_what")

    def __init__(self, what: str, change: Change, log: Log) -> None:
        super().__init__(hashlib.sha256(what.encode()).digest())
        self._what, self._change, self._log = what, change, log
        self._made: list[RingArray] = []

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        drawn, place, change = super().ring(ring, shape).copy(), len(self._made), self._change
        by_column = self._what == "coins" and len(shape) == 2 and isinstance(ring, PowerOfTwoRing)
        for column in range(shape[1]) if by_column else [None]:
            draw, at = Draw(self._what, place, column), ... if column is None else (slice(None), column)
            own = drawn[at].shape
            if draw == change.shifted:
                drawn[at] = ring.add(drawn[at], change.elements(ring, draw, own))
            if draw == change.zero:
                drawn[at] = ring.zeros(own)
            if change.repeat is not None and draw == change.repeat[1]:
                before = change.repeat[0]
                source = drawn if before.place == place else self._made[before.place]
                drawn[at] = source if before.column is None else source[:, before.column]
            self._log.draws.append(draw)
            self._log.uses[draw] = Use(ring, own)
        self._made.append(drawn)
        return drawn


# --- runs ------------------------------------------------------------------------------------------------


def run_scripted(work: Callable[[Pair], object], honest: int, change: Change, kind: type[Pair] = Pair) -> Log:
    """Run with scripted draws, and note what the honest party sends and draws."""
    log = Log()

    class Scripted(kind):  # type: ignore[misc, valid-type]
        with_matrix = False

        def setup(self) -> None:
            self._pairs = {self._other: stream("pair")}
            self._transfers = Ideal(self.rank, honest, change, log)
            mine = self.rank == honest
            self._coins = Coins("coins", change, log) if mine else stream("other coins")
            self._encryption = Coins("encrypted", change, log) if mine else stream("other masks")

        def _held_product(self, operation: str, ring: Ring, a: PairHeld, right: RingArray, shape: Shape) -> RingArray:
            self.with_matrix = True
            try:
                return super()._held_product(operation, ring, a, right, shape)  # type: ignore[no-any-return]
            finally:
                self.with_matrix = False

        def _swap(self, operation: str, out: Sequence[RingArray], room: Sequence[RingArray]) -> None:
            if self.rank == honest:
                for i, array in enumerate(out):
                    label = DIGITS if operation == "unmask" and (i, len(out)) == (0, 2) else operation
                    parts = list(array.T) if self.with_matrix else [array]
                    log.messages += [(label, part.copy()) for part in parts]
            super()._swap(operation, out, room)

        def _encrypted(self, tasks: Sequence[Task]) -> list[RingArray]:
            """The client says what it has; the server gives it the product less a mask, and keeps the mask."""
            shares = []
            for server, packing, have in tasks:
                ring, own = packing.parameters.ring, np.ascontiguousarray(have)
                if server != self.rank:
                    theirs = ring.empty(packing.result_shape)
                    super()._swap("ideal", [own], [])
                    super()._swap("ideal", [], [theirs])
                    shares.append(theirs)
                    continue
                asked = ring.empty(packing.operand_shape)
                super()._swap("ideal", [], [asked])
                mask = self._encryption.ring(ring, packing.result_shape)
                by_matrix = isinstance(packing, MatrixPacking)
                whole = ring.matmul(own, asked) if by_matrix else ring.inner_sum([own], [asked])
                reply = ring.sub(whole, mask)
                if self.rank == honest:
                    log.messages.append(("encrypted", reply.copy()))
                super()._swap("ideal", [reply], [])
                shares.append(mask)
            return shares

    def program(s: Any) -> None:
        work(s)

    run_scheme(Scripted, program, parties=2)
    return log


# --- what is hidden --------------------------------------------------------------------------------------


def effect(plain: RingArray, changed: RingArray, change: Change, use: Use) -> str:
    """How a shifted draw changed a message: not at all, everywhere as it was shifted itself, or otherwise."""
    if np.array_equal(plain, changed):
        return "none"
    draw = change.shifted
    assert draw is not None
    ring = use.ring
    if draw.what == "chosen":
        return _shift(plain.size * 64 == _size(change, draw) and _flipped(plain, changed, _words(change, draw)))
    if draw.what != "sent":
        alike = plain.dtype == ring.dtype and plain.size == int(np.prod(use.shape))
        return _shift(alike and _added(ring, plain, changed, change, draw))
    rows = change.pattern(draw, (_size(change, draw), 2))
    if ring is BITS:
        wanted = view(rows, BITS, use.shape[0])
        if wanted.size != plain.size:
            return "otherwise"
        if plain.ndim == 3:  # by row, plane and word
            wanted = wanted.reshape(len(wanted), len(plain), -1).swapaxes(0, 1)
        return _shift(_flipped(plain, changed, wanted))
    assert isinstance(ring, PowerOfTwoRing)
    shift = view(rows, ring)
    if plain.dtype == np.uint8:
        if ring.bits * packed_length(plain.size // number_bytes(ring, 1)) * 64 != len(rows):
            return "otherwise"
        count = plain.size // number_bytes(ring, 1)
        differences = ring.sub(_widened(ring, changed, count), _widened(ring, plain, count))
        shift = _rows(shift, ring.bits, count)
        parts = (_octets(ring, each) for each in (differences, shift, ring.neg(shift)))
        return _shift(all((a == b).all() or (a == c).all() for a, b, c in zip(*parts, strict=True)))
    if plain.ndim != 2 or len(plain) * packed_length(plain.shape[1]) * 64 != len(rows) or plain.dtype != ring.dtype:
        return "otherwise"
    shift = _rows(shift, len(plain), plain.shape[1])
    difference = ring.sub(changed, plain)
    return _shift(bool(((difference == shift) | (difference == ring.neg(shift))).all()))


def _shift(right: bool) -> str:
    return "shift" if right else "otherwise"


def _size(change: Change, draw: Draw) -> int:
    """Transfers of a step."""
    return change.uses[draw].shape[1]


def _words(change: Change, draw: Draw) -> Words:
    return change.pattern(draw, (_size(change, draw) // 64,))


def _flipped(plain: RingArray, changed: RingArray, wanted: Words) -> bool:
    return bool(np.array_equal(plain ^ changed, wanted.reshape(plain.shape)))


def _added(ring: Ring, plain: RingArray, changed: RingArray, change: Change, draw: Draw) -> bool:
    shift = change.elements(ring, draw, change.uses[draw].shape).reshape(plain.shape)
    return any(np.array_equal(moved, changed) for moved in (ring.add(plain, shift), ring.sub(plain, shift)))


def _octets(ring: PowerOfTwoRing, rows: RingArray) -> list[Any]:
    """Elements in the bytes in which they are sent, one by one."""
    size, count = ring.element_bytes, rows.shape[1]
    octets, found, start = _narrowed(ring, rows), [], 0
    for group in range(size):
        end = start + 8 * count * (size - group)
        found += list(octets[start:end].reshape(-1, size - group))
        start = end
    return found


def exposed(work: Callable[[Pair], object], honest: int, change: Change | None = None, kind: type[Pair] = Pair) -> Any:
    """What the honest party sends that is not proved to be hidden; ``change``: with draws that are broken."""
    broken = change or Change()
    log = run_scripted(work, honest, broken, kind)
    judged = [i for i, (operation, _) in enumerate(log.messages) if operation != DIGITS]
    assert judged
    draws = [draw for draw in log.draws if draw in log.uses]
    changes = []
    for draw in draws:
        both = []
        for turn in (0, 1):
            moved = Change(draw, turn, broken.zero, broken.repeat, log.uses)
            other = run_scripted(work, honest, moved, kind)
            both.append([effect(log.messages[i][1], other.messages[i][1], moved, log.uses[draw]) for i in judged])
        changes.append([a if a == b else "otherwise" for a, b in zip(*both, strict=True)])
    return [judged[i] for i in unsettled_by(changes, len(judged))]
