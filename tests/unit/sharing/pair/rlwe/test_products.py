"""Shares of encrypted products add up to the product of Python integers, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from cofit import kernels
from cofit.sharing.pair.rlwe.client import Client
from cofit.sharing.pair.rlwe.packing import MatrixPacking, RowsPacking
from cofit.sharing.pair.rlwe.parameters import Parameters
from cofit.sharing.pair.rlwe.server import Server
from support.schemes import also_slow
from unit.sharing.pair.rlwe.rlwe_runs import edges, elements, product, some

Pair = tuple[Client, Server]


@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    also_slow([(1, 1, 1), (97, 1, 1), (1, 211, 1), (13, 17, 7), (3, 401, 20)], (101, 3, 20), (5, 7, 200), (2, 3, 9001)),
)
def test_a_matrix_times_masks(pair: Pair, rng: np.random.Generator, rows: int, inner: int, columns: int) -> None:
    parameters = pair[0].parameters
    ring = parameters.ring
    x, b = some(rng, parameters.bits, rows, inner), some(rng, parameters.bits, inner, columns)
    got = product(*pair, MatrixPacking(rows, inner, columns, parameters), elements(ring, x), elements(ring, b))
    assert (got == x.dot(b) % (1 << parameters.bits)).all()


@pytest.mark.parametrize(
    ("rows", "cols"), also_slow([(1, 1), (5, 1), (1, 997), (7, 31)], (40, 1000), (3, 8191), (2, 20_000))
)
def test_inner_products_of_rows(pair: Pair, rng: np.random.Generator, rows: int, cols: int) -> None:
    parameters = pair[0].parameters
    ring = parameters.ring
    x, y = some(rng, parameters.bits, rows, cols), some(rng, parameters.bits, rows, cols)
    got = product(*pair, RowsPacking(rows, cols, parameters), elements(ring, x), elements(ring, y))
    assert (got == (x * y).sum(axis=1) % (1 << parameters.bits)).all()


def test_the_ends_of_the_range(pair: Pair, parameters: Parameters) -> None:
    """All elements alike: 0, 1, the largest and the smallest number, all ones."""
    ring, shape = parameters.ring, (9, 50)
    for a in edges(parameters.bits):
        for b in edges(parameters.bits):
            x, y = (elements(ring, np.full(shape, z, dtype=object)) for z in (a, b))
            rows = product(*pair, RowsPacking(*shape, parameters), x, y)
            assert (rows == 50 * a * b % (1 << parameters.bits)).all()
            matrix = product(*pair, MatrixPacking(9, 50, 9, parameters), x, np.ascontiguousarray(y.T))
            assert (matrix == 50 * a * b % (1 << parameters.bits)).all()


def test_any_view_of_the_matrix(pair: Pair, parameters: Parameters, rng: np.random.Generator) -> None:
    """A transpose, every second column, rows backwards; and slices of rows one after the other."""
    ring = parameters.ring
    whole = some(rng, parameters.bits, 24, 36)
    views = (slice(None), slice(None)), (slice(None), slice(None, None, 2)), (slice(None, None, -1), slice(3, 9))
    for place in views:
        for turned in (False, True):
            x = whole[place].T if turned else whole[place]
            b = some(rng, parameters.bits, x.shape[1], 3)
            view = elements(ring, whole)[place]
            packing = MatrixPacking(x.shape[0], x.shape[1], 3, parameters)
            got = product(*pair, packing, view.T if turned else view, elements(ring, b))
            assert (got == x.dot(b) % (1 << parameters.bits)).all()
    y = some(rng, parameters.bits, 24, 36)
    parts = [
        product(*pair, RowsPacking(8, 36, parameters), elements(ring, whole)[i : i + 8], elements(ring, y)[i : i + 8])
        for i in (0, 8, 16)
    ]
    assert (np.concatenate(parts) == (whole * y).sum(axis=1) % (1 << parameters.bits)).all()


def test_every_instruction_set_reads_what_the_others_wrote(pair: Pair, parameters: Parameters) -> None:
    rng = np.random.default_rng(1)
    ring, packing, best = parameters.ring, MatrixPacking(30, 500, 2, parameters), kernels.isa()
    x, b = some(rng, parameters.bits, 30, 500), some(rng, parameters.bits, 500, 2)
    client, server = pair
    sets = kernels.available_isas()
    try:
        for i, isa in enumerate(sets):
            kernels.set_isa(isa)
            request = client.request(packing, elements(ring, b))
            kernels.set_isa(sets[i - 1])
            share, reply = server.answer(packing, request, elements(ring, x))
            kernels.set_isa(isa)
            total = ring.add(share, client.finish(packing, reply))
            expected = x.dot(b) % (1 << parameters.bits)
            assert (total == elements(ring, expected)).all()
    finally:
        kernels.set_isa(best)


def test_two_answers_to_one_request_have_nothing_in_common(pair: Pair, parameters: Parameters) -> None:
    """Fresh u, errors and masks every time: of 50-bit residues, hardly one is the same."""
    client, server = pair
    packing = MatrixPacking(2, 3, 4, parameters)
    request = client.request(packing, parameters.ring.zeros((3, 4)))
    zeros = parameters.ring.zeros((2, 3))
    (share, reply), (other_share, other_reply) = (server.answer(packing, request, zeros) for _ in range(2))
    assert (share != other_share).all()
    assert np.mean(reply == other_reply) < 0.01


def test_nothing_shows_a_secret(pair: Pair) -> None:
    assert [repr(end) for end in pair] == ["<Client>", "<Server>"]
