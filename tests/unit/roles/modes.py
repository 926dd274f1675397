"""Runs in threads of this process and in processes of their own."""

from __future__ import annotations

import pytest

MODES = pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
SLOW_MODES = pytest.mark.parametrize(
    "processes", [pytest.param(False, id="threads"), pytest.param(True, id="processes", marks=pytest.mark.slow)]
)
"""The same, where one test in processes is enough for every day."""
