"""Every test of this package runs on every instruction set that this CPU has: with kernels for AES, and without."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cofit import kernels
from support.fixtures import quick_pair

__all__ = ["quick_pair"]


@pytest.fixture(params=kernels.available_isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    before = kernels.isa()
    kernels.set_isa(request.param)
    yield request.param
    kernels.set_isa(before)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)
