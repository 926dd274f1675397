"""The certificate of a training run, from its plan and the public facts of the run."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from cofit.arithmetic import Shape
from cofit.learn.plan import Plan
from cofit.privacy.certificate import Certificate, CertifiedOpening
from cofit.secret import Opening
from cofit.sharing import scheme_named

SOFTWARE = ("numpy", "cryptography", "mpmath")


def certify(
    plan: Plan,
    *,
    parties: Sequence[str],
    owners: Mapping[str, Mapping[str, Shape]],
    openings: Sequence[Opening],
    created: str,
    warnings: Sequence[str] = (),
    dealer: str | None = None,
) -> Certificate:
    """Return the certificate. ``owners``: the public shapes of what each contributed; ``created``: ISO 8601.

    ``warnings``: of the run, beside those of the plan.
    """
    facts, mechanism, info = plan.facts, plan.mechanism, scheme_named(plan.facts.scheme).info
    return Certificate(
        cofit_version=version("cofit"),
        software={"python": platform.python_version(), **{name: version(name) for name in SOFTWARE}},
        created=created,
        plan_hash=plan.hash,
        proven=plan.proven,
        warnings=(*plan.warnings, *warnings),
        assumptions=_assumptions(plan),
        epsilon=facts.epsilon,
        delta=mechanism.delta,
        delta_total=mechanism.total_delta,
        sampler_distance=mechanism.sampler_distance,
        mechanism=mechanism.name,
        noise_scale=mechanism.scale,
        noise_scale_name=mechanism.scale_name,
        noise_expected_norm=mechanism.expected_norm,
        noise_distribution=mechanism.distribution,
        grid=f"2^-{mechanism.grid_bits}",
        model=plan.loss.title,
        loss=plan.loss.name,
        l2=facts.l2,
        n=facts.rows,
        d=plan.geometry.cols,
        partition=facts.partition,
        normalised_by=facts.normalised_by,
        solver=plan.solver.name,
        epochs=plan.epochs,
        gradient_bound=plan.objective.gradient_bound,
        sensitivity_kind=facts.sensitivity,
        sensitivity_exact=plan.objective.sensitivity,
        tau=plan.tau,
        tau_parts={name: part for name, part in plan.tau_parts.items() if part is not None},
        sensitivity_total=mechanism.sensitivity,
        scheme=info.name,
        secret=info.secret,
        adversary=info.adversary,
        threshold=info.threshold,
        parties=tuple(parties),
        dealers=() if dealer is None else (dealer,),
        owners=owners,
        learned=_learned(plan, dealer),
        openings=tuple(CertifiedOpening(o.number, o.reason, o.shape, o.learned_by) for o in openings),
    )


def _assumptions(plan: Plan) -> tuple[str, ...]:
    info = scheme_named(plan.facts.scheme).info
    given = [
        f"computing parties, corrupted at most: {info.threshold}; {info.adversary}; {info.assumptions}",
        "every person is in the data with at most one record",
        "the study itself (rows, columns, bounds, penalty, classes) was not chosen by looking at the data",
        "this is the only release from these data, or its epsilon and delta are added to those of the others",
    ]
    kept = "normalised its rows as the study says"
    if plan.facts.normalised_by == "parties":
        kept = "kept to the agreed bound of its values"
    given.append(
        f"every owner {kept} and gave labels 0 and 1 only: nobody checks this inside the computation, and one owner "
        f"who breaks it can remove the protection of everybody's records"
    )
    return tuple(given)


def _learned(plan: Plan, dealer: str | None) -> dict[str, tuple[str, ...]]:
    nothing_else = "nothing else of anybody's data"
    facts = "the public facts: rows, columns, who contributed how many, the classes, and the plan"
    secret = scheme_named(plan.facts.scheme).info.secret
    dealt = {} if dealer is None else {"dealer": (facts, "nothing of anybody's data, and not the weights")}
    return {
        **dealt,
        "owners": ("the noisy weights, once they are published", facts, nothing_else),
        "parties": ("the noisy weights", facts, nothing_else if secret else "all of the data, of every owner"),
        "analyst": ("the noisy weights and this certificate", nothing_else),
        "public": ("the noisy weights and this certificate, if they are published", nothing_else),
    }
