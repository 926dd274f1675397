"""What holds for all tests: how many examples there are of arbitrary values, and less garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("quick", max_examples=40)


def pytest_configure(config: pytest.Config) -> None:
    """Without the slow tests, fewer examples, where a test does not say how many; other ones at every run."""
    if config.option.markexpr == "not slow":
        settings.load_profile("quick")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are made, and stay: no collection need look at them, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
