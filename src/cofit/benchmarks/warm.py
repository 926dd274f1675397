"""Memory that is there: what a virtual machine's host has taken back takes long to touch again.

A host may take freed memory back from a guest within seconds. On one such machine the first touch of fresh memory went
at 0.5 GB/s, and that of memory freed a moment before at 19 GB/s. That says nothing of cofit, and differs from run to
run, so benchmarks touch as much as a run takes before it starts, and free it.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from pathlib import Path

import numpy as np

_PART_OF_FREE = 2
_LIMIT, _TAKEN = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def warm_memory(size: int) -> int:
    """Touch so many bytes, at most half of what is free, and free them; return how many. Nothing where no Linux is."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return 0
    pages = min(size, _free() // _PART_OF_FREE) // mmap.PAGESIZE
    if pages <= 0:
        return 0
    with mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        with contextlib.suppress(OSError):  # a kernel may have no huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        np.frombuffer(memory, np.uint8)[:: mmap.PAGESIZE] = 1
    return pages * mmap.PAGESIZE


def _free() -> int:
    """Return how many bytes are free, of the machine and of a container with a limit."""
    free = os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE
    with contextlib.suppress(OSError, ValueError):  # no container, or one without a limit ("max")
        free = min(free, int(_LIMIT.read_text()) - int(_TAKEN.read_text()))
    return free
