"""Gradient perturbation (DP-SGD) by every owner on its own rows; the models are averaged.

Abadi et al. (2016), algorithm 1. From w = 0, for each of ceil(epochs n / lot) steps: take every record with probability
lot / n, clip each one's gradient to the length C, and

    w <- w - rate ((sum of clipped gradients + N(0, sigma^2 C^2 I)) / lot + l2 w)

The penalty, if any, is not of the data, and outside the clipping. sigma comes from ``dpsgd_accounting``. All steps are
accounted for; the last w is published.

``lot=None`` takes the square root of n, as the source advises. The paper's own setting is lot=1, epochs=300, clip=1,
learning_rate=0.1.

Speed: several draws advance together. Where an owner has fewer rows than columns, the steps run in the span of its
rows, where all gradients are; what the noise adds outside of it meets no gradient, so it is one normal vector of the
right variance in the end: the same law exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import expit

from cofit.baselines.dpsgd_accounting import noise_multiplier
from cofit.baselines.method import Guarantee, Method, Part, Reals, Trained
from cofit.baselines.noise import check_budget, check_positive
from cofit.baselines.sensitivity import checked_sizes
from cofit.errors import parameter_error

_TOGETHER = 4_000_000  # numbers: of the gathered rows of one step, and of the records sampled ahead
_DENSE = 1 / 16  # from this sampling probability on, all products are cheaper than gathering rows


@dataclass(frozen=True)
class Schedule:
    """The steps of one owner: how many, which share of the rows in each, and how noisy."""

    rows: int
    steps: int
    lot: int
    clip: float
    learning_rate: float
    l2: float
    sigma: float

    @property
    def probability(self) -> float:
        """With which every record is in a step's sample."""
        return self.lot / self.rows


@dataclass(frozen=True)
class FederatedDPSGD(Method):
    """DP-SGD by every owner, then the plain average. ``lot``: the expected number of records in a step."""

    epsilon: float
    delta: float
    l2: float = 0.0
    lot: int | None = None
    epochs: int = 100
    clip: float = 1.0
    learning_rate: float = 0.1

    name: ClassVar[str] = "federated-dpsgd"
    title: ClassVar[str] = "every owner alone, gradient perturbation (DP-SGD), averaged"

    def __post_init__(self) -> None:
        check_budget("FederatedDPSGD", "gaussian", self.epsilon, self.delta)
        for parameter in ("epochs", "clip", "learning_rate"):
            check_positive("FederatedDPSGD", parameter, getattr(self, parameter))
        if self.lot is not None and self.lot < 1:
            raise parameter_error("lot", "FederatedDPSGD", "at least 1, or None for the square root of n", self.lot)
        if not 0 <= self.l2 * self.learning_rate < 1:
            raise parameter_error("l2", "FederatedDPSGD", "at least 0 and below 1 / learning_rate", self.l2)

    def schedule(self, rows: int) -> Schedule:
        """Return the steps of an owner with so many rows; calibrates the noise, once for each number of rows."""
        lot = min(rows, round(math.sqrt(rows)) if self.lot is None else self.lot)
        steps = math.ceil(self.epochs * rows / lot)
        sigma = noise_multiplier(self.epsilon, self.delta, lot / rows, steps)
        return Schedule(rows, steps, lot, self.clip, self.learning_rate, self.l2, sigma)

    def guarantee(self, sizes: Sequence[int]) -> Guarantee:
        checked_sizes(sizes)
        return Guarantee(
            self.epsilon,
            self.delta,
            "Every owner's model is DP-SGD with Poisson sampling (Abadi et al. 2016) on its own rows, accounted for "
            "one record replaced; a record belongs to one owner, so that the models compose in parallel, and "
            "averaging them costs nothing.",
        )

    def train(self, parts: Sequence[Part]) -> Trained:
        sizes = checked_sizes([len(part.labels) for part in parts])
        return _Descending(parts, [self.schedule(size) for size in sizes])


@dataclass(frozen=True, repr=False)
class _Descending(Trained):
    """Every release is a training of its own, with fresh samples and fresh noise."""

    parts: Sequence[Part]
    schedules: Sequence[Schedule]

    def draws(self, count: int, rng: np.random.Generator) -> Reals:
        pairs = zip(self.schedules, self.parts, strict=True)
        return np.asarray(np.mean([descend(schedule, part, count, rng) for schedule, part in pairs], axis=0))


def descend(schedule: Schedule, part: Part, count: int, rng: np.random.Generator) -> Reals:
    """Return ``count`` independent trainings of one owner, shape (count, columns)."""
    rows, columns = part.features.shape
    if columns <= rows:
        return _in_batches(schedule, part.features, part.labels, count, rng)
    basis, triangle = np.linalg.qr(part.features.T)
    inside = _in_batches(schedule, np.ascontiguousarray(triangle.T), part.labels, count, rng)
    outside = _final_deviation(schedule) * rng.standard_normal((count, columns))
    outside -= (outside @ basis) @ basis.T
    return np.asarray(inside @ basis.T + outside)


def _final_deviation(schedule: Schedule) -> float:
    """The standard deviation that the noise of all steps leaves in a direction in which no gradient points."""
    shrinkage = (1 - schedule.learning_rate * schedule.l2) ** 2
    total = schedule.steps if shrinkage == 1 else (1 - shrinkage**schedule.steps) / (1 - shrinkage)
    return _step_deviation(schedule) * math.sqrt(total)


def _step_deviation(schedule: Schedule) -> float:
    return schedule.learning_rate * schedule.sigma * schedule.clip / schedule.lot


def _in_batches(
    schedule: Schedule, x: Reals, labels: npt.NDArray[np.int64], count: int, rng: np.random.Generator
) -> Reals:
    together = max(1, _TOGETHER // ((schedule.lot + 3) * x.shape[1] + x.shape[0]))
    sizes = [min(together, count - start) for start in range(0, count, together)]
    return np.vstack([_steps(schedule, x, labels, size, rng) for size in sizes] or [np.zeros((0, x.shape[1]))])


def _steps(schedule: Schedule, x: Reals, labels: npt.NDArray[np.int64], count: int, rng: np.random.Generator) -> Reals:
    lengths = np.linalg.norm(x, axis=1)
    w = np.zeros((count, x.shape[1]))
    noise = np.empty_like(w)
    keep = 1 - schedule.learning_rate * schedule.l2
    for draw, record in _samples(schedule, count, rng):
        dense = schedule.probability >= _DENSE
        z = (w @ x.T)[draw, record] if dense else np.einsum("ij,ij->i", x[record], w[draw])
        residual = expit(z) - labels[record]
        residual *= clipping(np.abs(residual) * lengths[record], schedule.clip)
        starts = np.searchsorted(draw, np.arange(count + 1))
        gradient = csr_array((residual, record, starts), shape=(count, len(x))) @ x
        rng.standard_normal(out=noise)
        w *= keep
        w -= (schedule.learning_rate / schedule.lot) * gradient
        noise *= _step_deviation(schedule)
        w -= noise
    return w


def clipping(lengths: Reals, clip: float) -> Reals:
    """Return the factors that make gradients of these lengths at most ``clip`` long."""
    return np.asarray(clip / np.maximum(lengths, clip))


def _samples(
    schedule: Schedule, count: int, rng: np.random.Generator
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """For every step, which record is in the sample of which draw: two arrays, sorted by draw."""
    trials = count * schedule.rows
    block = max(1, min(schedule.steps, _TOGETHER // max(1, count * schedule.lot)))
    for start in range(0, schedule.steps, block):
        steps = min(block, schedule.steps - start)
        chosen = bernoulli_positions(steps * trials, schedule.probability, rng)
        borders = np.searchsorted(chosen, np.arange(steps + 1, dtype=np.int64) * trials)
        for step in range(steps):
            places = chosen[borders[step] : borders[step + 1]] - step * trials
            yield places // schedule.rows, places % schedule.rows


def bernoulli_positions(trials: int, probability: float, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return, in order, which of so many independent trials succeed; the gaps between successes are geometric."""
    if probability >= 1:
        return np.arange(trials, dtype=np.int64)
    pieces = []
    last = -1
    while last < trials:
        expected = (trials - last) * probability
        size = int(expected + 4 * math.sqrt(expected) + 10)
        piece = last + np.cumsum(rng.geometric(probability, size))
        last = int(piece[-1])
        pieces.append(piece)
    positions = np.concatenate(pieces)
    return positions[positions < trials]
