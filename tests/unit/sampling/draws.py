"""Short ways to run a sampler and to feed it words of our choice instead of random ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit import LocalRun, Party, SecretArray, SecretBits, run_local
from cofit.errors import PartyFailedError

SCHEMES = ["clear", "rep3"]


def opened(expression: Callable[[Party], SecretArray | SecretBits], scheme: str = "clear") -> npt.NDArray[Any]:
    """Open a draw to all parties, check that all see the same, and return it."""
    return first_of(run_local(lambda party: party.open(expression(party), reason="test"), scheme=scheme))


def first_of(run: LocalRun[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """What all parties saw."""
    first, *others = run.results.values()
    assert all((first == other).all() for other in others)
    return first


def refusal(program: Callable[[Party], object]) -> BaseException:
    """The error that a sampler raised at a single party in the clear."""
    with pytest.raises(PartyFailedError) as info:
        run_local(program, scheme="clear", parties=1)
    assert info.value.__cause__ is not None
    return info.value.__cause__


def all_words(party: Party, width: int) -> SecretBits:
    """Element i holds the word i, for all 2^width words."""
    words = np.arange(1 << width)
    return known_bits(party, np.array([words >> j & 1 for j in range(width)], dtype=np.uint8))


def known_bits(party: Party, bits: npt.NDArray[np.uint8], shape: tuple[int, ...] | None = None) -> SecretBits:
    """Shared bits of known value, shape (width, count), for an array of some shape."""
    return SecretBits(party._scheme, party._scheme.boolean.constant(bits), shape or (bits.shape[1],))


def binary(numbers: npt.ArrayLike, width: int) -> npt.NDArray[np.uint8]:
    """The bits of numbers, the lowest in row 0."""
    return np.array(
        [[int(n) >> j & 1 for n in np.asarray(numbers, dtype=object)] for j in range(width)], dtype=np.uint8
    )


def feed(monkeypatch: pytest.MonkeyPatch, *draws: npt.NDArray[np.uint8]) -> None:
    """Let every party's random bits be these, one array of shape (width, count) after the other."""
    taken: dict[Party, int] = {}

    def next_draw(self: Party, shape: tuple[int, ...], width: int = 1) -> SecretBits:
        place = taken.get(self, 0)
        taken[self] = place + 1
        bits = draws[place]
        assert bits.shape == (width, np.prod(shape)), "the sampler draws other bits than those it is fed"
        return known_bits(self, bits, shape)

    monkeypatch.setattr(Party, "random_secret_bits", next_draw)


def cost(draw: Callable[[Party], object]) -> tuple[int, int]:
    """Rounds (the most that any party waited) and payload bytes of all parties for a draw with rep3."""

    def program(party: Party) -> None:
        draw(party)

    rounds, sent = [], 0
    for counts in run_local(program, scheme="rep3").traffic.values():
        entries = [c for label, c in counts.entries if label not in ("setup", "receipt")]
        rounds.append(sum(c.rounds for c in entries))
        sent += sum(c.bytes_sent for c in entries)
    return max(rounds), sent
