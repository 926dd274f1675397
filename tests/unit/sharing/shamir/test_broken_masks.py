"""Broken versions of ``shamir`` that the search for masks must notice (``test_masks.py``), and who would see what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from cofit.arithmetic import Z64, Generator, Ring, RingArray, Shape
from cofit.sharing import Scheme, Share
from cofit.sharing.group_streams import Group
from cofit.sharing.shamir.geometry import Geometry
from cofit.sharing.shamir.party import Shamir
from cofit.sharing.shamir.resharing import Masks
from cofit.sharing.steps import Protocol
from support.coalitions import bits, numbers, recorded
from support.schemes import also_slow, form


class Zeros(Generator):
    """Draws that are none."""

    __slots__ = ()

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        return ring.zeros(shape)


@contextmanager
def without_draws(s: Shamir, which: str) -> Iterator[None]:
    """Inside, all streams of pairs or groups give zeros."""
    streams = getattr(s, which)
    setattr(s, which, dict.fromkeys(streams, Zeros(bytes(32))))
    try:
        yield
    finally:
        setattr(s, which, streams)


def without_first_draws(s: Shamir, which: str, protocol: Protocol[Any]) -> Protocol[Any]:
    """The same protocol, with zeros for what is drawn before its first messages."""
    with without_draws(s, which):
        messages = next(protocol)
    yield messages
    return (yield from protocol)


class WithoutZeroSharing(Shamir):
    def _masks(self, ring: Ring, shape: Shape, senders: Group, relay: int | None) -> Masks:
        with without_draws(self, "_pairs"):
            return super()._masks(ring, shape, senders, relay)


class WithHalfTheZeroSharing(Shamir):
    """What is added, and not what is taken off: the last sender has no mask."""

    def _masks(self, ring: Ring, shape: Shape, senders: Group, relay: int | None) -> Masks:
        masks = super()._masks(ring, shape, senders, relay)
        masks.minus.clear()
        return masks


class WithoutGroups(Shamir):
    def _masks(self, ring: Ring, shape: Shape, senders: Group, relay: int | None) -> Masks:
        with without_draws(self, "_groups"):
            return super()._masks(ring, shape, senders, relay)


class NotAdded(Shamir):
    """The draws of groups come off, but no sender has added them."""

    def _masks(self, ring: Ring, shape: Shape, senders: Group, relay: int | None) -> Masks:
        masks = super()._masks(ring, shape, senders, relay)
        count = list(self.geometry.hiding(senders, relay).values()).count(self.rank)
        del masks.plus[:count]
        return masks


class SameMasksTwice(Shamir):
    """Every product has the masks of the first one."""

    first: Masks | None = None

    def _masks(self, ring: Ring, shape: Shape, senders: Group, relay: int | None) -> Masks:
        masks = super()._masks(ring, shape, senders, relay)
        self.first = self.first or masks
        return self.first


class AsIfDirect(Shamir):
    """Through one party, with the draws that would do if there were none."""

    def _masks(self, ring: Ring, shape: Shape, senders: Group, relay: int | None) -> Masks:
        return super()._masks(ring, shape, senders, None)


class WithoutOpeningMasks(Shamir):
    def _opening_masks(self, ring: Ring, shape: Shape) -> list[RingArray]:
        with without_draws(self, "_pairs"):
            return super()._opening_masks(ring, shape)


class OpeningMasksTwice(Shamir):
    first: list[RingArray] | None = None

    def _opening_masks(self, ring: Ring, shape: Shape) -> list[RingArray]:
        masks = super()._opening_masks(ring, shape)
        self.first = masks if self.first is None else self.first
        return self.first


class TooFewOpeningMasks(Shamir):
    """Only the last masker has any: an opener that colludes with it sees what another opener has."""

    def _opening_masks(self, ring: Ring, shape: Shape) -> list[RingArray]:
        masks, last = super()._opening_masks(ring, shape), self.geometry.maskers[-1]
        if self.rank in self.geometry.openers:
            return masks[-1:]
        return masks if self.rank == last else [ring.zeros(shape) for _ in masks]


class ToOpenersInTheClear(Shamir):
    def _to_openers(self, *arguments: Any) -> Protocol[Any]:
        return without_first_draws(self, "_pairs", super()._to_openers(*arguments))


class DigitsInTheClear(Shamir):
    def _dealt_digits(self, *arguments: Any) -> Protocol[Any]:
        return without_first_draws(self, "_groups", super()._dealt_digits(*arguments))


class InputsInTheClear(Shamir):
    def _given(self, *arguments: Any) -> Protocol[Any]:
        return without_first_draws(self, "_groups", super()._given(*arguments))


class BitsInTheClear(Shamir):
    """What openers see of bits has no mask."""

    def _maskers_bits(self, shape: Shape) -> tuple[list[Share], RingArray | None]:
        with without_draws(self, "_groups"):
            return super()._maskers_bits(shape)


class OneMaskForBits(Shamir):
    """Only the last masker's bit is added."""

    def _random(self, ring: Ring, shape: Shape, known_to: int | None = None) -> tuple[Share, list[RingArray]]:
        if known_to is None or known_to == self.geometry.maskers[-1]:
            return super()._random(ring, shape, known_to)
        with without_draws(self, "_groups"):
            return super()._random(ring, shape, known_to)


Work = Callable[[Scheme], object]
WORK: dict[str, Work] = {
    "product": lambda s: s.mul(numbers(s, Z64, 0), numbers(s, Z64, 10)),
    "two products": lambda s: s.mul(s.mul(numbers(s, Z64, 0), numbers(s, Z64, 10)), numbers(s, Z64, 20)),
    "truncation": lambda s: s.truncate(numbers(s, Z64, 0), 9),
    "product and truncation": lambda s: s.mul(numbers(s, Z64, 0), numbers(s, Z64, 10), 9),
    "two truncations": lambda s: s.truncate(s.truncate(numbers(s, Z64, 0), 9), 3),
    "fresh sharing": lambda s: s.refresh(numbers(s, Z64, 0)),
    "and": lambda s: s.boolean.and_(bits(s, 2, 0), bits(s, 2, 10)),
    "bits to elements": lambda s: s.from_bits(bits(s, 2, 0), Z64),
    "high part": lambda s: s.high_part(numbers(s, Z64, 0), 9),
}
RESHARED = ("product", "and", "fresh sharing", "truncation")
BROKEN: list[tuple[type[Shamir], str, str]] = [
    *((kind, what, name) for kind in (WithoutZeroSharing, WithHalfTheZeroSharing)
      for what in RESHARED for name in ("shamir", "shamir/5", "shamir/5/king")
      if name != "shamir" or what not in ("fresh sharing", "truncation")),
    *((WithoutGroups, what, name) for what in RESHARED for name in ("shamir/5", "shamir/5/king")),
    (WithoutGroups, "fresh sharing", "shamir"),
    (NotAdded, "product", "shamir/5"),
    (NotAdded, "fresh sharing", "shamir"),
    *((SameMasksTwice, "two products", name) for name in ("shamir", "shamir/king", "shamir/5", "shamir/5/king")),
    (AsIfDirect, "product", "shamir/5/king"),
    *((kind, what, name) for kind in (WithoutOpeningMasks, ToOpenersInTheClear)
      for what in ("truncation", "product and truncation") for name in ("shamir", "shamir/5")),
    *((OpeningMasksTwice, "two truncations", name) for name in ("shamir", "shamir/5")),
    (TooFewOpeningMasks, "truncation", "shamir/5"),
    *((ToOpenersInTheClear, "bits to elements", name) for name in ("shamir", "shamir/5")),
    (DigitsInTheClear, "truncation", "shamir/5"),
    (InputsInTheClear, "bits to elements", "shamir/5"),
    *((InputsInTheClear, "high part", name) for name in ("shamir", "shamir/5")),
    *((BitsInTheClear, "bits to elements", name) for name in ("shamir", "shamir/5")),
    (OneMaskForBits, "bits to elements", "shamir/5"),
]  # fmt: skip


SEVEN: list[tuple[type[Shamir], str, str]] = [
    (kind, what, "shamir/7")
    for kind in (
        WithoutZeroSharing,
        WithoutGroups,
        ToOpenersInTheClear,
        DigitsInTheClear,
        BitsInTheClear,
        OneMaskForBits,
    )
    for what in ("truncation", "bits to elements")
    if (kind, what) != (DigitsInTheClear, "bits to elements")
]


@pytest.mark.parametrize(
    ("kind", "what", "name"), also_slow(BROKEN, *SEVEN), ids=lambda one: getattr(one, "__name__", str(one))
)
def test_a_missing_or_reused_mask_is_noticed(kind: type[Shamir], what: str, name: str) -> None:
    assert recorded(kind, form(name).spec, WORK[what]).all_exposed()


@pytest.mark.parametrize("name", ["shamir/5", "shamir/5/king"])
def test_exactly_the_coalition_of_all_others_would_see_what_a_missing_draw_had_hidden(name: str) -> None:
    spec = form(name).spec
    geometry = Geometry(spec.parties, spec.threshold)
    relay = 0 if spec.route == "king" else None
    needed = geometry.hiding(geometry.multipliers, relay)
    for left_out in needed:
        rest = {group: sender for group, sender in needed.items() if group != left_out}
        with mock.patch.object(Geometry, "hiding", lambda *_, rest=rest: rest):
            exposed = recorded(Shamir, spec, WORK["product"]).all_exposed()
        assert exposed == [tuple(rank for rank in range(5) if rank not in left_out)]


def test_a_colluding_masker_is_needed_to_profit_from_too_few_masks() -> None:
    """The instrument tells coalitions apart: without the one masker that has the mask, nothing is seen."""
    exposed = recorded(TooFewOpeningMasks, form("shamir/5").spec, WORK["truncation"]).all_exposed()
    assert exposed and all(4 in corrupted for corrupted in exposed)
