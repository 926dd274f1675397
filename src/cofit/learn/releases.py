"""The noisy releases of a plan: one list, for the certificate and for the ledgers of owners and parties."""

from __future__ import annotations

from cofit.learn.plan import DescentPlan, MinimiserPlan, Plan
from cofit.learn.recipes.descent.clip import LONGEST
from cofit.learn.recipes.descent.plan import INTERCEPT, OPENED
from cofit.privacy.accounted import AccountedRelease, accounted
from cofit.privacy.certified import CertifiedRelease


def certified_releases(plan: Plan) -> tuple[CertifiedRelease, ...]:
    """Return every noisy release, in order, with its exact sensitivity and scale in steps of its grid."""
    return _of_descent(plan) if isinstance(plan, DescentPlan) else (_of_minimiser(plan),)


def accounted_releases(plan: Plan) -> tuple[AccountedRelease, ...]:
    """Return the same releases, each with its part of the one account of all of them."""
    return accounted(certified_releases(plan), plan.facts.epsilon)


def opened_in_words(plan: Plan) -> str:
    """Return what is opened: the noisy weights, and what a score needs beside them."""
    opened = ["the noisy weights"]
    if isinstance(plan, DescentPlan):
        words = {name: f"the noisy {word} of the rows" for name, word in OPENED.items()}
        words[INTERCEPT] = "the noisy calibration of the intercept"
        opened += [words[name] for name, (count, _) in plan.extras.items() if count]
    return ", ".join(opened)


def blank_release(plan: Plan) -> tuple[float, ...]:
    """Return what a release of this plan might be, of weights 0: for models that are not scored."""
    numbers = [0.0] * plan.released
    if isinstance(plan, DescentPlan) and plan.clipped:
        count = plan.layout.features + 1  # of stretches and the radius, at the end
        numbers[-count:] = [1.0] * (count - 1) + [float(LONGEST)]
    return tuple(numbers)


def _of_minimiser(plan: Plan) -> CertifiedRelease:
    assert isinstance(plan, MinimiserPlan)  # noqa: S101 (there are two kinds of plans)
    mechanism = plan.mechanism
    steps = 1 << mechanism.grid_bits
    return CertifiedRelease(
        "weights",
        mechanism.name,
        "L2",
        plan.cols,
        f"2^-{mechanism.grid_bits}",
        mechanism.sensitivity * steps,
        mechanism.scale * steps,
        mechanism.sampler_distance,
    )


def _of_descent(plan: DescentPlan) -> tuple[CertifiedRelease, ...]:
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
