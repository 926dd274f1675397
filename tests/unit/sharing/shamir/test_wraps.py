"""How often a sum of masks wraps: the shared count is the definition, for every combination of digits."""

from __future__ import annotations

from itertools import product
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import F61, Z64, Z128, IntegerRing, RingArray
from cofit.sharing import Scheme
from cofit.sharing.shamir import digits as digits_module
from cofit.sharing.shamir import wraps
from cofit.sharing.shamir.digits import Digits
from cofit.sharing.shamir.party import Shamir
from cofit.sharing.shamir.truncation import low_width, top_width
from cofit.sharing.shamir.wraps import Counted, MaskedSums
from cofit.sharing.steps import Messages, Protocol
from support.runs import run_scheme
from support.schemes import also_slow, form

Integers = npt.NDArray[np.int64]
FORMS = {1: "shamir", 2: "shamir/5", 3: "shamir/7"}


def wrapped(digits: Integers, v: int | Integers, q: int) -> Integers:
    """w(v), by its definition; ``digits``: a row for every masker."""
    return np.asarray((digits.sum(axis=0) + (1 << q) - 1 - v) >> q)


def combinations_of(maskers: int, q: int) -> Integers:
    """All digits of q bits that the maskers can have, one combination in each column."""
    return np.array(list(product(range(1 << q), repeat=maskers))).T


def counted(
    name: str, ring: IntegerRing, families: list[tuple[int, Integers, Integers]]
) -> tuple[list[Integers], Integers]:
    """The wraps of families (q, digits, v) as the openers share them, put together; and the sum of plain values."""
    count = families[0][1].shape[1]

    def program(s: Scheme) -> Counted | None:
        assert isinstance(s, Shamir)
        digits, plain = None, None
        if s.rank in s.geometry.maskers:
            place = s.geometry.maskers.index(s.rank)
            digits = [rows[place].astype(np.uint8) for _, rows, _ in families]
            plain = ring.from_int(np.arange(count) * (place + 1))

        def opening() -> Protocol[RingArray | None]:
            yield Messages({}, {})
            return ring.zeros((count,)) if s.rank in s.geometry.openers else None

        def public(opened: RingArray) -> list[Digits]:
            return [v.astype(np.uint8) for _, _, v in families]

        widths = [q for q, _, _ in families]
        return s._count_wraps("mul", MaskedSums(ring, count, widths, digits, plain), opening(), public)[1]

    results = run_scheme(name, program).results
    openers = form(name).spec.threshold + 1
    made = [one for one in results if one is not None]
    assert len(made) == openers and all(one is None for one in results[openers:])
    wraps = [ring.signed_sum(list(parts)) for parts in zip(*(one.wraps for one in made), strict=True)]
    plain = ring.signed_sum([one.plain for one in made])
    return [ring.to_int(found).astype(np.int64) for found in wraps], ring.to_int(plain).astype(np.int64)


def with_all_public_digits(digits: Integers, q: int) -> tuple[int, Integers, Integers]:
    """A family in which every combination of digits meets every v."""
    return q, np.tile(digits, 1 << q), np.repeat(np.arange(1 << q), digits.shape[1])


@pytest.mark.parametrize("maskers", FORMS)
@pytest.mark.parametrize("ring", [Z64, Z128, F61], ids=str)
def test_wraps_are_those_of_the_definition_for_all_digits(maskers: int, ring: IntegerRing) -> None:
    """Of the widths that a truncation asks for, and of one bit."""
    for q in sorted({1, top_width(maskers), low_width(maskers)} - {0}):
        family = with_all_public_digits(combinations_of(maskers, q), q)
        (found,), plain = counted(FORMS[maskers], ring, [family])
        np.testing.assert_array_equal(found, wrapped(family[1], family[2], q))
        np.testing.assert_array_equal(plain, sum(range(1, maskers + 1)) * np.arange(len(plain)))


@pytest.mark.parametrize(
    "name", also_slow(["shamir/5", "shamir/7/king"], "shamir/5/king", "shamir/7", "shamir/6/king", "shamir/7/2")
)
def test_families_travel_together(name: str) -> None:
    maskers, rng = form(name).spec.threshold, np.random.default_rng(1)
    families = [
        (q, rng.integers(0, 1 << q, (maskers, 70)), rng.integers(0, 1 << q, 70))
        for q in (top_width(maskers), low_width(maskers))
    ]
    found, _ = counted(name, Z64, families)
    for counts, (q, digits, v) in zip(found, families, strict=True):
        np.testing.assert_array_equal(counts, wrapped(digits, v, q))


@pytest.mark.parametrize("maskers", [1, 2, 3, 5])
@pytest.mark.parametrize("q", [1, 2, 3])
def test_digits_add_up_to_all_wraps(maskers: int, q: int) -> None:
    """Hermite's identity, by which w(0) needs no products; and the recursion over maskers, in plain numbers."""
    digits = combinations_of(maskers, q) if maskers * q < 13 else np.random.default_rng(2).integers(0, 1 << q, (5, 999))
    size = 1 << q
    np.testing.assert_array_equal(sum(wrapped(digits, v, q) for v in range(size)), digits.sum(axis=0))
    for v in range(size):
        sums, carried = digits[0], 0 * digits[0]
        for h in digits[1:-1]:
            carried = carried + (sums + h) // size
            sums = (sums + h) % size
        last = digits[-1]
        if maskers == 1:
            np.testing.assert_array_equal(wrapped(digits, v, q), digits[0] > v)
            continue
        level = (last > (v - sums) % size).astype(int) + (sums > v)
        np.testing.assert_array_equal(wrapped(digits, v, q), carried + level)


@pytest.mark.parametrize("maskers", [1, 2, 3])
def test_masks_of_so_many_maskers_wrap_as_often_as_their_top_digits_say(maskers: int) -> None:
    """The statement of the proof, for all numbers: A below 2^(K-1), r_j of K bits, c their sum modulo 2^K."""
    bits, q = {1: 6, 2: 5, 3: 4}[maskers], top_width(maskers)
    values = np.arange(1 << (bits - 1))
    for masks in product(range(1 << bits), repeat=maskers):
        total = values + sum(masks)
        v = (total % (1 << bits)) >> (bits - q)
        high = sum(r >> (bits - q) for r in masks)
        np.testing.assert_array_equal(total >> bits, (high + (1 << q) - 1 - v) >> q)


def test_three_digits_in_bits() -> None:
    """A_v + B_v + C of the proof, for all digits: each of them 0 or 1, together w(v)."""
    q, size = 3, 8
    digits = combinations_of(3, q)
    m, carry = (digits[0] + digits[1]) % size, (digits[0] + digits[1]) // size
    for v in range(size):
        above, below = (m > v).astype(int), (digits[2] > (v - m) % size).astype(int)
        np.testing.assert_array_equal(above + below + carry, wrapped(digits, v, q))
        low = above ^ below ^ carry
        high = ((above ^ carry) & (below ^ carry)) ^ carry
        np.testing.assert_array_equal(low + 2 * high, wrapped(digits, v, q))


def test_every_element_is_picked_by_its_own_digit() -> None:
    table = Z64.from_int(np.arange(24).reshape(4, 6))
    digit = np.array([0, 3, 1, 2, 2, 0], np.uint8)
    assert Z64.to_int(wraps._picked(table, digit)).tolist() == [0, 19, 8, 15, 16, 5]


@pytest.mark.parametrize("maskers", FORMS)
def test_a_level_too_low_is_noticed(maskers: int) -> None:
    """Broken on purpose: thermometers with 'at least' in the place of 'more than'."""

    def at_least(digits: Digits, width: int) -> npt.NDArray[np.bool_]:
        return np.asarray(digits[None] >= np.arange((1 << width) - 1, dtype=np.uint8)[:, None])

    q = top_width(maskers)
    family = with_all_public_digits(combinations_of(maskers, q), q)
    with mock.patch.object(digits_module, "_thermometer", at_least):
        (found,), _ = counted(FORMS[maskers], Z64, [family])
    assert (found != wrapped(family[1], family[2], q)).any()
