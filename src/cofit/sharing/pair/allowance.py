"""How far the masks of encrypted products are from uniform, all together in a run, and how likely one is wrong.

A result of an encrypted product adds its distance and its failure probability (``rlwe/parameters.py``) to a sum. Small
parameters are used as long as the sum stays below 7/8 2^-40, larger ones after that; if it would exceed 2^-40, the run
stops. Both parties come to the same choice: it follows from public shapes, in their order. Where a run has several
sessions at once, as with shards, each has an equal part of the 2^-40.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from cofit.arithmetic import PowerOfTwoRing
from cofit.errors import InvalidInputError
from cofit.sharing.pair.rlwe.packing import MatrixPacking, Packing, RowsPacking
from cofit.sharing.pair.rlwe.parameters import Parameters, distance, failure, parameters_for

STATISTICAL_BITS = 40
"""What the certificate states: everything that is left to chance has probability 2^-40 at most, in all sessions that a
run has at once."""
_MOST = 2.0**-STATISTICAL_BITS
_SMALL = 7 / 8 * _MOST
_Kind = TypeVar("_Kind", bound=Packing)


def chance(packing: Packing) -> float:
    """Return the distance of all masks of a product from uniform, and the probability that a result is wrong."""
    results = math.prod(packing.result_shape)
    return float(results * distance(packing.parameters, packing.terms) + failure(results))


def _choices(ring: PowerOfTwoRing) -> tuple[Parameters, Parameters]:
    return parameters_for(ring.bits), parameters_for(ring.bits, large=True)


class Allowance:
    """What was used of it so far."""

    def __init__(self, sessions: Callable[[], int] = lambda: 1) -> None:
        """sessions: how many there are at once, each with one of these."""
        self._used = 0.0
        self._sessions = sessions

    def matrix(self, ring: PowerOfTwoRing, rows: int, inner: int, columns: int) -> MatrixPacking:
        """Return how a matrix is multiplied with so many columns."""
        return self._chosen(*(MatrixPacking(rows, inner, columns, each) for each in _choices(ring)))

    def rows(self, ring: PowerOfTwoRing, rows: int, cols: int) -> RowsPacking:
        """Return how rows are multiplied with others."""
        return self._chosen(*(RowsPacking(rows, cols, each) for each in _choices(ring)))

    @property
    def bits(self) -> float:
        """Minus the logarithm to base 2 of what was used."""
        return -math.log2(self._used) if self._used else math.inf

    def _chosen(self, small: _Kind, large: _Kind) -> _Kind:
        sessions = self._sessions()
        packing = small if self._used + chance(small) <= _SMALL / sessions else large
        self._used += chance(packing)
        if self._used > _MOST / sessions:
            raise InvalidInputError(
                f"Two parties alone have computed so much in one session that what is left to chance would exceed "
                f"2^-{STATISTICAL_BITS}. Train with fewer epochs, fewer rows or fewer shards, or with a third party."
            )
        return packing
