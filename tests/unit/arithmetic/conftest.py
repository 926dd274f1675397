"""Ring tests run in all rings of integers."""

from __future__ import annotations

import pytest

from cofit.arithmetic import INTEGER_RINGS, IntegerRing


@pytest.fixture(params=list(INTEGER_RINGS.values()), ids=str)
def ring(request: pytest.FixtureRequest) -> IntegerRing:
    chosen = request.param
    assert isinstance(chosen, IntegerRing)
    return chosen
