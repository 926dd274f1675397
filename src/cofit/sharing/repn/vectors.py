"""The vectors whose inner product the claims of ``lifted.py`` are about, over the prime field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cofit import kernels
from cofit.arithmetic import PowerOfTwoRing
from cofit.arithmetic.integers import Words
from cofit.sharing.repn.fields import PrimeField
from cofit.sharing.repn.lifted import Batch, Projected
from cofit.sharing.repn.relations import CHECKS


class Vectors:
    """Pieces of x and y, by part."""

    def __init__(self, parts: int) -> None:
        self._x: list[list[Words]] = [[] for _ in range(parts)]
        self._y: list[list[Words]] = [[] for _ in range(parts)]

    def add_batch(self, field: PrimeField, ring: PowerOfTwoRing, batch: Batch, sigma: Words) -> None:
        """Add the terms of relations, those of relation i times sum_l sigma_l b_il."""
        if batch.x is None or batch.y is None:
            return
        weights = np.empty(len(batch.coefficients), np.uint64)
        kernels.field_weights(batch.coefficients, sigma, field.prime, weights)
        for i, (x, y) in enumerate(zip(batch.x, batch.y, strict=True)):
            self._x[i].append(field.scaled(x, weights, batch.terms, ring.words))
            self._y[i].append(field.scaled(y, None, 1, ring.words))

    def add_matrix(self, field: PrimeField, ring: PowerOfTwoRing, found: Projected, sigma: Words) -> None:
        """Add Y_l and sum_m sigma_lm V_m for every l."""
        for i, (ys, vs) in enumerate(zip(found.ys, found.vs, strict=True)):
            self._x[i].append(field.scaled(ys.reshape(-1), None, 1, ring.words))
            out = np.empty((CHECKS, vs.shape[1] // ring.words), np.uint64)
            kernels.field_combine(vs, sigma.reshape(CHECKS, CHECKS), field.prime, out, ring.words)
            self._y[i].append(out.reshape(-1))

    def add(self, xs: Sequence[Words], ys: Sequence[Words]) -> None:
        """Add vectors as they are."""
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            self._x[i].append(x)
            self._y[i].append(y)

    def joined(self) -> tuple[list[Words], list[Words]]:
        """Return all of x and of y, by part; a single 0 where there is nothing."""
        x, y = ([_concatenated(pieces) for pieces in side] for side in (self._x, self._y))
        return x, y


def _concatenated(pieces: list[Words]) -> Words:
    whole = np.concatenate([np.zeros(0, np.uint64), *pieces])
    return whole if len(whole) else np.zeros(1, np.uint64)
