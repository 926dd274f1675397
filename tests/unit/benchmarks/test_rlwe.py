"""`cofit bench rlwe`: what its lines are about, not how long anything takes."""

from __future__ import annotations

import pytest

from cofit import kernels
from cofit.benchmarks.rlwe import measure_rlwe
from cofit.sharing.pair.rlwe.packing import MatrixPacking, RowsPacking
from cofit.sharing.pair.rlwe.parameters import parameters_for


@pytest.mark.parametrize("bits", [64, 128])
def test_every_product_is_measured(bits: int) -> None:
    results = measure_rlwe(rows=5, cols=7, columns=2, repetitions=1, ring_bits=bits)
    assert [result.product for result in results] == ["X B", "X^T B", "rows"]
    parameters = parameters_for(bits)
    packings = MatrixPacking(5, 7, 2, parameters), MatrixPacking(7, 5, 2, parameters), RowsPacking(5, 7, parameters)
    for result, packing in zip(results, packings, strict=True):
        assert result.bytes == packing.request_bytes + packing.reply_bytes
        assert (result.requests, result.replies) == (packing.requests, packing.answers)
        assert (result.ring, result.isa) == (f"Z_2^{bits}", kernels.isa())
        assert result.client_seconds > 0 < result.server_seconds
