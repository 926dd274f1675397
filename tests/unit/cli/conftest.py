"""What every test of a command leaves as it found it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from support.plots import plots_are_drawn_once

__all__ = ["plots_are_drawn_once"]


@pytest.fixture(autouse=True)
def same_log() -> Iterator[None]:
    """Commands that serve send the log to the standard error of their test, which is closed after it."""
    log = logging.getLogger("cofit")
    before = log.handlers[:], log.level, log.propagate
    yield
    log.handlers[:], log.level, log.propagate = before
