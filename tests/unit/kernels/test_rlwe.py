"""Kernels of RLWE encryption against Python integers, on every instruction set."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cofit import kernels
from unit.kernels.reference import EXTREMES, decode, encode
from unit.kernels.rlwe_reference import PRIMES, joined, product, residues, value

U64 = np.uint64
Residues = NDArray[np.uint64]


def polynomials(rng: np.random.Generator, n: int) -> list[Residues]:
    """Random coefficients, and those that let lazily reduced sums grow: extremes, alone and in turn."""
    primes = np.array(PRIMES[n], dtype=U64)[:, None]
    shape = (len(primes), n)
    return [
        rng.integers(0, 2**63, shape, dtype=U64) % primes,
        np.broadcast_to(primes - U64(1), shape).copy(),
        np.broadcast_to(primes // U64(2), shape).copy(),
        np.zeros(shape, dtype=U64),
        (primes - U64(1)) * (np.arange(n, dtype=U64) % U64(2)),
        (primes - U64(1)) * rng.integers(0, 2, shape, dtype=U64),
    ]


def forward(values: Residues, n: int) -> Residues:
    out = values.copy()
    kernels.rlwe_forward(out, np.array(PRIMES[n], dtype=U64), n)
    return out


@pytest.mark.parametrize("n", [64, 8192])
def test_a_transform_has_the_values_at_the_odd_powers_of_a_root(isa: str, rng: np.random.Generator, n: int) -> None:
    places = range(n) if n == 64 else [0, 1, 2, 4095, 4096, 8191, *rng.integers(0, n, 6).tolist()]
    for values in polynomials(rng, n):
        transformed = forward(values, n)
        for row, into, p in zip(values, transformed, PRIMES[n], strict=True):
            numbers = row.tolist()
            assert [int(into[i]) for i in places] == [value(numbers, i, p) for i in places]
        if n == 8192:
            break  # the extremes are compared with the integer version below


@pytest.mark.parametrize("n", [64, 128, 8192, 16384])
def test_all_instruction_sets_give_the_same_transforms_and_go_back(rng: np.random.Generator, n: int) -> None:
    primes, best = np.array(PRIMES[n], dtype=U64), kernels.isa()
    try:
        for values in polynomials(rng, n):
            kernels.set_isa("baseline")
            expected = forward(values, n)
            for isa in kernels.available_isas():
                kernels.set_isa(isa)
                transformed = forward(values, n)
                np.testing.assert_array_equal(transformed, expected)
                kernels.rlwe_inverse(transformed, primes, n)
                np.testing.assert_array_equal(transformed, values)
    finally:
        kernels.set_isa(best)


def test_values_times_values_are_those_of_the_product(isa: str, rng: np.random.Generator) -> None:
    primes = np.array(PRIMES[64], dtype=U64)
    samples = polynomials(rng, 64)
    for a, b in zip(samples, reversed(samples), strict=True):
        out = np.empty_like(a)
        kernels.rlwe_phase(a, forward(b, 64), primes, out)
        for row_a, row_b, row, p in zip(a, b, out, PRIMES[64], strict=True):
            assert row.tolist() == product(row_a.tolist(), row_b.tolist(), p)


def test_an_encryption_is_the_scaled_message_and_the_error_less_a_s(
    isa: str, rng: np.random.Generator, words: int
) -> None:
    n, primes = 64, PRIMES[64]
    q, t = math.prod(primes), 2 ** (64 * words)
    message = [*EXTREMES[words], *(int.from_bytes(rng.bytes(8 * words), "little") for _ in range(n - 8))]
    small = rng.integers(-21, 22, n)
    a, s = (polynomials(rng, n)[0] for _ in range(2))
    out = np.empty_like(a)
    elements = encode(np.array(message, dtype=object), words)
    kernels.rlwe_encrypt(elements, small.view(U64), a, s, np.array(primes, dtype=U64), out, words)
    sums = np.array([[(int(x) + int(y) * int(z)) % p for x, y, z in zip(*rows, strict=True)]
                     for *rows, p in zip(out, a, s, primes, strict=True)], dtype=U64)  # fmt: skip
    kernels.rlwe_inverse(sums, np.array(primes, dtype=U64), n)
    assert joined(sums, primes) == [
        ((2 * q * m + t) // (2 * t) + int(e)) % q for m, e in zip(message, small, strict=True)
    ]


@pytest.mark.parametrize(("rows", "width", "step"), [(1, 1, 1), (3, 5, 5), (2, 7, 14), (4, 16, 16)])
def test_products_gather_any_view_of_the_matrix(
    isa: str, rng: np.random.Generator, words: int, rows: int, width: int, step: int
) -> None:
    """Two replies and three blocks, the last ones not full, and keys times u and errors added."""
    n, primes = 64, PRIMES[64]
    shape = (rows + 1, 2 * width + (width > 1))
    blocks = -(-shape[1] // width)
    numbers = np.array([int.from_bytes(rng.bytes(8 * words), "little") for _ in range(math.prod(shape))], dtype=object)
    numbers[: min(8, len(numbers))] = EXTREMES[words][: len(numbers)]
    numbers = numbers.reshape(shape)
    requests = np.stack([[polynomials(rng, n)[0] for _ in range(2)] for _ in range(blocks)])
    key = np.stack([polynomials(rng, n)[i] for i in (0, 1)])
    small = rng.integers(-21, 22, (2, 3, n))
    expected = np.empty((2, 2, len(primes), n), dtype=U64)
    for g in range(2):
        for half, (limb, p) in ((h, lp) for h in range(2) for lp in enumerate(primes)):
            total = [int(e) for e in small[g, half + 1]]
            factors = [(key[half, limb].tolist(), small[g, 0].tolist())]
            for k in range(blocks):
                plain = [0] * n
                for i, row in enumerate(numbers[g * rows : (g + 1) * rows, k * width : (k + 1) * width]):
                    for j, x in enumerate(row):
                        plain[i * step + width - 1 - j] = x - (x >> (64 * words - 1) << (64 * words))
                factors.append((requests[k, half, limb].tolist(), plain))
            for a, b in factors:
                total = [x + y for x, y in zip(total, product(a, b, p), strict=True)]
            expected[g, half, limb] = [x % p for x in total]
    moduli, dtype = np.array(primes, dtype=U64), np.dtype([("lo", U64), ("hi", U64)])
    for array in _transformed(requests, key, moduli, n):
        assert array.dtype == U64
    matrix = encode(numbers, words)
    records: NDArray[Any] = matrix if words == 1 else matrix.view(dtype)
    apart = np.zeros((2 * shape[0], 3 * shape[1]), dtype=records.dtype)
    apart[::2, ::3] = records
    for x in (records, np.asfortranarray(records), np.ascontiguousarray(records[::-1])[::-1], apart[::2, ::3]):
        out = np.empty_like(expected)
        coins = np.ascontiguousarray(small).view(U64)
        kernels.rlwe_multiply(x, rows, width, step, requests, key, coins, moduli, n, out, words)
        np.testing.assert_array_equal(out, expected)


def _transformed(requests: Residues, key: Residues, moduli: Residues, n: int) -> tuple[Residues, Residues]:
    kernels.rlwe_forward(requests, moduli, n)
    kernels.rlwe_forward(key, moduli, n)
    return requests, key


def test_many_blocks_are_summed_without_overflow(isa: str) -> None:
    """Products just below p / 2 each, for many more terms than are summed before a reduction."""
    n, (p, _), blocks = 64, PRIMES[64], 201
    moduli = np.array([p], dtype=U64)
    requests = np.ones((blocks, 2, 1, n), dtype=U64)
    requests[:, 1] = p - 1
    x = np.full((1, blocks), (p - 1) // 2 - 1, dtype=U64)
    out, zero = np.empty((2, 1, n), dtype=U64), np.zeros((2, 1, n), dtype=U64)
    kernels.rlwe_multiply(x, 1, 1, 1, requests, zero, np.zeros((3, n), dtype=U64), moduli, n, out, 1)
    kernels.rlwe_forward(out, moduli, n)
    total = blocks * int(x[0, 0])
    assert [set(half.reshape(-1).tolist()) for half in out] == [{total % p}, {-total % p}]


def test_residues_are_packed_densely(rng: np.random.Generator) -> None:
    primes = np.array(PRIMES[8192][:2], dtype=U64)
    for m in (1, 2, 3, 4, 5, 17, 64):
        values = rng.integers(0, 2**49, (4, m), dtype=U64)
        values[::2, -1], values[1::2, 0] = primes - U64(1)
        packed = np.empty(4 * -(-50 * m // 8), dtype=np.uint8)
        kernels.rlwe_pack(values, packed)
        rows = [sum(int(x) << (50 * i) for i, x in enumerate(row)) for row in values]
        assert packed.tobytes() == b"".join(row.to_bytes(-(-50 * m // 8), "little") for row in rows)
        out = np.empty_like(values)
        assert kernels.rlwe_unpack(packed, primes, out) == 0
        np.testing.assert_array_equal(out, values)
        values[0, 0], values[3, -1] = primes
        kernels.rlwe_pack(values, packed)
        assert kernels.rlwe_unpack(packed, primes, out) == 2


def test_small_numbers_have_their_laws(rng: np.random.Generator) -> None:
    words = rng.integers(0, 2**64, 200_000, dtype=U64)
    out = np.empty_like(words)
    kernels.rlwe_ternary(words, out)
    counts = Counter(out.view(np.int64).tolist())
    assert set(counts) == {-1, 0, 1}
    assert max(abs(count - len(words) / 3) for count in counts.values()) < 6 * math.sqrt(len(words) * 2 / 9)
    kernels.rlwe_binomial(words, out)
    signed = out.view(np.int64)
    expected = [(w & (2**21 - 1)).bit_count() - (w >> 21 & (2**21 - 1)).bit_count() for w in words[:2000].tolist()]
    assert signed[:2000].tolist() == expected
    assert abs(signed.mean()) < 6 * math.sqrt(10.5 / len(words))
    assert signed.var() == pytest.approx(10.5, rel=0.03)
    edges = np.array([0, 2**64 - 1, 2**21 - 1, (2**21 - 1) << 21], dtype=U64)
    kernels.rlwe_binomial(edges, edges)
    assert edges.view(np.int64).tolist() == [0, 0, 21, -21]
    edges = np.array([0, 2**64 // 3, 2**64 // 3 + 1, 2**64 - 1], dtype=U64)
    kernels.rlwe_ternary(edges, edges)
    assert edges.view(np.int64).tolist() == [-1, -1, 0, 1]


@pytest.mark.parametrize("limbs", [3, 4])
def test_phases_are_rounded_to_ring_elements(rng: np.random.Generator, words: int, limbs: int) -> None:
    primes = PRIMES[8192][:limbs] if words == 1 else (*PRIMES[8192], *PRIMES[16384])[: limbs + 3]
    q, t, margin = math.prod(primes), 2 ** (64 * words), 1000
    numbers = [int.from_bytes(rng.bytes(64), "little") % q for _ in range(100)]
    numbers += [0, 1, q - 1, q // 2, q // 2 + 1]
    # Fractions of t x / q around one half, and around the margin.
    around = [t + 2 * d for d in (-1002, -999, -2, 2, 999, 1002)]
    numbers += [q * (2 * t * k + twice) // (2 * t * t) for k in (0, 5, t - 1) for twice in around]
    out, near = np.empty(len(numbers) * words, dtype=U64), np.empty(len(numbers), dtype=np.uint8)
    kernels.rlwe_round(residues(numbers, primes), np.array(primes, dtype=U64), margin, out, near, words)
    assert decode(out, words).tolist() == [(2 * t * x + q) // (2 * q) % t for x in numbers]
    fractions = [t * (t * x % q) // q for x in numbers]
    assert near.tolist() == [abs(f - t // 2) <= margin for f in fractions]
    assert near[-18:].tolist() == [0, 1, 1, 1, 1, 0] * 3


def test_dropping_a_prime_divides_and_rounds(rng: np.random.Generator) -> None:
    primes = PRIMES[8192]
    q, last = math.prod(primes), primes[-1]
    numbers = [int.from_bytes(rng.bytes(32), "little") % q for _ in range(100)]
    numbers += [0, 1, last // 2, last // 2 + 1, last, q - 1, q - last // 2, q - last // 2 - 1]
    out = np.empty((3, len(numbers)), dtype=U64)
    kernels.rlwe_drop(residues(numbers, primes), np.array(primes, dtype=U64), out)
    assert joined(out, primes[:3]) == [(2 * x + last) // (2 * last) % (q // last) for x in numbers]
