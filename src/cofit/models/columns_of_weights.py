"""The weights of a model, and its intercept: one for each feature, or a line of them for each of several classes.

Two classes have one line, which tells the second from the first: a tuple of floats, and a float. Of several classes
each has its own, against all others: a tuple of such tuples in the order of the classes, and a tuple of floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cofit.learn.statement import by_output

Reals = npt.NDArray[np.float64]
Coef = tuple[float, ...] | tuple[tuple[float, ...], ...]
Intercept = float | tuple[float, ...]
Refuse = Callable[[str, str, object], NoReturn]
MOST_CLASSES_OF_ONE_LINE = 2


def lines_of(classes: int) -> int:
    """Return how many lines of weights a model of so many classes has; of a regressor, which has none, one."""
    return 1 if classes <= MOST_CLASSES_OF_ONE_LINE else classes


def checked_coef(coef: Any, lines: int, refuse: Refuse) -> Coef:
    """Return weights in their tuples, or refuse them: so many lines, all of one length."""
    if lines == 1:
        return _line("coef", coef, refuse)
    if not isinstance(coef, tuple | list) or len(coef) != lines:
        refuse("coef", f"{lines} lists of floats, one for each class", coef)
    found = tuple(_line(f"coef[{k}]", line, refuse) for k, line in enumerate(coef))
    if len({len(line) for line in found}) != 1:
        refuse("coef", "as many weights for each class", [len(line) for line in found])
    return found


def checked_intercept(intercept: Any, lines: int, refuse: Refuse) -> Intercept:
    """Return an intercept for every line, or refuse it."""
    if lines == 1:
        return checked_number("intercept", intercept, refuse)
    if not isinstance(intercept, tuple | list) or len(intercept) != lines:
        refuse("intercept", f"{lines} floats, one for each class", intercept)
    return tuple(checked_number(f"intercept[{k}]", one, refuse) for k, one in enumerate(intercept))


def checked_number(name: str, value: object, refuse: Refuse) -> float:
    """Return a finite float, or refuse it."""
    if not isinstance(value, float) or not math.isfinite(value):
        refuse(name, "a finite float", value)
    return float(value)


def coef_of(released: Sequence[float], features: int, lines: int) -> Any:
    """Return the weights of the features from all numbers of a release: the first of them, a feature's side by side."""
    return by_output(np.asarray(released[: features * lines], dtype=np.float64).reshape(features, lines))


def _line(name: str, line: Any, refuse: Refuse) -> tuple[float, ...]:
    if not isinstance(line, tuple | list) or not line:
        refuse(name, "a tuple of floats, at least one", line)
    return tuple(checked_number(f"{name}[{i}]", one, refuse) for i, one in enumerate(line))
