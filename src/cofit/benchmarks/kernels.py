"""The fused kernels in one process, against NumPy and against only reading the same memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cofit import kernels
from cofit.arithmetic import Z64, Z128, RingArray, ring_of_bits
from cofit.arithmetic.bit_words import BITS
from cofit.arithmetic.fused import FusedRing
from cofit.arithmetic.integers import Words

_FEW = 4  # inputs of a combination
_SUMS = 6
_COORDINATES = 3  # of an element of an extension of the ring
_QUANTUM = 1024  # oblivious transfers
_STREAMS = 832


@dataclass(frozen=True)
class KernelResult:
    """One line of ``cofit bench kernels``. ``ratio_to_read`` is the time over that of summing the bytes once."""

    kernel: str
    ring: str
    isa: str
    milliseconds: float
    numpy_milliseconds: float | None
    read_milliseconds: float
    ratio_to_read: float


def measure_kernels(rows: int = 1713, cols: int = 1874, repetitions: int = 9) -> list[KernelResult]:
    """Two shares of a rows x cols matrix, and arrays of a sixteenth of its size; one thread, medians."""
    best = kernels.isa()
    try:
        products = _measure_products(rows, cols, repetitions)
        sums = [_measure_sums(ring, max(1, rows * cols // 16), repetitions) for ring in (Z64, Z128, BITS)]
        transfers = _measure_transfers(-(-rows * cols // (16 * _QUANTUM)) * _QUANTUM, repetitions)
        return [*products, *(result for ring in sums for result in ring), *transfers]
    finally:
        kernels.set_isa(best)


def _measure_products(rows: int, cols: int, repetitions: int) -> list[KernelResult]:
    results = []
    for bits in (64, 128):
        words = ring_of_bits(bits).words
        rng = np.random.default_rng(1)
        shares = [rng.integers(0, 1 << 63, (rows, cols * words), dtype=np.uint64) for _ in range(2)]
        tall = [rng.integers(0, 1 << 63, rows * words, dtype=np.uint64) for _ in range(2)]
        wide = [rng.integers(0, 1 << 63, cols * words, dtype=np.uint64) for _ in range(2)]
        read = _time(partial(_read, shares), repetitions)
        numpy_forward = numpy_back = None
        if words == 1:
            numpy_forward = _time(partial(_numpy, shares, wide), repetitions)
            numpy_back = _time(partial(_numpy, [share.T for share in shares], tall), repetitions)
        tall_out, wide_out = np.empty_like(tall[0]), np.empty_like(wide[0])
        for isa in kernels.available_isas():
            kernels.set_isa(isa)
            forward = _time(partial(kernels.matvec, shares, wide, tall_out, words, 1), repetitions)
            back = _time(partial(kernels.matvec_t, shares, tall, wide_out, words, 1), repetitions)
            for name, taken, plain in (("X w", forward, numpy_forward), ("X^T e", back, numpy_back)):
                results.append(KernelResult(name, f"Z_2^{bits}", isa, taken, plain, read, taken / read))
    return results


def _measure_sums(ring: FusedRing, count: int, repetitions: int) -> list[KernelResult]:
    """Linear combinations of arrays, and a bilinear form of two lists of arrays, with any coefficients."""
    rng = np.random.default_rng(1)
    lists = [_elements(ring, rng, (length, count)) for length in (_FEW, 2 * _COORDINATES)]
    inputs, (a, b) = list(lists[0]), (list(side) for side in np.split(lists[1], 2))
    matrix, form = (_coefficients(ring, rng, shape) for shape in ((_SUMS, _FEW), (_COORDINATES, _COORDINATES)))
    outs, out = list(ring.empty((_SUMS, count))), ring.empty((count,))
    reads = [_time(partial(_read, [x.view(np.uint64)]), repetitions) for x in lists]
    plain: list[float | None] = [None, None]
    if ring is Z64:
        plain = [_time(lambda: matrix @ lists[0], repetitions), _time(partial(_numpy_form, a, b, form), repetitions)]
    results = []
    for isa in kernels.available_isas():
        kernels.set_isa(isa)
        combine = _time(partial(kernels.combine, inputs, matrix, outs, ring.words), repetitions)
        bilinear = _time(partial(kernels.bilinear, a, b, form, [], [], out, ring.words), repetitions)
        for name, taken, usual, read in zip(("combine", "bilinear"), (combine, bilinear), plain, reads, strict=True):
            results.append(KernelResult(name, ring.name, isa, taken, usual, read, taken / read))
    return results


def _measure_transfers(count: int, repetitions: int) -> list[KernelResult]:
    """Oblivious transfers: the rows of either party, one bit of the hash of every row. Reading is that of the rows."""
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 256, (_STREAMS, 16), dtype=np.uint8)
    schedules, corrections = np.empty((_STREAMS, 176), np.uint8), np.empty(25 * count // 8, np.uint8)
    rows, theirs = np.empty((count, 2), np.uint64), np.empty((count, 2), np.uint64)
    choices, bits, delta = np.empty(count // 64, np.uint64), np.empty(count // 64, np.uint64), np.ones(2, np.uint64)
    hash_keys, zero = np.ones((-(-count // 1024), 176), np.uint8), np.zeros(2, np.uint64)
    read = _time(partial(_read, [rows]), repetitions)
    results = []
    for isa in kernels.available_isas():
        kernels.set_isa(isa)
        if not kernels.aes_available():
            continue
        kernels.aes_schedules(keys, schedules)
        work = {
            "chooser": partial(kernels.ot_chooser, schedules, 0, rows, choices, corrections, 1),
            "sender": partial(kernels.ot_sender, schedules, delta, 0, corrections, theirs, 1),
            "hash": partial(kernels.ot_hash_bits, hash_keys, rows, delta, zero, bits, 1),
        }
        for name, call in work.items():
            taken = _time(call, repetitions)
            results.append(KernelResult(name, "transfers", isa, taken, None, read, taken / read))
    return results


def _elements(ring: FusedRing, rng: np.random.Generator, shape: tuple[int, int]) -> RingArray:
    return ring.uniform(lambda size: rng.integers(0, 256, size, dtype=np.uint8), shape)


def _coefficients(ring: FusedRing, rng: np.random.Generator, shape: tuple[int, int]) -> RingArray:
    """Return elements; of bits, words of no bit or of all."""
    elements = _elements(ring, rng, shape)
    return elements if ring is not BITS else (elements & np.uint64(1)) * np.uint64(2**64 - 1)


def _read(shares: list[Words]) -> list[np.uint64]:
    return [share.sum() for share in shares]


def _numpy(matrices: list[Words], vectors: list[Words]) -> Words:
    total: Words = matrices[0] @ vectors[0] + matrices[1] @ vectors[1]
    return total


def _numpy_form(a: list[Words], b: list[Words], form: RingArray) -> Words:
    total = np.zeros_like(a[0])
    for row, x in zip(form, a, strict=True):
        for coefficient, y in zip(row, b, strict=True):
            total += coefficient * x * y
    return total


def _time(work: Callable[[], object], repetitions: int) -> float:
    """Return the median milliseconds of one call."""
    work()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)
