"""Arbitrary certificates that hold, for tests of what is true of all of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from cofit.privacy.certificate import (
    ROLES,
    Certificate,
    CertifiedDescent,
    CertifiedOpening,
)
from cofit.privacy.mechanisms import MECHANISMS
from cofit.privacy.zcdp import gaussian_sigma, total_delta
from cofit.sharing import SCHEMES, scheme_named
from unit.privacy.certificates import descent_facts, minimiser_facts, with_statement

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
    count = draw(st.sampled_from(info.counts or range(info.parties[0], 4)))
    named = draw(st.lists(names, min_size=count + 1, max_size=count + 1, unique=True))
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
        "threshold": info.spec(count).corrupted,
        "soundness_bits": info.soundness_bits,
        "statistical_bits": info.statistical_bits,
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
