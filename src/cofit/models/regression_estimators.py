"""Differentially private linear regression on the joint data of several owners, as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

from cofit.errors import parameter_error
from cofit.models.deviance import d2_poisson
from cofit.models.regressor import PrivateLinearRegressor
from cofit.models.tables import Tables


class RidgeRegression(PrivateLinearRegressor):
    r"""Linear regression with differential privacy, trained on secret shares.

    The target is a number with a public range, ``target_range``, from which it is scaled to y_i in [-1, 1].

    Recipe 'best', the default: gradient descent with noise in every step. In 20 steps from w = 0,

        w <- w + step * (sum_i clip(4 (y_i - <w, z_i>), -1, 1) z_i + noise),

    where z_i is row i, centred and of length 1 at most, with a constant of 3/8 for the intercept; the mean of the last
    6 iterates is released, and nothing else. That is least squares for all records whose residual is at most an eighth
    of the range; larger residuals count as that much, so that no record can do more. Few steps from 0 do what a ridge
    penalty does, so that there is none to tune.

    Recipe 'paper': approximates the minimiser of

        J(w) = (1/n) sum_i h(<w, x_i> - y_i) + (l2 / 2) ||w||^2,    ||x_i|| <= 1,

    with h(u) = 2 u^2 for |u| <= 1/4 and |u| - 1/8 beyond, and releases w + noise.

    Predictions are (lower + upper) / 2 + (upper - lower) / 2 times the score of a row, and within the range.

    Parameters
    ----------
    target_range : pair of floats
        The lower and the upper end of what the target can be: agreed on beforehand, and never taken from the data. A
        narrow range makes a better model; values beyond it are refused.
    feature_bound, feature_lower, norm_floor : float, default=None
        As with ``LogisticRegression``; but with recipe 'best' the parties prepare the rows here, so that every feature
        must be within the bound, 1 by default (``cofit.PublicScaler`` maps columns there), and ``norm_floor`` is 1 by
        default: rows shorter than the bound keep their length, which says as much of a number as their direction.

    All other parameters, attributes and notes are those of ``LogisticRegression``; there are no classes, and
    ``shrinkage='auto'`` is 0.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The noisy weights, in units of the target, of rows as they are prepared in training.
    intercept_ : float
        The noisy intercept, in units of the target.

    ``score`` returns R squared.

    Examples
    --------
    >>> import numpy as np
    >>> from cofit import RidgeRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (600, 2))
    >>> y = 40 + 8 * X[:, 0] - 4 * X[:, 1]
    >>> model = RidgeRegression(epsilon=3.0, target_range=(20, 60)).fit([(X[:300], y[:300]), (X[300:], y[300:])])
    >>> model.score(X, y) > 0.8
    True
    """

    _loss = "clipped_squares"


class LinearRegression(RidgeRegression):
    r"""Linear regression with differential privacy and no penalty: ``RidgeRegression``, recipe 'best', delta > 0.

    Without a penalty there is no bound of how far one record moves the minimum of the squared loss, so that recipe
    'paper', and delta = 0, are refused here; ``RidgeRegression`` has both.

    Parameters, attributes and notes are those of ``RidgeRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from cofit import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (600, 2))
    >>> y = 40 + 8 * X[:, 0] - 4 * X[:, 1]
    >>> model = LinearRegression(epsilon=3.0, target_range=(20, 60)).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    def _tables(self, owners: Any, y: Any, partition: str) -> Tables:
        instead = "which has no minimiser to perturb without a penalty; or use RidgeRegression"
        if self.recipe != "best":
            raise parameter_error("recipe", "LinearRegression", f"'best', {instead}", self.recipe)
        if self.delta == 0:
            raise parameter_error("delta", "LinearRegression", f"above 0 (or None), {instead}", self.delta)
        return super()._tables(owners, y, partition)


class HuberRegressor(RidgeRegression):
    r"""Linear regression with the Huber loss and differential privacy: ``RidgeRegression``, less moved by outliers.

    Residuals count as they are up to a sixteenth of the target's range, and as that much beyond: with recipe 'best' a
    step takes clip(8 (y_i - <w, z_i>), -1, 1) of a record. That costs hardly any accuracy where targets are spread over
    their range, and is better where they fill a small part of it, because the same noise moves predictions less.

    Parameters, attributes and notes are those of ``RidgeRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from cofit import HuberRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (600, 2))
    >>> y = 40 + 8 * X[:, 0] - 4 * X[:, 1]
    >>> model = HuberRegressor(epsilon=3.0, target_range=(20, 60)).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    _loss = "huber"


class PoissonRegressor(RidgeRegression):
    r"""Poisson regression of counts with differential privacy: a log-linear rate, recipe 'best', delta > 0.

    The target is a count y_i from 0 to a public largest one, ``target_range[1]``. In 20 steps from w = 0,

        w <- w + step * (sum_i clip((y_i - exp(middle + half <w, z_i>)) / c, -1, 1) z_i + noise),

    with c the power of two nearest to a tenth of the largest count, at least 1: up to c the gradient of the Poisson
    deviance, and no record can do more. A score from -1 to 1 stands for rates from 1/20 to the largest count, on a
    logarithmic scale (middle and half); scores beyond are cut. Rows, noise and what is released are those of
    ``RidgeRegression``. Few steps from 0 do what a penalty (scikit-learn's ``alpha``) does, so that there is none.

    Recipe 'paper' and delta = 0 are refused: nobody has proven a bound for them.

    Parameters
    ----------
    target_range : pair of numbers
        (0, the largest count that there can be): agreed on beforehand, and never taken from the data. A count beyond it
        is refused, as is what is no whole number. From 1 to 32768.

    All other parameters and notes are those of ``RidgeRegression``.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The noisy weights, in units of the logarithm of the rate, of rows as they are prepared in training.
    intercept_ : float
        The noisy intercept, in the same units.

    ``predict`` returns rates, from 1/20 to the largest count; ``score`` returns D squared, the part of the Poisson
    deviance that is explained, as scikit-learn's ``PoissonRegressor`` does.

    Examples
    --------
    >>> import numpy as np
    >>> from cofit import PoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 2))
    >>> y = np.minimum(rng.poisson(np.exp(1 + X[:, 0] - X[:, 1])), 40)
    >>> model = PoissonRegressor(epsilon=3.0, target_range=(0, 40)).fit([(X[:900], y[:900]), (X[900:], y[900:])])
    >>> model.score(X, y) > 0.3
    True
    """

    _loss = "poisson"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D squared of ``predict``: 1 less the Poisson deviance over that of the mean."""
        return d2_poisson(y, self.predict(X), sample_weight)
