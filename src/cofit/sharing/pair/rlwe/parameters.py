"""The parameters of the encryption, how safe they are, and how far noise may go: the only place with these numbers.

Ring Z_q[X] / (X^N + 1), q a product of primes below 2^50 that are 1 modulo 2N. The secret is uniform in {-1, 0, 1},
errors are centred binomial of 2 x 21 coins: standard deviation 3.24, at most 21.

    messages mod   N       primes   log2 q   bound of the standard, 128 bits: classical, quantum
    2^64           8192    4        200      218, 202
    2^64, large    16384   5        250      438, 411
    2^128          16384   7        350      438, 411

The bounds are those of the Homomorphic Encryption Security Standard (Albrecht et al. 2018, tables 1 and 2) for ternary
secrets and errors of standard deviation 3.19 (8 / sqrt(2 pi)).

``proof.md`` derives what is computed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import PowerOfTwoRing, reals, ring_of_bits
from cofit.errors import parameter_error

COINS = 21
"""An error is the difference of two sums of so many coins."""
FAILURE_BITS = 80
"""A coefficient's noise is beyond its bound with probability 2^-80 at most."""
RESIDUE_BITS = 50


@dataclass(frozen=True)
class Parameters:
    """One instance of the encryption: messages modulo 2^bits, polynomials of ``degree`` coefficients.

    A request has residues modulo all ``primes``, a reply modulo the first ``reply_limbs`` of them. ``redraws``: whether
    masks that could make a sum wrong are drawn again; with 64 bits of a fraction it pays only while beta is above
    2^-64.
    """

    bits: int
    degree: int
    primes: tuple[int, ...]
    reply_limbs: int
    redraws: bool = True

    @property
    def ring(self) -> PowerOfTwoRing:
        return ring_of_bits(self.bits)

    @property
    def words(self) -> int:
        """Words of a ring element."""
        return self.bits // 64

    @property
    def limbs(self) -> int:
        """Residues of a coefficient of a request."""
        return len(self.primes)

    @property
    def modulus(self) -> int:
        """The product q of all primes."""
        return math.prod(self.primes)

    @cached_property
    def moduli(self) -> npt.NDArray[np.uint64]:
        """The primes, as the kernels take them."""
        return np.array(self.primes, dtype=np.uint64)

    @cached_property
    def reply_moduli(self) -> npt.NDArray[np.uint64]:
        """Those of a reply."""
        return self.moduli[: self.reply_limbs].copy()


_LONG = tuple(2**50 - x for x in (2162687, 2850815, 3014655, 3047423, 3342335, 3735551, 4718591))
_PARAMETERS = {
    64: Parameters(64, 8192, tuple(2**50 - x for x in (16383, 212991, 1097727, 1490943)), 3),
    128: Parameters(128, 16384, _LONG, 5),
}
_LARGE = {64: Parameters(64, 16384, _LONG[:5], 3, redraws=False), 128: _PARAMETERS[128]}


def parameters_for(bits: int, *, large: bool = False) -> Parameters:
    """Return the parameters for products in Z_2^bits: 64 or 128. ``large``: with less left to chance."""
    if bits not in _PARAMETERS:
        raise parameter_error("bits", "parameters_for", "64 or 128", bits)
    return (_LARGE if large else _PARAMETERS)[bits]


def packed_bytes(residues: int) -> int:
    """Bytes of a row of residues: 50 bits each."""
    return (residues * RESIDUE_BITS + 7) // 8


def noise_bound(parameters: Parameters, terms: int) -> int:
    """What the phase of a result may be off, of q, for a sum of ``terms`` products.

    More has probability 2^-80 at most. A product of a plaintext x, |x| <= 2^(bits-1), with an error of the request is
    sub-Gaussian with the variance 10.5 x^2, as an error is a sum of 42 coins of 1/2 or -1/2. With the rounding of a
    request, at most 1/2, it is |x| / 2 at worst. The encryption of zero adds u e + e_0 + e_1 s: at worst 21 (2 N + 1).
    """
    largest = 1 << (parameters.bits - 1)
    variance = Fraction(2 * COINS, 4) * terms
    tail = math.isqrt(math.ceil(2 * variance * Fraction((FAILURE_BITS + 1) * reals.log(2.0)))) + 1
    return largest * tail + largest * terms // 2 + 1 + COINS * (2 * parameters.degree + 1)


def slip(parameters: Parameters, terms: int) -> Fraction:
    """Return beta: a result is exact unless the fraction of t r / q is within so much of one half.

    Noise, the rounding when primes are dropped from a reply (at most (1 + N) / 2 each time), and the fixed point of
    both parties (L residues below 2^50, each times a reciprocal with an error of 2^-64 / t^2).
    """
    t = 1 << parameters.bits
    beta = Fraction(t * noise_bound(parameters, terms), parameters.modulus)
    for limbs in range(parameters.reply_limbs, parameters.limbs):
        beta += Fraction(t * (1 + parameters.degree), 2 * math.prod(parameters.primes[:limbs]))
    return beta + Fraction(2 * parameters.limbs << RESIDUE_BITS, t << 64)


def margin(parameters: Parameters, terms: int) -> int:
    """How far from one half the fraction must be for sums that are exact, in units of 1 / t: t beta, rounded up.

    0 where masks are not drawn again: then nothing is near.
    """
    return math.ceil((1 << parameters.bits) * slip(parameters, terms)) if parameters.redraws else 0


def distance(parameters: Parameters, terms: int) -> Fraction:
    """What chance has in a result: 2 beta.

    It is the statistical distance of a mask from a uniform one, where masks that are near are drawn again; and where
    they are not, the probability that the sum is off by one.
    """
    if not parameters.redraws:
        return 2 * slip(parameters, terms)
    return Fraction(2 * margin(parameters, terms) + 2, 1 << parameters.bits)


def failure(coefficients: int) -> Fraction:
    """The probability that one of so many results is wrong, at most."""
    return Fraction(coefficients, 1 << FAILURE_BITS)
