"""What the client gets of a reply says nothing about the matrix; with one step left out it gives the matrix away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from cofit import kernels
from cofit.arithmetic import Generator
from cofit.arithmetic.prg import SEED_BYTES
from cofit.sharing.pair.rlwe.client import Client
from cofit.sharing.pair.rlwe.packing import MatrixPacking
from cofit.sharing.pair.rlwe.parameters import Parameters, packed_bytes, parameters_for
from cofit.sharing.pair.rlwe.residues import Residues, summed, uniform, unpacked
from cofit.sharing.pair.rlwe.server import Server
from support.chance import accept
from support.views import p_uniform_bytes
from unit.kernels.rlwe_reference import joined

ROWS, INNER, COLUMNS = 3, 5, 2
ALL_PRIMES = replace(parameters_for(64), reply_limbs=4)
"""Replies with all primes: c_1 as it is, without the rounding."""
Matrix = NDArray[np.uint64]


class WithoutZeros(Server):
    """Adds an encryption of zero that is no encryption: u = e_0 = e_1 = 0."""

    def _zero_coins(self, count: int) -> Residues:
        return np.zeros_like(super()._zero_coins(count))


class WithoutErrors(Server):
    """Fresh u, but no error beside it."""

    def _zero_coins(self, count: int) -> Residues:
        coins = super()._zero_coins(count)
        coins[:, 1:] = 0
        return coins


class OneZero(Server):
    """Makes one encryption of zero, and uses it for all replies."""

    def _zero_coins(self, count: int) -> Residues:
        if not hasattr(self, "first"):
            self.first = super()._zero_coins(1)
        return np.repeat(self.first, count, axis=0)


def seen(server: type[Server], parameters: Parameters, x: Matrix) -> tuple[Client, Residues, Residues]:
    """Return the client, its a of the only request, and the c_1 of the only reply."""
    client = Client(parameters)
    packing = MatrixPacking(ROWS, INNER, COLUMNS, parameters)
    request = client.request(packing, parameters.ring.zeros((INNER, COLUMNS)))
    _, reply = server(parameters, client.key_message).answer(packing, request, x)
    a = uniform(Generator(request[:SEED_BYTES].tobytes()), parameters.moduli, parameters.degree)
    cut = parameters.reply_limbs * packed_bytes(parameters.degree)
    return client, a, unpacked(reply[:cut], parameters.reply_moduli, parameters.degree, "The reply")


def quotient(c: Residues, a: Residues, parameters: Parameters) -> list[int]:
    """Return the coefficients of c / a, from -q / 2 to q / 2; a is transformed."""
    c = c.copy()
    kernels.rlwe_forward(c, parameters.moduli, parameters.degree)
    for limb, p in enumerate(parameters.primes):
        c[limb] = [int(x) * pow(int(y), -1, p) % p for x, y in zip(c[limb], a[limb], strict=True)]
    kernels.rlwe_inverse(c, parameters.moduli, parameters.degree)
    return [x - parameters.modulus * (2 * x > parameters.modulus) for x in joined(c, parameters.primes)]


def recovered(c: Residues, a: Residues, parameters: Parameters) -> Matrix:
    """Return the matrix that c / a is the polynomial of, if it is one."""
    coefficients = np.array(quotient(c, a, parameters)[: ROWS * INNER], dtype=object) % 2**64
    return coefficients.astype(np.uint64).reshape(ROWS, INNER)[:, ::-1]


@pytest.fixture
def x(rng: np.random.Generator) -> Matrix:
    return rng.integers(0, 2**64, (ROWS, INNER), dtype=np.uint64)


def test_without_an_encryption_of_zero_a_division_gives_the_matrix(x: Matrix) -> None:
    _, a, c = seen(WithoutZeros, ALL_PRIMES, x)
    np.testing.assert_array_equal(recovered(c, a, ALL_PRIMES), x)


def test_with_one_the_division_gives_nothing(x: Matrix) -> None:
    _, a, c = seen(Server, ALL_PRIMES, x)
    assert not (recovered(c, a, ALL_PRIMES) == x).any()
    sizes = [abs(y).bit_length() for y in quotient(c, a, ALL_PRIMES)]
    assert np.mean(sizes) > ALL_PRIMES.modulus.bit_length() - 3, "as those of a uniform polynomial"


@pytest.mark.parametrize("server", [OneZero, Server])
def test_one_encryption_of_zero_for_two_replies_gives_their_difference(
    server: type[Server], rng: np.random.Generator
) -> None:
    parameters = ALL_PRIMES
    degree = parameters.degree
    x = rng.integers(0, 2**64, (2 * degree, 1), dtype=np.uint64)
    client, packing = Client(parameters), MatrixPacking(2 * degree, 1, 1, parameters)
    request = client.request(packing, parameters.ring.zeros((1, 1)))
    _, reply = server(parameters, client.key_message).answer(packing, request, x)
    a = uniform(Generator(request[:SEED_BYTES].tobytes()), parameters.moduli, degree)
    cut = parameters.reply_limbs * packed_bytes(degree)
    halves = (reply[:cut], reply[len(reply) // 2 :][:cut])
    first, second = (unpacked(half, parameters.moduli, degree, "The reply") for half in halves)
    difference = quotient(summed(first, parameters.moduli[:, None] - second, parameters.moduli), a, parameters)
    signed = x.view(np.int64).astype(object).reshape(2, degree)
    same = np.array(difference, dtype=object) == signed[0] - signed[1]
    assert same.all() if server is OneZero else not same.any()


@pytest.mark.parametrize("server", [WithoutErrors, Server])
def test_errors_are_what_hides_the_u_of_a_zero(server: type[Server]) -> None:
    """With X = 0, c_1 / p_1 is u, unless there are errors."""
    zeros = np.zeros((ROWS, INNER), dtype=np.uint64)
    client, _, c = seen(server, ALL_PRIMES, zeros)
    p_1 = uniform(Generator(client.key_message[:SEED_BYTES].tobytes()), ALL_PRIMES.moduli, ALL_PRIMES.degree)
    small = max(abs(y) for y in quotient(c, p_1, ALL_PRIMES)) <= 1
    assert small == (server is WithoutErrors)


@pytest.mark.parametrize("fill", [0, 2**64 - 1])
def test_messages_look_uniform_whatever_is_in_them(pair: tuple[Client, Server], fill: int) -> None:
    client, server = pair
    parameters = client.parameters
    packing = MatrixPacking(40, 300, 2, parameters)
    ring = parameters.ring
    b, x = (ring.zeros(shape) for shape in (packing.operand_shape, packing.matrix_shape))
    for array in (b, x):
        array.view(np.uint64)[...] = fill
    request = client.request(packing, b)
    _, reply = server.answer(packing, request, x)
    accept({"request": p_uniform_bytes(request), "reply": p_uniform_bytes(reply)})
