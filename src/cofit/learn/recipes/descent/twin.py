"""The cleartext twin of noisy descent: many draws at once, in floating point, for experiments and forecasts.

It does what ``descend`` does, in the same order: preparation of the rows, steps, the mean of the last iterates; with
noise of the plan's scales. What differs is rounding. The parties keep rows and residuals with 16 fractional bits or
more, noise on a grid of which its standard deviation is hundreds of steps, and iterates with no rounding beyond the
grid's; and a residual is a Lipschitz function of its score, so nothing is amplified beyond what a step multiplies. The
released weights of both, given the same noise, differ by about 2^-10 of the noise's standard deviation, 2^-8 for counts
(the polynomial of their rates), 2^-6 where rows are clipped or noisy sums rounded to cells (``pure``), 2^-5 where most
rows lie near their centre (the tests state and check it), so their predictions differ for rows on the boundary alone.

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
from cofit.learn.recipes.descent.public_map import MAP_FLOOR
from cofit.learn.recipes.descent.row_map import clipped, offsets
from cofit.learn.weights import in_the_clear
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
    weights: npt.NDArray[Any] | None = None,
) -> Reals:
    """Return ``draws`` independent releases, shape (draws, plan.released), each as ``Opened.in_units`` gives it.

    features, labels (0 and 1, or of several classes from 0 on, or a target from -1 to 1): of all owners together, as
    they would hand them in; whole rows, in any order; with a public reference, as it maps them (its ``by_parties``
    where the owners hold columns). weights: of the records, from 0 to 1 (``encoded_weights``); None
    where the plan has none.
    """
    if draws < 1:
        raise parameter_error("draws", "cleartext_descent", "at least 1", draws)
    _check_shapes(plan, features, labels)
    x = prepared_rows(plan, features)
    outputs = plan.layout.outputs
    one = _ARRAYS_OF_ROWS * plan.layout.rows * outputs + _ARRAYS_OF_COLUMNS * plan.layout.weights
    if plan.clipped:
        one += 3 * plan.layout.rows * plan.layout.features
    most = max(1, _TOGETHER // one)
    sizes = [min(most, draws - start) for start in range(0, draws, most)]
    return np.concatenate([descended(plan, x, labels, _drawn(plan, size, rng), weights) for size in sizes])


def descended(
    plan: DescentPlan,
    x: Reals | csr_array,
    labels: npt.NDArray[Any],
    noise: Noise,
    counts: npt.NDArray[Any] | None = None,
) -> Reals:
    """Return the releases for this noise. x: from ``prepared_rows``. counts: the weights of the records.

    Axes: rows or columns, outputs, draws.
    """
    formats, layout = plan.formats, plan.layout
    rows, extras = _prepared(plan, x, noise)
    targets, factor = _targets(plan, labels)
    counted = in_the_clear(labels, plan.facts.class_weights, counts)
    if counted is not None:
        factor = factor * counted[:, np.newaxis, np.newaxis]
    beta, grid = float(formats.constant), 2.0**-formats.grid
    shrunk, outputs = 2.0**-formats.exponent, layout.outputs
    weights = np.zeros((layout.cols, outputs, 1))
    total = np.zeros((layout.cols, outputs, 1))
    for step, event in enumerate(plan.steps):
        scores = rows.scores(weights[: layout.features])
        if layout.intercept:
            scores = scores + beta * weights[layout.features :]
        residuals = factor * formats.residual.signed(targets, scores)
        gradient = rows.weighted_sum(residuals)
        if layout.intercept:
            gradient = np.concatenate([gradient, beta * residuals.sum(axis=0, keepdims=True)])
        weights = weights + shrunk * (gradient + grid * noise(event).reshape(layout.cols, outputs, -1))
        if step >= plan.epochs - plan.averaged:
            total = total + weights
    weights = total / plan.averaged
    if plan.calibration:
        scores = rows.scores(weights[: layout.features]) + beta * weights[layout.features :]
        offset = np.zeros((1, outputs, 1))
        for event in plan.calibration:
            residuals = factor * formats.residual.signed(targets, scores + offset)
            gradient = residuals.sum(axis=0, keepdims=True) + grid * noise(event).reshape(1, outputs, -1)
            offset = offset + 2.0**-formats.offset_exponent * gradient
        extras[INTERCEPT] = offset[0]
    opened = plan.opened.joined(weights.reshape(layout.weights, -1), extras)
    return np.ascontiguousarray(np.vstack(opened).T)


def _targets(plan: DescentPlan, labels: npt.NDArray[Any]) -> tuple[Reals, Reals | float]:
    """Return the target of every record and output, and what it counts with: a, or b in the columns of other
    classes."""
    a, b = float(plan.formats.factor), float(plan.formats.others)
    if plan.layout.outputs == 1:
        return np.asarray(labels, dtype=np.float64)[:, np.newaxis, np.newaxis], a
    own = np.equal.outer(np.asarray(labels), np.arange(plan.layout.outputs))[:, :, np.newaxis]
    return own.astype(np.float64), np.where(own, a, b)


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
        """Return <z, w> for every row, output and draw; without the centre's part, <u (x - c), w>."""
        scores = _product(self.x, weights)
        if self.offset is not None:
            scores = scores - self.offset[:, np.newaxis] * weights.sum(axis=0)
        if self.scale is not None:
            scores = scores * self.scale[:, np.newaxis]
        if self.tilt is not None and self.centre is not None:
            scores = scores - self.tilt[:, np.newaxis] * (self.centre[:, np.newaxis] * weights).sum(axis=0)
        return np.asarray(scores)

    def weighted_sum(self, factors: Reals) -> Reals:
        """Return the sum of z times its factor."""
        scaled = factors if self.scale is None else self.scale[:, np.newaxis] * factors
        total = _product(self.x.T, scaled)
        if self.offset is not None:
            total = total - (self.offset[:, np.newaxis] * scaled).sum(axis=0)
        if self.tilt is not None and self.centre is not None:
            total = total - (self.tilt[:, np.newaxis] * factors).sum(axis=0) * self.centre[:, np.newaxis]
        return np.asarray(total)


def _product(matrix: Reals | csr_array, table: Reals) -> Reals:
    """Return the matrix times a table of three axes, along the first."""
    return np.asarray(matrix @ table.reshape(len(table), -1)).reshape(-1, *table.shape[1:])


class _ClippedRows:
    """Rows z of every draw, formed: there are few columns. Shape (draws, rows, features)."""

    def __init__(self, z: Reals) -> None:
        self._z = z

    def scores(self, weights: Reals) -> Reals:
        """Return <z, w> for every row, output and draw."""
        shape = (*weights.shape[:2], len(self._z))
        return np.asarray(np.einsum("kij,jck->ick", self._z, np.broadcast_to(weights, shape)))

    def weighted_sum(self, factors: Reals) -> Reals:
        """Return the sum of z times its factor."""
        shape = (*factors.shape[:2], len(self._z))
        return np.asarray(np.einsum("kij,ick->jck", self._z, np.broadcast_to(factors, shape)))


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
    if plan.formats.mapped is not None:
        lengths = np.square(x).sum(axis=1).reshape(-1, 1)
        return _Rows(x, scale=_inverse_roots(lengths, float(MAP_FLOOR))), {}
    rows, extras, layout = _Rows(x), {}, plan.layout
    if plan.floor is not None:
        sums = np.asarray(x.sum(axis=1)).reshape(-1, 1)
        means = sums / layout.features
        level = None
        if plan.level is not None:
            level = (means.sum() + 2.0 ** -plan.grid_of(LEVEL) * noise(plan.level)) / layout.rows
            extras[LEVEL] = level
        offset = offsets(means, level) if layout.own_mean else np.zeros_like(means)
        squares = np.asarray((x * x).sum(axis=1)).reshape(-1, 1)
        lengths = squares - offset * (2 * sums - layout.features * offset)
        rows = _Rows(x, offset=offset, scale=_inverse_roots(lengths, float(plan.floor)))
    if plan.centre is not None:
        total = rows.weighted_sum(np.ones((layout.rows, 1, 1)))[:, 0]
        centre = (total + 2.0**-plan.formats.grid * noise(plan.centre)) / layout.rows
        extras[CENTRE] = centre
        apart = 1 + np.square(centre).sum(axis=0) - 2 * rows.scores(centre[:, np.newaxis])[:, 0]
        tilt = _inverse_roots(apart, float(CENTRED_FLOOR))
        rows = replace(rows, scale=tilt if rows.scale is None else rows.scale * tilt, tilt=tilt, centre=centre)
    return rows, extras


def _inverse_roots(squares: Reals, floor: float) -> Reals:
    return np.asarray(1 / np.sqrt(np.maximum(squares, floor**2)))


def _drawn(plan: DescentPlan, draws: int, rng: np.random.Generator) -> Noise:
    def noise(event: Event) -> Reals:
        shape = (event.dimension, draws)
        if plan.mechanism_name == "knorm":
            directions = rng.standard_normal(shape)
            lengths = rng.gamma(event.dimension, float(event.scale), draws)
            return np.asarray(directions * (lengths / np.linalg.norm(directions, axis=0)))
        if plan.layout.norm == "l1":
            return np.asarray(rng.laplace(0.0, float(event.scale), shape))
        return np.asarray(float(event.scale) * rng.standard_normal(shape))

    return noise


def prepared_rows(plan: DescentPlan, features: npt.NDArray[Any]) -> Reals | csr_array:
    """Return the features as an owner prepares them; compressed, block by block, where nearly all values stay 0. Rows
    that the parties map stay as they are."""
    if plan.formats.mapped is not None:
        return np.asarray(features, dtype=np.float64)
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
