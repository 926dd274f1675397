"""Desks for the tests of the roles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.roles.desks import Counter, make


@pytest.fixture
def horizontal(tmp_path: Path) -> Iterator[Counter]:
    yield from make(tmp_path, "horizontal")


@pytest.fixture
def vertical(tmp_path: Path) -> Iterator[Counter]:
    yield from make(tmp_path, "vertical")
