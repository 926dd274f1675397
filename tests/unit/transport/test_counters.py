from __future__ import annotations

import pytest

from cofit.transport import HEADER_BYTES, Counts, LabelCounts
from cofit.transport.counters import Counters


def test_a_round_is_an_exchange_that_receives() -> None:
    counters = Counters()
    counters.add("open", 2, 100, 1, 50)
    counters.add("open", 1, 10, 0, 0)
    counters.add("share", 0, 0, 2, 7)
    counts = counters.snapshot()
    assert counts["open"] == LabelCounts(1, 3, 1, 110, 50, 110 + 3 * HEADER_BYTES)
    assert counts["share"] == LabelCounts(1, 0, 2, 0, 7, 0)
    assert counts.total == LabelCounts(2, 3, 3, 110, 57, 110 + 3 * HEADER_BYTES)


def test_a_snapshot_does_not_change_and_differences_leave_out_what_is_equal() -> None:
    counters = Counters()
    counters.add("a", 1, 1, 1, 1)
    counters.add("b", 1, 1, 1, 1)
    before = counters.snapshot()
    counters.add("b", 1, 5, 1, 6)
    after = counters.snapshot()
    assert before["b"].bytes_sent == 1
    assert dict(after - before) == {"b": LabelCounts(1, 1, 1, 5, 6, 5 + HEADER_BYTES)}
    assert (before - before).total == LabelCounts()


def test_an_unknown_label_has_no_counts() -> None:
    with pytest.raises(KeyError):
        Counts()["x"]
    assert Counts().get_or_zero("x") == LabelCounts()
