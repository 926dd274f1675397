"""The scores of rows under many releases of noisy descent at once, without forming a row for each of them.

Each release has its own level and centre, so ``RowMap`` would map all rows once for every release. With x for values /
bound, c = (3 mean(x) + 5 level) / 8, u = 1 / max(||x - c||, floor), z = u (x - c), and t = 1 / max(||z - M||, 1/4):

    score = t <z - M, w> + beta b + (the calibrated offset),   <z, v> = u (<x, v> - c sum(v)) for v = w and v = M

and squared lengths come from the same products, so a few products of matrices suffice for all releases together.
Lengths lose digits where x - c is far shorter than x: about 2^-50 of ||x||^2, which the floor makes harmless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cofit.learn.recipes.descent.budget import CENTRED_FLOOR
from cofit.learn.recipes.descent.row_map import RowMap, offsets
from cofit.learn.recipes.descent.smoothing import cut_of, smoothed_weights
from cofit.privacy.release_names import CENTRE, LEVEL

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

Reals = npt.NDArray[np.float64]


def scores_of_releases(plan: DescentPlan, released: Reals, features: Reals) -> Reals:
    """Return the score of every row (first axis) under every release (second); ``released``: one in a row.

    Where there are several classes, the third axis are these.
    """
    weights = np.stack([plan.used_weights(one) for one in released], axis=1)
    intercepts = plan.intercepts(released)
    if plan.clipped:  # few columns: every release maps the rows
        scores = np.stack([plan.row_map(one)(features) @ weights[:, k] for k, one in enumerate(released)], axis=1)
    else:
        scores = _scaled_scores(plan, released, features, weights)
    scores = scores + intercepts
    return np.asarray(scores[:, :, 0] if plan.layout.outputs == 1 else scores)


def smoothed_scores_of_releases(plan: DescentPlan, released: Reals, features: Reals) -> Reals:
    """Return the same of two classes, each release smoothed by these rows (``smoothing``)."""
    cut = cut_of(float(plan.formats.factor) * 2.0**-plan.formats.exponent, plan.epochs)
    found = []
    for one in released:
        rows = plan.row_map(one)(features)
        smoothed = smoothed_weights(rows, plan.used_weights(one), plan.facts.rows, cut)
        found.append((rows @ smoothed.weights + smoothed.offsets + plan.intercepts(one))[:, 0])
    return np.stack(found, axis=1)


def _scaled_scores(plan: DescentPlan, released: Reals, features: Reals, weights: Reals) -> Reals:
    """Return the scores of rows that are scaled to length 1, without intercepts. weights: columns, releases,
    outputs."""
    mapped = plan.row_map(released[0])
    centres = plan.opened.part(released, CENTRE).T if plan.centre is not None else None
    rows = _Fixed(RowMap(mapped.norm, mapped.bound, mapped.floor, mapped=mapped.mapped, plain=mapped.plain)(features))
    if plan.level is not None:
        rows = _Levelled(features / mapped.bound, plan.opened.part(released, LEVEL)[:, 0], mapped.floor)
    if centres is not None:
        squares = rows.squares + np.square(centres).sum(axis=0) - 2 * rows.products(centres)
        lengths = np.sqrt(np.maximum(squares, float(CENTRED_FLOOR) ** 2))
    found = []
    for one in np.moveaxis(weights, 2, 0):
        scores = rows.products(one)
        found.append(scores if centres is None else (scores - (centres * one).sum(axis=0)) / lengths)
    return np.stack(found, axis=2)


class _Fixed:
    """Rows z that all releases share."""

    def __init__(self, z: Reals) -> None:
        self._z = z
        self.squares: Reals = np.square(z).sum(axis=1, keepdims=True)

    def products(self, vectors: Reals) -> Reals:
        """Return <z, v> for every row and the vector v of every release."""
        return np.asarray(self._z @ vectors)


class _Levelled(_Fixed):
    """Rows z of every release, from its own level."""

    def __init__(self, x: Reals, levels: Reals, floor: float) -> None:
        sums = x.sum(axis=1, keepdims=True)
        self._x = x
        self._offsets = offsets(sums / x.shape[1], levels)
        squares = np.square(x).sum(axis=1, keepdims=True) - self._offsets * (2 * sums - x.shape[1] * self._offsets)
        squares = np.maximum(squares, 0.0)
        self._lengths = np.maximum(np.sqrt(squares), floor)
        self.squares = squares / np.square(self._lengths)

    def products(self, vectors: Reals) -> Reals:
        return np.asarray((self._x @ vectors - self._offsets * vectors.sum(axis=0)) / self._lengths)
