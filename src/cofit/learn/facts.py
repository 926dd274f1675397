"""The public facts of a training run, checked: what participants agree on before anything is computed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.losses import LOSSES
from cofit.privacy.mechanisms import MECHANISMS
from cofit.privacy.objective import SENSITIVITIES
from cofit.privacy.zcdp import LARGEST_EPSILON
from cofit.sharing import SCHEMES

PARTITIONS = ("horizontal", "vertical")
SOLVERS = ("auto", "gradient_descent", "accelerated")
_OWNER = "a plan"
_FEWEST_ROWS = 2
_MOST_ROWS = 1 << 40
_MOST_EPOCHS = 1_000_000
_LONGEST_FRACTION = 256
AUTO_PURE = "auto"
"""The K-norm mechanism, or Laplace where epsilon is so large that K-norm noise cannot be sampled closely enough."""
DEFAULT_NORM_FLOOR = Fraction(1, 16)


@dataclass(frozen=True)
class Facts:
    """Public facts; make them with ``training_facts``, which checks them and fills in defaults."""

    rows: int
    cols: int
    partition: str
    loss: str
    l2: Fraction
    epsilon: Fraction
    delta: Fraction
    mechanism: str
    sensitivity: str
    scheme: str
    epochs: int | None
    solver: str
    learning_rate: Fraction | None
    momentum: Fraction
    initial: str
    fit_intercept: bool
    intercept_scaling: Fraction
    normalised_by: str
    feature_bound: Fraction
    norm_floor: Fraction
    tolerance: Fraction
    allow_unproven: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, under the names of ``training_facts``."""
        plain = {name: float(v) if isinstance(v, Fraction) else v for name, v in self.__dict__.items()}
        plain["epochs_asked"] = "auto" if self.epochs is None else self.epochs
        del plain["epochs"], plain["solver"]
        plain["solver_asked"] = self.solver
        return plain


def training_facts(
    rows: int,
    cols: int,
    *,
    partition: str = "horizontal",
    loss: str = "logistic",
    l2: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 0.0,
    mechanism: str | None = None,
    sensitivity: str = "tight",
    scheme: str = "rep3",
    epochs: int | str = "auto",
    solver: str = "auto",
    learning_rate: float | None = None,
    momentum: float = 0.0,
    initial: str = "zeros",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    normalised_by: str | None = None,
    feature_bound: float = 1.0,
    norm_floor: float = float(DEFAULT_NORM_FLOOR),
    tolerance: float = 1e-3,
    allow_unproven: bool = False,
) -> Facts:
    """Check the facts and fill in defaults.

    rows, cols: of the joint data, without the intercept. partition: 'horizontal' (owners hold rows) or 'vertical'
    (columns). l2: Lambda, the penalty of the mean loss. mechanism: None takes 'knorm' when delta is 0
    ('laplace' where epsilon is so large that K-norm noise cannot be sampled closely enough), else 'gaussian'.
    epochs: a number, or 'auto': as many as bring the weights within ``tolerance`` times the sensitivity's half of the
    minimiser. learning_rate, momentum, initial ('zeros', 'glorot'): the paper's training instead of the fixed step.
    normalised_by: 'owners' (default when rows are whole) or 'parties'. feature_bound: where the parties normalise, no
    value is larger in magnitude; norm_floor: rows shorter than this (times feature_bound) are not stretched further.
    allow_unproven: plan even where no distance to the minimiser is proven; the certificate says so first.
    """
    _one_of(PARTITIONS, "partition", partition)
    _one_of(SENSITIVITIES, "sensitivity", sensitivity)
    _one_of(SOLVERS, "solver", solver)
    _one_of(("zeros", "glorot"), "initial", initial)
    _one_of(tuple(sorted(LOSSES)), "loss", loss)
    _one_of(tuple(sorted(SCHEMES)), "scheme", scheme)
    exact_delta = _real("delta", delta, "from 0 to below 1", lambda v: 0 <= v < 1)
    if mechanism is None:
        mechanism = "gaussian" if exact_delta > 0 else AUTO_PURE
    else:
        _one_of(MECHANISMS, "mechanism", mechanism)
    if mechanism == "gaussian" and not exact_delta:
        raise parameter_error("delta", _OWNER, "above 0 for the gaussian mechanism (for example 1e-6)", delta)
    if mechanism in ("knorm", "laplace") and exact_delta:
        raise parameter_error("delta", _OWNER, f"0 with mechanism '{mechanism}', which needs none", delta)
    by = normalised_by if normalised_by is not None else "owners" if partition == "horizontal" else "parties"
    _one_of(("owners", "parties"), "normalised_by", by)
    if partition == "vertical" and by == "owners":
        raise parameter_error(
            "normalised_by", _OWNER, "'parties' in a vertical study: no owner sees a whole row", normalised_by
        )
    rate = None if learning_rate is None else _positive("learning_rate", learning_rate)
    exact_momentum = _real("momentum", momentum, "from 0 to below 1", lambda v: 0 <= v < 1)
    if rate is None and (exact_momentum or initial != "zeros"):
        raise InvalidInputError("momentum and initial='glorot' belong to the paper's training: give learning_rate too.")
    scaling = _positive("intercept_scaling", intercept_scaling)
    bound = _positive("feature_bound", feature_bound)
    if by == "parties" and fit_intercept and scaling > bound:
        raise parameter_error(
            "intercept_scaling",
            _OWNER,
            f"at most feature_bound ({float(bound):g}) where the parties normalise",
            intercept_scaling,
        )
    return Facts(
        rows=_integer("rows", rows, _FEWEST_ROWS, _MOST_ROWS, "; with fewer, no record could hide among others"),
        cols=_integer("cols", cols, 1, 1 << 32),
        partition=partition,
        loss=loss,
        l2=_positive("l2", l2),
        epsilon=_real("epsilon", epsilon, f"above 0 and at most {LARGEST_EPSILON}", lambda v: 0 < v <= LARGEST_EPSILON),
        delta=exact_delta,
        mechanism=mechanism,
        sensitivity=sensitivity,
        scheme=scheme,
        epochs=None
        if isinstance(epochs, str) and epochs == "auto"
        else _integer("epochs", epochs, 1, _MOST_EPOCHS, ", or 'auto'"),
        solver=solver,
        learning_rate=rate,
        momentum=exact_momentum,
        initial=initial,
        fit_intercept=_flag("fit_intercept", fit_intercept),
        intercept_scaling=scaling,
        normalised_by=by,
        feature_bound=bound,
        norm_floor=_real("norm_floor", norm_floor, "above 0 and at most 1", lambda v: 0 < v <= 1),
        tolerance=_real("tolerance", tolerance, "above 0 and at most 0.1", lambda v: 0 < v <= 0.1),
        allow_unproven=_flag("allow_unproven", allow_unproven),
    )


def _one_of(allowed: tuple[str, ...], name: str, value: object) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise parameter_error(name, _OWNER, f"one of {list(allowed)}", value)


def _flag(name: str, value: object) -> bool:
    """Truth is not guessed: the text 'false' would be true."""
    if not isinstance(value, bool | np.bool_):
        raise parameter_error(name, _OWNER, "True or False", value)
    return bool(value)


def _positive(name: str, value: object) -> Fraction:
    return _real(name, value, "a number above 0, and below 1e12", lambda v: 0 < v < 1e12)


def _real(name: str, value: object, must_be: str, holds: Any) -> Fraction:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction) or not math.isfinite(number):
        raise parameter_error(name, _OWNER, must_be, value)
    exact = Fraction(number)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _LONGEST_FRACTION:
        raise parameter_error(name, _OWNER, f"a number that {_LONGEST_FRACTION} bits can hold as a fraction", value)
    if not holds(number):
        raise parameter_error(name, _OWNER, must_be, value)
    return exact


def _integer(name: str, value: object, least: int, most: int, why: str = "") -> int:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise parameter_error(name, _OWNER, f"an integer from {least} to {most}{why}", value)
    return number
