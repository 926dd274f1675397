"""How a plan of the paper's method is made: solver, formats, epochs, tau and noise, from public facts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from cofit.arithmetic import IntegerRing, reals
from cofit.errors import InvalidInputError, RangeError, parameter_error
from cofit.learn.base_plan import large_delta
from cofit.learn.facts import AUTO_PURE, Facts
from cofit.learn.losses import Loss, loss_named
from cofit.learn.recipes.minimiser.formats import Formats, Geometry, choose_formats, encoding_error
from cofit.learn.recipes.minimiser.plan import SLACK, MinimiserPlan, rows_needed
from cofit.learn.recipes.minimiser.solvers import Solver, accelerated, gradient_descent, with_learning_rate
from cofit.learn.ring_choice import RINGS, reason_of
from cofit.learn.row_check import check_delta, check_of
from cofit.learn.usefulness import shown
from cofit.privacy.mechanisms import Mechanism, Wanted, calibrate
from cofit.privacy.objective import Objective, gradient_bound

_SMOOTHNESS_SLACK = 1 + Fraction(1, 1 << 6)  # rows as encoded may be longer than 1 by eta <= 2^-8
_GOOD_SHARE = 0.05
_LARGEST_SHARE = 0.25
_LARGEST_QUIET_DELTA = Fraction(1, 10**5)
_LARGEST_SAMPLER_DISTANCE = Fraction(1, 1 << 20)
_GLOROT_RADIUS = Fraction(245, 100)  # sqrt(6)
_FEW_EPOCHS = 60
_WIDE_RING_COST = 5.0  # an epoch in Z_2^128 against one in Z_2^64, as measured


def plan_minimiser(facts: Facts) -> MinimiserPlan:
    """Return the plan for these public facts, or raise InvalidInputError with the reason and the remedy."""
    loss = loss_named(facts.loss)
    bound = gradient_bound(loss.derivative_bound, facts.l2, facts.sensitivity)
    tight = gradient_bound(loss.derivative_bound, facts.l2, "tight")
    objective = Objective(facts.rows, facts.l2, bound)
    geometry = _geometry(facts)
    candidates: list[_Candidate] = []
    refusals: list[RangeError] = []
    for ring in RINGS:
        if any(c.share is not None and c.share <= _GOOD_SHARE and c.epochs <= _FEW_EPOCHS for c in candidates):
            break  # the larger ring costs more
        for solver in _solvers(facts, loss):
            try:
                candidates.append(_candidate(facts, geometry, solver, loss, ring, tight))
            except RangeError as error:
                refusals.append(error)
    if not candidates:
        raise refusals[-1]
    good = [c for c in candidates if c.share is not None and c.share <= _GOOD_SHARE]
    chosen = (
        min(good, key=lambda c: c.cost)
        if good
        else min(candidates, key=lambda c: math.inf if c.share is None else c.share)
    )
    proven = chosen.share is not None and chosen.share <= _LARGEST_SHARE
    if not proven and not facts.allow_unproven:
        raise _unproven(facts, chosen)
    plan = _complete(facts, objective, geometry, chosen, proven)
    return replace(plan, ring_reason=_ring_reason(chosen, candidates, refusals))


def _ring_reason(chosen: _Candidate, candidates: list[_Candidate], refusals: list[RangeError]) -> str | None:
    """Return why the larger ring was chosen; None where it was not."""
    ring = chosen.formats.ring
    if ring is RINGS[0]:
        return None
    smaller = [candidate for candidate in candidates if candidate.formats.ring is RINGS[0]]
    if not smaller:
        return reason_of(refusals[0])
    good = [c for c in smaller if c.share is not None and c.share <= _GOOD_SHARE]
    if good:
        best = min(good, key=lambda c: c.cost)
        return (
            f"{chosen.solver.name} takes {chosen.epochs} epochs in it, and {best.solver.name} {best.epochs} in "
            f"{RINGS[0].name}; a larger l2 would fit"
        )
    best = min(smaller, key=lambda c: math.inf if c.share is None else c.share)
    rounding = reals.total(best.parts[name] or 0.0 for name in ("arithmetic", "encoding"))
    whole = reals.total(part or 0.0 for part in best.parts.values())
    share = 0.0 if best.share is None else best.share * rounding / whole
    if share <= _GOOD_SHARE:
        return f"it comes nearest to the minimiser; {RINGS[0].name} would not come near enough for a proof either"
    part = f"{share:,.0%}" if share >= 0.1 else f"{share:.1%}"
    return (
        f"rounding in {RINGS[0].name} could move the weights by {part} of what a record may, and {_GOOD_SHARE:.0%} is "
        f"the aim; a larger l2 or fewer rows would fit"
    )


@dataclass(frozen=True)
class _Candidate:
    solver: Solver
    formats: Formats
    epochs: int
    parts: dict[str, float | None]
    share: float | None
    cost: float


def _candidate(
    facts: Facts, geometry: Geometry, solver: Solver, loss: Loss, ring: IntegerRing, tight: Fraction
) -> _Candidate:
    formats = choose_formats(ring, geometry, solver, loss)
    own = int(facts.fit_intercept and facts.normalised_by == "owners")
    check_of(facts, ring.bits, formats.data, formats.eta, facts.cols + own)
    half_sensitivity = float(tight / (facts.rows * facts.l2))
    distance = float(
        formats.radius + solver.initial_radius
    )  # the minimiser for the encoded rows is within the radius too
    gradient = float(tight) * (1 + formats.eta)
    if facts.epochs is None:
        epochs = solver.epochs_for(float(facts.tolerance) * half_sensitivity, distance, gradient)
    else:
        epochs = facts.epochs
    parts = {
        "iterations": solver.remaining(epochs, distance, gradient),
        "arithmetic": solver.amplified(formats.step_error),
        "encoding": encoding_error(formats, tight, solver),
    }
    known = [part for part in parts.values() if part is not None]
    share = reals.total(known) / half_sensitivity if len(known) == len(parts) else None
    cost = epochs * (_WIDE_RING_COST if ring.words > 1 else 1.0)
    return _Candidate(solver, formats, epochs, parts, share, cost)


def _solvers(facts: Facts, loss: Loss) -> list[Solver]:
    smoothness = loss.smoothness * _SMOOTHNESS_SLACK
    if facts.learning_rate is not None:
        start = _GLOROT_RADIUS if facts.initial == "glorot" else Fraction(0)
        return [with_learning_rate(facts.l2, smoothness, facts.rows, facts.learning_rate, facts.momentum, start)]
    methods = []
    if facts.solver in ("auto", "gradient_descent"):
        methods.append(gradient_descent(facts.l2, smoothness, facts.rows))
    if facts.solver in ("auto", "accelerated"):
        methods.append(accelerated(facts.l2, smoothness, facts.rows))
    return methods


def _geometry(facts: Facts) -> Geometry:
    cols = facts.cols + int(facts.fit_intercept)
    if facts.normalised_by == "owners":
        return Geometry(facts.rows, cols)
    constant = facts.intercept_scaling / facts.feature_bound if facts.fit_intercept else Fraction(0)
    floor = max(constant, facts.norm_floor)
    return Geometry(facts.rows, cols, floor, needs_comparison=constant < floor)


def _complete(
    facts: Facts, objective: Objective, geometry: Geometry, chosen: _Candidate, proven: bool
) -> MinimiserPlan:
    counted = reals.total(part for part in chosen.parts.values() if part is not None) if proven else 0.0
    if not proven:
        rounding = (chosen.parts["arithmetic"] or 0.0) + (chosen.parts["encoding"] or 0.0)
        counted = rounding if rounding < float(objective.sensitivity) else 0.0
    mechanism = _mechanism(facts, geometry, chosen.formats, objective.sensitivity + 2 * Fraction(counted * SLACK))
    if mechanism.sampler_distance > _LARGEST_SAMPLER_DISTANCE:
        raise InvalidInputError(
            f"The noise of the {mechanism.name} mechanism can be sampled only to within "
            f"{float(mechanism.sampler_distance):.2g} of the ideal one here, and 2^-20 is required. Use mechanism "
            f"'laplace' or 'gaussian', which are exact on their grid."
        )
    warnings: list[str] = []
    if not proven:
        warnings.append(
            "the distance of the trained weights from the exact minimiser is not covered by the noise, so the privacy "
            "guarantee is not proven"
        )
    if mechanism.pure and mechanism.total_delta > _LARGEST_QUIET_DELTA:
        warnings.append(
            f"at this epsilon the distance of the sampler counts: delta is {float(mechanism.total_delta):.2g}; use a "
            f"smaller epsilon"
        )
    if mechanism.expected_norm > float(objective.radius):
        warnings.append(
            f"the noise (expected norm {mechanism.expected_norm:.3g}) is larger than any possible weight vector "
            f"({float(objective.radius):.3g}): expect a useless model; use more rows (about "
            f"{shown(rows_needed(facts, mechanism, objective))}), a larger epsilon, fewer columns, or delta > 0 with "
            f"the gaussian mechanism"
        )
    warnings += large_delta(facts)
    return MinimiserPlan(
        facts,
        objective,
        geometry,
        chosen.solver,
        chosen.formats,
        chosen.epochs,
        chosen.parts,
        mechanism,
        proven,
        tuple(warnings),
    )


def _mechanism(facts: Facts, geometry: Geometry, formats: Formats, sensitivity: Fraction) -> Mechanism:
    """Calibrate the mechanism that was asked for; without a wish, K-norm, or Laplace where that is sampled better."""
    names = ("knorm", "laplace") if facts.mechanism == AUTO_PURE else (facts.mechanism,)
    calibrated: list[Mechanism] = []
    refused: list[InvalidInputError] = []
    for name in names:
        try:
            wanted = Wanted(
                dimension=geometry.cols,
                sensitivity=sensitivity,
                epsilon=facts.epsilon,
                delta=facts.delta and facts.delta - check_delta(facts.delta),
                weights=formats.of(formats.weights),
                radius=formats.radius,
            )
            mechanism = calibrate(name, wanted)
        except InvalidInputError as error:
            refused.append(error)
            continue
        if mechanism.total_delta <= max(facts.delta, _LARGEST_SAMPLER_DISTANCE):
            return mechanism
        calibrated.append(mechanism)
    if not calibrated:
        raise refused[0]
    return min(calibrated, key=lambda mechanism: mechanism.total_delta)


def _unproven(facts: Facts, chosen: _Candidate) -> InvalidInputError:
    if chosen.share is None:
        return InvalidInputError(
            f"The weights after {chosen.epochs} epochs of {chosen.solver.name} are not proven to be near the "
            f"minimiser, so no privacy guarantee can be proven. Leave 'learning_rate' and 'momentum' out, or set "
            f"allow_unproven=True: the certificate will then say in its first line that nothing is proven."
        )
    largest = max(chosen.parts, key=lambda name: chosen.parts[name] or 0.0)
    if largest == "iterations":
        return parameter_error(
            "epochs",
            "a plan",
            f"large enough to come near the minimiser: the epochs left out may move the weights by "
            f"{chosen.share:.0%} of what a record may (at most {_LARGEST_SHARE:.0%} is admitted). Use epochs='auto', "
            f"or allow_unproven=True, which the certificate will say in its first line",
            facts.epochs,
        )
    return InvalidInputError(
        f"Rounding could move the weights by {chosen.share:.0%} of what a single record may (at most "
        f"{_LARGEST_SHARE:.0%} is admitted; largest part: {largest}). Use a larger l2, fewer rows, or, where the "
        f"parties normalise, a smaller feature_bound or an intercept."
    )
