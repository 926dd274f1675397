"""Weights of records: how much each counts, from 0 to a public bound. Owners share them, or classes have public ones.

A record with the weight v counts v / bound as much as a step could take of it: its residual is multiplied by that, a
number from 0 to 1 with ``WEIGHT_BITS`` fractional bits. So one record moves a sum no further than without weights, and
the noise is that of a record with the largest one: the bound, not the weights, is what the guarantee rests on.

- **Sample weights** are one more input of a record, from whoever has its label, and as little to be trusted: the
  parties check on shares that 0 <= v <= bound, as they check labels (``row_check_proof.md``). A weight against the
  rules makes its record count as 0.
- **Class weights** are public, one for each class, divided by the largest one. The parties take them by the label,
  which is checked already; nobody shares anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic import FixedPoint, IntegerRing
from cofit.errors import RangeError, parameter_error
from cofit.learn.bounds import beyond
from cofit.learn.checked import OWNER, positive
from cofit.learn.recipes.descent.shares import Shares
from cofit.protocols.working import tighten
from cofit.secret import InputFacts, SecretArray

WEIGHT_BITS = 8
_ONE = 1 << WEIGHT_BITS


def class_names(classes: int) -> tuple[str, ...]:
    """Return what facts call so many classes; in the order of the alphabet, as files may have them."""
    return ("first", "second") if classes == 2 else tuple(f"class {k:03d}" for k in range(classes))


def checked_class_weights(given: Any, classes: int = 2) -> Shares:
    """Return public weights of classes, the largest one 1, as multiples of 2^-WEIGHT_BITS; none for None."""
    if given is None:
        return ()
    sound = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == classes
    if not sound:
        must_be = f"{classes} numbers above 0, one for each class in their order; or None: all count alike"
        raise parameter_error("class_weights", OWNER, must_be, given)
    values = [positive("class_weights", value) for value in given]
    parts = [max(round(value / max(values) * _ONE), 1) for value in values]
    if parts == [_ONE] * len(parts):
        return ()
    return tuple((name, Fraction(part, _ONE)) for name, part in zip(class_names(classes), parts, strict=True))


def weight_facts(rows: int, ring: IntegerRing) -> InputFacts:
    """Return what is public of an owner's weights, as they are shared."""
    return InputFacts((rows,), FixedPoint(WEIGHT_BITS, ring), 1.0)


def encoded_weights(weights: npt.NDArray[Any], bound: Fraction) -> npt.NDArray[np.float64]:
    """Return an owner's weights as they are shared, or raise RangeError. Runs at the owner."""
    values, most = np.asarray(weights, dtype=np.float64), float(bound)
    wrong = ~np.isfinite(values) | beyond(np.where(np.isfinite(values), values, 0.0), 0.0, most)
    if wrong.any():
        raise RangeError(
            f"{int(wrong.sum()):,} of {len(values):,} weights are not from 0 to the agreed weight_bound, {most:g} (the "
            f"first in row {int(np.argmax(wrong))}, counted from 0). Correct them, or agree on a larger bound."
        )
    return np.asarray(np.rint(np.clip(values / most, 0, 1) * _ONE) / _ONE)


def not_negative(weights: SecretArray) -> tuple[SecretArray, ...]:
    """Return what is not negative exactly if a weight keeps to the rules; weights: integers, any of the ring."""
    return weights, -weights + _ONE


def by_class(labels: SecretArray, class_weights: Shares) -> SecretArray:
    """Return the weight of every record's class. labels: 0 and 1, or of several classes rows of them (a one for every
    class but the first), of records that passed the check; else anything. Local: a sum with public factors."""
    first, *others = (int(weight * _ONE) for _, weight in class_weights)
    columns = [labels] if len(others) == 1 else [labels[:, k] for k in range(len(others))]
    total = columns[0] * (others[0] - first) + first
    for column, weight in zip(columns[1:], others[1:], strict=True):
        total = total + column * (weight - first)
    return tighten(total.ldexp(-WEIGHT_BITS), Fraction(1))


def in_the_clear(
    labels: npt.NDArray[Any], class_weights: Shares, weights: npt.NDArray[Any] | None
) -> npt.NDArray[np.float64] | None:
    """Return what every record counts, from 0 to 1, for simulations; None: all count 1. weights: as they are shared."""
    if class_weights:
        return np.array([float(weight) for _, weight in class_weights])[np.asarray(labels, dtype=np.int64)]
    return None if weights is None else np.asarray(weights, dtype=np.float64)
