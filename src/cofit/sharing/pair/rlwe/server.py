"""The party that multiplies: it has a matrix, and answers encrypted masks with encrypted products. See ``proof.md``."""

from __future__ import annotations

import numpy as np

from cofit import kernels
from cofit.arithmetic import Generator, RingArray
from cofit.arithmetic.prg import SEED_BYTES, fresh_seed
from cofit.errors import ShapeError
from cofit.sharing.pair.rlwe.client import key_bytes
from cofit.sharing.pair.rlwe.packing import Packing, Reply, request_polynomial_bytes
from cofit.sharing.pair.rlwe.parameters import Parameters, margin, packed_bytes
from cofit.sharing.pair.rlwe.residues import (
    Message,
    Residues,
    binomial,
    require_length,
    summed,
    ternary,
    uniform,
    unpacked,
)

_TOGETHER = 4
"""Replies for which requests are read once: what they need beside fits a cache."""


class Server:
    """Knows the client's public key. ``answer`` gives this party's share of a product, and a message for the client."""

    def __init__(self, parameters: Parameters, key_message: Message) -> None:
        require_length(key_message, key_bytes(parameters), "The public key")
        self.parameters = parameters
        self._stream = Generator(fresh_seed())
        self._key = self._received(key_message[SEED_BYTES:], _public(key_message), 1, "The public key")

    def __repr__(self) -> str:
        return "<Server>"

    def answer(self, packing: Packing, request: Message, x: RingArray) -> tuple[RingArray, Message]:
        """Return this party's share of the product of x and the masks in ``request``, and the message for the client.

        x: of shape ``packing.matrix_shape``; any view, which is read block by block and never copied whole.
        """
        require_length(request, packing.request_bytes, "The request of an encrypted product")
        if self.parameters.ring.check(x).shape != packing.matrix_shape:
            raise ShapeError(f"The matrix must have the shape {packing.matrix_shape}; got {x.shape}.")
        share = self.parameters.ring.empty(packing.result_shape)
        message = np.empty(packing.reply_bytes, dtype=np.uint8)
        rest = message
        public, size = _public(request), packing.blocks * request_polynomial_bytes(self.parameters)
        for piece in range(packing.pieces):
            start = SEED_BYTES + piece * size
            body = request[start : start + size]
            requests = self._received(body, public, packing.blocks, "The request of an encrypted product")
            parts = list(packing.replies(piece))
            for i in range(0, len(parts), _TOGETHER):
                group = parts[i : i + _TOGETHER]
                products = self._products(packing, requests, x[group[0].rows.start : group[-1].rows.stop], len(group))
                for part, product in zip(group, products, strict=True):
                    values = self._masked(product, part, margin(self.parameters, packing.terms), rest)
                    share[part.results] = values.reshape(share[part.results].shape)
                    rest = rest[packing.reply_size(part) :]
        return share, message

    def _received(self, body: Message, public: Generator, count: int, what: str) -> Residues:
        """Return whole ciphertexts, transformed: [ciphertext][half][prime][coefficient]."""
        parameters = self.parameters
        size = request_polynomial_bytes(parameters)
        out = np.empty((count, 2, parameters.limbs, parameters.degree), dtype=np.uint64)
        for k in range(count):
            out[k, 0] = unpacked(body[k * size : (k + 1) * size], parameters.moduli, parameters.degree, what)
            out[k, 1] = uniform(public, parameters.moduli, parameters.degree)
        return out

    def _products(self, packing: Packing, requests: Residues, x: RingArray, count: int) -> Residues:
        """Return ciphertexts of the products of ``count`` blocks of rows, each with a fresh encryption of zero."""
        parameters = self.parameters
        out = np.empty((count, 2, parameters.limbs, parameters.degree), dtype=np.uint64)
        kernels.rlwe_multiply(
            x,
            packing.block_rows,
            packing.width,
            packing.step,
            requests,
            self._key,
            self._zero_coins(count),
            parameters.moduli,
            parameters.degree,
            out,
            parameters.words,
        )
        return out

    def _zero_coins(self, count: int) -> Residues:
        """Return what ``count`` fresh encryptions of zero under the public key are made of: u, e_0 and e_1."""
        degree = self.parameters.degree
        coins = np.empty((count, 3, degree), dtype=np.uint64)
        coins[:, 0] = ternary(self._stream, count, degree)
        coins[:, 1:] = binomial(self._stream, count, 2, degree)
        return coins

    def _masked(self, product: Residues, part: Reply, distance: int, message: Message) -> RingArray:
        """Mask the results of a ciphertext, write what the client gets to ``message``, and return the own share."""
        parameters = self.parameters
        r, rounded = self._masks(len(part.places), distance)
        c_0 = summed(product[0][:, part.places], r, parameters.moduli)
        cut = parameters.reply_limbs * packed_bytes(parameters.degree)
        end = cut + parameters.reply_limbs * packed_bytes(len(part.places))
        kernels.rlwe_pack(self._switched(product[1]), message[:cut])
        kernels.rlwe_pack(self._switched(c_0), message[cut:end])
        return parameters.ring.neg(rounded)

    def _masks(self, count: int, distance: int) -> tuple[Residues, RingArray]:
        """Return uniform r modulo q, and round(t r / q), for r with a fraction of t r / q that is not near one half.

        The others are drawn again. When that happens depends on r alone, and says nothing about the r that is taken.
        """
        parameters = self.parameters
        r = self._uniform(count)
        rounded, near = parameters.ring.empty((count,)), np.empty(count, dtype=np.uint8)
        while True:
            kernels.rlwe_round(r, parameters.moduli, distance, rounded, near, parameters.words)
            again = np.flatnonzero(near)
            if not len(again) or not parameters.redraws:
                return r, rounded
            r[:, again] = self._uniform(len(again))

    def _uniform(self, count: int) -> Residues:
        return uniform(self._stream, self.parameters.moduli, count)

    def _switched(self, values: Residues) -> Residues:
        """Return the polynomial with the primes that a reply has: divided by the others, and rounded."""
        for limbs in range(self.parameters.limbs, self.parameters.reply_limbs, -1):
            fewer = np.empty((limbs - 1, values.shape[1]), dtype=np.uint64)
            kernels.rlwe_drop(values, self.parameters.moduli[:limbs], fewer)
            values = fewer
        return values


def _public(message: Message) -> Generator:
    """Return the stream of the seed at the head of a message."""
    return Generator(message[:SEED_BYTES].tobytes())
