"""Which published weights the noise alone would hardly give. Post-processing of a release: no privacy is spent.

The null hypothesis for one weight: the trained weight, before noise, is 0. Then the published one is noise, but for
what the grid does to it. With g the step of the grid: weights are truncated to within g, and the noise, or the sum, is
rounded by less than another g. For discrete noise of the same scale, P(|k g| >= x) is at most the continuous tail at
x - g (sums of a falling function against its integral). So with the tail T of the continuous law, and s the stated
distance of the sampler from the ideal noise,

    p(w) = min(1, T(max(|w| - 2 g, 0)) + s)

is at least the probability that noise alone gives a weight as far from 0 as w: a valid p-value.

**All d weights are tested, so p-values are adjusted** by Holm's method, which holds for any dependence (the coordinates
of knorm noise do depend on one another): sorted from the smallest, adjusted p_(i) = max over j <= i of
(d - j + 1) p_(j). Intervals cover all d trained weights together (Bonferroni), so they stay valid for the largest
weights, which were chosen by looking at all.

All this is for noise on a minimiser (recipe 'paper', and 'best' without delta). In noisy descent later steps answer to
the noise of earlier ones, so a published weight is not a trained one plus noise of a known law, and nothing of the kind
can be claimed: ``shown_weights`` lists them as they are.

**Only the noise is covered.** How much the weights would vary with other patients is another question, to which these
figures say nothing; nor do they say that a column matters beside the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.models.linear_model import LinearModel
from cofit.privacy.certificate import Certificate
from cofit.report.noise_law import NoiseLaw, noise_law
from cofit.study.document import value_text

Reals = npt.NDArray[np.float64]
LEVEL = 0.05
INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class JudgedWeight:
    """One published weight. ``low``, ``high``: of the trained weight; ``adjusted``: Holm's p-value over all weights."""

    name: str
    value: float
    p: float
    adjusted: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """Whether the noise alone would give such a weight, anywhere among all, with probability below ``LEVEL``."""
        return self.adjusted < LEVEL


@dataclass(frozen=True)
class SignalNorm:
    """The length of the trained weights, estimated from the noisy ones.

    ``published``: ||w + eta||. ``noise``: sqrt(E ||eta||^2). ``square``: ||w + eta||^2 - E ||eta||^2, an unbiased
    estimate of ||w||^2 (E <w, eta> = 0), which noise can make negative; ``error``: its standard deviation, with the
    estimate itself in place of ||w||^2. ``largest``: no minimiser is longer than G / Lambda.
    """

    published: float
    noise: float
    square: float
    error: float
    largest: float

    @property
    def estimate(self) -> float:
        """The estimated length; 0 where the estimated square is negative."""
        return math.sqrt(max(self.square, 0.0))

    @property
    def range(self) -> tuple[float, float]:
        """Lengths whose squares are within two standard deviations, as far as they are possible."""
        ends = [math.sqrt(max(self.square + sign * 2 * self.error, 0.0)) for sign in (-1, 1)]
        return min(ends[0], self.largest), min(ends[1], self.largest)


@dataclass(frozen=True)
class ShownWeight:
    """One published weight of noisy descent, which cannot be judged."""

    name: str
    value: float


def shown_weights(model: LinearModel) -> list[ShownWeight]:
    """Return all weights, the largest in magnitude first."""
    weights, names = published_weights(model)
    return [ShownWeight(names[i], float(weights[i])) for i in np.argsort(-np.abs(weights), kind="stable")]


def published_weights(model: LinearModel) -> tuple[Reals, tuple[str, ...]]:
    """Return the weights as they were released, the intercept's last, and their names; of several classes one after the
    other."""
    names = model.feature_names or tuple(f"column {i + 1}" for i in range(model.features))
    if model.reference is not None and model.reference.only:
        names = tuple(f"direction {i + 1} of the reference" for i in range(model.features))
    weights = np.array(model.coef)
    if model.constant:
        last = np.asarray(model.intercept) / model.constant
        weights, names = np.append(weights, last[..., np.newaxis], axis=-1), (*names, INTERCEPT)
    if model.lines > 1:
        names = tuple(f"{name} for {value_text(label)}" for label in model.classes for name in names)
    return weights.ravel(), names


def signal_norm(weights: Reals, certificate: Certificate) -> SignalNorm:
    """Return the estimated length of the trained weights."""
    law = noise_law(certificate)
    square = float(weights @ weights) - law.mean_square
    error = math.sqrt(law.variance_of_square + 4 * max(square, 0.0) * law.variance)
    stated = certificate.minimiser
    largest = 0.0 if stated is None else float(stated.gradient_bound / stated.l2)
    return SignalNorm(float(np.linalg.norm(weights)), math.sqrt(law.mean_square), square, error, largest)


def judged_weights(model: LinearModel) -> list[JudgedWeight]:
    """Return all weights, the largest in magnitude first."""
    weights, names = published_weights(model)
    certificate = model.certificate
    law, step = noise_law(certificate), grid_step(certificate)
    p = noise_p_values(weights, law, step, float(certificate.sampler_distance))
    adjusted = holm(p)
    reach = law.half_width(LEVEL / certificate.d) + 2 * step
    order = np.argsort(-np.abs(weights), kind="stable")
    return [
        JudgedWeight(
            names[i], float(weights[i]), float(p[i]), float(adjusted[i]), weights[i] - reach, weights[i] + reach
        )
        for i in order
    ]


def noise_p_values(weights: Reals, law: NoiseLaw, step: float, sampler_distance: float) -> Reals:
    """Return for each weight the bound of the probability that noise alone gives one as far from 0."""
    tail = law.tail(np.maximum(np.abs(weights) - 2 * step, 0.0))
    return np.minimum(tail + sampler_distance, 1.0)


def holm(p: Reals) -> Reals:
    """Return Holm's adjusted p-values, in the order of ``p``."""
    order = np.argsort(p, kind="stable")
    factors = len(p) - np.arange(len(p))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


def grid_step(certificate: Certificate) -> float:
    """Return the step of the grid on which published weights lie."""
    grid = "2^0" if certificate.minimiser is None else certificate.minimiser.grid
    return math.ldexp(1.0, int(grid.removeprefix("2^")))
