"""What a program costs: rounds, bytes, products, checks."""

from __future__ import annotations

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Tally:
    """What a program did so far, or in a part of it.

    ``bytes``: payload that owners, parties and dealer together send. ``operations``: results computed, at each party.
    ``multiply_adds`` and ``wide_multiply_adds``: in matrix and inner products, at each party, over rings of up to 64
    bits and beyond. ``ands``: results of products of bits, 64 for every packed word. ``checks``: those made late, of
    all that was done before. ``transforms``: of 8192 coefficients, in products under encryption, of both parties
    together; ``transfers``: oblivious ones that were made.
    """

    rounds: int = 0
    bytes: int = 0
    operations: int = 0
    multiply_adds: int = 0
    wide_multiply_adds: int = 0
    ands: int = 0
    checks: int = 0
    transforms: int = 0
    transfers: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Tally) -> Tally:
        return Tally(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, times: int) -> Tally:
        return Tally(*(a * times for a in astuple(self)))
