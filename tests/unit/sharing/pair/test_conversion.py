"""Between numbers and bits with two parties, on summands at the ends: digits to numbers, bits to elements and back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cofit.arithmetic import F61, Z64, Z128, PowerOfTwoRing
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import unpack
from cofit.errors import CofitError, InvalidInputError
from cofit.sharing import Share
from cofit.sharing.packed_bits import PackedBits, words_of
from cofit.sharing.pair import conversion, products
from cofit.sharing.pair.conversion import MASKER, OPENER
from cofit.sharing.pair.party import Pair
from cofit.sharing.shares import PlacedBits
from unit.sharing.pair.pair_runs import (
    Bits,
    Integers,
    edges,
    elements,
    given,
    given_bits,
    numbers,
    run_pair,
    some,
)

RINGS = (Z64, Z128)
RNG = np.random.default_rng(31)


def digits(values: Integers, width: int) -> Bits:
    return np.array([[int(value) >> j & 1 for value in values] for j in range(width)], dtype=np.uint8)


def summands(plain: Bits) -> tuple[Bits, Bits]:
    """Bits as the XOR of two parties': in turn random ones, all at one party, and all ones at the other."""
    first = RNG.integers(0, 2, plain.shape, dtype=np.uint8)
    first[:, 1::3] = plain[:, 1::3]
    first[:, 2::3] = plain[:, 2::3] ^ 1
    return first, first ^ plain


def opened_numbers(ring: PowerOfTwoRing, parts: list[tuple[int, Bits]]) -> list[Integers]:
    shared = [(place, summands(bits)) for place, bits in parts]

    def program(s: Pair) -> Integers:
        made = s.from_numbers([PlacedBits(place, given_bits(s, *bits)) for place, bits in shared], ring)
        opened = s.open(made)
        assert opened is not None
        return numbers(ring, opened)

    return run_pair(program).results


@pytest.mark.parametrize(("ring", "width"), [(Z64, 1), (Z64, 2), (Z64, 61), (Z64, 62), (Z128, 63), (Z128, 126)])
def test_numbers_from_digits(ring: PowerOfTwoRing, width: int) -> None:
    ends = [0, 1, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    values = np.array([e % (1 << width) for e in ends] * 14, dtype=object)
    for got in opened_numbers(ring, [(0, digits(values, width))]):
        np.testing.assert_array_equal(got, values)


def test_sums_of_numbers_at_places() -> None:
    a, b, c = (RNG.integers(0, 1 << k, 67).astype(object) for k in (5, 9, 1))
    parts = [(0, digits(a, 5)), (7, digits(b, 9)), (3, digits(c, 1))]
    for got in opened_numbers(Z64, parts):
        np.testing.assert_array_equal(got, a + (b << 7) + (c << 3))


@pytest.mark.parametrize("top", [0, 1], ids=["mask without its top digit", "mask with it"])
def test_numbers_whatever_the_mask_is(monkeypatch: pytest.MonkeyPatch, top: int) -> None:
    """All ones and all zeros among them: sums that wrap, and sums that do not."""

    def chosen(self: Pair, width: int, count: int, ring: PowerOfTwoRing) -> object:
        mask = np.full((width, 1), 0xF0F0F0F0F0F0F0F0, np.uint64)
        mask[-1] = (1 << 64) - 1 if top else 0
        words = mask if self.rank == MASKER else np.zeros_like(mask)
        return [PackedBits(Share(BITS, (words,)), count)], words

    monkeypatch.setattr(Pair, "_number_masks", chosen)
    values = np.array([0, 1, 254, 255] * 16, dtype=object)
    for got in opened_numbers(Z64, [(0, digits(values, 8))]):
        np.testing.assert_array_equal(got, values)


def test_numbers_that_are_too_large_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="63 digits are too large"):
        opened_numbers(Z64, [(0, np.zeros((63, 5), np.uint8))])


def test_only_one_party_sees_the_masked_sum_and_only_the_other_knows_the_mask() -> None:
    bits = summands(digits(np.arange(64, dtype=object), 6))
    heard: dict[int, list[int]] = {0: [], 1: []}

    def program(s: Pair) -> object:
        masked = given_bits(s, *bits)
        kept = np.zeros_like(words_of(masked).parts[0])
        swap = s._swap

        def noted(operation: str, out: object, room: list[np.ndarray[tuple[int, ...], np.dtype[np.uint64]]]) -> None:
            swap(operation, out, room)  # type: ignore[arg-type]
            heard[s.rank] += [array.size for array in room]

        s._swap = noted  # type: ignore[method-assign, assignment]
        s._unmasked(masked, kept, Z64)
        (masks,), known = s._number_masks(5, 64, Z64)
        return words_of(masks).parts[0], known

    (mask, kept), (zeros, nothing) = run_pair(program).results
    assert (heard[MASKER], heard[OPENER]) == ([1], [6, 64]), "the masker hears u, the opener digits and d"
    np.testing.assert_array_equal(mask, kept)
    assert kept.any() and not zeros.any() and not nothing.any()


@pytest.mark.parametrize("ring", RINGS, ids=str)
@pytest.mark.parametrize("count", [1, 64, 65])
def test_bits_to_elements(ring: PowerOfTwoRing, count: int) -> None:
    cases = np.array(list(itertools.product((0, 1), repeat=2)), dtype=np.uint8).T
    own = [np.resize(case, (3, count)) for case in cases]
    own[1][1:] = np.resize(RNG.integers(0, 2, 131, dtype=np.uint8), (2, count))

    def program(s: Pair) -> list[Integers]:
        made = [s.open(s.from_bits(given_bits(s, *own), ring)) for _ in range(2)]
        return [numbers(ring, each) for each in made if each is not None]

    for results in run_pair(program).results:
        for got in results:
            np.testing.assert_array_equal(got, own[0] ^ own[1])


def pairs_at_the_ends(ring: PowerOfTwoRing) -> tuple[Integers, Integers]:
    both = np.array(list(itertools.product(edges(ring), repeat=2)), dtype=object)
    drawn = some(RNG, ring, 2, 40)
    return tuple(np.concatenate([ends, more]) for ends, more in zip(both.T, drawn, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize("pieces", [False, True], ids=["at once", "in pieces"])
@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_elements_to_bits_at_the_ends(ring: PowerOfTwoRing, pieces: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if pieces:
        monkeypatch.setattr(products, "MOST_WORDS", 7)
    x = pairs_at_the_ends(ring)
    own = [elements(ring, each) for each in x]
    total = (x[0] + x[1]) % (1 << ring.bits)

    def program(s: Pair) -> dict[str, Bits | None]:
        share = given(s, ring, *own)
        made = {
            "all": s.to_bits(share),
            "low": s.to_bits(share, bits=20),
            "one": s.to_bits(share, bits=1),
            "sign": s.sign_bits(share),
            "sign of a smaller ring": s.sign_bits(share, bits=33),
            "top two": s.top_bits(share),
        }
        return {name: s.boolean.open(bits) for name, bits in made.items()}

    every = digits(total, ring.bits)
    wanted = {
        "all": every,
        "low": every[:20],
        "one": every[:1],
        "sign": every[-1:],
        "sign of a smaller ring": every[32:33],
        "top two": every[-2:],
    }
    for result in run_pair(program).results:
        for name, bits in wanted.items():
            np.testing.assert_array_equal(result[name], bits, name)


@pytest.mark.parametrize("low", [1, 20])
def test_signs_without_low_bits_are_right_but_near_zero(low: int) -> None:
    """A carry from below is lost: the sign is that of z, or of z less 2^low."""
    z = np.array([-(1 << 40), -(1 << low), -1, 0, 1, (1 << low) - 1, 1 << low, 1 << 40], dtype=object)
    x = some(RNG, Z64, len(z))
    own = [elements(Z64, each) for each in (x, (z - x) % 2**64)]
    for got in run_pair(lambda s: s.boolean.open(s.sign_bits(given(s, Z64, *own), low))).results:
        for sign, value in zip(got[0], z, strict=True):
            assert sign in {int(value < 0), int(value - (1 << low) < 0)}
            assert not (0 <= value < 1 << 64 and value >= 1 << low and sign)


def test_a_ring_that_is_no_power_of_two_is_refused() -> None:
    bits = np.zeros((1, 4), np.uint8)
    with pytest.raises(CofitError, match="two parties alone"):
        run_pair(lambda s: s.from_bits(given_bits(s, bits, bits), F61))


def test_padding_is_zeros() -> None:
    for count in (1, 63, 64, 65, 128):
        ones = conversion._ones(count)
        assert unpack(ones[None], len(ones) * 64).sum() == count
