"""What noisy descent states in a certificate: its releases, and where the sensitivity of a step comes from."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from cofit.learn.losses import loss_named
from cofit.learn.recipes.descent.formats import truncated_factors
from cofit.learn.statement import Stated
from cofit.privacy.certified import CertifiedDescent, CertifiedRelease
from cofit.privacy.release_names import LEVEL, RADIUS

if TYPE_CHECKING:
    from cofit.learn.recipes.descent.plan import DescentPlan


_LAWS = {
    "gaussian": "independent discrete Gaussian noise in every coordinate of every release",
    "laplace": "independent discrete Laplace noise in every coordinate of every release",
    "knorm": "K-norm noise in every release, a uniformly random direction times a Gamma length",
}


def stated_by_descent(plan: DescentPlan) -> Stated:
    """Return the fields of the certificate."""
    formats, layout = plan.formats, plan.layout
    return Stated(
        sampler_distance=sum((event.sampler_distance for event in plan.events), Fraction(0)),
        rule=plan.account.rule,
        releases=plan.releases,
        mechanism=plan.mechanism_name,
        noise_distribution=(
            f"{_LAWS[plan.mechanism_name]}; in a published weight its standard deviation is "
            f"{plan.noise_of_weights:.6g}, but for what later steps correct"
        ),
        noise_expected_norm=plan.noise_of_weights * math.sqrt(plan.opened.weights),
        model=loss_named(plan.facts.loss).clipped_title,
        loss=plan.facts.loss,
        statement=CertifiedDescent(
            norm=layout.norm,
            steps=plan.epochs,
            averaged=plan.averaged,
            step_size=formats.factor * Fraction(2) ** -formats.exponent,
            residual_bound=formats.largest_residual,
            row_bound=1 + formats.eta,
            rounding=truncated_factors(formats, layout),
            constant=formats.constant,
            mean_width=_width(plan),
            outputs=layout.outputs,
            others=formats.others,
        ),
    )


def certified_by_descent(plan: DescentPlan) -> tuple[CertifiedRelease, ...]:
    """Return every noisy release, in order."""
    return tuple(
        CertifiedRelease(
            event.name,
            event.kind,
            event.norm,
            event.dimension,
            f"2^-{plan.grid_of(event.name)}",
            event.sensitivity,
            event.scale,
            event.sampler_distance,
        )
        for event in plan.events
    )


def _width(plan: DescentPlan) -> Fraction:
    """Return the length of the interval that a record's part in the level or in the radius lies in; 0 without."""
    for event in plan.events:
        if event.name in (LEVEL, RADIUS):
            return event.sensitivity / (1 << plan.grid_of(event.name))
    return Fraction(0)
