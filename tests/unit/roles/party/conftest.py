"""Parties in threads of this process, for the tests of their services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.roles.loopback import Loopback, loopback


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Loopback]:
    with loopback(tmp_path) as made:
        yield made
