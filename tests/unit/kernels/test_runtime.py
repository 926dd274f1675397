"""Threads, fork, the interpreter lock, and the choice of instruction set."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cofit import kernels

from .reference import Words, random_words


@pytest.fixture(scope="module")
def problem() -> tuple[Words, Words, Words]:
    """A matrix, a vector and their product: enough work for three threads."""
    rng = np.random.default_rng(7)
    mat, vec = random_words(rng, (1009, 701), 1), random_words(rng, (701,), 1)
    return mat, vec, mat @ vec


def multiply(mat: Words, vec: Words, threads: int) -> Words:
    out = np.empty(len(mat), dtype=np.uint64)
    kernels.matvec([mat], [vec], out, 1, threads)
    return out


def run_python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **env}, check=False
    )


def test_concurrent_callers(problem: tuple[Words, Words, Words]) -> None:
    mat, vec, expected = problem
    with ThreadPoolExecutor(6) as executor:
        results = list(executor.map(lambda i: multiply(mat, vec, 1 + i % 4), range(200)))
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_fork_after_the_pool_has_started(problem: tuple[Words, Words, Words]) -> None:
    mat, vec, expected = problem
    multiply(mat, vec, 3)
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            multiply(mat, vec, 3)

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        for _ in range(10):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                same = np.array_equal(multiply(mat, vec, 3), expected)
                os._exit(0 if same else 1)
            deadline = time.monotonic() + 20
            while True:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    break
                if time.monotonic() > deadline:
                    os.kill(child, 9)
                    os.waitpid(child, 0)
                    pytest.fail("the forked child hangs")
                time.sleep(0.001)
            assert os.waitstatus_to_exitcode(status) == 0
    finally:
        stop.set()
        busy.join()
    np.testing.assert_array_equal(multiply(mat, vec, 3), expected)


def test_other_python_threads_run_during_a_kernel(rng: np.random.Generator) -> None:
    lhs, rhs = random_words(rng, (400, 400), 2), random_words(rng, (400, 400), 2)
    out = np.empty((400, 800), dtype=np.uint64)
    ticks_inside: list[int] = []
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.0005)

    # The interpreter does not switch threads by itself, so ticks can only come while the lock is released.
    interval = sys.getswitchinterval()
    other = threading.Thread(target=tick)
    other.start()
    try:
        sys.setswitchinterval(1000)
        for _ in range(3):
            before = ticks
            kernels.matmul([lhs], [rhs], out, 2, 1)
            ticks_inside.append(ticks - before)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        other.join()
    assert max(ticks_inside) >= 3


def test_threads_setting(problem: tuple[Words, Words, Words]) -> None:
    mat, vec, expected = problem
    before = kernels.threads()
    try:
        for n in (1, 2, 3):
            kernels.set_threads(n)
            assert kernels.threads() == n
            np.testing.assert_array_equal(multiply(mat, vec, 0), expected)
    finally:
        kernels.set_threads(before)


@pytest.mark.skipif(sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="of GNU's C library")
def test_freed_memory_is_kept_until_it_is_given_back() -> None:
    """In a process of its own: memory that is not kept goes back when it is freed, and is new, page by page, again."""
    script = """
import resource, numpy as np
from cofit import kernels
def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.empty(1 << 18, np.uint64)[::512] = 1  # 2 MiB, one word of every page
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
kernels.keep_freed_memory(True)
new_pages()
kept = new_pages()
kernels.keep_freed_memory(False)
print(kept, new_pages())
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    kept, returned = map(int, ran.stdout.split())
    assert kept < 512 < 20 * 512 // 2 < returned


def test_isa_setting() -> None:
    available = kernels.available_isas()
    assert available[0] == "baseline"
    assert set(available) <= {"baseline", "avx2", "avx512"}
    before = kernels.isa()
    for name in available:
        kernels.set_isa(name)
        assert kernels.isa() == name
    kernels.set_isa(before)


def test_defaults_without_environment() -> None:
    code = "from cofit import kernels as k; print(k.isa() == k.available_isas()[-1], k.threads())"
    assert run_python(code, COFIT_ISA="", COFIT_THREADS="").stdout.split() == ["True", "1"]


def test_environment_chooses() -> None:
    code = "from cofit import kernels as k; print(k.isa(), k.threads())"
    assert run_python(code, COFIT_ISA="baseline", COFIT_THREADS="3").stdout.split() == ["baseline", "3"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [("COFIT_ISA", "sse9"), ("COFIT_THREADS", "0"), ("COFIT_THREADS", "two"), ("COFIT_THREADS", "-1")],
)
def test_environment_that_makes_no_sense_stops_the_import(variable: str, value: str) -> None:
    result = run_python("import cofit.kernels", **{variable: value})
    assert result.returncode != 0
    assert "ImportError" in result.stderr
    assert f"Got '{value}' instead" in result.stderr
