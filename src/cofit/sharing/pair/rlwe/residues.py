"""Polynomials as rows of residues: uniform and small ones, and how they travel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cofit import kernels
from cofit.arithmetic import Generator
from cofit.errors import ProtocolError
from cofit.sharing.pair.rlwe.parameters import RESIDUE_BITS, packed_bytes

Residues = npt.NDArray[np.uint64]
Message = npt.NDArray[np.uint8]


def uniform(stream: Generator, moduli: Residues, length: int) -> Residues:
    """Return a row of uniform residues for each prime, out of 50 bits of the stream each.

    What is not below its prime (one in 2^27 at most) is drawn again: who draws from the same stream gets the same
    residues. Whether something was drawn again says nothing about what was accepted.
    """
    out = np.empty((len(moduli), length), dtype=np.uint64)
    wrong = kernels.rlwe_unpack(stream.draw(len(moduli) * packed_bytes(length)), moduli, out)
    while wrong:
        places = np.nonzero(out >= moduli[:, None])
        out[places] = stream.words((wrong,)) & np.uint64((1 << RESIDUE_BITS) - 1)
        wrong = int(np.count_nonzero(out >= moduli[:, None]))
    return out


def ternary(stream: Generator, *shape: int) -> Residues:
    """Return small numbers that are -1, 0 or 1 alike, exactly.

    2^64 - 1 is a multiple of 3: without the word 0, which is drawn again, as many words lead to each of the three.
    (With it a coefficient would be off by 2^-64.6, and the 10^7 of an ordinary session by 2^-41.)
    """
    words = stream.words(shape)
    while not words.all():
        words = np.where(words == 0, stream.words(shape), words)
    out = np.empty(shape, dtype=np.uint64)
    kernels.rlwe_ternary(words, out)
    return out


def binomial(stream: Generator, *shape: int) -> Residues:
    """Return small numbers that are the difference of two sums of 21 coins."""
    out = np.empty(shape, dtype=np.uint64)
    kernels.rlwe_binomial(stream.words(shape), out)
    return out


def summed(a: Residues, b: Residues, moduli: Residues) -> Residues:
    """Return a + b, a row for each prime."""
    total: Residues = a + b
    less: Residues = total - moduli[:, None]  # wraps where it is negative
    return np.minimum(total, less)


def unpacked(message: Message, moduli: Residues, length: int, what: str) -> Residues:
    """Return the rows of residues in a message of the right size; raise ProtocolError where one is too large."""
    out = np.empty((len(moduli), length), dtype=np.uint64)
    if kernels.rlwe_unpack(message, moduli, out):
        raise ProtocolError(f"{what} contains a residue that is not below its prime: the other party deviates.")
    return out


def require_length(message: Message, expected: int, what: str) -> None:
    """Raise ProtocolError unless the message has the size that its shapes give."""
    if message.dtype != np.uint8 or message.shape != (expected,):
        raise ProtocolError(
            f"{what} must have {expected} bytes, by the public shapes; got {message.dtype} of shape {message.shape}."
        )
