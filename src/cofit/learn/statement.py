"""What a plan states of itself: in a certificate, and to whoever makes a model of its release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cofit.privacy.certified import CertifiedRelease, Statement

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.row_map import RowMap

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stated:
    """The fields of a certificate that a recipe fills in, under their names there."""

    sampler_distance: Fraction
    rule: str
    releases: tuple[CertifiedRelease, ...]
    mechanism: str
    noise_distribution: str
    noise_expected_norm: float
    model: str
    loss: str
    statement: Statement


def by_output(numbers: Reals) -> Any:
    """Return numbers, the last axis of which are outputs, as floats in tuples: without that axis if there is one."""
    plain = numbers[..., 0] if numbers.shape[-1] == 1 else np.moveaxis(numbers, -1, 0)
    return _tuples(plain.tolist())


def _tuples(values: Any) -> Any:
    return tuple(map(_tuples, values)) if isinstance(values, list) else values


@dataclass(frozen=True)
class Scoring:
    """How rows are scored with a release: the numbers of a ``models.linear_model`` beside its weights.

    intercept: a number, or one for every output where there are several.
    """

    intercept: float | tuple[float, ...]
    constant: float
    norm_floor: float = 0.0
    rows: RowMap | None = None
    shrinkage: float = 0.0
