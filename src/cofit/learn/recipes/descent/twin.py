"""The cleartext twin of noisy descent: many draws at once, in floating point, for experiments and forecasts.

It does what ``descend`` does, in the same order: preparation of the rows, steps, the mean of the last iterates; with
noise of the plan's scales. What differs is rounding. The parties keep rows and residuals with 16 fractional bits
or more, noise on a grid of which its standard deviation is hundreds of steps, and iterates with no rounding beyond the
grid's; and a residual is a Lipschitz function of its score, so nothing is amplified beyond what a step multiplies. The
released weights of both, given the same noise, differ by about 2^-10 of the noise's standard deviation, 2^-7 where rows
are clipped (the tests state and check it), so their predictions differ for rows on the boundary alone.

Never for private data: every draw is a release of its own, and digits of floating-point noise can give data away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from cofit.errors import parameter_error
from cofit.learn.contribution import prepared_features
from cofit.learn.recipes.descent.budget import CENTRED_FLOOR
from cofit.learn.recipes.descent.clip import LONGEST, SHORTEST, STRETCH_BITS
from cofit.learn.recipes.descent.row_map import clipped, offsets
from cofit.privacy.events import Event
from cofit.privacy.release_names import CENTRE, INTERCEPT, LEVEL, MEAN, RADIUS, SHIFT, SPREAD

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan

Reals = npt.NDArray[np.float64]
Noise = Callable[[Event], Reals]
"""The noise of a release in steps of its grid, shape (dimension, draws); each release asks once, in order."""
_TOGETHER = 1 << 24  # numbers: of all arrays that grow with the draws
_ARRAYS_OF_ROWS, _ARRAYS_OF_COLUMNS = 8, 6
_SPARSE = 1 / 8


def cleartext_descent(
    plan: DescentPlan,
    features: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    draws: int,
    rng: np.random.Generator,
) -> Reals:
    """Return ``draws`` independent releases, shape (draws, plan.released), each as ``Opened.in_units`` gives it.

    features, labels (0 and 1): of all owners together, as they would hand them in; whole rows, in any order.
    """
    if draws < 1:
        raise parameter_error("draws", "cleartext_descent", "at least 1", draws)
    _check_shapes(plan, features, labels)
    x = prepared_rows(plan, features)
    one = _ARRAYS_OF_ROWS * plan.layout.rows + _ARRAYS_OF_COLUMNS * plan.layout.cols
    if plan.clipped:
        one += 3 * plan.layout.rows * plan.layout.features
    most = max(1, _TOGETHER // one)
    sizes = [min(most, draws - start) for start in range(0, draws, most)]
    return np.concatenate([descended(plan, x, labels, _drawn(plan, size, rng)) for size in sizes])


def descended(plan: DescentPlan, x: Reals | csr_array, labels: npt.NDArray[Any], noise: Noise) -> Reals:
    """Return the releases for this noise. x: from ``prepared_rows``."""
    formats, layout = plan.formats, plan.layout
    rows, extras = _prepared(plan, x, noise)
    signs = (2.0 * np.asarray(labels, dtype=np.float64) - 1)[:, np.newaxis]
    factor, beta, grid = float(formats.factor), float(formats.constant), 2.0**-formats.grid
    shrunk = 2.0**-formats.exponent
    weights = np.zeros((layout.cols, 1))
    total = np.zeros((layout.cols, 1))
    for step, event in enumerate(plan.steps):
        scores = rows.scores(weights[: layout.features])
        if layout.intercept:
            scores = scores + beta * weights[layout.features :]
        residuals = factor * signs * formats.residual(signs * scores)
        gradient = rows.weighted_sum(residuals)
        if layout.intercept:
            gradient = np.vstack([gradient, beta * residuals.sum(axis=0, keepdims=True)])
        weights = weights + shrunk * (gradient + grid * noise(event))
        if step >= plan.epochs - plan.averaged:
            total = total + weights
    weights = total / plan.averaged
    if plan.calibration:
        scores = rows.scores(weights[: layout.features]) + beta * weights[layout.features :]
        offset = np.zeros((1, 1))
        for event in plan.calibration:
            residuals = factor * signs * formats.residual(signs * (scores + offset))
            gradient = residuals.sum(axis=0, keepdims=True) + grid * noise(event)
            offset = offset + 2.0**-formats.offset_exponent * gradient
        extras[INTERCEPT] = offset
    return np.ascontiguousarray(np.vstack(plan.opened.joined(weights, extras)).T)


@dataclass(frozen=True)
class _Rows:
    """z = u (x - c) - v M for every row and draw, as ``descent.rows``: never formed. None: 0, 1, 0 and 0.

    offset (c), scale (u), tilt (v): shape (rows, draws), or (rows, 1) where all draws share them. centre (M):
    (features, draws).
    """

    x: Reals | csr_array
    offset: Reals | None = None
    scale: Reals | None = None
    tilt: Reals | None = None
    centre: Reals | None = None

    def scores(self, weights: Reals) -> Reals:
        """Return <z, w> for every row and draw; without the centre's part, <u (x - c), w>."""
        scores = np.asarray(self.x @ weights)
        if self.offset is not None:
            scores = scores - self.offset * weights.sum(axis=0)
        if self.scale is not None:
            scores = scores * self.scale
        if self.tilt is not None and self.centre is not None:
            scores = scores - self.tilt * (self.centre * weights).sum(axis=0)
        return np.asarray(scores)

    def weighted_sum(self, factors: Reals) -> Reals:
        """Return the sum of z times its factor."""
        scaled = factors if self.scale is None else self.scale * factors
        total = np.asarray(self.x.T @ scaled)
        if self.offset is not None:
            total = total - (self.offset * scaled).sum(axis=0)
        if self.tilt is not None and self.centre is not None:
            total = total - (self.tilt * factors).sum(axis=0) * self.centre
        return np.asarray(total)


class _ClippedRows:
    """Rows z of every draw, formed: there are few columns. Shape (draws, rows, features)."""

    def __init__(self, z: Reals) -> None:
        self._z = z

    def scores(self, weights: Reals) -> Reals:
        """Return <z, w> for every row and draw."""
        return np.asarray(np.einsum("kij,jk->ik", self._z, np.broadcast_to(weights, (len(weights), len(self._z)))))

    def weighted_sum(self, factors: Reals) -> Reals:
        """Return the sum of z times its factor."""
        return np.asarray(np.einsum("kij,ik->jk", self._z, np.broadcast_to(factors, (len(factors), len(self._z)))))


def _clipped(plan: DescentPlan, x: Reals, noise: Noise) -> tuple[_ClippedRows, dict[str, Reals]]:
    """Return clipped rows, with mean, stretch and radius (``clip.py``)."""
    clip, rows, grid = plan.formats.clip, plan.layout.rows, 2.0**-plan.formats.grid
    if clip is None:
        raise ValueError("The rows of this plan are not clipped.")
    mean = (x.sum(axis=0)[:, np.newaxis] + grid * noise(_event(plan, MEAN))) / rows
    apart = x - mean.T[:, np.newaxis]
    lengths = np.linalg.norm(apart, axis=2)
    shortest, longest = float(SHORTEST), float(LONGEST)
    total = np.clip(lengths, shortest, longest).sum(axis=1) + 2.0 ** -plan.grid_of(RADIUS) * noise(_event(plan, RADIUS))
    radius = np.clip(total / rows, shortest, longest)
    apart /= np.maximum(lengths, radius.T)[:, :, np.newaxis]
    shift = (apart.sum(axis=1).T + grid * noise(_event(plan, SHIFT))) / rows
    spread = (np.square(apart).sum(axis=1).T + grid * noise(_event(plan, SPREAD))) / rows
    variances = np.clip(spread - np.square(shift), float(clip.variance_floor), 1.0)
    mean, stretch = mean + radius * shift, np.floor((1 << STRETCH_BITS) / np.sqrt(variances)) / (1 << STRETCH_BITS)
    z = [clipped(x, mean[:, k], stretch[:, k], float(radius[0, k])) for k in range(mean.shape[1])]
    return _ClippedRows(np.array(z)), {MEAN: mean, SPREAD: stretch, RADIUS: radius}


def _event(plan: DescentPlan, name: str) -> Event:
    return next(event for event in plan.events if event.name == name)


def _prepared(plan: DescentPlan, x: Reals | csr_array, noise: Noise) -> tuple[_Rows | _ClippedRows, dict[str, Reals]]:
    """Return the rows as the steps see them, and what is opened of their preparation."""
    if plan.clipped:
        return _clipped(plan, np.asarray(x), noise)
    rows, extras, layout = _Rows(x), {}, plan.layout
    if plan.floor is not None:
        sums = np.asarray(x.sum(axis=1)).reshape(-1, 1)
        means = sums / layout.features
        level = None
        if plan.level is not None:
            level = (means.sum() + 2.0 ** -plan.grid_of(LEVEL) * noise(plan.level)) / layout.rows
            extras[LEVEL] = level
        offset = offsets(means, level)
        squares = np.asarray((x * x).sum(axis=1)).reshape(-1, 1)
        lengths = squares - offset * (2 * sums - layout.features * offset)
        rows = _Rows(x, offset=offset, scale=_inverse_roots(lengths, float(plan.floor)))
    if plan.centre is not None:
        total = rows.weighted_sum(np.ones((layout.rows, 1)))
        centre = (total + 2.0**-plan.formats.grid * noise(plan.centre)) / layout.rows
        extras[CENTRE] = centre
        apart = 1 + np.square(centre).sum(axis=0) - 2 * rows.scores(centre)
        tilt = _inverse_roots(apart, float(CENTRED_FLOOR))
        rows = replace(rows, scale=tilt if rows.scale is None else rows.scale * tilt, tilt=tilt, centre=centre)
    return rows, extras


def _inverse_roots(squares: Reals, floor: float) -> Reals:
    return np.asarray(1 / np.sqrt(np.maximum(squares, floor**2)))


def _drawn(plan: DescentPlan, draws: int, rng: np.random.Generator) -> Noise:
    def noise(event: Event) -> Reals:
        shape = (event.dimension, draws)
        if plan.layout.norm == "l1":
            return np.asarray(rng.laplace(0.0, float(event.scale), shape))
        return np.asarray(float(event.scale) * rng.standard_normal(shape))

    return noise


def prepared_rows(plan: DescentPlan, features: npt.NDArray[Any]) -> Reals | csr_array:
    """Return the features as an owner prepares them; compressed, block by block, where nearly all values stay 0."""
    if plan.floor is None or plan.clipped or np.count_nonzero(features) > _SPARSE * features.size:
        return prepared_features(plan, features)
    step = max(1, _TOGETHER // features.shape[1])
    blocks = [csr_array(prepared_features(plan, features[i : i + step], i)) for i in range(0, len(features), step)]
    return csr_array(vstack(blocks))


def _check_shapes(plan: DescentPlan, features: npt.NDArray[Any], labels: npt.NDArray[Any]) -> None:
    expected = (plan.facts.rows, plan.facts.cols)
    if features.shape != expected or labels.shape != expected[:1]:
        must_be = f"of the shape {expected} that the plan is for, with a label for each row"
        raise parameter_error("features", "cleartext_descent", must_be, f"{features.shape} and {labels.shape}")
