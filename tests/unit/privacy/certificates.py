"""Certificates for tests, of both methods: examples, and those of plans."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from typing import Any

from cofit.errors import InvalidInputError
from cofit.learn.certify import certify
from cofit.learn.facts import training_facts
from cofit.learn.inputs import FEATURES, LABELS
from cofit.learn.plan import plan_training
from cofit.learn.stated_facts import facts_as_stated
from cofit.privacy.accountant import at_epsilon, sigma_for, split
from cofit.privacy.certificate import (
    ROLES,
    Certificate,
    CertifiedDescent,
    CertifiedMinimiser,
    CertifiedOpening,
    CertifiedRelease,
)
from cofit.privacy.events import Event, LaplaceEvent, gaussian_event
from cofit.privacy.mechanisms import MECHANISMS
from cofit.privacy.safe_rounding import root_up
from cofit.sharing import scheme_named

DISTANCE = Fraction(1, 1 << 60)
REP3 = scheme_named("rep3").info
STATED = tuple(field.name for field in fields(CertifiedMinimiser) if field.name != "method")
SPREADS = {"laplace": math.sqrt(2), "gaussian": 1.0}

_STUDY: dict[str, Any] = {
    "cofit_version": "0.1.0",
    "software": {"python": "3.11.7", "numpy": "2.4.6"},
    "created": "2026-03-01",
    "study": None,
    "facts": facts_as_stated(training_facts(1713, 11, recipe="paper", mechanism="laplace", epsilon=0.5)),
    "check_delta": Fraction(0),
    "plan_hash": "5f0c1ad1c1c5e8b7d1f6f3a2a8f6f7b4f1b0d7c4a9e2f3b6c5d8e1f0a7b2c3d4",
    "proven": True,
    "warnings": (),
    "assumptions": (
        "No two of the computing parties collude, and each of them follows the protocol.",
        "AES-256 is a pseudorandom function.",
        "Every owner scaled its records to length 1 or less, as the software does.",
    ),
    "n": 1713,
    "d": 12,
    "partition": "horizontal",
    "normalised_by": "owners",
    "scheme": "rep3",
    "secret": True,
    "adversary": REP3.adversary,
    "threshold": REP3.spec().corrupted,
    "parties": ("party-a", "party-b", "party-c"),
    "dealers": (),
    "owners": {"clinic-a": {"X": (1000, 12), "y": (1000,)}, "clinic-b": {"X": (713, 12), "y": (713,)}},
    "learned": {
        "owners": ("The published model.",),
        "parties": ("The published model.", "The names of the owners and how many records each of them has."),
        "analyst": ("The published model.",),
        "public": ("The published model.", "This certificate."),
    },
    "openings": (
        CertifiedOpening(1, "the weights with noise, the one release of this study", (12,), ("party-a", "party-b")),
    ),
}


def minimiser_facts(**facts: Any) -> dict[str, Any]:
    """Everything that the fields of a certificate of the minimiser repeat of one another, beside ``facts``."""
    grid = Fraction(2) ** int(facts["grid"].removeprefix("2^"))
    d, mechanism, scale = facts["d"], facts["mechanism"], facts["noise_scale"]
    sensitivity, steps = facts["sensitivity_total"] / grid, scale / grid
    release = CertifiedRelease(
        "weights", mechanism, "L2", d, facts["grid"], sensitivity, steps, facts["sampler_distance"]
    )
    rule = "pure"
    if mechanism == "gaussian":
        try:
            event = gaussian_event("weights", sensitivity, steps, d, facts["sampler_distance"])
            rule = at_epsilon([event], facts["epsilon"]).rule
        except InvalidInputError:
            rule = "gdp"
    spread = SPREADS.get(mechanism, math.sqrt(d))
    return {
        "releases": (release,),
        "rule": rule,
        "noise_scale_name": MECHANISMS[mechanism].scale_name,
        "noise_expected_norm": float(scale) * spread * math.sqrt(d),
        "delta": Fraction(1, 10**12) if mechanism == "gaussian" else Fraction(0),
    }


def with_statement(**facts: Any) -> Certificate:
    """The certificate of these fields, of which those of the minimiser are in its statement."""
    statement = CertifiedMinimiser(**{name: facts.pop(name) for name in STATED})
    return Certificate(**facts, statement=statement)


def changed(certificate: Certificate, **change: Any) -> Certificate:
    """The certificate with other fields, in itself or in its statement."""
    of_statement = {name: change.pop(name) for name in vars(certificate.statement) if name in change}
    return replace(certificate, **{"statement": replace(certificate.statement, **of_statement), **change})


def restated(certificate: Certificate, **change: Any) -> Certificate:
    """The certificate of the minimiser with a change, and with every field that repeats it changed along."""
    facts = vars(certificate) | {name: getattr(certificate.statement, name) for name in STATED} | change
    if "n" in change:
        facts["owners"] = {"clinic": {"X": (facts["n"], facts["d"])}}
    del facts["statement"]
    return with_statement(**{**facts, **minimiser_facts(**facts), **change})


_EXAMPLE: dict[str, Any] = {
    **_STUDY,
    "recipe": "paper",
    "epsilon": Fraction(1, 2),
    "delta_total": Fraction(7729853891220999463, 83076749736557242056487941267521536),
    "sampler_distance": Fraction(5308419, 151115727451828646838272),
    "mechanism": "laplace",
    "noise_scale": Fraction(22907899, 4294967296),
    "noise_distribution": "independent discrete Laplace noise of scale 0.00533366 in every coordinate",
    "grid": "2^-28",
    "model": "logistic regression",
    "loss": "logistic",
    "l2": Fraction(1),
    "solver": "gradient descent, step 2 / (2 Lambda + 1/4)",
    "epochs": 10,
    "gradient_bound": Fraction(2830581311, 4294967296),
    "sensitivity_kind": "tight",
    "sensitivity_exact": Fraction(2830581311, 3678639489024),
    "tau": 1.7881393432617188e-07,
    "tau_parts": {"epochs left out": 1.2e-07, "sigmoid polynomial": 3e-08, "truncation": 2.881393432617188e-08},
    "sensitivity_total": Fraction(108346419829, 140737488355328),
}
EXAMPLE = with_statement(**{**_EXAMPLE, **minimiser_facts(**_EXAMPLE)})

UNPROVEN: dict[str, Any] = {
    "proven": False,
    "tau": None,
    "tau_parts": {},
    "warnings": ("Momentum was used, for which no bound of the solver's error is known.", "It was slow."),
}


def release_of(event: Event, grid: str) -> CertifiedRelease:
    """What a certificate says of an event."""
    return CertifiedRelease(
        event.name,
        event.kind,
        event.norm,
        event.dimension,
        grid,
        event.sensitivity,
        event.scale,
        event.sampler_distance,
    )


def descent_facts(
    *,
    d: int = 12,
    descent: CertifiedDescent,
    grid_bits: int = 12,
    centre: bool = False,
    epsilon: Fraction = Fraction(1, 2),
    delta: Fraction = Fraction(1, 10**6),
) -> dict[str, Any]:
    """The fields of a valid certificate of noisy descent, with the least noise that the accountant accepts, nearly.

    ``delta`` is that of Gaussian noise. There is a level where ``descent`` has the width of a mean.
    """
    grid = f"2^-{grid_bits}"
    sizes = {"level": 1} if descent.mean_width else {}
    sizes |= {"centre": d - int(descent.constant > 0)} if centre else {}
    sizes |= {f"step {t + 1}": d for t in range(descent.steps)}
    lengths = {"level": Fraction(0), "centre": Fraction(1)}
    events: list[Event] = []
    for name, size in sizes.items():
        ones = Fraction(size) if descent.norm == "l1" else root_up(Fraction(size), 40)
        sensitivity = 2 * lengths.get(name, descent.reach) * (1 << grid_bits) + 2 * ones
        if name == "level":
            sensitivity = descent.mean_width * (1 << 15)
        if descent.norm == "l1":
            events.append(LaplaceEvent(name, sensitivity, sensitivity * len(sizes) / epsilon, size, size * DISTANCE))
        else:
            whole = split(epsilon, delta, {"all": Fraction(1)})["all"]
            events.append(
                gaussian_event(name, sensitivity, sigma_for(sensitivity, whole / len(sizes)), size, size * DISTANCE)
            )
    account = at_epsilon(events, epsilon)
    mechanism = "laplace" if descent.norm == "l1" else "gaussian"
    return {
        **_STUDY,
        "recipe": "best",
        "d": d,
        "epsilon": epsilon,
        "delta": delta if mechanism == "gaussian" else Fraction(0),
        "delta_total": max(delta if mechanism == "gaussian" else Fraction(0), account.delta),
        "sampler_distance": sum((event.sampler_distance for event in events), Fraction(0)),
        "rule": account.rule,
        "releases": tuple(release_of(e, "2^-15" if e.name == "level" else grid) for e in events),
        "mechanism": mechanism,
        "noise_distribution": f"independent discrete {mechanism} noise in every coordinate of every release",
        "noise_expected_norm": _length(descent, d, [e.scale for e in events[-descent.steps :]], grid_bits),
        "model": "logistic regression with clipped gradients",
        "loss": "logistic",
        "epochs": descent.steps,
        "statement": descent,
        "openings": (CertifiedOpening(1, "the noisy weights", (sum(sizes.values()) - (descent.steps - 1) * d,), ()),),
    }


def _length(descent: CertifiedDescent, d: int, scales: Sequence[Fraction], grid_bits: int) -> float:
    """The root mean square of the noise in the weights; the last steps are not in all of the averaged iterates."""
    halvings = 0
    while descent.step_size * Fraction(2) ** (halvings + 1) <= descent.residual_bound:
        halvings += 1
    variance = Fraction(0)
    for t, scale in enumerate(scales):
        variance += (scale * min(descent.averaged, descent.steps - t) / descent.averaged) ** 2
    spread = math.sqrt(2) if descent.norm == "l1" else 1.0
    return math.ldexp(math.sqrt(float(d * variance)) * spread, -grid_bits - halvings)


_STEP = CertifiedDescent(
    norm="l2",
    steps=4,
    averaged=2,
    step_size=Fraction(3, 4) / 256,
    residual_bound=Fraction(3, 4) + Fraction(1, 1 << 16),
    row_bound=1 + Fraction(1, 1 << 20),
    rounding=Fraction(16, 1 << 16),
    constant=Fraction(51, 256),
    mean_width=1 + Fraction(1, 1 << 12),
)
_DESCENT = descent_facts(descent=_STEP, centre=True) | {"normalised_by": "parties"}
_DESCENT["learned"] = dict.fromkeys(ROLES, ("The published model, with the level and the centre.",))
_DESCENT["openings"] = (
    CertifiedOpening(1, "the noisy weights: the one release of this study", (24,), ("party-a", "party-b", "party-c")),
)
DESCENT = Certificate(**_DESCENT)
"""With a level and a centre, and the least noise."""


def planned(rows: int = 1000, cols: int = 12, **facts: Any) -> Certificate:
    """The certificate of a real plan."""
    plan = plan_training(training_facts(rows, cols, **facts))
    shapes = {"clinic-a": {FEATURES: (rows, cols + plan.own_columns), LABELS: plan.target.shape(rows)}}
    return certify(plan, parties=("a", "b", "c"), owners=shapes, openings=(), created="2026-03-01")


PLANS: dict[str, dict[str, Any]] = {
    "steps alone": {"rows": 50, "cols": 40, "fit_intercept": False},
    "intercept": {"rows": 50, "cols": 40},
    "centre": {"rows": 1000, "cols": 12, "clip_rows": False},
    "level": {"rows": 200, "cols": 12, "feature_bound": 2.0, "feature_lower": 0.5, "epsilon": 2.0},
    "level and centre": {"rows": 1000, "cols": 12, "feature_bound": 1.0, "clip_rows": False},
    "parties": {"rows": 1000, "cols": 3, "normalised_by": "parties", "norm_floor": 0.3, "clip_rows": False},
    "vertical": {"rows": 1000, "cols": 12, "partition": "vertical", "clip_rows": False},
    "one column": {"rows": 1000, "cols": 1, "clip_rows": False},
    "clipped": {"rows": 3000, "cols": 12},
    "clipped, bounds": {"rows": 3000, "cols": 12, "feature_bound": 3.0, "partition": "vertical"},
    "clipped, one column": {"rows": 3000, "cols": 1, "fit_intercept": False, "calibrate_intercept": False},
    "wide ring": {"rows": 3_000_000, "cols": 300, "normalised_by": "parties", "epsilon": 30.0},
    "large steps": {"rows": 5, "cols": 50, "epsilon": 20.0, "delta": 1e-3},
    "pure": {"rows": 1000, "cols": 60, "delta": 0.0, "row_nonzeros": 5, "epsilon": 3.0},
    "pure in one step": {"rows": 1000, "cols": 60, "delta": 0.0, "row_nonzeros": 5, "fit_intercept": False},
    "calibrated": {"rows": 1000, "cols": 12, "calibrate_intercept": True, "clip_rows": False},
    "four classes": {"rows": 1000, "cols": 12, "clip_rows": False, "classes": 4},
    "three classes, parties": {
        **{"rows": 1000, "cols": 12, "clip_rows": False, "feature_bound": 1.0, "classes": 3},
        **{"calibrate_intercept": True},
    },
    "svm": {"rows": 1000, "cols": 12, "loss": "huber_hinge", "clip_rows": False},
    "hinge": {"rows": 1000, "cols": 12, "loss": "hinge", "clip_rows": False},
}
"""Facts of plans of noisy descent, of every kind."""
made = cache(lambda name: planned(**PLANS[name]))


def encoded(certificate: Certificate = EXAMPLE) -> dict[str, Any]:
    result = json.loads(certificate.to_json())
    assert isinstance(result, dict)
    return result
