r"""Shrinkage of released weights: which of them to believe, from the release and the public level of its noise alone.

**Privacy.** A function of what was opened and of public numbers: post-processing, which changes no guarantee (Dwork and
Roth 2014, proposition 2.1). Nothing below is needed for privacy; it is about accuracy only.

**What.** Weights y are moved towards 0 by a threshold t, smaller ones to 0 (non-negative garrote, Gao 1998):

    s_t(y)_i = y_i - t^2 / y_i  where |y_i| > t, else 0.

Unlike a soft threshold it leaves large weights nearly as they are, so that scores keep their place beside the
intercept, which stays. Nothing is scaled up again: where columns are of different sizes, the length of the weights says
nothing of the size of scores.

**How much.** Take y = w + noise, the noise normal with variance sigma^2 in each of d weights. By Stein's identity
(1981), with sums over the weights beyond t,

    P(t) = <s_t(y), y> - sigma^2 sum_i s_t'(y_i)    has the expectation of    <s_t(y), w>,    s_t'(y) = 1 + t^2 / y^2,

so P(t) / ||s_t(y)|| estimates how much of w lies along s_t(y): the cosine between what we use and what we want, times
||w||. The gain over using y as it is, with the two lengths taken as given, is the estimate for the direction

    g = s_t(y) / ||s_t(y)|| - y / ||y||,    D(t) = P(t) / ||s_t(y)|| - P(0) / ||y||

and its error has the mean square sigma^2 ||g||^2 + sigma^4 sum_i (dg_i / dy_i)^2 (second-order Stein formula, Bellec
and Zhang 2021, theorem 2.1). We take the t with the largest D(t) - 3.5 errors, if that is positive, and none
otherwise: so many, because several thresholds are tried, in many dimensions the errors are as large as what there is to
gain, and a wrong threshold costs far more than a missed one.

**Which sigma.** Of one noisy release, the public one. In noisy descent later steps answer to the noise of earlier ones,
so that the noise in the weights can be well below its public level; and a sigma that is too large would make any
threshold look like a gain. So sigma is at most what the weights themselves allow: half of them are beyond 0.6745 sigma
if they are noise, and more if there is something else in them. The median of |y|, over 0.6745, is a second bound.

Then half of that t. The cosine counts all columns alike and as if they were uncorrelated; where columns come in groups,
the small weights of a group carry information together. Half of the threshold keeps most of what there is to gain, and
loses less where there is nothing. What it brings: docs/explanation/recipe.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

THRESHOLDS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
"""What is tried, in standard deviations of the noise."""
ERRORS = 3.5
PART = 0.5
"""What part of the threshold that is found is used."""
MEDIAN = 0.6745
"""Half of all normal numbers of deviation 1 are smaller in magnitude."""


def believed_shrinkage(weights: Reals, deviation: float) -> float:
    """Return the threshold to use, in units of ``deviation``: 0 where none is sure to help.

    weights: as released, without the intercept's. deviation: of normal noise in a weight, or more; a public number.
    """
    if not len(weights):
        return 0.0
    sigma = min(deviation, float(np.median(np.abs(weights))) / MEDIAN)
    if not sigma > 0:
        return 0.0
    y = weights / sigma
    found, most = 0.0, 0.0
    for threshold in THRESHOLDS:
        gain, error = gain_of(y, threshold)
        if gain - ERRORS * error > most:
            found, most = threshold, gain - ERRORS * error
    return PART * found * sigma / deviation


def gain_of(y: Reals, threshold: float) -> tuple[float, float]:
    """Return D(t) and its error (root mean square), in units of the noise; (0, infinity) where no weight is left."""
    kept, slopes = _garrote(y, threshold)
    short, long = math.sqrt(_total(kept * kept)), math.sqrt(_total(y * y))
    if not short:
        return 0.0, math.inf
    inner = _total(kept * y)
    gain = (inner - _total(slopes)) / short - (long * long - len(y)) / long
    direction = max(2 - 2 * inner / (short * long), 0.0)
    bend = _total(np.square(slopes / short - 1 / long))
    return gain, math.sqrt(direction + bend)


def _total(values: Reals) -> float:
    """Return the sum, added by halves, in an order that is the same everywhere: who verifies a model compares."""
    while len(values) > 1:
        half = (len(values) + 1) // 2
        values = values[:half] + np.append(values[half:], np.zeros(2 * half - len(values)))
    return float(values[0])


def shrunk_weights(weights: Reals, threshold: float) -> Reals:
    """Return s_t."""
    return _garrote(weights, threshold)[0] if threshold else weights


def _garrote(y: Reals, threshold: float) -> tuple[Reals, Reals]:
    """Return s_t and its derivative, for a threshold above 0."""
    beyond = np.abs(y) > threshold
    ratios = np.square(np.divide(threshold, y, out=np.zeros_like(y), where=beyond))
    return np.where(beyond, y * (1 - ratios), 0.0), np.where(beyond, 1 + ratios, 0.0)
