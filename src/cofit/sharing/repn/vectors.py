"""The vectors whose inner product the claims are about, by part: written once, where they are folded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cofit import kernels
from cofit.arithmetic import PowerOfTwoRing
from cofit.arithmetic.integers import Words
from cofit.sharing.repn.fields import PrimeField
from cofit.sharing.repn.lifted import Batch, Projected
from cofit.sharing.repn.relations import CHECKS

_MULTIPLE = 1 << 10
Writing = Callable[[Words], None]
"""Writes a piece of a vector over what it is given."""


class Buffers:
    """Memory of vectors, which is used again in the next check: new memory takes longer to clear than they to write."""

    def __init__(self) -> None:
        self._free: list[Words] = []
        self._taken: list[Words] = []

    def take(self, length: int) -> Words:
        """Return so many words."""
        at = next((i for i, free in enumerate(self._free) if len(free) >= length), None)
        found = np.empty(length, np.uint64) if at is None else self._free.pop(at)
        self._taken.append(found)
        return found[:length]

    def give_back(self) -> None:
        """Have all that was taken used again; of what is too small for anything lately, nothing is kept."""
        self._free, self._taken = self._taken, []


class Vectors:
    """x and y, of so many elements, or a few more, so that they can be halved often; what is not written is 0."""

    def __init__(self, parts: int, length: int, buffers: Buffers) -> None:
        whole = -(-length // _MULTIPLE) * _MULTIPLE if length > _MULTIPLE else length  # takes as many folds
        self.x, self.y = ([buffers.take(whole) for _ in range(parts)] for _ in range(2))
        self._end = 0

    def add(self, length: int, xs: Sequence[Writing], ys: Sequence[Writing]) -> None:
        """Write so many elements more of every part of x and of y."""
        place = slice(self._end, self._end + length)
        self._end += length
        for parts, writings in ((self.x, xs), (self.y, ys)):
            for part, write in zip(parts, writings, strict=True):
                write(part[place])

    def add_batch(self, field: PrimeField, ring: PowerOfTwoRing, batch: Batch, sigma: Words) -> None:
        """Add the terms of relations, those of relation i times sum_l sigma_l b_il."""
        if batch.x is None or batch.y is None:
            return
        weights = np.empty(len(batch.coefficients), np.uint64)
        kernels.field_weights(batch.coefficients, sigma, field.prime, weights)
        self.add(
            len(weights) * batch.terms,
            [_scaling(field, ring, x, weights, batch.terms) for x in batch.x],
            [_scaling(field, ring, y, None, 1) for y in batch.y],
        )

    def add_matrix(self, field: PrimeField, ring: PowerOfTwoRing, found: Projected, sigma: Words) -> None:
        """Add Y_l and sum_m sigma_lm V_m for every l."""
        weights = sigma.reshape(CHECKS, CHECKS)

        def combining(vs: Words) -> Writing:
            return lambda out: kernels.field_combine(vs, weights, field.prime, out.reshape(CHECKS, -1), ring.words)

        self.add(
            found.ys[0].size // ring.words,
            [_scaling(field, ring, ys.reshape(-1), None, 1) for ys in found.ys],
            [combining(vs) for vs in found.vs],
        )

    def whole(self) -> tuple[list[Words], list[Words]]:
        """Return x and y, by part."""
        for part in (*self.x, *self.y):
            part[self._end :] = 0
        return self.x, self.y


def _scaling(field: PrimeField, ring: PowerOfTwoRing, values: Words, weights: Words | None, terms: int) -> Writing:
    return lambda out: field.scale_into(values, weights, out, terms, ring.words)
