"""``cofit bench lines`` with real processes over TLS: both meshes do the same work."""

from __future__ import annotations

import pytest

from cofit.benchmarks.lines import measure_lines_cost


@pytest.mark.slow
def test_both_ways_are_measured() -> None:
    result = measure_lines_cost(rows=40, cols=3, repetitions=1)
    assert (result.parties, result.rows, result.cols, result.repetitions) == (3, 40, 3, 1)
    times = (result.train_seconds, result.small_microseconds, result.large_milliseconds)
    with_lines = (
        result.train_seconds_with_lines, result.small_microseconds_with_lines, result.large_milliseconds_with_lines
    )  # fmt: skip
    assert min(*times, *with_lines, result.train_ratio, result.small_ratio, result.large_ratio) > 0
    assert result.peak_bytes_per_peer <= 64 << 20
