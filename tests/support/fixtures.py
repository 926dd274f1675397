"""Every scheme (``support.schemes``), ring, mesh and number of parties, as fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing
from support.ideal_transfers import ideal_transfers
from support.runs import MESHES
from support.schemes import EVERY


@pytest.fixture(params=EVERY)
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[Z64, Z128], ids=lambda ring: ring.name)
def ring(request: pytest.FixtureRequest) -> PowerOfTwoRing:
    chosen: PowerOfTwoRing = request.param
    return chosen


@pytest.fixture(params=MESHES)
def mesh(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[2, 3, 4, 5])
def parties(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module", autouse=True)
def quick_pair(request: pytest.FixtureRequest) -> Iterator[None]:
    """Sessions of ``pair`` start quickly, in modules that do not look at how they start."""
    with ideal_transfers(request.node.name):
        yield
