"""How accurate such a model may be, against epsilon: a simulation on data that are not private.

Rows are made up (``experiments.claims``), as many as the study had, or come from a public sample. They are scaled as
the model scales rows, the exact minimiser at the certificate's penalty is found in the clear, noise of the
certificate's mechanism is added, and rows that were held out are classified. The noise is calibrated to the
certificate's ``sensitivity_total``, and so to the study's own n, whatever size the sample has. No private data are
touched, so no privacy is spent. It is a forecast: real data may be easier or harder.

The same standard draws are used at every epsilon, scaled, so curves are smooth. Equal inputs give equal results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from cofit.baselines.method import Part, Reals
from cofit.baselines.minimiser import minimise
from cofit.errors import CofitError, InvalidInputError
from cofit.experiments.claims import claims
from cofit.learn.losses import loss_named
from cofit.models.linear_model import LinearModel
from cofit.privacy.certificate import Certificate
from cofit.privacy.gaussian_dp import largest_mu
from cofit.report.noise_law import LAWS

EPSILONS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0)
COMPARISON_DELTA = Fraction(1, 10**6)
MOST_ROWS, MOST_COLS, MOST_CELLS = 4000, 2000, 20_000_000
FEWEST_ROWS = 40
_HELD_OUT = 1000
_HELD_OUT_SHARE = 0.3
_DENSITY, _CODES = 0.03, 8  # a made-up record has 3 % of all codes, but 8 of them on average where there are few
_DRAWS = 24
_SEED = 1


@dataclass(frozen=True)
class Rows:
    """Labelled rows that are not private. ``origin``: one sentence on where they come from.

    ``given``: whether they are somebody's sample, of which only that person knows that it is public or made up.
    """

    features: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64]
    origin: str
    given: bool = False


@dataclass(frozen=True)
class AccuracyCurve:
    """Accuracy over epsilon: the median over draws of the noise, and the range of the middle 80 % of them."""

    mechanism: str
    delta: float
    epsilons: tuple[float, ...]
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class AccuracyForecast:
    """Curves, the first of the certificate's mechanism; ``at_release``: its median at the released epsilon."""

    origin: str
    given: bool
    trained_on: int
    held_out: int
    without_noise: float
    majority: float
    at_release: float
    curves: tuple[AccuracyCurve, ...]

    @property
    def touched(self) -> str:
        """What the forecast cost in privacy, in one sentence."""
        if self.given:
            return (
                "If the sample has no record of the study, as whoever gave it must know, no data of the study were "
                "touched, and this costs no privacy."
            )
        return "The study's own data were not touched, so this costs no privacy."


@dataclass(frozen=True)
class NoForecast:
    """Why there is none."""

    reason: str


def made_up_rows(model: LinearModel) -> Rows | NoForecast:
    """Return made-up rows: as many to train on as the study had, and some to hold out."""
    rows, cols = model.certificate.n, len(model.coef)
    if rows > MOST_ROWS or cols > MOST_COLS:
        return NoForecast(
            f"No forecast was made: up to {MOST_ROWS:,} rows and {MOST_COLS:,} columns are simulated, and this study "
            f"has {rows:,} rows and {cols:,} columns. Give a public or made-up table with --sample."
        )
    density = min(max(_DENSITY, _CODES / cols), 0.5)
    data = claims(rows + _HELD_OUT, cols, density=density, prevalence=0.5, seed=_SEED)
    origin = (
        f"made-up 0/1 data, like medical claims, with as many rows to train on ({rows:,}) and columns ({cols:,}) as "
        f"the study, both classes equally common"
    )
    return Rows(data.features.astype(np.float64), data.labels, origin)


def forecast_accuracy(model: LinearModel, rows: Rows, held_out: int | None = None) -> AccuracyForecast | NoForecast:
    """Train on most of the rows and score the others. ``held_out``: how many; None: 30 %."""
    certificate = model.certificate
    rng = np.random.default_rng(_SEED)
    rest = round(_HELD_OUT_SHARE * len(rows.labels)) if held_out is None else held_out
    shuffled = rng.permutation(len(rows.labels))
    test, train = shuffled[:rest], shuffled[rest:]
    x, y = scaled_rows(model, rows.features), rows.labels
    for part in (train, test):
        if len(set(y[part].tolist())) < 2:
            raise InvalidInputError("The sample must have rows of both classes, and enough of them to hold some out.")
    try:
        weights = _minimiser(certificate, Part(x[train], y[train]))
    except CofitError as error:
        return NoForecast(f"No forecast was made: {error}")
    scores, truth = x[test] @ weights, y[test] == 1
    epsilons = tuple(sorted({*EPSILONS, float(certificate.epsilon)}))
    wanted = [(certificate.mechanism, certificate.delta)]
    if certificate.mechanism != "gaussian":
        wanted.append(("gaussian", COMPARISON_DELTA))
    curves = []
    for mechanism, delta in wanted:
        noise = x[test] @ LAWS[mechanism](1.0, certificate.d).draw(_DRAWS, np.random.default_rng(_SEED)).T
        figures = [_accuracies(scores, noise * noise_scale(certificate, mechanism, e, delta), truth) for e in epsilons]
        median, low, high = (tuple(column) for column in zip(*figures, strict=True))
        curves.append(AccuracyCurve(mechanism, float(delta), epsilons, median, low, high))
    commoner = float(max(truth.mean(), 1 - truth.mean()))
    plain = float(((scores > 0) == truth).mean())
    released = curves[0].median[epsilons.index(float(certificate.epsilon))]
    return AccuracyForecast(rows.origin, rows.given, len(train), len(test), plain, commoner, released, tuple(curves))


def forecast_on_made_up_rows(model: LinearModel) -> AccuracyForecast | NoForecast:
    """Return the forecast that needs nothing but the model."""
    rows = made_up_rows(model)
    if isinstance(rows, NoForecast):
        return rows
    try:
        return forecast_accuracy(model, rows, _HELD_OUT)
    except InvalidInputError:
        return NoForecast("No forecast was made: there are too few rows to simulate. Give a table with --sample.")


def noise_scale(certificate: Certificate, mechanism: str, epsilon: float, delta: Fraction) -> float:
    """Return the scale that the mechanism needs for the certificate's sensitivity."""
    sensitivity = float(certificate.sensitivity_total)
    if mechanism == "gaussian":
        return sensitivity / float(largest_mu(Fraction(epsilon), delta))
    return sensitivity / epsilon * (math.sqrt(certificate.d) if mechanism == "laplace" else 1.0)


def scaled_rows(model: LinearModel, features: Reals) -> Reals:
    """Return (x, c) / max(||(x, c)||, floor) for every row x, as rows were scaled in training; 0 stays 0."""
    x = np.asarray(features, dtype=np.float64)
    if model.constant:
        x = np.hstack([x, np.full((len(x), 1), model.constant)])
    divisors = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), model.norm_floor)
    return np.asarray(np.divide(x, divisors, out=np.zeros_like(x), where=divisors > 0))


def _accuracies(scores: Reals, noise: Reals, truth: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
    correct = ((scores[:, np.newaxis] + noise > 0) == truth[:, np.newaxis]).mean(axis=0)
    low, median, high = np.quantile(correct, (0.1, 0.5, 0.9))
    return float(median), float(low), float(high)


def _minimiser(certificate: Certificate, part: Part) -> Reals:
    """Return weights that are close to the minimiser beside the smallest noise of the forecast."""
    l2 = float(certificate.l2)
    tolerance = 1e-3 * float(certificate.gradient_bound) / l2
    if certificate.loss == "logistic":
        return minimise(part, l2, tolerance=tolerance).weights
    derivative = loss_named(certificate.loss).derivative
    x, y = part.features, part.labels.astype(np.float64)

    def objective(w: Reals) -> tuple[float, Reals]:
        margins = (2 * y - 1) * (x @ w)
        short = np.clip(1.5 - margins, 0, None)
        loss = np.where(short <= 1, short**2 / 2, short - 0.5).mean()
        return float(loss + l2 / 2 * (w @ w)), x.T @ derivative(y, x @ w) / len(y) + l2 * w

    found = minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"gtol": 1e-3 * l2})
    return np.asarray(found.x)
