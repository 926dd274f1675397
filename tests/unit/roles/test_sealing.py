"""What a leader may bring back: with a scheme that withstands active corruption, nothing that owners have replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from cofit.roles.sealing import RefusedError, Sealing
from unit.roles.desks import Counter, planned

DATE = "2026-01-02T03:04:05+00:00"


@pytest.mark.parametrize("take_back", [True, False])
def test_a_set_that_owners_have_replaced(tmp_path: Path, take_back: bool) -> None:
    counter = Counter(tmp_path, *planned("horizontal"))
    sealing = Sealing(tuple(counter.expected), counter.state, counter.audit, take_back=take_back)
    for owner in counter.expected:
        counter.whole(owner)
    old = sealing.ready()
    sealing.hold(old, None)
    counter.whole("owner-a")
    new = sealing.ready()
    assert old is not None and new is not None and old != new
    if take_back:
        sealing.seal(DATE, old)
        assert sealing.ready() == old
        return
    with pytest.raises(RefusedError, match="not those of the invitation"):
        sealing.seal(DATE, old)
    assert counter.state.phase == "collecting"
    sealing.seal(DATE, new)
    assert (counter.state.phase, sealing.ready()) == ("sealed", new)
