"""Fields of checks: primes are primes, and arithmetic is that of a field."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from cofit.arithmetic import Generator
from cofit.sharing.repn.fields import PRIME_BITS, BinaryField, Field, PrimeField, Scalars, _is_prime, drawn_prime
from cofit.sharing.repn.fields import public_stream as stream_of

PRIME = (1 << 61) - 1
GF = BinaryField()
FIELDS: list[Field] = [PrimeField(PRIME), PrimeField(drawn_prime(Generator(bytes(32)))), GF]
EVERY = pytest.mark.parametrize("field", FIELDS, ids=["2^61 - 1", "drawn", "GF(2^64)"])

# Strong pseudoprimes to many bases: psi_k of Jaeschke and of Jiang and Deng, the least to the first k primes.
PSEUDOPRIMES = (
    2047, 1373653, 25326001, 3215031751, 2152302898747, 3474749660383, 341550071728321, 3825123056546413051,
)  # fmt: skip
CARMICHAEL = (
    561,
    1105,
    1729,
    2465,
    2821,
    6601,
    8911,
    41041,
    825265,
    321197185,
    5394826801,
    232250619601,
    9746347772161,
)
LARGE = ((1 << 61) - 1, (1 << 64) - 59, (1 << 60) + 33, 18446744073709551533)


def stream(salt: int) -> Generator:
    return Generator(hashlib.sha256(salt.to_bytes(4, "little")).digest())


def test_small_numbers() -> None:
    sieve = np.ones(20000, bool)
    sieve[:2] = False
    for p in range(2, 150):
        sieve[p * p :: p] = False
    assert [n for n in range(2, 20000) if _is_prime(n)] == list(np.flatnonzero(sieve))


def test_numbers_that_look_like_primes() -> None:
    assert not any(map(_is_prime, (*PSEUDOPRIMES, *CARMICHAEL)))
    assert all(map(_is_prime, LARGE))
    assert not any(_is_prime(p * q) for p in (4294967291, 4294967279) for q in (4294967291, 4294967279, 2147483647))
    assert not _is_prime((1 << 61) + 1) and not _is_prime((1 << 60) - 1)


def test_a_drawn_prime_is_one_and_in_its_range() -> None:
    drawn = [drawn_prime(stream(i)) for i in range(200)]
    assert all((1 << (PRIME_BITS - 1)) < p < 1 << PRIME_BITS and _is_prime(p) for p in drawn)
    assert all(pow(3, p - 1, p) == 1 for p in drawn)
    assert len(set(drawn)) == len(drawn)
    assert drawn_prime(stream(1)) == drawn[1], "the same coin, the same prime"


@EVERY
def test_laws_of_a_field(field: Field) -> None:
    drawn = [field.draw(stream(i)) for i in range(30)]
    assert 0 not in drawn and len(set(drawn)) == len(drawn)
    for a, b, c in zip(drawn, drawn[1:], drawn[2:], strict=False):
        assert field.mul(a, b) == field.mul(b, a)
        assert field.mul(a, field.mul(b, c)) == field.mul(field.mul(a, b), c)
        assert field.mul(a, field.add(b, c)) == field.add(field.mul(a, b), field.mul(a, c))
        assert field.sub(field.add(a, b), b) == a and field.mul(a, 1) == a and field.mul(a, 0) == 0
        assert field.mul(a, b) != 0


def test_every_element_of_the_binary_field_has_an_inverse() -> None:
    for a in (1, 2, 3, 1 << 63, (1 << 64) - 1, 0x1B):
        power, square = 1, a
        for _ in range(63):  # a^(2^64 - 2)
            square = GF.mul(square, square)
            power = GF.mul(power, square)
        assert GF.mul(a, power) == 1
    assert GF.mul(1 << 63, 2) == 0x1B


@EVERY
def test_folding_of_halves(field: Field) -> None:
    x = np.asarray([field.draw(stream(i)) for i in range(10)], np.uint64)
    r = field.draw(stream(99))
    want = [field.add(int(a), field.mul(r, field.sub(int(b), int(a)))) for a, b in zip(x[:5], x[5:], strict=True)]
    assert field.fold(x.copy(), r).tolist() == want


@EVERY
def test_halves_are_inner_products(field: Field) -> None:
    x, y = (np.asarray([field.draw(stream(i + s)) for i in range(8)], np.uint64) for s in (0, 50))

    def inner(a: list[int], b: list[int]) -> int:
        return field.add(0, *(field.mul(p, q) for p, q in zip(a, b, strict=True)))

    low = inner(x[:4].tolist(), y[:4].tolist())
    apart = [[field.sub(int(b), int(a)) for a, b in zip(v[:4], v[4:], strict=True)] for v in (x, y)]
    assert field.halves([x], [y], [1]) == (low, inner(*apart))


def test_scalars_that_are_no_elements_are_not_admitted() -> None:
    ring = Scalars(PRIME)
    assert ring.admits(np.asarray([0, PRIME - 1], np.uint64))
    assert not ring.admits(np.asarray([PRIME], np.uint64)) and not ring.admits(np.asarray([1 << 63], np.uint64))
    assert ring.admits(ring.uniform(stream(5).draw, (50,)))
    a, b = ring.uniform(stream(1).draw, (9,)), ring.uniform(stream(2).draw, (9,))
    assert np.array_equal(ring.sub(ring.add(a, b), b), a)
    assert np.array_equal(ring.signed_sum([a, b], [b]), a)
    assert np.array_equal(ring.add(a, ring.neg(a)), ring.zeros((9,)))
    assert ring.mul_sum([a, b], [b, a]).tolist() == [2 * int(x) * int(y) % PRIME for x, y in zip(a, b, strict=True)]


def test_a_weighted_sum() -> None:
    field = PrimeField(PRIME)
    values = stream(3).words((20,))
    weights = field.draws(stream(4), 20)
    assert (
        field.weighted_sum(values, weights)
        == sum(int(v) * int(w) for v, w in zip(values, weights, strict=True)) % PRIME
    )
    wide = field.weighted_sum(values, weights[:10], 2)
    assert wide == sum(
        (int(values[2 * i]) + (int(values[2 * i + 1]) << 64)) * int(weights[i]) for i in range(10)
    ) % PRIME  # fmt: skip


def test_coins_say_different_things_for_different_parts() -> None:
    first = stream_of("coin", b"a", b"b").words((4,))
    assert np.array_equal(first, stream_of("coin", b"a", b"b").words((4,)))
    for parts in ((b"ab",), (b"ab", b""), (b"", b"ab"), (b"b", b"a")):
        assert not np.array_equal(first, stream_of("coin", *parts).words((4,)))
    assert not np.array_equal(first, stream_of("other", b"a", b"b").words((4,)))
