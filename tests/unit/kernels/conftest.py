"""Every kernel test runs on every instruction set that this CPU has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cofit import kernels


@pytest.fixture(autouse=True)
def same_isa() -> Iterator[None]:
    before = kernels.isa()
    yield
    kernels.set_isa(before)


@pytest.fixture(params=kernels.available_isas())
def isa(request: pytest.FixtureRequest, same_isa: None) -> str:
    kernels.set_isa(request.param)
    return str(request.param)


@pytest.fixture(params=[1, 2], ids=["64", "128"])
def words(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240531)
