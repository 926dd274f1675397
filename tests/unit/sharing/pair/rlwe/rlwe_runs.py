"""Both ends of encrypted products in one place, and what they should give by Python integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofit.arithmetic import PowerOfTwoRing, RingArray
from cofit.sharing.pair.rlwe.client import Client
from cofit.sharing.pair.rlwe.packing import Packing
from cofit.sharing.pair.rlwe.server import Server

Integers = NDArray[Any]


def edges(bits: int) -> list[int]:
    """Numbers at the ends of the signed and of the unsigned range."""
    return [0, 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1, 2**bits - 1]


def some(rng: np.random.Generator, bits: int, *shape: int) -> Integers:
    """Random numbers below 2^bits, some of them at the ends."""
    out = np.array([int.from_bytes(rng.bytes(bits // 8), "little") for _ in range(int(np.prod(shape)))], dtype=object)
    ends = edges(bits)
    for place in rng.integers(0, len(out), len(out) // 4):
        out[place] = ends[int(rng.integers(0, len(ends)))]
    return out.reshape(shape)


def elements(ring: PowerOfTwoRing, numbers: Integers) -> RingArray:
    """Numbers below 2^bits, as the ring has them."""
    half = 1 << (ring.bits - 1)
    return ring.from_int((numbers + half) % (2 * half) - half)


def numbers(ring: PowerOfTwoRing, array: RingArray) -> Integers:
    """The inverse of ``elements``."""
    return np.asarray(ring.to_int(array).astype(object) % (1 << ring.bits), dtype=object)


def product(client: Client, server: Server, packing: Packing, x: RingArray, y: RingArray) -> Integers:
    """Return the sum of both shares, after messages of the sizes that the packing tells."""
    request = client.request(packing, y)
    share, reply = server.answer(packing, request, x)
    assert (request.nbytes, reply.nbytes) == (packing.request_bytes, packing.reply_bytes)
    other = client.finish(packing, reply)
    assert share.shape == other.shape == packing.result_shape
    ring = client.parameters.ring
    return numbers(ring, ring.add(share, other))
