"""What holds for all tests: one thread of linear algebra, how many examples of arbitrary values, less garbage."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import settings

from support.chance import pytest_pyfunc_call, pytest_terminal_summary
from support.one_processor import on_one_processor
from support.put_off import put_off

__all__ = ["pytest_pyfunc_call", "pytest_terminal_summary"]

# Tests run side by side. Threads of linear algebra that turn while they wait for each other take the processors from
# them: seven times as long, where all are busy. Libraries read this when they are loaded, also in processes of tests.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
settings.register_profile("quick", max_examples=40)


def pytest_configure(config: pytest.Config) -> None:
    """Without the slow tests, fewer examples, where a test does not say how many; other ones at every run."""
    if config.option.markexpr == "not slow":
        settings.load_profile("quick")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what only repeats something as slow, before slow tests are left out."""
    for item in items:
        if put_off(item):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Threads that take turns do so on one processor."""
    with on_one_processor(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are made, and stay: no collection need look at them, now or later. Later ones are rare."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        gc.enable()
