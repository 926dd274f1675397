"""Truncation with ``shamir`` is the floor or one more, always: its formula on a small ring exhaustively, then the code.

The small model is that of the proof, in plain integers, for every value, shift and masks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import Z64, Z128, Generator, PowerOfTwoRing, Ring, RingArray, Shape
from cofit.sharing import Scheme
from cofit.sharing.shamir import truncation
from cofit.sharing.shamir.party import Shamir
from cofit.sharing.shamir.truncation import low_width, top_width
from support.runs import run_scheme
from support.schemes import also_slow, form

Integers = npt.NDArray[np.int64]
FORMS = {1: "shamir", 2: "shamir/5", 3: "shamir/7"}


# --- the formula -----------------------------------------------------------------------------------------


def low_digit(x: Integers, shift: int, width: int) -> Integers:
    """The top digit of what lies below the shift; with zeros after it where there is less."""
    low = x & ((1 << shift) - 1)
    return low >> (shift - width) if shift >= width else low << (width - shift)


def by_the_formula(z: int, shift: int, masks: list[Integers], bits: int, top: int, low: int) -> Integers:
    """What the parties make of z, as a number of ``bits`` bits with a sign."""
    size = 1 << bits
    c = np.asarray(z + (1 << (bits - 2)) + sum(masks)) % size
    w = (sum(r >> (bits - top) for r in masks) + (1 << top) - 1 - (c >> (bits - top))) >> top
    below = np.zeros_like(c)
    if low:
        digits = np.asarray(sum(low_digit(r, shift, low) for r in masks))
        below = (digits + (1 << low) - 1 - low_digit(c, shift, low)) >> low
    result = (c >> shift) + (w << (bits - shift)) - sum(r >> shift for r in masks) - below - (1 << (bits - 2 - shift))
    return np.asarray((result + size // 2) % size - size // 2)


def all_masks(maskers: int, bits: int) -> list[Integers]:
    """Every combination, as columns."""
    return list(np.array(list(product(range(1 << bits), repeat=maskers)), dtype=np.int64).T)


def errors(maskers: int, bits: int, top: int, low: int) -> set[tuple[int, bool]]:
    """All errors that occur, and whether the value was a multiple of the divisor."""
    masks, found = all_masks(maskers, bits), set()
    for shift in range(1, bits - 1):
        for z in range(-(1 << (bits - 2)), 1 << (bits - 2)):
            off = by_the_formula(z, shift, masks, bits, top, low) - (z >> shift)
            found |= {(int(error), z % (1 << shift) == 0) for error in np.unique(off)}
    return found


@pytest.mark.parametrize(("maskers", "bits"), also_slow([(1, 5), (1, 8), (2, 5), (2, 6), (3, 5)], (2, 7), (3, 6)))
def test_the_error_is_never_more_than_one_and_none_for_multiples(maskers: int, bits: int) -> None:
    assert errors(maskers, bits, top_width(maskers), low_width(maskers)) == {(0, True), (0, False), (1, False)}


@pytest.mark.parametrize(("maskers", "less"), [(1, (1, 0)), (2, (1, 0)), (2, (0, 1)), (3, (1, 0)), (3, (0, 1))])
def test_one_bit_less_of_either_digit_would_not_do(maskers: int, less: tuple[int, int]) -> None:
    """The widths are as small as they can be: the instrument notices smaller ones."""
    top, low = top_width(maskers) - less[0], low_width(maskers) - less[1]
    assert errors(maskers, 5, top, low) - {(0, True), (0, False), (1, False)}


# --- the code --------------------------------------------------------------------------------------------


def dithers(maskers: int, bits: int, shift: int, given: str, low: int) -> set[int]:
    """Every L with which floor((z + L) / 2^s) is the result, for all z in the domain; AssertionError where none is.

    given: what is fixed, beside all masks but the last: the masked value, or the last mask too.
    """
    top, size, half = top_width(maskers), 1 << bits, 1 << (bits - 2)
    z = np.arange(-half, half)[:, None]
    *others, last = all_masks(maskers, bits)
    known = sum(others, np.zeros_like(last))
    hidden = (
        (last - half - z - known) % size if given == "masked value" else np.broadcast_to(last, (2 * half, len(last)))
    )
    found = np.array(
        [by_the_formula(int(v), shift, [*others, h], bits, top, low) for v, h in zip(z[:, 0], hidden, strict=True)]
    )
    more = found - (z >> shift)
    chosen = more[z[:, 0] & ~((1 << shift) - 1) == 0].sum(axis=0)  # how many of one period are rounded up
    np.testing.assert_array_equal(found, (z + chosen) >> shift)
    return set(chosen.tolist())


@pytest.mark.parametrize("given", ["masked value", "masks"])
@pytest.mark.parametrize(("maskers", "bits"), [(1, 7), (2, 6), (3, 5)])
def test_given_what_a_coalition_knows_it_is_a_step_function(maskers: int, bits: int, given: str) -> None:
    """Its steps are 2^s apart: the dither does not depend on the value. With noise before it, only borders move."""
    for shift in range(1, bits - 1):
        found = dithers(maskers, bits, shift, given, low_width(maskers))
        assert found <= set(range(1 << shift)), "and it is below 2^s"
        assert (len(found) > 1) == (shift > low_width(maskers)), "where digits have rests there are several"


def test_the_lowest_bits_in_the_place_of_a_digit_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "low_digit", lambda x, shift, width: x & ((1 << width) - 1))
    with pytest.raises(AssertionError):
        dithers(3, 5, 3, "masked value", 2)


def edges(ring: PowerOfTwoRing, shift: int) -> list[int]:
    """Values at the ends of the domain, around 0, around multiples of the divisor, and multiples of it."""
    limit, step = 1 << (ring.bits - 2), 1 << shift
    ends = [-limit, -limit + 1, limit - 1, limit - 2, 0, 1, -1]
    near = [m * step + d for m in (-1, 1, limit // step - 1, -(limit // step)) for d in (-1, 0, 1)]
    return [z for z in {*ends, *near} if -limit <= z < limit]


class Edges(Generator):
    """Draws that are at an edge as often as not: 0, the largest, and such digits before random ones."""

    __slots__ = ()

    def ring(self, ring: Ring, shape: Shape) -> RingArray:
        drawn = super().ring(ring, shape)
        if not isinstance(ring, PowerOfTwoRing):
            return drawn
        flat = np.atleast_1d(drawn).reshape(-1).copy()
        every = {1: ring.zeros(()), 2: ring.from_int(np.array(-1)), 3: ring.from_int(np.array(1 << 40, dtype=object))}
        for place, value in every.items():
            flat[place::5] = value
        return flat.reshape(shape)


def truncated(name: str | type[Scheme], ring: PowerOfTwoRing, values: dict[int, list[int]]) -> dict[int, list[int]]:
    """By shift: what the parties open; every value is truncated several times, under other masks."""

    def program(s: Scheme) -> dict[int, list[int]]:
        made = {}
        for shift, some in values.items():
            encoded = ring.from_int(np.array(some, dtype=object))
            share = s.input(1, encoded if s.rank == 1 else None, ring, encoded.shape)
            opened = s.open(s.truncate(share, shift))
            assert opened is not None
            made[shift] = [int(v) for v in ring.to_int(opened)]
        return made

    spec = None if isinstance(name, str) else form("shamir/5").spec
    results = run_scheme(name, program, spec=spec).results
    assert all(result == results[0] for result in results)
    return results[0]


def wrong(found: dict[int, list[int]], values: dict[int, list[int]]) -> list[tuple[int, int, int]]:
    return [
        (shift, z, got - (z >> shift))
        for shift, some in values.items()
        for got, z in zip(found[shift], some, strict=True)
        if got - (z >> shift) not in ((0, 1) if z % (1 << shift) else (0,))
    ]


@pytest.mark.parametrize(
    ("name", "ring"),
    also_slow(
        [("shamir", Z64), ("shamir/4", Z128), ("shamir/5", Z128), ("shamir/5/1", Z64), ("shamir/7/king", Z64)],
        *((name, ring) for name in ("shamir/5", "shamir/6", "shamir/7", "shamir/7/2/king") for ring in (Z64, Z128)),
    ),
    ids=str,
)
def test_every_shift_at_the_edges_of_the_domain(name: str, ring: PowerOfTwoRing) -> None:
    """Every shift from 1 to k - 2 (of many parties or wide rings, some); masks at edges, too."""
    few = [1, 2, 3, 4, 40, ring.bits // 2, ring.bits // 2 + 1, ring.bits - 3, ring.bits - 2]
    shifts = range(1, ring.bits - 1) if ring is Z64 and form(name).spec.parties < 6 else few
    values = {shift: edges(ring, shift) * 4 for shift in shifts}
    assert wrong(truncated(name, ring, values), values) == []
    with mock.patch.object(Shamir, "_stream", with_edges(Shamir._stream)):
        assert wrong(truncated(name, ring, values), values) == []


def with_edges(made: Callable[[Shamir, str, dict[int, bytes]], Generator]) -> Callable[..., Generator]:
    """Streams of pairs, of which the masks are, with draws at edges."""

    def stream(self: Shamir, kind: str, given: dict[int, bytes]) -> Generator:
        own = made(self, kind, given)
        return Edges(own.draw(32).tobytes()) if kind == "pair" else own

    return stream


@pytest.mark.parametrize("digit", ["top_digit", "low_digit"])
def test_a_wrong_digit_is_noticed(digit: str) -> None:
    """Broken on purpose: digits that are 0."""
    right = getattr(truncation, digit)
    values = {9: edges(Z64, 9) * 20}
    with mock.patch.object(truncation, digit, lambda *arguments: right(*arguments) * np.uint8(0)):
        assert wrong(truncated("shamir/5", Z64, values), values)


def test_a_width_too_small_is_noticed() -> None:
    values = {9: edges(Z64, 9) * 40}
    with mock.patch.object(truncation, "top_width", low_width):
        assert wrong(truncated("shamir/5", Z64, values), values)


@pytest.mark.parametrize("threshold", range(1, 4))
def test_widths_are_those_that_the_proof_asks_for(threshold: int) -> None:
    low = low_width(threshold)
    assert threshold <= 1 << low and (low == 0 or threshold > 1 << (low - 1))
    assert top_width(threshold) == low + 1
