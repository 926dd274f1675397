"""Broken randomness: bits that draws, or the tables of one draw, have in common; digits that are left out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cofit import Party, SecretBits
from cofit.arithmetic import RingArray
from cofit.sampling import discrete_laplace, geometric
from cofit.sharing.packed_bits import PackedBits, words_of


def share_among_tables(monkeypatch: pytest.MonkeyPatch, which: Callable[[int], bool]) -> None:
    """All tables of a draw take the random bits of the first; ``which``: bits of which widths."""
    original = Party.random_secret_bits

    def shared(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        if not which(width):
            return original(self, shape, width)
        one = original(self, (1, shape[1]), width)
        words = words_of(one._share).map(lambda part: np.tile(part, (1, shape[0])))
        return SecretBits(self._scheme, PackedBits(words, shape[0] * shape[1]), shape)

    monkeypatch.setattr(Party, "random_secret_bits", shared)


def share_among_draws(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    """Every second lane (1), or every second word of lanes (64), takes the random bits of the one before."""
    original = Party.random_secret_bits

    def doubled(part: RingArray) -> RingArray:
        if lanes == 1:
            even = part & np.uint64(0x5555555555555555)
            return even | even << np.uint64(1)
        return np.repeat(part[:, ::2], 2, axis=1)[:, : part.shape[1]]

    def shared(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        bits = original(self, shape, width)
        return SecretBits(self._scheme, PackedBits(words_of(bits._share).map(doubled), bits._share.count), shape)

    monkeypatch.setattr(Party, "random_secret_bits", shared)


def without_digit(monkeypatch: pytest.MonkeyPatch, digit: int) -> None:
    """The digits of geometric variables come from tables in which one of them (from the end, if negative) is never set.

    The caches of laws stay as they are: what is broken here is made afresh, and nowhere kept.
    """
    original = geometric.digit_probabilities

    def without(t: Fraction, precision: int) -> tuple[Any, ...]:
        probabilities = list(original(t, precision))
        probabilities[digit] = 0 * probabilities[digit]
        return tuple(probabilities)

    monkeypatch.setattr(geometric, "digit_probabilities", without)
    for module, name in ((geometric, "digit_tables"), (geometric, "_table_sum"), (discrete_laplace, "_table_sum")):
        monkeypatch.setattr(module, name, getattr(module, name).__wrapped__)
