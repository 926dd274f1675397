"""The plot of a forecast is drawn once for all tests that show the same one."""

from __future__ import annotations

from functools import cache

import pytest

from cofit.report import page
from cofit.report.plots import accuracy_plot

_once = cache(accuracy_plot)


@pytest.fixture(autouse=True)
def plots_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "accuracy_plot", _once)
