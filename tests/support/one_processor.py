"""Parties in threads of one process take turns: an interpreter runs one thread at a time.

On one processor they hand over to one another at once. Across several each hand-over wakes another processor up: the
same tests then take a tenth more processor time, a fifth where nothing else runs. So a test whose parties are threads
stays where it begins, and the next one may begin elsewhere.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_IN_THREADS = (
    "adversary/privacy/",
    "adversary/protocol/",
    "conformance/",
    "statistical/",
    "unit/learn/",
    "unit/models/",
    "unit/protocols/",
    "unit/secret/",
    "unit/sharing/",
)


@contextmanager
def on_one_processor(node: str) -> Iterator[None]:
    """Inside, a test of these packages, and the threads that it starts, are on the processor of this thread."""
    if not node.removeprefix("tests/").startswith(_IN_THREADS) or not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {ctypes.CDLL(None).sched_getcpu()} & allowed or allowed)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
