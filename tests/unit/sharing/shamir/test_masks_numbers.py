"""Ring elements from the digits of numbers with ``shamir``: whoever sees a sum c = T + r_0 + r_1 + ... lacks an r_j.

For every coalition that has an opener in it, and so sees c, there is an honest masker j, and a draw of the group of all
others in the digits of r_j. Changed so that r_j grows by some d, it makes c grow by d modulo 2^K in every element, and
no other sum changes: c is a one-time pad. All other messages have draws of their own (``support.coalitions``), which
are in no sum.
"""

from __future__ import annotations

from abc import abstractmethod
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import Z64, Z128, IntegerRing, Ring, RingArray, Shape
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack, unpack
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.group_streams import Group
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.shamir.geometry import Geometry
from cofit.sharing.shamir.party import Shamir
from cofit.sharing.shamir.wraps import IN_BITS
from cofit.sharing.shares import PlacedBits
from support.coalitions import Log, N, bits, opened_value, recorded, run_scripted
from support.schemes import also_slow, form

Integers = npt.NDArray[np.int64]
WIDTHS = (4, 6)  # K of either sum: 7 has 3 digits, 7 + 2 * 7 has 5


def two_sums(s: Scheme, ring: IntegerRing) -> None:
    one, other = PlacedBits(0, bits(s, 3, 0)), PlacedBits(1, bits(s, 3, 1))
    s.from_numbers([one], ring)
    s.from_numbers([one, other], ring)


def numbers_of(digits: RingArray) -> Integers:
    return np.asarray((unpack(digits, N).astype(np.int64) << np.arange(len(digits))[:, None]).sum(axis=0))


def digits_of(numbers: Integers, width: int) -> npt.NDArray[np.uint8]:
    return (numbers >> np.arange(width)[:, None] & 1).astype(np.uint8)


def openings_of_sums(geometry: Geometry) -> tuple[int, int]:
    """Which openings are those of the sums: with three maskers the masked bits of wraps follow each."""
    return (0, 2) if geometry.threshold >= IN_BITS else (0, 1)


def sums(log: Log, geometry: Geometry) -> list[Integers]:
    """The sums that were opened."""
    return [
        numbers_of(opened_value(geometry, {r: log.opened[r][i] for r in geometry.openers}))
        for i in openings_of_sums(geometry)
    ]


def exposed(kind: type[Shamir], ring: IntegerRing, name: str) -> list[tuple[Group, str]]:
    """The coalitions (of seven parties, some of them), and what is not proved to be hidden from each."""
    spec = form(name).spec
    run = recorded(kind, spec, lambda s: two_sums(s, ring))
    geometry, log = run.geometry, run.plain
    chosen = list(combinations(range(spec.parties), spec.threshold))[:: 1 if spec.parties < 7 else 5]
    problems = [(corrupted, "messages") for corrupted in run.all_exposed(chosen, opened=False)]
    plain, of_sums, every = sums(log, geometry), openings_of_sums(geometry), set(range(len(log.opened[0])))
    assert tuple(len(log.opened[0][i].parts[0]) for i in of_sums) == WIDTHS
    assert all(len(log.opened[0][i].parts[0]) == 2 for i in every - set(of_sums)), "the bits of wraps"
    for corrupted in chosen:
        said = {m.opening for r in corrupted for m in log.messages[r] if m.sender not in corrupted} - {None}
        assert said == (every if set(corrupted) & set(geometry.openers) else set()), "who sees the sums"
        if said > set(of_sums):
            left = run.exposed(corrupted)  # values that were opened come last, in their order
            first = len(run.view(log, corrupted)) - len(said)
            bits_shown = [i for i in left if i >= first and i - first not in of_sums]
            problems += [(corrupted, "bits of wraps")] if bits_shown else []
        others = tuple(r for r in range(spec.parties) if r not in corrupted)
        for place in (0, 1) if said else ():
            width, masker = WIDTHS[place], next(r for r in geometry.maskers if r in others)
            step = np.arange(5, 5 + 7 * N, 7) % (1 << width)
            r = numbers_of(log.kept[masker][place])
            flips = pack(digits_of(r ^ (r + step) % (1 << width), width))

            def change(ring: Ring, shape: Shape, flips: RingArray = flips) -> RingArray:
                return flips.reshape(shape)

            again = run_scripted(kind, spec, lambda s: two_sums(s, ring), {log.masks[place, masker, others]: change})
            moved = sums(again, geometry)
            for i in (0, 1):
                grown = step if i == place else 0
                if not np.array_equal(moved[i], (plain[i] + grown) % (1 << WIDTHS[i])):
                    problems.append((corrupted, f"sum {i}, masked by {place}"))
    return problems


@pytest.mark.parametrize(
    ("name", "ring"),
    also_slow(
        [("shamir", Z128), ("shamir/king", Z64), ("shamir/5", Z64)],
        *((name, Z64) for name in ("shamir/5/king", "shamir/4", "shamir/5/1", "shamir/6/king", "shamir/7")),
    ),
    ids=str,
)
def test_all_that_is_sent_is_hidden_and_so_is_every_sum(name: str, ring: IntegerRing) -> None:
    assert exposed(Shamir, ring, name) == []


class WithChangedMasks(Shamir):
    """Digits of masks that are changed at all who have a share of them."""

    sums = 0

    @abstractmethod
    def changed(self, words: RingArray, place: int) -> RingArray:
        """Return what is shared in the place of these words, for the mask of one masker."""

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray | None]:
        masks, kept = super()._number_masks(width, count, ring)
        made: list[BitShare] = []
        for place, mask in enumerate(masks):
            parts = [self.changed(part, place) for part in words_of(mask).parts]
            made.append(PackedBits(Share(BITS, tuple(parts)), count))
        self.sums += 1
        own = self.geometry.maskers.index(self.rank) if kept is not None else None
        return made, kept if kept is None or own is None else self.changed(kept, own)


class WithoutTopDigit(WithChangedMasks):
    def changed(self, words: RingArray, place: int) -> RingArray:
        return np.concatenate([words[:-1], BITS.zeros((1, words.shape[1]))])


class OneDigitForTwo(WithChangedMasks):
    def changed(self, words: RingArray, place: int) -> RingArray:
        return np.concatenate([words[:2], words[1:2], words[3:]])


class OneMasker(WithChangedMasks):
    """Of several maskers only the last one has a mask."""

    def changed(self, words: RingArray, place: int) -> RingArray:
        return words if place == len(self.geometry.maskers) - 1 else BITS.zeros(words.shape)


class UsedTwice(Shamir):
    """The second sum has the digits of the first one's masks, as far as they go."""

    before: tuple[list[tuple[RingArray, ...]], RingArray | None] | None = None

    def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], RingArray | None]:
        masks, kept = super()._number_masks(width, count, ring)
        if self.before is None:
            self.before = [words_of(mask).parts for mask in masks], kept
            return masks, kept
        old, own = self.before
        made: list[BitShare] = []
        for parts, mask in zip(old, masks, strict=True):
            pairs = zip(parts, words_of(mask).parts, strict=True)
            made.append(PackedBits(Share(BITS, tuple(np.concatenate([a, b[len(a) :]]) for a, b in pairs)), count))
        return made, kept if kept is None or own is None else np.concatenate([own, kept[len(own) :]])


class ShownToAMasker(Shamir):
    """The first opener tells the last masker what it has of a sum."""

    def _unmasked(self, masked: BitShare, kept: RingArray | None, ring: IntegerRing) -> Share:
        last, words = self.geometry.maskers[-1], words_of(masked)
        if self.rank == 0:
            self._exchange("unmask", {last: [self._summand(words, self.geometry.openers)]})
        elif self.rank == last:
            self._exchange("unmask", {}, {0: BITS.empty(words.shape)})
        return super()._unmasked(masked, kept, ring)


KINDS = (WithoutTopDigit, OneDigitForTwo, UsedTwice, ShownToAMasker)
BROKEN = also_slow(
    [*((kind, "shamir") for kind in KINDS), (OneMasker, "shamir/5")],
    *((kind, "shamir/5") for kind in KINDS),
)


@pytest.mark.parametrize(("kind", "name"), BROKEN, ids=lambda one: getattr(one, "__name__", str(one)))
def test_a_mask_that_is_none_is_noticed(kind: type[Shamir], name: str) -> None:
    assert exposed(kind, Z64, name)
