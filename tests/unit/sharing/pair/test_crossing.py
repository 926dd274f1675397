"""Products of what two parties have, from transfers: against Python integers, at the ends of rings, and in pieces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, RingArray
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.bits import pack
from cofit.sharing.pair import products
from cofit.sharing.pair.crossing import _narrowed, _widened, number_bytes
from unit.sharing.pair.pair_runs import both, edges, elements, given, numbers, of_rank, run_pair, some

RINGS = (Z64, Z128)


# --- bits ------------------------------------------------------------------------------------------------


def test_products_of_words(rng: np.random.Generator) -> None:
    a0, a1, b0, b1 = rng.integers(0, 2**64, (4, 9), dtype=np.uint64)
    a0[:2], b1[:2], a1[2], b0[2] = (0, 2**64 - 1), (2**64 - 1, 0), 2**64 - 1, 2**64 - 1
    got = both(lambda s: s._crossed_words("mul", (a0, a1)[s.rank], (b0, b1)[s.rank]), BITS)
    np.testing.assert_array_equal(got, (a0 & b1) ^ (a1 & b0))


@pytest.mark.parametrize("turns", [1, 2], ids=["the second sends", "the first sends"])
def test_products_of_words_that_a_party_has_each(rng: np.random.Generator, turns: int) -> None:
    own = rng.integers(0, 2**64, (2, 7), dtype=np.uint64)
    own[:, 0], own[0, 1] = 2**64 - 1, 0
    made = run_pair(lambda s: [s._own_words("carry", own[s.rank]) for _ in range(turns)]).results
    np.testing.assert_array_equal(made[0][-1] ^ made[1][-1], own[0] & own[1])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_words_beyond_what_is_taken_at_once(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, count: int
) -> None:
    monkeypatch.setattr(products, "MOST_WORDS", 3)
    a0, a1, b0, b1 = rng.integers(0, 2**64, (4, count), dtype=np.uint64)
    taken = []

    def program(s: products.PairProducts) -> RingArray:
        take = s._transfers.take
        if s.rank == 0:
            s._transfers.take = lambda *n: taken.append(n) or take(*n)  # type: ignore[method-assign, func-returns-value]
        first = s._crossed_words("mul", (a0, a1)[s.rank], (b0, b1)[s.rank])
        return np.concatenate([first, s._own_words("carry", (a0, b1)[s.rank])])

    got = both(program, BITS)
    np.testing.assert_array_equal(got, np.concatenate([(a0 & b1) ^ (a1 & b0), a0 & b1]))
    assert len(taken) == 2 * -(-count // 3)
    assert max(max(pair) for pair in taken) <= 3


# --- numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_products_of_numbers_at_the_ends(ring: PowerOfTwoRing) -> None:
    """Every end with every end, both ways."""
    a0, b1 = (np.array(each, dtype=object) for each in zip(*itertools.product(edges(ring), repeat=2), strict=True))
    a1, b0 = np.roll(a0, 5), np.roll(b1, 17)
    left, right = ((elements(ring, x) for x in pair) for pair in ((a0, a1), (b0, b1)))
    a, b = list(left), list(right)
    got = both(lambda s: s._crossed_numbers("mul", ring, a[s.rank], b[s.rank]), ring)
    np.testing.assert_array_equal(numbers(ring, got), (a0 * b1 + a1 * b0) % (1 << ring.bits))


@pytest.mark.parametrize("count", [1, 63, 64, 65])
@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_products_of_numbers_that_a_party_has_each(ring: PowerOfTwoRing, count: int) -> None:
    rng = np.random.default_rng(count)
    own = [np.concatenate([some(rng, ring, count - 1), [edge]]) for edge in ((1 << ring.bits) - 1, 1 << 63)]

    def program(s: products.PairProducts) -> RingArray:
        return np.concatenate([s._own_numbers("mul", ring, elements(ring, own[s.rank])) for _ in range(2)])

    expected = own[0] * own[1] % (1 << ring.bits)
    np.testing.assert_array_equal(numbers(ring, both(program, ring)), np.concatenate([expected] * 2))


@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_products_of_shares_at_the_ends(ring: PowerOfTwoRing) -> None:
    """Element-wise, squares, inner products and a small matrix, of summands at the ends."""
    ends = np.resize(np.array(edges(ring), dtype=object), 9).reshape(3, 3)
    x, y = (ends, ends.T[::-1]), (ends[::-1], ends.T)
    x_, y_ = [elements(ring, each) for each in x], [elements(ring, each) for each in y]
    a, b = x[0] + x[1], y[0] + y[1]

    def program(s: products.PairProducts) -> list[object]:
        p = of_rank(s)
        left, right = given(p, ring, *x_), given(p, ring, *y_)
        shares = [p.mul(left, right), p.mul(left, left), p.inner(left, right), p.inner(left, left)]
        return [p.open(share) for share in [*shares, p.matmul(left, right)]]

    wanted = [a * b, a * a, (a * b).sum(axis=1), (a * a).sum(axis=1), a.dot(b)]
    for results in run_pair(program).results:
        for got, want in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(numbers(ring, got), want % (1 << ring.bits))


@pytest.mark.parametrize("ring", RINGS, ids=str)
@pytest.mark.parametrize("shape", [(1,), (2, 3)])
def test_bits_of_one_times_bits_of_the_other_as_elements(ring: PowerOfTwoRing, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    bits = [rng.integers(0, 2, (shape[0], 70), dtype=np.uint8) for _ in range(2)]
    packed = [pack(each) for each in bits]

    def program(s: products.PairProducts) -> object:
        return [s._own_bits("from_bits", ring, packed[s.rank], 70) for _ in range(2)]

    first, second = run_pair(program).results
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(numbers(ring, ring.add(one, other)), bits[0] & bits[1])


@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_digits_are_sent_in_the_bytes_that_they_need(ring: PowerOfTwoRing) -> None:
    rng = np.random.default_rng(1)
    rows = elements(ring, some(rng, ring, ring.bits, 5))
    octets = _narrowed(ring, rows)
    assert len(octets) == number_bytes(ring, 5) == 5 * 8 * sum(range(1, ring.element_bytes + 1))
    wide = numbers(ring, _widened(ring, octets, 5))
    for j, (got, sent) in enumerate(zip(wide, numbers(ring, rows), strict=True)):
        kept = ring.bits - j // 8 * 8
        assert kept >= ring.bits - j, "a digit lacks bits that count"
        np.testing.assert_array_equal(got, sent % (1 << kept))


def test_a_product_that_the_last_bits_of_are_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends above tell: with every difference one byte shorter the result is another."""
    narrowed = _narrowed

    def shorter(ring: PowerOfTwoRing, rows: RingArray) -> object:
        return narrowed(ring, rows & np.uint64(2**56 - 1))

    monkeypatch.setattr("cofit.sharing.pair.crossing._narrowed", shorter)
    with pytest.raises(AssertionError):
        test_products_of_numbers_at_the_ends(Z64)
