"""Certificates for tests, of both methods: examples, and valid ones of any numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

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
from cofit.privacy.zcdp import gaussian_sigma, total_delta
from cofit.sharing import SCHEMES, scheme_named

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
    shapes = {"clinic-a": {FEATURES: (rows, cols + plan.own_columns), LABELS: (rows,)}}
    return certify(plan, parties=("a", "b", "c"), owners=shapes, openings=(), created="2026-03-01")


def encoded(certificate: Certificate = EXAMPLE) -> dict[str, Any]:
    result = json.loads(certificate.to_json())
    assert isinstance(result, dict)
    return result


# --- arbitrary certificates ------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8", categories=["L", "M", "N", "P", "S"]), min_size=1, max_size=4)
lines = st.tuples(words, st.sampled_from(["", " ", " and " * 30, "-" * 150]), words).map("".join)
names = st.tuples(words, st.sampled_from(["", " ", "-" * 20]), words).map("".join).filter(str.isprintable)
shapes = st.lists(st.integers(0, 10**6), max_size=3).map(tuple)
sentences = st.lists(lines, max_size=3).map(tuple)
positive = st.fractions(Fraction(1, 10**6), 50, max_denominator=10**9)
taus = st.dictionaries(lines, st.integers(0, 2**40).map(lambda steps: steps / 2**60), max_size=3)
hashes = st.binary(min_size=32, max_size=32).map(bytes.hex)
public_facts = (
    st.none() | lines | st.integers(-(10**9), 10**9) | st.booleans() | st.dictionaries(lines, lines, max_size=2)
)
small = st.fractions(0, Fraction(1, 16), max_denominator=10**9)
deltas = st.fractions(Fraction(1, 10**12), Fraction(1, 10), max_denominator=10**13)


@st.composite
def studies(draw: st.DrawFn) -> dict[str, Any]:
    """The fields that no proof is about; nothing is opened."""
    info = scheme_named(draw(st.sampled_from(sorted(SCHEMES)))).info
    fewest, most = info.parties
    named = draw(st.lists(names, min_size=fewest + 1, max_size=(most or 3) + 1, unique=True))
    n, partition = draw(st.integers(2, 10**6)), draw(st.sampled_from(["horizontal", "vertical"]))
    first = draw(st.integers(1, n - 1)) if partition == "horizontal" else n
    owners = dict(
        zip(draw(st.tuples(names, names).filter(lambda two: two[0] != two[1])), (first, n - first), strict=True)
    )
    return {
        "cofit_version": draw(lines),
        "software": draw(st.dictionaries(lines, lines, max_size=3)),
        "created": draw(st.dates().map(str) | st.datetimes().map(lambda moment: moment.isoformat())),
        "study": draw(st.none() | hashes),
        "plan_hash": draw(hashes),
        "facts": draw(st.dictionaries(lines, public_facts, max_size=3)),
        "check_delta": Fraction(0),
        "n": n,
        "warnings": draw(sentences),
        "assumptions": draw(sentences),
        "noise_distribution": draw(lines),
        "model": draw(lines),
        "loss": draw(lines),
        "partition": partition,
        "scheme": info.name,
        "secret": info.secret,
        "adversary": info.adversary,
        "threshold": info.spec(len(named) - 1).corrupted,
        "parties": tuple(named[:-1]),
        "dealers": (named[-1],) if info.dealer else (),
        "owners": {name: {draw(lines): (rows or n, *draw(shapes))} for name, rows in owners.items()},
        "learned": {role: draw(sentences) for role in (*ROLES, *(["dealer"] if info.dealer else []))},
        "openings": (),
    }


def opened(draw: st.DrawFn, study: dict[str, Any], most: int) -> tuple[CertifiedOpening, ...]:
    """At most two openings, of no more numbers together."""
    learners = st.lists(st.sampled_from(study["parties"]), max_size=2).map(tuple)
    shape = st.integers(0, most // 2).map(lambda size: (size, 1))
    return tuple(draw(st.lists(st.builds(CertifiedOpening, st.integers(1, 99), lines, shape, learners), max_size=2)))


@st.composite
def minimisers(draw: st.DrawFn) -> Certificate:
    """Valid certificates of the minimiser."""
    study = draw(studies())
    proven = draw(st.booleans())
    mechanism = draw(st.sampled_from(sorted(MECHANISMS)))
    grid_bits = draw(st.integers(0, 16 if mechanism == "gaussian" else 99))
    n, d, l2, bound = study["n"], draw(st.integers(1, 10**4)), draw(positive), draw(positive)
    epsilon = draw(positive)
    distance = draw(st.fractions(Fraction(1, 2**200), Fraction(1, 2**20)))
    delta = draw(deltas)
    parts = draw(taus)
    tau = math.fsum(parts.values()) if proven or draw(st.booleans()) else None
    if mechanism == "gaussian":  # of at most 2^40 steps
        epsilon, l2 = max(epsilon, Fraction(1, 100)), max(l2, Fraction(1, 100))
    exact = 2 * bound / (n * l2)
    total = exact + 2 * Fraction(tau or 0)
    if mechanism != "knorm":
        total += 2 * Fraction(math.isqrt(d) + 1, 1 << grid_bits)
    if mechanism == "gaussian":
        scale = gaussian_sigma(total, epsilon, delta)
    else:
        scale = total / epsilon * (math.isqrt(d) + 1 if mechanism == "laplace" else 1)
    facts = study | {
        "proven": proven,
        "warnings": study["warnings"] if proven else ("There is a reason.", *study["warnings"]),
        "recipe": "paper" if mechanism == "gaussian" else draw(st.sampled_from(["best", "paper"])),
        "epsilon": epsilon,
        "delta_total": total_delta(delta, distance, epsilon),
        "sampler_distance": distance,
        "mechanism": mechanism,
        "noise_scale": scale,
        "grid": f"2^-{grid_bits}",
        "l2": l2,
        "d": d,
        "normalised_by": draw(st.sampled_from(["owners", "parties"])),
        "solver": draw(lines),
        "epochs": draw(st.integers(0, 10**6)),
        "gradient_bound": bound,
        "sensitivity_kind": draw(st.sampled_from(["tight", "paper"])),
        "sensitivity_exact": exact,
        "tau": tau,
        "tau_parts": parts,
        "sensitivity_total": total,
        "openings": opened(draw, study, d),
    }
    derived = minimiser_facts(**facts)
    return with_statement(**{**facts, **derived, "delta": delta if mechanism == "gaussian" else Fraction(0)})


@st.composite
def descents(draw: st.DrawFn) -> Certificate:
    """Valid certificates of noisy descent."""
    study = draw(studies())
    norm = draw(st.sampled_from(["l2", "l2", "l1"]))
    by_parties = norm == "l2" and draw(st.booleans())
    level = by_parties and draw(st.booleans())
    centre = norm == "l2" and draw(st.booleans())
    d, steps = draw(st.integers(2, 10**4)), draw(st.integers(1, 6))
    scaled = draw(st.integers(13, 30))
    factor = Fraction(draw(st.integers(2048, 4096)), 4096)
    longest = math.isqrt(d) + 1 if by_parties else 1
    descent = CertifiedDescent(
        norm=norm,
        steps=steps,
        averaged=draw(st.integers(1, steps)),
        step_size=factor / 2 ** draw(st.integers(0, 20)),
        residual_bound=factor + Fraction(1, 1 << scaled),
        row_bound=1 + draw(small),
        rounding=Fraction(longest + 2, 1 << scaled) if by_parties or centre else draw(small),
        constant=Fraction(draw(st.integers(0, 256)), 256),
        mean_width=draw(st.fractions(Fraction(1, 1000), 2, max_denominator=10**6)) if level else Fraction(0),
    )
    epsilon = draw(st.fractions(Fraction(1, 100), 50, max_denominator=10**9))
    facts = descent_facts(
        d=d,
        descent=descent,
        grid_bits=draw(st.integers(0, 20)),
        centre=centre,
        epsilon=epsilon,
        delta=draw(deltas),
    )
    facts |= {**study, "normalised_by": "parties" if by_parties else "owners"}
    return Certificate(**{**facts, "openings": opened(draw, study, d)})


certificates = minimisers() | descents()
