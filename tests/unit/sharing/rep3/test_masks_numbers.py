"""Ring elements from the digits of numbers with ``rep3``: what is sent is masked, and who sees a sum lacks its mask.

A receiver lacks one seed. Party 2 knows the mask: it sees no sum. How that is shown: see ``support.numbers``.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
import pytest

from cofit.arithmetic import Z64, Generator, IntegerRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import packed_length
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.rep3.party import Rep3
from support.masks import Recorder
from support.numbers import COUNT, WIDTHS, Change, Scripted, Seen, exposed, masking, totals, two_sums
from support.runs import run_scheme


def seen_with_rep3(kind: type[Rep3], ring: IntegerRing, receiver: int, change: Change) -> Seen:
    lacking, seen = (receiver + 2) % 3, Seen()

    class Instrumented(Recorder, kind):  # type: ignore[misc, valid-type]
        masked: tuple[RingArray, ...] = ()

        def setup(self) -> None:
            super().setup()
            seeds = self.rank, (self.rank + 1) % 3
            self._own, self._next = (Scripted(k, change if k == lacking else Change()) for k in seeds)

        def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray]:
            with masking(self._own, self._next):
                made: tuple[list[BitShare], RingArray] = super()._number_masks(width, count, ring)
            return made

        def _unmasked(self, masked: BitShare, kept: RingArray, ring: IntegerRing) -> Share:
            self.masked = words_of(masked).parts
            made: Share = super()._unmasked(masked, kept, ring)
            self.masked = ()
            return made

        def received(self, operation: str, arrays: Mapping[int, RingArray]) -> None:
            for array in arrays.values() if self.rank == receiver else ():
                if self.masked and array.shape == self.masked[0].shape:  # the last part of the sum
                    seen.opened(functools.reduce(BITS.add, (*self.masked, array)))
                    self.masked = ()
                elif array.shape == (2, COUNT):
                    seen.messages += [array[0].copy(), array[1].copy()]
                else:
                    seen.messages.append(array.copy())

    def program(s: Scheme) -> None:
        assert isinstance(s, Rep3)
        two_sums(s, ring)
        if s.rank == lacking:
            seen.draws = s._own.draws  # type: ignore[attr-defined]

    run_scheme(Instrumented, program)
    return seen


def exposed_with_rep3(kind: type[Rep3], ring: IntegerRing, receiver: int) -> list[str]:
    return exposed(functools.partial(seen_with_rep3, kind, ring, receiver), totals(3))


@pytest.mark.parametrize("receiver", range(3))
def test_rep3_hides_all_that_is_sent(ring: IntegerRing, receiver: int) -> None:
    seen = seen_with_rep3(Rep3, ring, receiver, Change())
    assert tuple(len(seen.messages[i]) for i in seen.sums) == ((), WIDTHS)[receiver < 2], "who sees the sums"
    assert exposed_with_rep3(Rep3, ring, receiver) == []


class KnownToParty0(Rep3):
    """Both parts of the mask are drawn from k_0, which party 0 has."""

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray]:
        shape = (width, packed_length(count))
        zeros = BITS.zeros(shape)
        stream = {0: self._own, 1: None, 2: self._next}[self.rank]
        one, two = (zeros, zeros) if stream is None else (stream.ring(BITS, shape), stream.ring(BITS, shape))
        r = BITS.add(one, two)
        parts = {0: (r, zeros), 1: (zeros, zeros), 2: (zeros, r)}[self.rank]
        return [PackedBits(Share(BITS, parts), count)], r


class WithMask(Rep3):
    """A mask that is changed at all who have a part of it."""

    @abstractmethod
    def changed(self, words: RingArray) -> RingArray:
        """Return what is shared in the place of these words."""

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray]:
        (share,), _ = super()._number_masks(width, count, ring)
        first, second = (self.changed(part) for part in words_of(share).parts)
        return [PackedBits(Share(BITS, (first, second)), count)], BITS.add(first, second)


class WithoutTopDigit(WithMask):
    def changed(self, words: RingArray) -> RingArray:
        return np.concatenate([words[:-1], BITS.zeros((1, words.shape[1]))])


class WithoutLowestDigit(WithMask):
    def changed(self, words: RingArray) -> RingArray:
        return np.concatenate([BITS.zeros((1, words.shape[1])), words[1:]])


class OneDigitForTwo(WithMask):
    """Digits 1 and 2 of the mask are the same."""

    def changed(self, words: RingArray) -> RingArray:
        return np.concatenate([words[:2], words[1:2], words[3:]])


class UsedTwice(Rep3):
    """The second sum has the digits of the first one's mask, as far as they go."""

    before: tuple[RingArray, ...] = ()

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray]:
        (share,), kept = super()._number_masks(width, count, ring)
        if not self.before:
            self.before = words_of(share).parts
            return [share], kept
        pairs = zip(self.before, words_of(share).parts, strict=True)
        first, second = (np.concatenate([old, new[len(old) :]]) for old, new in pairs)
        return [PackedBits(Share(BITS, (first, second)), count)], BITS.add(first, second)


class ShownToParty2(Rep3):
    """Party 1 also sends its part of the sum to party 2, who knows the mask."""

    def _unmasked(self, masked: BitShare, kept: RingArray, ring: IntegerRing) -> Share:
        if self.rank == 1:
            self._exchange("mul", {2: [words_of(masked).parts[0]]})
        elif self.rank == 2:
            missing = BITS.empty(words_of(masked).shape)
            self._exchange("mul", {}, {1: missing})
        return super()._unmasked(masked, kept, ring)


BROKEN: dict[str, tuple[type[Rep3], int]] = {
    "both parts known to party 0": (KnownToParty0, 0),
    "no top digit": (WithoutTopDigit, 0),
    "no lowest digit": (WithoutLowestDigit, 1),
    "one digit for two": (OneDigitForTwo, 0),
    "used twice": (UsedTwice, 1),
    "shown to who knows it": (ShownToParty2, 2),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_mask_that_is_none_is_noticed(name: str) -> None:
    kind, receiver = BROKEN[name]
    assert exposed_with_rep3(kind, Z64, receiver)


class SameDraws(Scripted):
    """One of the draws while a sum is unmasked is zero, or the one before it again."""

    __slots__ = ("before", "count", "inner", "place", "what")
    before: RingArray

    def __init__(self, inner: Generator, place: int, what: str) -> None:
        self.inner, self.place, self.what, self.count = inner, place, what, 0

    @property
    def position(self) -> int:  # type: ignore[override]
        return self.inner.position

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        drawn, self.count = self.inner.ring(ring, shape), self.count + 1
        if self.count - 1 == self.place:
            drawn = ring.zeros(shape) if self.what == "zero" else self.before
        self.before = drawn
        return drawn


def broken_unmasking(seed: int, place: int, what: str) -> type[Rep3]:
    class Broken(Rep3):
        def _unmasked(self, masked: BitShare, kept: RingArray, ring: IntegerRing) -> Share:
            own, following = self._own, self._next
            if self.rank == seed:
                self._own = SameDraws(own, place, what)
            if (self.rank + 1) % 3 == seed:
                self._next = SameDraws(following, place, what)
            try:
                return super()._unmasked(masked, kept, ring)
            finally:
                self._own, self._next = own, following

    return Broken


# what party 1 lacks: k_0, of which r, its top digit and out_0 are masked; what party 0 lacks: k_2, of out_2
UNMASKING = [(0, 0, "zero"), (0, 1, "zero"), (0, 2, "zero"), (0, 1, "repeat"), (0, 2, "repeat"), (2, 0, "zero")]


@pytest.mark.parametrize(("seed", "place", "what"), UNMASKING)
def test_an_unmasking_with_a_missing_or_reused_draw_is_noticed(seed: int, place: int, what: str) -> None:
    assert exposed_with_rep3(broken_unmasking(seed, place, what), Z64, (seed + 1) % 3)
