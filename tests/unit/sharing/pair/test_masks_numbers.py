"""Ring elements from the digits of numbers with ``pair``: one party sees the sum, under a mask that the other one drew.

Its messages are judged as ever (``test_masks.py``); here is the sum that is opened. How: see ``support.numbers``.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, IntegerRing, PowerOfTwoRing
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.integers import Words
from cofit.sharing import BitShare, Scheme, Share
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.pair.conversion import MASKER, OPENER
from cofit.sharing.pair.party import Pair
from support.numbers import WIDTHS, Change, Scripted, Seen, exposed, masking, totals, two_sums
from support.runs import run_scheme


def seen_by_the_opener(ring: PowerOfTwoRing, broken: str, change: Change) -> Seen:
    """What the opener sees of two sums; draws of the masker's coins are changed."""
    seen, first = Seen(), []

    class Instrumented(Pair):
        def setup(self) -> None:
            super().setup()
            if self.rank == MASKER:
                self._coins = Scripted(7, change)

        def _number_masks(self, width: int, count: int, ring: IntegerRing) -> tuple[list[BitShare], Words]:
            with masking(self._coins):
                made, kept = super()._number_masks(width, count, ring)
            if self.rank != MASKER or not broken:
                return made, kept
            kept = kept.copy()
            if broken == "no top digit":
                kept[-1] = 0
            if broken == "no digits":
                kept[:] = 0
            if broken == "one mask for all":
                first.append(kept[: WIDTHS[0]])
                kept[: WIDTHS[0]] = first[0]
            return [PackedBits(Share(BITS, (kept,)), count)], kept

        def _unmasked(self, masked: BitShare, kept: Words, ring: IntegerRing) -> Share:
            digits = self.boolean.open(masked, [OPENER])
            if self.rank == OPENER and digits is not None:
                seen.opened(np.packbits(digits, axis=1, bitorder="little").view(np.uint64))
            return super()._unmasked(masked, kept, ring)

    def program(s: Scheme) -> None:
        two_sums(s, ring)

    run_scheme(Instrumented, program)
    return seen


def exposed_sums(ring: PowerOfTwoRing, broken: str = "") -> list[str]:
    return exposed(functools.partial(seen_by_the_opener, ring, broken), totals(2))


@pytest.mark.parametrize("ring", [Z64, pytest.param(Z128, marks=pytest.mark.slow)], ids=str)
def test_the_sum_that_is_opened_is_a_one_time_pad(ring: PowerOfTwoRing) -> None:
    seen = seen_by_the_opener(ring, "", Change())
    assert tuple(len(seen.messages[i]) for i in seen.sums) == WIDTHS
    assert exposed_sums(ring) == []


@pytest.mark.parametrize("broken", ["no top digit", "no digits", "one mask for all"])
def test_a_mask_that_lacks_something_is_noticed(broken: str) -> None:
    assert exposed_sums(Z64, broken)


def test_the_opener_draws_nothing_and_the_masker_opens_nothing() -> None:
    def program(s: Any) -> tuple[bool, Any]:
        (mask,), kept = s._number_masks(5, 64, Z64)
        opened = s.boolean.open(mask, [OPENER])
        return bool(words_of(mask).parts[0].any() or kept.any()), opened

    results = run_scheme("pair", program).results
    assert [drawn for drawn, _ in results] == [True, False]
    assert results[MASKER][1] is None
