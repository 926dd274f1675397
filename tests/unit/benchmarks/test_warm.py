"""Memory is touched before a run, and never more than half of what is free."""

from __future__ import annotations

import mmap
import os

import pytest

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
