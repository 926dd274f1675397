"""Memory is touched before a run, and never more than half of what is free."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from cofit.benchmarks import warm
from cofit.benchmarks.warm import warm_memory

pytestmark = pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="only where the system is Linux")


def test_whole_pages_are_touched() -> None:
    assert warm_memory(10 * mmap.PAGESIZE + 1) == 10 * mmap.PAGESIZE
    assert warm_memory(mmap.PAGESIZE - 1) == 0


def test_at_most_half_of_the_free_memory_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_AVPHYS_PAGES": 7}.__getitem__)
    assert warm_memory(1 << 40) == 3 * mmap.PAGESIZE


def test_where_there_is_no_such_call_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE")
    assert warm_memory(1 << 20) == 0


def test_a_container_with_less_memory_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, taken = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(warm, "_LIMIT", limit)
    monkeypatch.setattr(warm, "_TAKEN", taken)
    limit.write_text(f"{30 * mmap.PAGESIZE}\n")
    taken.write_text(f"{20 * mmap.PAGESIZE}\n")
    assert warm_memory(1 << 20) == 5 * mmap.PAGESIZE
    taken.write_text(f"{31 * mmap.PAGESIZE}\n")
    assert warm_memory(1 << 20) == 0
    limit.write_text("max\n")
    assert warm_memory(1 << 20) == 1 << 20


def test_a_kernel_without_huge_pages_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 1 << 20)  # no such advice: refused
    assert warm_memory(1 << 20) == 1 << 20
