from __future__ import annotations

import json
import math
import pickle
import re
from dataclasses import FrozenInstanceError, fields, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cofit.errors import InvalidInputError
from cofit.privacy.accountant import at_epsilon, sigma_for
from cofit.privacy.certificate import ROLES, SCALE_NAMES, Certificate, CertifiedOpening
from cofit.privacy.events import gaussian_event
from cofit.privacy.gaussian_dp import largest_mu
from cofit.privacy.zcdp import gaussian_sigma, total_delta

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "certificate.md"

EXAMPLE = Certificate(
    cofit_version="0.1.0",
    software={"python": "3.11.7", "numpy": "2.4.6"},
    created="2026-03-01",
    plan_hash="5f0c1ad1c1c5e8b7d1f6f3a2a8f6f7b4f1b0d7c4a9e2f3b6c5d8e1f0a7b2c3d4",
    proven=True,
    warnings=(),
    assumptions=(
        "No two of the computing parties collude, and each of them follows the protocol.",
        "AES-256 is a pseudorandom function.",
        "Every owner scaled its records to length 1 or less, as the software does.",
    ),
    epsilon=Fraction(1, 2),
    delta=Fraction(0),
    delta_total=Fraction(7729853891220999463, 83076749736557242056487941267521536),
    sampler_distance=Fraction(5308419, 151115727451828646838272),
    mechanism="laplace",
    noise_scale=Fraction(22907899, 4294967296),
    noise_scale_name="scale",
    noise_expected_norm=0.026129495179845495,
    noise_distribution="independent discrete Laplace noise of scale 0.00533366 in every coordinate",
    grid="2^-28",
    model="logistic regression",
    loss="logistic",
    l2=Fraction(1),
    n=1713,
    d=12,
    partition="horizontal",
    normalised_by="owners",
    solver="gradient descent, step 2 / (2 Lambda + 1/4)",
    epochs=10,
    gradient_bound=Fraction(2830581311, 4294967296),
    sensitivity_kind="tight",
    sensitivity_exact=Fraction(2830581311, 3678639489024),
    tau=1.7881393432617188e-07,
    tau_parts={"epochs left out": 1.2e-07, "sigmoid polynomial": 3e-08, "truncation": 2.8e-08},
    sensitivity_total=Fraction(108346419829, 140737488355328),
    scheme="rep3",
    secret=True,
    adversary="passive: a corrupted party follows the protocol but looks at all it sees",
    threshold="1 of 3 (honest majority)",
    parties=("party-a", "party-b", "party-c"),
    dealers=(),
    owners={
        "clinic-a": {"X": (1000, 12), "y": (1000,)},
        "clinic-b": {"X": (713, 12), "y": (713,)},
    },
    learned={
        "owners": ("The published model.",),
        "parties": ("The published model.", "The names of the owners and how many records each of them has."),
        "analyst": ("The published model.",),
        "public": ("The published model.", "This certificate."),
    },
    openings=(
        CertifiedOpening(1, "the weights with noise, the one release of this study", (12,), ("party-a", "party-b")),
    ),
)

UNPROVEN: dict[str, Any] = {
    "proven": False,
    "tau": None,
    "tau_parts": {},
    "warnings": ("Momentum was used, for which no bound of the solver's error is known.", "It was slow."),
}


def encoded(certificate: Certificate = EXAMPLE) -> dict[str, Any]:
    result = json.loads(certificate.to_json())
    assert isinstance(result, dict)
    return result


# --- arbitrary certificates ------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8", categories=["L", "M", "N", "P", "S"]), min_size=1, max_size=4)
lines = st.tuples(words, st.sampled_from(["", " ", " and " * 30, "-" * 150]), words).map("".join)
shapes = st.lists(st.integers(0, 10**6), max_size=3).map(tuple)
sentences = st.lists(lines, max_size=3).map(tuple)
positive = st.fractions(Fraction(1, 10**6), 50, max_denominator=10**9)
taus = st.integers(0, 2**50).map(lambda steps: steps / 2**60)
sizes = st.floats(0, 1e300, allow_nan=False)


@st.composite
def certificates(draw: st.DrawFn) -> Certificate:
    proven = draw(st.booleans())
    mechanism = draw(st.sampled_from(sorted(SCALE_NAMES)))
    grid_bits = draw(st.integers(0, 16 if mechanism == "gaussian" else 99))
    n, d, l2, bound = draw(st.integers(1, 10**6)), draw(st.integers(1, 10**4)), draw(positive), draw(positive)
    epsilon, distance = draw(positive), draw(st.fractions(0, Fraction(1, 2**20)))
    delta = draw(st.fractions(Fraction(1, 10**12), Fraction(1, 10), max_denominator=10**13))
    tau = draw(st.none() | taus) if not proven else draw(taus)
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
    return Certificate(
        cofit_version=draw(lines),
        software=draw(st.dictionaries(lines, lines, max_size=3)),
        created=draw(st.dates().map(str) | st.datetimes().map(lambda moment: moment.isoformat())),
        plan_hash=draw(lines),
        proven=proven,
        warnings=draw(sentences) if proven else ("There is a reason.", *draw(sentences)),
        assumptions=draw(sentences),
        epsilon=epsilon,
        delta=delta,
        delta_total=total_delta(delta, distance, epsilon),
        sampler_distance=distance,
        mechanism=mechanism,
        noise_scale=scale,
        noise_scale_name=SCALE_NAMES[mechanism],
        noise_expected_norm=draw(st.floats(1e-300, 1e300)),
        noise_distribution=draw(lines),
        grid=f"2^-{grid_bits}",
        model=draw(lines),
        loss=draw(lines),
        l2=l2,
        n=n,
        d=d,
        partition=draw(st.sampled_from(["horizontal", "vertical"])),
        normalised_by=draw(st.sampled_from(["owners", "parties"])),
        solver=draw(lines),
        epochs=draw(st.integers(0, 10**6)),
        gradient_bound=bound,
        sensitivity_kind=draw(st.sampled_from(["tight", "paper"])),
        sensitivity_exact=exact,
        tau=tau,
        tau_parts=draw(st.dictionaries(lines, sizes, max_size=3)),
        sensitivity_total=total,
        scheme=draw(lines),
        secret=draw(st.booleans()),
        adversary=draw(lines),
        threshold=draw(lines),
        parties=tuple(draw(st.lists(lines, min_size=1, max_size=4, unique=True))),
        dealers=(),
        owners=draw(st.dictionaries(lines, st.dictionaries(lines, shapes, max_size=2), max_size=3)),
        learned={role: draw(sentences) for role in ROLES},
        openings=tuple(
            draw(st.lists(st.builds(CertifiedOpening, st.integers(1, 99), lines, shapes, sentences), max_size=2))
        ),
    )


def leaves(value: Any) -> list[Any]:
    """All numbers and texts inside a JSON value."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None or isinstance(value, bool) else [value]


@settings(deadline=None, max_examples=30)
@given(certificates())
def test_json_comes_back_as_it_was(certificate: Certificate) -> None:
    text = certificate.to_json()
    again = Certificate.from_json(text)
    assert again == certificate
    assert again.to_json() == text
    assert again.to_text() == certificate.to_text()
    assert text.endswith("}\n")


@settings(deadline=None, max_examples=30)
@given(certificates())
def test_text_has_every_fact_in_lines_of_100_columns(certificate: Certificate) -> None:
    text = certificate.to_text()
    assert max(map(len, text.splitlines())) <= 100
    packed = "".join(text.split())
    assert packed.startswith("".join(certificate.headline.split()))
    for leaf in leaves(encoded(certificate)):
        assert "".join(str(leaf).split()) in packed
    assert {line.strip() for line in text.splitlines()} >= {"The noise", "Origin", "The model"}


# --- the first line --------------------------------------------------------------------------------------


def test_headline_of_a_proven_run() -> None:
    assert EXAMPLE.headline == (
        "The published model limits what can be learned about any single record: replacing your record by any other "
        "record changes the probability of any outcome by a factor of at most 1.65, plus at most 9.31e-17, "
        "if the assumptions below hold (differential privacy with epsilon = 0.5, delta = 9.31e-17; one record "
        "replaced)."
    )


def test_headline_with_a_perfect_sampler_has_no_second_part() -> None:
    perfect = replace(EXAMPLE, sampler_distance=Fraction(0), delta_total=Fraction(0))
    assert "by a factor of at most 1.65, if the assumptions below hold (differential privacy with" in perfect.headline


def test_an_unproven_run_says_so_first_with_the_reason() -> None:
    certificate = replace(EXAMPLE, **UNPROVEN)
    assert certificate.headline == (
        "NOT A PROVEN GUARANTEE: Momentum was used, for which no bound of the solver's error is known. Noise was added "
        "with a protection in mind (epsilon = 0.5, delta = 9.31e-17), but it is not proven that the published model "
        "gives it."
    )
    assert certificate.to_text().startswith("NOT A PROVEN GUARANTEE: Momentum was used")
    assert "limits what can be learned" not in certificate.to_text()
    assert "(tau): NOT BOUNDED" in certificate.to_text()


def test_a_run_without_secrecy_says_so_first() -> None:
    clear = replace(EXAMPLE, scheme="clear", secret=False)
    assert clear.headline == (
        "NO SECRECY: with 'clear' every computing party could read all of the data; for testing only."
    )
    both = replace(clear, **UNPROVEN)
    assert both.headline.startswith(clear.headline + " NOT A PROVEN GUARANTEE: Momentum")


@settings(deadline=None)
@given(st.fractions(Fraction(1, 1000), 20))
def test_numbers_of_the_headline_are_rounded_up(epsilon: Fraction) -> None:
    certificate = replace(EXAMPLE, **UNPROVEN, epsilon=epsilon, delta_total=Fraction(1, 3))
    stated = re.search(r"epsilon = (\S+), delta = (\S+)\)", certificate.headline)
    assert stated is not None
    assert epsilon <= Fraction(stated[1]) <= epsilon * Fraction(101, 100)
    assert stated[2] == "0.334"
    scale = EXAMPLE.noise_scale * max(Fraction(1), 1 / (2 * epsilon))
    proven = replace(EXAMPLE, epsilon=epsilon, noise_scale=scale, delta_total=Fraction(1, 1000))
    factor = re.search(r"factor of at most (\S+), plus at most 0.001,", proven.headline)
    assert factor is not None
    assert float(epsilon) * (1 - 1e-12) <= float(Decimal(factor[1]).ln()) <= float(epsilon) + 0.01


@pytest.mark.parametrize("change", [{"epsilon": Fraction(21)}, {"delta_total": Fraction(1, 100)}])
def test_a_guarantee_that_protects_nobody_says_so_first(change: dict[str, Fraction]) -> None:
    weak = replace(EXAMPLE, **{"delta_total": Fraction(1), **change})  # type: ignore[arg-type]
    assert weak.headline.startswith("HARDLY ANY PROTECTION: with epsilon")


# --- what does not fit together --------------------------------------------------------------------------

SLIGHTLY = 1 + Fraction(1, 1 << 18)
SLIGHTLY_MORE = {"noise_scale": SLIGHTLY * EXAMPLE.noise_scale}


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("proven", {"tau": None}),
        ("warnings", {"proven": False}),
        ("sensitivity_total", {"tau": 1.8e-07}),
        ("sensitivity_total", {"tau": 1.0}),
        ("sensitivity_total", {"sensitivity_total": EXAMPLE.sensitivity_exact / 2}),
        ("sensitivity_exact", {"n": 1700}),
        ("sensitivity_exact", {"gradient_bound": Fraction(1)}),
        ("sensitivity_exact", {"l2": Fraction(1, 2)}),
        ("noise_scale", {"epsilon": Fraction(49, 100)}),
        ("noise_scale", {"noise_scale": EXAMPLE.noise_scale * Fraction(99, 100)}),
        ("sensitivity_total", {"d": 13}),
        ("noise_scale", {"d": 13, "sensitivity_total": SLIGHTLY * EXAMPLE.sensitivity_total} | SLIGHTLY_MORE),
        ("delta_total", {"sampler_distance": EXAMPLE.sampler_distance * 2}),
        ("delta_total", {"delta": Fraction(1, 10)}),
        ("delta_total", {"delta_total": Fraction(2)}),
        ("delta_total", {"mechanism": "gaussian", "noise_scale_name": "sigma"}),
        ("noise_scale_name", {"mechanism": "knorm"}),
        ("mechanism", {"mechanism": "none"}),
        ("unit", {"unit": "one person"}),
        ("neighbours", {"neighbours": "one record added"}),
        ("partition", {"partition": "diagonal"}),
        ("sensitivity_kind", {"sensitivity_kind": "loose"}),
        ("normalised_by", {"normalised_by": "nobody"}),
        ("version", {"version": 2}),
        ("epsilon", {"epsilon": Fraction(0)}),
        ("epsilon", {"epsilon": Fraction(1025)}),
        ("epsilon", {"epsilon": 0.5}),
        ("epsilon", {"epsilon": Fraction(1, 2**1001)}),
        ("sampler_distance", {"sampler_distance": Fraction(-1)}),
        ("l2", {"l2": Fraction(-1)}),
        ("n", {"n": 0}),
        ("n", {"n": True}),
        ("d", {"d": 12.0}),
        ("epochs", {"epochs": -1}),
        ("epochs", {"epochs": 1 << 63}),
        ("tau", {"tau": math.nan}),
        ("tau", {"tau": -1.0}),
        ("tau_parts.epochs", {"tau_parts": {"epochs": math.inf}}),
        ("grid", {"grid": "0.001"}),
        ("grid", {"grid": "2^1"}),
        ("grid", {"grid": "2^00"}),
        ("created", {"created": "2026-13-01"}),
        ("learned", {"learned": {"owners": ()}}),
        ("parties", {"parties": ("a", "a")}),
        ("parties", {"parties": "abc"}),
        ("dealers", {"dealers": ("one", "two")}),
        ("learned", {"dealers": ("one",)}),
        ("dealers", {"dealers": EXAMPLE.parties[:1]}),
        ("model", {"model": " "}),
        ("model", {"model": "a\nNO SECRECY"}),
        ("solver", {"solver": "\ud800"}),
        ("assumptions[1]", {"assumptions": ("a", 1)}),
        ("owners.a.X[0]", {"owners": {"a": {"X": (1.5,)}}}),
        ("openings[0].reason", {"openings": (CertifiedOpening(1, "", (), ()),)}),
        ("openings[0]", {"openings": ("all",)}),
    ],
)
def test_contradictions_and_wrong_types_name_the_field(field: str, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(f"The '{field}' parameter of a certificate must be ")):
        replace(EXAMPLE, **change)


@pytest.mark.parametrize("mechanism", ["knorm", "gaussian"])
def test_the_other_mechanisms_need_their_noise_too(mechanism: str) -> None:
    delta = Fraction(1, 10**6)
    enough = EXAMPLE.sensitivity_total / EXAMPLE.epsilon
    if mechanism == "gaussian":
        steps = 1 << 28
        enough = sigma_for(EXAMPLE.sensitivity_total * steps, largest_mu(EXAMPLE.epsilon, delta) ** 2) / steps
    change: dict[str, Any] = {
        "mechanism": mechanism,
        "noise_scale_name": SCALE_NAMES[mechanism],
        "delta_total": total_delta(delta, EXAMPLE.sampler_distance, EXAMPLE.epsilon),
    }
    assert replace(EXAMPLE, noise_scale=enough, **change).proven
    with pytest.raises(InvalidInputError, match=r"'(noise_scale|delta_total)' parameter of a certificate"):
        replace(EXAMPLE, noise_scale=enough * Fraction(999, 1000), **change)


GAUSSIAN: dict[str, Any] = {"mechanism": "gaussian", "noise_scale_name": "sigma"}


@pytest.mark.parametrize("grid", ["2^-27", "2^-20", "2^-10", "2^-0", "2^0"])
@pytest.mark.parametrize("change", [{}, GAUSSIAN], ids=["laplace", "gaussian"])
def test_a_grid_that_the_sensitivity_does_not_count_is_refused(grid: str, change: dict[str, Any]) -> None:
    """However large the noise: one record may move a truncated weight by a whole step."""
    noise = {"noise_scale": Fraction(100), "delta_total": Fraction(1, 1000), **change}
    for fine in ("2^-28", "2^-30"):
        assert replace(EXAMPLE, **noise, grid=fine).proven
    with pytest.raises(InvalidInputError, match=r"'sensitivity_total' parameter of a certificate .* 2 sqrt\(d\) grid"):
        replace(EXAMPLE, **noise, grid=grid)


def test_no_noise_on_a_coarse_grid_is_no_proof() -> None:
    """The ratio of sensitivity and noise is enough for zCDP, but on these grids there is no noise at all."""
    delta = Fraction(1, 10**6)
    zcdp = gaussian_sigma(EXAMPLE.sensitivity_total, EXAMPLE.epsilon, delta)
    change = GAUSSIAN | {"noise_scale": zcdp}
    change["delta_total"] = total_delta(delta, EXAMPLE.sampler_distance, EXAMPLE.epsilon)
    assert replace(EXAMPLE, grid="2^-28", **change).proven
    for grid in ("2^-10", "2^0"):
        with pytest.raises(InvalidInputError, match="'sensitivity_total' parameter of a certificate"):
            replace(EXAMPLE, grid=grid, **change)
    for mechanism in ({}, change):
        with pytest.raises(InvalidInputError, match="'grid' parameter of a certificate must be a power of two"):
            replace(EXAMPLE, **{**mechanism, "grid": "2^20"})


def test_noise_that_cannot_be_sampled_is_refused() -> None:
    change = GAUSSIAN | {"delta_total": Fraction(1, 1000)}
    assert replace(EXAMPLE, noise_scale=Fraction(1 << 12), **change).proven
    for proof in ({}, UNPROVEN):
        with pytest.raises(InvalidInputError, match=r"'noise_scale' parameter of a certificate must be at most 2\^40"):
            replace(EXAMPLE, noise_scale=Fraction((1 << 12) + 1), **change, **proof)


def test_noise_by_zcdp_is_enough_on_any_grid_and_the_least_noise_only_on_a_fine_one() -> None:
    delta = Fraction(1, 10**6)
    change = GAUSSIAN | {"delta_total": total_delta(delta, EXAMPLE.sampler_distance, EXAMPLE.epsilon)}
    steps = 8  # that one record moves the weights by, on a coarse grid: 2 sqrt(12) are rounding
    zcdp = gaussian_sigma(steps, EXAMPLE.epsilon, delta)
    least = sigma_for(steps, largest_mu(EXAMPLE.epsilon, delta) ** 2) * (1 + Fraction(1, 1 << 20))
    for grid, size in (("2^-10", Fraction(1, 1 << 10)), ("2^0", Fraction(1))):
        coarse = change | {"grid": grid, "sensitivity_total": steps * size}
        assert replace(EXAMPLE, noise_scale=zcdp * size, **coarse).proven
        with pytest.raises(InvalidInputError, match="'delta_total' parameter of a certificate"):
            replace(EXAMPLE, noise_scale=least * size, **coarse)
        fine = change | {"grid": "2^-28", "sensitivity_total": steps * size}
        assert replace(EXAMPLE, noise_scale=least * size, **fine).proven


def test_the_distance_from_rounded_noise_counts_every_coordinate() -> None:
    grid, shift = Fraction(1, 1 << 12), Fraction(80)
    sigma = sigma_for(shift, largest_mu(EXAMPLE.epsilon, Fraction(1, 10**6)) ** 2)
    event = gaussian_event("weights", shift, sigma, 12, EXAMPLE.sampler_distance)
    change = GAUSSIAN | {"noise_scale": sigma * grid, "sensitivity_total": shift * grid, "grid": "2^-12"}
    change["delta_total"] = at_epsilon([event], EXAMPLE.epsilon).delta
    assert replace(EXAMPLE, **change).proven
    with pytest.raises(InvalidInputError, match="'delta_total' parameter of a certificate"):
        replace(EXAMPLE, d=1200, **change)


# --- strict reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [field.name for field in fields(Certificate)])
def test_a_missing_field_is_named(name: str) -> None:
    damaged = encoded()
    del damaged[name]
    with pytest.raises(InvalidInputError, match=f"The '{name}' parameter of a certificate must be"):
        Certificate.from_json(json.dumps(damaged))


@pytest.mark.parametrize("name", [field.name for field in fields(Certificate)])
@pytest.mark.parametrize("wrong", [[[]], {"": 1}, math.nan, math.inf, None, "", 10**400, {"exact": 1}], ids=str)
def test_a_value_of_another_type_is_named(name: str, wrong: object) -> None:
    if name == "tau" and wrong is None:
        wrong = False
    with pytest.raises(InvalidInputError, match=f"The '{name}.*' parameter of a certificate must be"):
        Certificate.from_json(json.dumps(encoded() | {name: wrong}))


@pytest.mark.parametrize(
    "epsilon",
    [
        {"exact": "2/4", "float": 0.5},
        {"exact": "1/2", "float": 0.25},
        {"exact": "1/2", "float": 0.5, "about": 1},
        {"exact": "1/0", "float": 0.5},
        {"exact": " 1/2", "float": 0.5},
        {"exact": "0.5", "float": 0.5},
        {"exact": "1/1", "float": 1},
        {"exact": f"{10**2000}/1", "float": 1.0},
        "1/2",
        0.5,
    ],
    ids=str,
)
def test_fractions_have_one_spelling(epsilon: object) -> None:
    with pytest.raises(InvalidInputError, match="The 'epsilon' parameter of a certificate must be a Fraction"):
        Certificate.from_json(json.dumps(encoded() | {"epsilon": epsilon}))


def test_unknown_and_repeated_fields_and_other_versions_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="The 'more' parameter of a certificate must be left out"):
        Certificate.from_json(json.dumps(encoded() | {"more": 1}))
    opening = encoded()["openings"][0]
    with pytest.raises(InvalidInputError, match=r"The 'openings\[0\].value' parameter of a certificate must be left"):
        Certificate.from_json(json.dumps(encoded() | {"openings": [opening | {"value": 1}]}))
    with pytest.raises(InvalidInputError, match="The 'n' parameter of a certificate must be stated once"):
        Certificate.from_json(EXAMPLE.to_json().replace('"n": 1713,', '"n": 1713, "n": 1713,'))
    for version in (2, 0, "1", None, True, 1.0):
        with pytest.raises(InvalidInputError, match="The 'version' parameter of a certificate must be"):
            Certificate.from_json(json.dumps(encoded() | {"version": version}))


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null", "[" * 100_000, "1" * 5000, '{"n": NaN', None])
def test_what_is_no_certificate_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"The 'text' parameter of Certificate.from_json must be"):
        Certificate.from_json(text)


# --- a certificate does not change -----------------------------------------------------------------------


def test_it_is_frozen_and_holds_copies_of_its_own() -> None:
    software = {"python": "3.11"}
    parties = ["a", "b"]
    certificate = replace(EXAMPLE, software=software, parties=parties)  # type: ignore[arg-type]
    software["python"] = "2.7"
    parties.clear()
    assert certificate.software == {"python": "3.11"}
    assert certificate.parties == ("a", "b")
    with pytest.raises(FrozenInstanceError):
        certificate.epsilon = Fraction(1)  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(certificate)) == certificate


def test_the_page_explains_every_field_and_shows_the_example() -> None:
    page = PAGE.read_text()
    explained = re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)
    assert sorted(explained) == sorted(field.name for field in fields(Certificate))
    assert "".join(f"    {line}".rstrip() + "\n" for line in EXAMPLE.to_text().splitlines()) in page
