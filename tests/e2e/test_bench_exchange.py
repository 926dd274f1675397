"""``cofit bench exchange`` with real processes over TLS: every way is measured, at parties alone."""

from __future__ import annotations

import pytest

from cofit.benchmarks.exchange import measure_exchange


@pytest.mark.parametrize(("scheme", "parties"), [("rep3", 3), ("semi2k", 2)])  # the latter with a dealer beside them
def test_all_ways_are_measured(scheme: str, parties: int) -> None:
    result = measure_exchange(message_bytes=20_000, exchanges=10, repetitions=2, scheme=scheme)
    assert (result.parties, result.message_bytes, result.exchanges, result.repetitions) == (parties, 20_000, 10, 2)
    times = (result.microseconds_per_exchange, result.microseconds_per_array, result.ring_microseconds)
    assert min(*times, result.ratio) > 0
