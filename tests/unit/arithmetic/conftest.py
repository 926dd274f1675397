"""Ring tests run in both rings."""

from __future__ import annotations

import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing


@pytest.fixture(params=[Z64, Z128], ids=str)
def ring(request: pytest.FixtureRequest) -> PowerOfTwoRing:
    chosen = request.param
    assert isinstance(chosen, PowerOfTwoRing)
    return chosen
