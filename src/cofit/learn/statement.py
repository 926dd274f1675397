"""What a plan states of itself: in a certificate, and to whoever makes a model of its release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.privacy.certified import CertifiedRelease, Statement

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.row_map import RowMap


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


@dataclass(frozen=True)
class Scoring:
    """How rows are scored with a release: the numbers of a ``models.linear_model`` beside its weights."""

    intercept: float
    constant: float
    norm_floor: float = 0.0
    rows: RowMap | None = None
    shrinkage: float = 0.0
