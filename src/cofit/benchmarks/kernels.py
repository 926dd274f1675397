"""The fused matrix-vector kernels in one process, against NumPy and against only reading the same memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cofit import kernels
from cofit.arithmetic import ring_of_bits
from cofit.arithmetic.integers import Words


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
    """Two shares of a rows x cols matrix, one thread, medians over the repetitions."""
    results = []
    best = kernels.isa()
    try:
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
    finally:
        kernels.set_isa(best)
    return results


def _read(shares: list[Words]) -> list[np.uint64]:
    return [share.sum() for share in shares]


def _numpy(matrices: list[Words], vectors: list[Words]) -> Words:
    total: Words = matrices[0] @ vectors[0] + matrices[1] @ vectors[1]
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
