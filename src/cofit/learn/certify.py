"""The certificate of a training run, from its plan and the public facts of the run.

A pure function but for the versions of the software: who knows plan and run gets the same certificate (``rebuild``).
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from cofit.arithmetic import Shape
from cofit.errors import parameter_error
from cofit.learn.base_plan import Plan
from cofit.learn.division import check_division
from cofit.learn.inputs import FEATURES, LABELS, WEIGHTS
from cofit.learn.losses import loss_named
from cofit.learn.stated_facts import facts_as_stated
from cofit.privacy.certificate import Certificate, CertifiedOpening
from cofit.privacy.mechanisms import mechanism_named
from cofit.secret import Opening
from cofit.sharing import Spec

OWNER = "a certificate"
SOFTWARE = ("numpy", "cryptography", "mpmath")
_MOST_SHOWN = 5


def certify(
    plan: Plan,
    *,
    parties: Sequence[str],
    owners: Mapping[str, Mapping[str, Shape]],
    openings: Sequence[Opening],
    created: str,
    warnings: Sequence[str] = (),
    dealer: str | None = None,
    study: str | None = None,
) -> Certificate:
    """Return the certificate. ``owners``: the public shapes of what each contributed; ``created``: ISO 8601.

    ``warnings``: of the run, beside those of the plan. ``study``: its hash; None for a run without one.
    """
    facts, spec = plan.facts, plan.facts.spec(len(parties))
    _check_shapes(plan, owners)
    return Certificate(
        cofit_version=version("cofit"),
        software={"python": platform.python_version(), **{name: version(name) for name in SOFTWARE}},
        created=created,
        study=study,
        plan_hash=plan.hash,
        facts=facts_as_stated(facts),
        proven=plan.proven,
        warnings=(*plan.warnings, *warnings),
        assumptions=_assumptions(plan, spec),
        epsilon=facts.epsilon,
        delta=facts.delta,
        delta_total=plan.total_delta,
        check_delta=plan.check_delta,
        recipe=facts.recipe,
        n=facts.rows,
        d=plan.opened.weights,
        partition=facts.partition,
        normalised_by=facts.normalised_by,
        epochs=plan.epochs,
        scheme=spec.name,
        secret=spec.secret,
        adversary=spec.adversary,
        threshold=spec.corrupted,
        soundness_bits=spec.soundness_bits,
        statistical_bits=spec.statistical_bits,
        parties=tuple(parties),
        dealers=() if dealer is None else (dealer,),
        owners=owners,
        learned=_learned(plan, spec, dealer),
        openings=tuple(CertifiedOpening(o.number, o.reason, o.shape, o.learned_by) for o in openings),
        **vars(plan.stated()),
    )


def _check_shapes(plan: Plan, owners: Mapping[str, Mapping[str, Shape]]) -> None:
    """Raise unless the owners' shapes make up the rows, columns and labels of the plan."""
    facts = plan.facts
    features = {owner: shapes[FEATURES] for owner, shapes in owners.items() if FEATURES in shapes}
    labels = {owner: shapes[LABELS] for owner, shapes in owners.items() if LABELS in shapes}
    weights = {owner: shapes[WEIGHTS] for owner, shapes in owners.items() if WEIGHTS in shapes}
    width, known = facts.input_cols + plan.own_columns, {FEATURES, LABELS, WEIGHTS}
    sound = all(shapes and set(shapes) <= known for shapes in owners.values())
    sound &= all(len(shape) == 2 for shape in features.values())
    sound &= all(shape and shape == plan.target.shape(shape[0]) for shape in labels.values())
    if sound and facts.partition == "horizontal":
        sound = {owner: shape[0] for owner, shape in features.items()} == {o: shape[0] for o, shape in labels.items()}
        sound = sound and {shape[1] for shape in features.values()} == {width}
        sound = sound and sum(shape[0] for shape in features.values()) == facts.rows
    elif sound:
        rows = {shape[0] for shape in (*features.values(), *labels.values())}
        sound = rows == {facts.rows} and len(labels) == 1 and sum(shape[1] for shape in features.values()) == width
    sound = sound and weights == ({} if facts.weight_bound is None else {o: (shape[0],) for o, shape in labels.items()})
    if sound and facts.shards is not None:
        check_division(facts.shards, {o: n[0] for shapes in (features, labels) for o, n in shapes.items()}, OWNER)
    if not sound:
        labelled = f"{facts.rows} labels" + ("" if facts.weight_bound is None else " with their weights")
        must_be = f"shapes that make up {facts.rows} rows, {width} columns and {labelled} ({facts.partition})"
        got = [dict(shapes) for shapes in owners.values()][:_MOST_SHOWN]
        raise parameter_error("owners", OWNER, must_be, got)


def _assumptions(plan: Plan, spec: Spec) -> tuple[str, ...]:
    chosen = "penalty" if plan.facts.recipe == "paper" else "how the budget is divided"
    agreed = f"rows, columns, bounds, {chosen}, {plan.target.agreed}"
    return (
        f"computing parties, corrupted at most: {spec.corrupted}; {spec.protects}; {spec.assumptions}",
        "every person is in the data with at most one record",
        f"the study itself ({agreed}) was not chosen by looking at the data",
        "this is the only release from these data, or its epsilon and delta are added to those of the others",
        "SHA-256 and AES-256 make the coin that rows and labels are checked by as good as random",
        *_shards(plan),
        *_reference(plan),
        *_from_outside(plan),
    )


def _shards(plan: Plan) -> list[str]:
    """Who counts as a computing party, where each is several processes."""
    if plan.facts.shards is None:
        return []
    return [
        "the workers of a computing party are its own, and count as that party: whoever has one of them has what it "
        "holds of the party's shares"
    ]


def _reference(plan: Plan) -> list[str]:
    """What of the claim rests on a public reference."""
    if plan.facts.reference is None:
        return []
    return [
        f"the reference map {plan.facts.reference} is public and was made from no record of these data: the guarantee "
        "does not cover the rows that it was made from"
    ]


def _from_outside(plan: Plan) -> list[str]:
    """What of the claim rests on code that was registered, and is not part of cofit."""
    said = "is not part of cofit: its bounds, proofs and code are as right as whoever added it made them"
    loss = loss_named(plan.facts.loss)
    parts: dict[str, object] = {
        f"loss {loss.name!r}": loss,
        f"target {plan.target.name!r}": plan.target,
        f"mechanism {plan.mechanism_name!r}": mechanism_named(plan.mechanism_name),
    }
    return [f"{name} {said}" for name, part in parts.items() if part.__module__.partition(".")[0] != "cofit"]


def _learned(plan: Plan, spec: Spec, dealer: str | None) -> dict[str, tuple[str, ...]]:
    nothing_else = "nothing else of anybody's data"
    weights = plan.revealed
    facts = f"the public facts: rows, columns, who contributed how many, the {plan.target.agreed}, and the plan"
    if plan.facts.shards is not None:
        facts += f", by which every party divides its rows evenly among {plan.facts.shards} of its own processes"
    dealt = {} if dealer is None else {"dealer": (facts, "nothing of anybody's data, and not the weights")}
    return {
        **dealt,
        "owners": (f"{weights}, once they are published", facts, nothing_else),
        "parties": (weights, facts, nothing_else if spec.secret else "all of the data, of every owner"),
        "analyst": (f"{weights} and this certificate", nothing_else),
        "public": (f"{weights} and this certificate, if they are published", nothing_else),
    }
