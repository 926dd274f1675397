"""The party that holds the key: it encrypts its masks, and gets its share of their products. See ``proof.md``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cofit import kernels
from cofit.arithmetic import Generator, RingArray
from cofit.arithmetic.prg import SEED_BYTES, fresh_seed
from cofit.errors import ShapeError
from cofit.sharing.pair.rlwe.packing import Packing, request_polynomial_bytes
from cofit.sharing.pair.rlwe.parameters import Parameters, packed_bytes
from cofit.sharing.pair.rlwe.residues import Message, binomial, require_length, summed, ternary, uniform, unpacked


def key_bytes(parameters: Parameters) -> int:
    """Bytes of the public key: a seed, and one half of an encryption of zero."""
    return SEED_BYTES + request_polynomial_bytes(parameters)


class Client:
    """Holds a fresh secret key; ``key_message`` is the public one, which the server needs once.

    A product: ``request`` gives one message, the server answers with one, ``finish`` gives this party's share. The
    secret key, like all randomness here, is from the entropy of the operating system and never leaves this object.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._stream = Generator(fresh_seed())
        self._secret = np.empty((parameters.limbs, parameters.degree), dtype=np.uint64)
        kernels.rlwe_small(ternary(self._stream, parameters.degree), parameters.moduli, self._secret)
        seed = fresh_seed()
        zero = parameters.ring.zeros((1, parameters.degree))
        self.key_message = _with_seed(seed, self._encryptions(zero, Generator(seed)))

    def __repr__(self) -> str:
        return "<Client>"

    def request(self, packing: Packing, masks: RingArray) -> Message:
        """Return the encryption of ``masks``, of shape ``packing.operand_shape``, for the server."""
        if self.parameters.ring.check(masks).shape != packing.operand_shape:
            raise ShapeError(f"The masks must have the shape {packing.operand_shape}; got {masks.shape}.")
        seed = fresh_seed()
        public = Generator(seed)
        parts = [self._encryptions(packing.polynomials(i, masks), public) for i in range(packing.pieces)]
        return _with_seed(seed, *parts)

    def finish(self, packing: Packing, reply: Message) -> RingArray:
        """Return this party's share of the product, of shape ``packing.result_shape``, out of the server's message."""
        require_length(reply, packing.reply_bytes, "The reply of an encrypted product")
        out = self.parameters.ring.empty(packing.result_shape)
        start = 0
        for piece in range(packing.pieces):
            for part in packing.replies(piece):
                end = start + packing.reply_size(part)
                out[part.results] = self._decrypted(reply[start:end], part.places).reshape(out[part.results].shape)
                start = end
        return out

    def _encryptions(self, polynomials: RingArray, public: Generator) -> Message:
        """Return one half of an encryption of every row; the other half is drawn from the public stream."""
        parameters = self.parameters
        size = request_polynomial_bytes(parameters)
        out = np.empty(len(polynomials) * size, dtype=np.uint8)
        half = np.empty_like(self._secret)
        for k in range(len(polynomials)):
            a = uniform(public, parameters.moduli, parameters.degree)
            e = binomial(self._stream, parameters.degree)
            kernels.rlwe_encrypt(polynomials[k], e, a, self._secret, parameters.moduli, half, parameters.words)
            kernels.rlwe_pack(half, out[k * size : (k + 1) * size])
        return out

    def _decrypted(self, message: Message, places: npt.NDArray[np.intp]) -> RingArray:
        """Return the rounded phases of one ciphertext at the places of its results."""
        parameters = self.parameters
        moduli, limbs = parameters.reply_moduli, parameters.reply_limbs
        cut = limbs * packed_bytes(parameters.degree)
        c_1 = unpacked(message[:cut], moduli, parameters.degree, "The reply of an encrypted product")
        c_0 = unpacked(message[cut:], moduli, len(places), "The reply of an encrypted product")
        kernels.rlwe_phase(c_1, self._secret[:limbs], moduli, c_1)
        phases = summed(c_0, c_1[:, places], moduli)
        out = parameters.ring.empty(places.shape)
        kernels.rlwe_round(phases, moduli, 0, out, np.empty(len(places), dtype=np.uint8), parameters.words)
        return out


def _with_seed(seed: bytes, *parts: Message) -> Message:
    return np.concatenate([np.frombuffer(seed, dtype=np.uint8), *parts])
