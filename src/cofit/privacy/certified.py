"""The parts of a certificate: what was opened, what was released with noise, and the statement of the method.

A statement is tagged with its ``method`` and has the fields of that method alone. Another method is another class here,
with a tag of its own, and a check in ``certificate_checks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from cofit.arithmetic import reals
from cofit.privacy.events import Event
from cofit.privacy.mechanisms import mechanism_named
from cofit.privacy.safe_rounding import ROOT_BITS, root_up
from cofit.privacy.strict_fields import LATER


@dataclass(frozen=True)
class CertifiedOpening:
    """One entry of the audit log: what was opened, why, and who learned it. Never the value."""

    number: int
    reason: str
    shape: tuple[int, ...]
    learned_by: tuple[str, ...]


@dataclass(frozen=True)
class CertifiedRelease:
    """One noisy release: a function of the data and of earlier releases, plus noise. Not all of them are opened.

    sensitivity: how far one record moves it, in its ``norm``; scale: the parameter of the noise. Both are counted in
    steps of ``grid``. sampler_distance: over all coordinates together.
    """

    name: str
    noise: str
    norm: str
    dimension: int
    grid: str
    sensitivity: Fraction
    scale: Fraction
    sampler_distance: Fraction

    @property
    def event(self) -> Event:
        """The release as the accountant sees it."""
        kind = mechanism_named(self.noise)
        make = kind.event_in(self.norm)
        return make(self.name, self.sensitivity, self.scale, self.dimension, self.sampler_distance)


@dataclass(frozen=True)
class CertifiedMinimiser:
    """Noise on the minimiser, the paper's method: how far one record moves the computed weights, and their noise.

    l2: Lambda. gradient_bound: G, of the derivative of one record's loss; sensitivity_kind: how it was found.
    sensitivity_exact: 2 G / (n Lambda), how far a record moves the exact minimiser. tau: how far the computed weights
    are from it at most, the sum of ``tau_parts``; None: not bounded. sensitivity_total: what the noise was calibrated
    to. noise_scale: its parameter, in units of the weights, which are multiples of ``grid``.
    """

    l2: Fraction
    solver: str
    gradient_bound: Fraction
    sensitivity_kind: str
    sensitivity_exact: Fraction
    tau: float | None
    tau_parts: Mapping[str, float]
    sensitivity_total: Fraction
    noise_scale: Fraction
    noise_scale_name: str
    grid: str
    method: Literal["minimiser"] = "minimiser"


@dataclass(frozen=True)
class CertifiedDescent:
    """Where the sensitivity of a step comes from: one record adds at most ``reach`` to the sum of gradients.

    residual_bound: of its clipped residual, times the step's factor. row_bound: of its row's length, with the errors of
    scaling. rounding: what truncations of its factors add. constant: its entry in the intercept's column. mean_width:
    the length of the interval that the mean of a row lies in, where there is a level; of clipped rows, the length of a
    row, where there is a radius; else 0. outputs: how many columns of weights there are, one for every class where
    there are several; others: what a record counts in the column of a class that is not its own, at most, times the
    step's factor. The weights are the mean of the last ``averaged`` of all ``steps``; step_size: what the sum of rows
    times residuals of at most 1 is multiplied by, noise included.
    """

    norm: str
    steps: int
    averaged: int
    step_size: Fraction
    residual_bound: Fraction
    row_bound: Fraction
    rounding: Fraction
    constant: Fraction
    mean_width: Fraction
    method: Literal["descent"] = "descent"
    outputs: int = field(default=1, metadata=LATER)
    others: Fraction = field(default=Fraction(0), metadata=LATER)

    @property
    def factor(self) -> tuple[Fraction, Fraction]:
        """(a, u): step_size is a times a power of two, and the residual, times a, is at most a + u."""
        factor = self.step_size * Fraction(2) ** reals.floor_log2(self.residual_bound / self.step_size)
        return factor, self.residual_bound - factor

    @property
    def joint_bound(self) -> Fraction:
        """The Euclidean length of a record's residuals in all columns of weights together, at most."""
        if self.outputs == 1:
            return self.residual_bound
        own, unit = self.factor
        exact = root_up(own**2 + (self.outputs - 1) * self.others**2, ROOT_BITS)
        return exact + root_up(Fraction(self.outputs), ROOT_BITS) * unit

    @property
    def reach(self) -> Fraction:
        """The length of what one record adds, at most."""
        row = self.joint_bound * self.row_bound + self.rounding
        constant = self.constant * self.joint_bound
        return row + constant if self.norm == "l1" else root_up(row**2 + constant**2, ROOT_BITS)


Statement: TypeAlias = CertifiedMinimiser | CertifiedDescent
"""What a method states of itself; in JSON the field ``method`` tells which one it is."""
