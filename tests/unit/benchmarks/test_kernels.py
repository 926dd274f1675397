"""`cofit bench kernels`: what its lines are about, not how long anything takes."""

from __future__ import annotations

from itertools import product

import pytest

from cofit import kernels
from cofit.benchmarks.kernels import measure_kernels


def isas_with_aes() -> list[str]:
    before, found = kernels.isa(), []
    for isa in kernels.available_isas():
        kernels.set_isa(isa)
        found += [isa] if kernels.aes_available() else []
    kernels.set_isa(before)
    return found


def test_every_kernel_is_measured_in_every_ring_on_every_instruction_set() -> None:
    before = kernels.isa()
    results = measure_kernels(rows=5, cols=40, repetitions=1)
    assert kernels.isa() == before
    products = product(("X w", "X^T e"), ("Z_2^64", "Z_2^128"), kernels.available_isas())
    sums = product(("combine", "bilinear"), ("Z_2^64", "Z_2^128", "GF(2)^64"), kernels.available_isas())
    transfers = product(("chooser", "sender", "hash"), ("transfers",), isas_with_aes())
    assert sorted((r.kernel, r.ring, r.isa) for r in results) == sorted((*products, *sums, *transfers))
    for result in results:
        assert result.ratio_to_read == pytest.approx(result.milliseconds / result.read_milliseconds)
        assert (result.numpy_milliseconds is None) == (result.ring != "Z_2^64")


def test_a_single_element_is_enough() -> None:
    assert all(result.milliseconds > 0 for result in measure_kernels(rows=1, cols=1, repetitions=1))
