r"""Smoothing of released weights by unlabelled rows: noise in directions that rows hardly have is taken out of scores.

**Privacy.** A function of what was opened, of public numbers, and of rows that whoever predicts has: post-processing of
the release (Dwork and Roth 2014, proposition 2.1), which changes no guarantee for the training records. It says nothing
of the rows themselves: the smoothed weights depend on all of them, without noise.

**What.** m rows z as they are prepared for their score, with mean u, and C = (n/m) sum (z - u)(z - u)^T: their
covariance, in the scale of the n training records. With the released weights w,

    score(z) = <w, u> + <F w, z - u> + b,    F = g C (C + lambda)^-1,    g = (top + lambda) / top,

top the largest eigenvalue of C. Descent from 0 learns a direction the faster the more the rows vary along it: after
time t = (steps) times (step), where residuals have the slope 1, the part 1 - exp(-t c) of what there is to learn along
an eigenvector with the eigenvalue c, while the noise is the same along all. So where c t is small, w is noise, and F
leaves it out: lambda = (3/10) / t. All eigenvalues of F are from 0 to 1, and the largest is 1: it never stretches.

**How.** F w = g (n/m) Zc^T (K + lambda)^-1 Zc w with Zc the centred rows and K = (n/m) Zc Zc^T, m x m: the dual, so
that nothing has d x d numbers. The system is solved by conjugate gradients, and top found by Lanczos' method, both with
products of Zc alone: neither forms K, and memory is that of the rows. The condition of K + lambda is at most
1 + n t / 0.3, because rows have length 1 at most.

The constant 3/10 was chosen on five data sets; what it brings: docs/explanation/unlabelled-rows.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cofit.errors import CofitError

Reals = npt.NDArray[np.float64]

CUT = 0.3
"""lambda, times the time of the descent."""
_EXACT = 1e-10
_NOTHING = 1e-12
"""Rows whose covariance is this small, beside n, are all alike."""
_MOST_ITERATIONS = 10_000


@dataclass(frozen=True)
class Smoothed:
    """Weights in the place of those released, a column for every output, and what is added to each score."""

    weights: Reals
    offsets: Reals


def cut_of(step_size: float, steps: int) -> float:
    """Return lambda for a descent of so many steps, each of that size times a sum over records."""
    return CUT / (step_size * steps)


def smoothed_weights(rows: Reals, weights: Reals, records: int, cut: float) -> Smoothed:
    """Return F w and <w - F w, u>. rows: unlabelled ones as they are scored, shape (m, d). weights: (d, outputs).

    records: n. cut: lambda. Where all rows are alike there is nothing to smooth by, and the weights stay.
    """
    mean = rows.mean(axis=0)
    apart, scale = rows - mean, records / len(rows)
    found = np.array(weights)
    top = _largest(apart, scale, weights)
    if top > _NOTHING * records:
        gain = (top + cut) / top
        for k, column in enumerate(weights.T):
            found[:, k] = gain * scale * (apart.T @ _solved(apart, scale, cut, apart @ column))
    return Smoothed(found, mean @ (weights - found))


def _largest(apart: Reals, scale: float, weights: Reals) -> float:
    """Return the largest eigenvalue of K."""
    from scipy.sparse.linalg import eigsh  # noqa: PLC0415 - takes a second, and few need it

    if not np.square(apart).sum() * scale > 0:
        return 0.0
    start = np.random.default_rng(1).standard_normal(len(apart)) + (apart @ weights).sum(axis=1)
    (top,) = eigsh(_operator(apart, scale, 0.0), k=1, v0=start, tol=_EXACT, return_eigenvectors=False)
    return max(float(top), 0.0)


def _solved(apart: Reals, scale: float, cut: float, right: Reals) -> Reals:
    """Return (K + lambda)^-1 times a vector."""
    from scipy.sparse.linalg import cg  # noqa: PLC0415

    found, failed = cg(_operator(apart, scale, cut), right, rtol=_EXACT, maxiter=_MOST_ITERATIONS)
    if failed:
        raise CofitError(f"The rows could not be smoothed by: no solution after {_MOST_ITERATIONS} iterations.")
    return np.asarray(found)


def _operator(apart: Reals, scale: float, cut: float) -> object:
    """Return K + lambda as products with it."""
    from scipy.sparse.linalg import LinearOperator  # noqa: PLC0415

    def product(vector: Reals) -> Reals:
        return np.asarray(scale * (apart @ (apart.T @ vector)) + cut * vector)

    return LinearOperator((len(apart),) * 2, matvec=product, dtype=np.float64)
