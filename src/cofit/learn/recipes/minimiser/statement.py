"""What noise on the minimiser states in a certificate: its one release, and how far a record moves the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofit.learn.statement import Stated
from cofit.privacy.certified import CertifiedMinimiser, CertifiedRelease
from cofit.privacy.release_names import WEIGHTS

if TYPE_CHECKING:
    from cofit.learn.recipes.minimiser.plan import MinimiserPlan


def stated_by_minimiser(plan: MinimiserPlan) -> Stated:
    """Return the fields of the certificate."""
    mechanism, releases = plan.mechanism, plan.releases
    return Stated(
        sampler_distance=mechanism.sampler_distance,
        rule=mechanism.rule,
        releases=releases,
        mechanism=mechanism.name,
        noise_distribution=mechanism.distribution,
        noise_expected_norm=mechanism.expected_norm,
        model=plan.loss.title,
        loss=plan.loss.name,
        statement=CertifiedMinimiser(
            l2=plan.facts.l2,
            solver=plan.solver.name,
            gradient_bound=plan.objective.gradient_bound,
            sensitivity_kind=plan.facts.sensitivity,
            sensitivity_exact=plan.objective.sensitivity,
            tau=plan.tau,
            tau_parts={name: part for name, part in plan.tau_parts.items() if part is not None},
            sensitivity_total=mechanism.sensitivity,
            noise_scale=mechanism.scale,
            noise_scale_name=mechanism.scale_name,
            grid=releases[0].grid,
        ),
    )


def certified_by_minimiser(plan: MinimiserPlan) -> tuple[CertifiedRelease, ...]:
    """Return the one noisy release, in steps of its grid."""
    mechanism = plan.mechanism
    steps = 1 << mechanism.grid_bits
    release = CertifiedRelease(
        WEIGHTS,
        mechanism.name,
        "L2",
        plan.cols,
        f"2^-{mechanism.grid_bits}",
        mechanism.sensitivity * steps,
        mechanism.scale * steps,
        mechanism.sampler_distance,
    )
    return (release,)
