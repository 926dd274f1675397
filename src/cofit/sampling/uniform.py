"""Uniform draws: words of bits, and fixed point in (0, 1].

pi_GR-RANDOM of the paper: every party contributes bits of its own, and a draw is their XOR. Here the contributions are
the summands of a random sharing over GF(2), so a draw is uniform as long as one party's contribution is, and who misses
one summand learns nothing of it.

``uniform_words``: exactly uniform. Rounds 0, elements 0 with ``rep3``.

``uniform``: u = 2^-f (1 + sum_j 2^j b_j), j = 0 .. f-1, uniform on {2^-f, 2 * 2^-f, ..., 1}: 0 is excluded and 1 is
included, so that ln u exists. Exact on that grid (total-variation distance 0). Coupling: for U uniform on (0, 1],
2^-f ceil(2^f U) has exactly this law, so u lies above a continuous uniform draw by less than 2^-f.
Rounds 2, elements 3 f a draw with ``rep3`` (each bit becomes a ring element).

Nobody learns anything. Proofs: ``uniform_proof.md``.
"""

from __future__ import annotations

from cofit.arithmetic import FixedPoint, Shape
from cofit.errors import parameter_error
from cofit.sampling.parameters import check_count, check_shape
from cofit.sampling.weigh import binary_number
from cofit.secret import Party, SecretArray, SecretBits


def uniform_words(party: Party, shape: Shape, width: int) -> SecretBits:
    """Return ``width`` independent uniform bits for every element of an array of shape ``shape``."""
    shape = check_shape(shape, "uniform_words")
    return party.random_secret_bits(shape, check_count(width, "width", "uniform_words"))


def uniform(party: Party, shape: Shape, format: FixedPoint) -> SecretArray:
    """Return draws uniform on the multiples of 2^-f in (0, 1], in ``format`` with f = 1 .. k - 3 fractional bits."""
    shape = check_shape(shape, "uniform")
    largest = format.ring.value_bits - 1
    if not 1 <= format.fraction_bits <= largest:
        raise parameter_error("format", "uniform", f"a format with 1 to {largest} fractional bits", str(format))
    with party.label("uniform"):
        integers = binary_number(party.random_secret_bits(shape, format.fraction_bits), format.ring)
        return (integers + 1).ldexp(-format.fraction_bits)
