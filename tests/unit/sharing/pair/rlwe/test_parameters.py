"""Parameters are within the standard's bounds, and the figures of the proof are those that are computed."""

from __future__ import annotations

import math

import pytest

from cofit.errors import InvalidInputError, RangeError
from cofit.sharing.pair.rlwe.packing import MatrixPacking, RowsPacking
from cofit.sharing.pair.rlwe.parameters import (
    Parameters,
    distance,
    failure,
    margin,
    noise_bound,
    parameters_for,
)

STANDARD = {64: (8192, 202), 128: (16384, 411)}
"""N, and the bits of q for 128 bits of security against quantum computers (the smaller bound), ternary secrets."""


def test_the_modulus_is_within_the_standard(parameters: Parameters) -> None:
    degree, most = STANDARD[parameters.bits]
    assert parameters.degree == degree
    assert parameters.modulus.bit_length() <= most
    for p in parameters.primes:
        assert 2**49 < p < 2**50
        assert p % (2 * degree) == 1
        assert all(pow(base, p - 1, p) == 1 for base in (2, 3, 5, 7, 11, 13))
    assert len(set(parameters.primes)) == parameters.limbs > parameters.reply_limbs


def test_the_figures_of_the_proof() -> None:
    small, large = parameters_for(64), parameters_for(128)
    matrix, rows = MatrixPacking(1713, 1874, 20, small), RowsPacking(1713, 1874, small)
    assert (matrix.terms, rows.terms) == (31_858, 3_748)
    assert distance(small, matrix.terms) < 2.0**-57.5
    assert 1713 * 20 * distance(small, matrix.terms) < 2.0**-42.4
    assert distance(small, rows.terms) < 2.0**-59.8
    assert MatrixPacking(20, 300, 20, large).terms == 1500
    assert distance(large, 1500) < 2.0**-82.9
    assert failure(1) == 2.0**-80
    assert failure(1 << 16) == 2.0**-64


def test_the_bytes_of_the_paper_s_size() -> None:
    parameters = parameters_for(64)
    matrix, rows = MatrixPacking(1713, 1874, 20, parameters), RowsPacking(1713, 1874, parameters)
    assert (matrix.requests, matrix.answers) == (79, 101)
    assert matrix.request_bytes + matrix.reply_bytes == 32_335_207
    assert (rows.requests, rows.answers) == (857, 857)
    assert rows.request_bytes + rows.reply_bytes == 307_182_237


def test_more_terms_take_a_wider_margin(parameters: Parameters) -> None:
    bounds = [noise_bound(parameters, n) for n in (1, 100, 10_000)]
    assert bounds == sorted(bounds)
    assert margin(parameters, 10_000) > margin(parameters, 100)
    # The tail is at least the 80 bits of a normal law of the same variance.
    assert bounds[1] > 2 ** (parameters.bits - 1) * (math.sqrt(10.5 * 100) * math.sqrt(2 * 80 * math.log(2)) + 50)


def test_what_cannot_be_exact_is_refused() -> None:
    parameters = parameters_for(64)
    with pytest.raises(RangeError, match=r"too long for masks that are uniform within 2\^-40"):
        MatrixPacking(1, 1 << 36, 1, parameters)
    with pytest.raises(RangeError):
        RowsPacking(1, 1 << 36, parameters)


@pytest.mark.parametrize("shape", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (-1, 1, 1)])
def test_empty_products_are_refused(parameters: Parameters, shape: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidInputError, match="must be 1 or more"):
        MatrixPacking(*shape, parameters)
    with pytest.raises(InvalidInputError, match="must be 1 or more"):
        RowsPacking(min(shape), max(shape), parameters)


def test_other_rings_have_no_parameters() -> None:
    with pytest.raises(InvalidInputError, match="64 or 128"):
        parameters_for(61)
