"""Studies between processes, for tests that attack them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.studies import Lab
from support.study_fixtures import make_lab, nursery

__all__ = ["make_lab", "nursery"]


@pytest.fixture
def lab(make_lab: Callable[..., Lab]) -> Lab:
    """Three parties that wait; nobody has contributed."""
    lab = make_lab()
    lab.start()
    lab.up()
    return lab
