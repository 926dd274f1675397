"""Coins of public bias: P(bit = 1) = p.

A coin of the bias T / 2^B, T = round(p 2^B), is the bit of T at the place of the first one of a word of B uniform
secret bits (``first_one.py``).

Domain: 0 <= p <= 1, as a Fraction, an integer, or an mpmath number of ample precision (taken at its exact value).
Distance: |T / 2^B - p| <= 2^-(B+1), so the total-variation distance of a coin from its ideal is at most 2^-(B+1); 0 for
p = 0, p = 1 and every multiple of 2^-B. Distances of independent coins add up. The callers that round p itself first
count 2^-B for a coin. Who learns what: nobody anything.
Cost with ``rep3`` at B = 64: 7 rounds and 87 ANDs (3 bits each) a coin, whatever the biases; integers
(``party.to_arithmetic``) take 2 more rounds and 3 elements.

Argument: ``coin_proof.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import mpmath

from cofit.arithmetic import Shape
from cofit.errors import parameter_error
from cofit.sampling.first_one import FirstOnes
from cofit.sampling.parameters import PRECISION, check_precision, check_shape, nearest
from cofit.secret import Party, SecretBits
from cofit.secret.circuits import beside, run

Probability: TypeAlias = "Fraction | int | mpmath.mpf"


def coins(
    party: Party, probabilities: Sequence[Probability], shape: Shape, *, precision: int = PRECISION
) -> SecretBits:
    """Return independent coins: bit j of every element of an array of shape ``shape`` has bias probabilities[j].

    All coins share one circuit, so many biases take no more rounds than one. The bits become integers 0 and 1 with
    ``party.to_arithmetic``.
    """
    shape = check_shape(shape, "coins")
    precision = check_precision(precision, "coins")
    if not probabilities:
        raise parameter_error("probabilities", "coins", "at least one probability", probabilities)
    thresholds = [threshold(p, precision) for p in probabilities]
    full = 1 << precision
    asked = [t for t in thresholds if 0 < t < full]
    with party.label("coins"):
        random = party.random_secret_bits(shape, max(len(asked), 1) * precision)
        one = random.ones()
        tossed = (~one).join(one)
        if asked:
            ones = FirstOnes(random, len(asked))
            _, found = run(beside(ones.circuit(), ones.public(asked)))
            tossed = tossed.join(found)
    rows = iter(range(2, 2 + len(asked)))
    return tossed[[next(rows) if 0 < t < full else int(t == full) for t in thresholds]]


def threshold(probability: Probability, precision: int) -> int:
    """Return round(p 2^B)."""
    exact = isinstance(probability, int | Fraction) and not isinstance(probability, bool)
    if not (exact or _is_finite_mpf(probability)) or not 0 <= probability <= 1:
        must_be = "a Fraction, an mpmath number, or an integer, from 0 to 1"
        raise parameter_error("probabilities", "coins", must_be, probability)
    return nearest(probability, precision)


def _is_finite_mpf(number: object) -> bool:
    """Every mpmath context has a number class of its own; what they share is the exact mantissa and exponent."""
    return hasattr(number, "_mpf_") and bool(mpmath.isfinite(number))
