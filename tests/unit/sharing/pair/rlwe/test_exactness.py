"""Noise stays within its bound, and masks near a boundary of rounding are drawn again, so that sums are exact."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from cofit import kernels
from cofit.arithmetic import RingArray
from cofit.sharing.pair.rlwe.client import Client
from cofit.sharing.pair.rlwe.packing import MatrixPacking, Packing
from cofit.sharing.pair.rlwe.parameters import margin, noise_bound, packed_bytes, parameters_for
from cofit.sharing.pair.rlwe.residues import Residues, summed, unpacked
from cofit.sharing.pair.rlwe.server import Server
from unit.kernels.rlwe_reference import joined, residues
from unit.sharing.pair.rlwe.rlwe_runs import elements, product, some


class Unmasked(Server):
    """Masks with zeros, to see the noise."""

    def _masks(self, count: int, distance: int) -> tuple[Residues, RingArray]:
        return np.zeros((self.parameters.limbs, count), dtype=np.uint64), self.parameters.ring.zeros((count,))


class AtTheBoundary(Server):
    """First draws masks whose t r / q is an integer and a half, as near as it gets."""

    draws = 0

    def _uniform(self, count: int) -> Residues:
        self.draws += 1
        if self.draws > 1:
            return super()._uniform(count)
        q, t = self.parameters.modulus, 1 << self.parameters.bits
        return residues([q * (2 * k + 1) // (2 * t) for k in range(count)], self.parameters.primes)


class Accepting(AtTheBoundary):
    """And takes them."""

    def _masks(self, count: int, distance: int) -> tuple[Residues, RingArray]:
        parameters = self.parameters
        r, rounded = self._uniform(count), parameters.ring.empty((count,))
        kernels.rlwe_round(r, parameters.moduli, 0, rounded, np.empty(count, dtype=np.uint8), parameters.words)
        return r, rounded


def phases(client: Client, packing: Packing, reply: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> list[int]:
    """Return c_0 + c_1 s of the only reply, at its results."""
    parameters = client.parameters
    (part,) = packing.replies(0)
    cut = parameters.limbs * packed_bytes(parameters.degree)
    c_1 = unpacked(reply[:cut], parameters.moduli, parameters.degree, "The reply")
    c_0 = unpacked(reply[cut:], parameters.moduli, len(part.places), "The reply")
    kernels.rlwe_phase(c_1, client._secret, parameters.moduli, c_1)
    return joined(summed(c_0, c_1[:, part.places], parameters.moduli), parameters.primes)


@pytest.mark.parametrize("bits", [64, 128])
def test_noise_is_as_large_as_computed_and_within_its_bound(bits: int) -> None:
    """All elements of the matrix are the smallest number, the largest in size."""
    usual = parameters_for(bits)
    parameters = replace(usual, reply_limbs=usual.limbs)
    ring, (q, t) = parameters.ring, (parameters.modulus, 1 << bits)
    rows, inner, columns = 4, 8, 200
    packing = MatrixPacking(rows, inner, columns, parameters)
    assert (packing.requests, packing.answers) == (1, 1)
    client = Client(parameters)
    x = elements(ring, np.full((rows, inner), t // 2, dtype=object))
    for fill, spread in ((0, 0), (1, t // 2)):
        b = some(np.random.default_rng(4), bits, inner, columns) * fill
        request = client.request(packing, elements(ring, b))
        _, reply = Unmasked(parameters, client.key_message).answer(packing, request, x)
        wanted = (np.full((rows, inner), -t // 2, dtype=object).dot(b) % t).reshape(-1)
        scaled = [q * int(v) // t for v in wanted]
        off = [(phase - v) % q for phase, v in zip(phases(client, packing, reply), scaled, strict=True)]
        noise = np.array([y - q * (2 * y > q) for y in off], dtype=float)
        assert np.abs(noise).max() <= noise_bound(parameters, packing.terms)
        # Errors have the variance 10.5; roundings of a request, if there are any, 1 / 12.
        expected = t / 2 * math.sqrt(packing.terms * (10.5 + (spread > 0) / 12))
        assert 0.8 < noise.std() / expected < 1.25


@pytest.mark.parametrize("bits", [64, 128])
def test_masks_at_a_boundary_are_drawn_again(bits: int, rng: np.random.Generator) -> None:
    parameters = parameters_for(bits)
    client = Client(parameters)
    packing = MatrixPacking(5, 30, 8, parameters)
    x, b = some(rng, bits, 5, 30), some(rng, bits, 30, 8)
    operands = elements(parameters.ring, x), elements(parameters.ring, b)
    server = AtTheBoundary(parameters, client.key_message)
    expected = x.dot(b) % (1 << bits)
    assert (product(client, server, packing, *operands) == expected).all()
    assert server.draws == 2
    off = product(client, Accepting(parameters, client.key_message), packing, *operands) - expected
    wrong = (off + 1) % (1 << bits) - 1
    assert set(wrong.reshape(-1).tolist()) <= {-1, 0, 1}, "by one at most"
    assert 0.2 < np.mean(wrong != 0) < 0.8, "about every second time"


class Scripted(Server):
    """First draws one given mask."""

    script: ClassVar[list[int]] = []

    def _uniform(self, count: int) -> Residues:
        return residues([self.script.pop()] * count, self.parameters.primes) if self.script else super()._uniform(count)


def test_a_mask_just_outside_the_margin_is_taken_and_one_just_inside_is_not() -> None:
    parameters = parameters_for(64)
    q, t, wide = parameters.modulus, 1 << 64, margin(parameters, 1000)
    server = Scripted(parameters, Client(parameters).key_message)
    for units, taken in ((-wide - 2, True), (-wide + 1, False), (0, False), (wide - 1, False), (wide + 2, True)):
        r = q * (t + 2 * units) // (2 * t * t)
        server.script.append(r)
        got, _ = server._masks(1, wide)
        assert (joined(got, parameters.primes) == [r]) is taken
