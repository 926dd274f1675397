"""Fixtures of studies between processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.nursery import Nursery
from support.studies import Lab, lab_of


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as running:
        yield running


@pytest.fixture
def make_lab(nursery: Nursery, tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    with ExitStack() as stack:

        def make(**settings: Any) -> Lab:
            return stack.enter_context(lab_of(tmp_path / "lab", nursery, **settings))

        yield make
