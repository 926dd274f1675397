"""Certificates of the minimiser that contradict themselves."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.privacy.accountant import at_epsilon, sigma_for
from cofit.privacy.certificate import CertifiedOpening
from cofit.privacy.events import gaussian_event
from cofit.privacy.gaussian_dp import largest_mu
from cofit.privacy.zcdp import gaussian_sigma, total_delta
from unit.privacy.certificates import DESCENT, EXAMPLE, STATED, UNPROVEN, changed, restated

MINIMISER = EXAMPLE.minimiser
assert MINIMISER is not None
EXACT, TOTAL, SCALE = MINIMISER.sensitivity_exact, MINIMISER.sensitivity_total, MINIMISER.noise_scale
SLIGHTLY = 1 + Fraction(1, 1 << 18)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("sensitivity_total", {"tau": 1.8e-07, "tau_parts": {"all": 1.8e-07}}),
        ("sensitivity_total", {"tau": 1.0, "tau_parts": {"all": 1.0}}),
        ("tau", {"tau": 1.0e-07}),
        ("tau", {"tau": 2.0e-07}),
        ("tau", {"tau_parts": {"all": 1.9e-07}}),
        ("tau", {"tau_parts": {}}),
        ("tau_parts.less", {"tau_parts": {"all": 2e-07, "less": -2e-08}}),
        ("delta_total", {"check_delta": Fraction(1, 10**15)}),
        ("sensitivity_total", {"sensitivity_total": EXACT / 2}),
        ("sensitivity_total", {"sensitivity_total": EXACT / 2, **UNPROVEN}),
        ("sensitivity_exact", {"n": 1700}),
        ("sensitivity_exact", {"gradient_bound": Fraction(1)}),
        ("sensitivity_exact", {"l2": Fraction(1, 2)}),
        ("noise_scale", {"epsilon": Fraction(49, 100)}),
        ("noise_scale", {"noise_scale": SCALE * Fraction(99, 100)}),
        ("releases[0].scale", {"noise_scale": TOTAL / 1025}),
        ("sensitivity_total", {"d": 13}),
        ("noise_scale", {"d": 13, "sensitivity_total": SLIGHTLY * TOTAL, "noise_scale": SLIGHTLY * SCALE}),
        ("delta_total", {"sampler_distance": EXAMPLE.sampler_distance * 2}),
        ("delta_total", {"delta_total": Fraction(2)}),
        ("delta_total", {"mechanism": "gaussian"}),
        ("releases[0].sampler_distance", {"sampler_distance": Fraction(0)}),
        ("releases[0].sampler_distance", {"sampler_distance": Fraction(11, 1 << 256)}),
        ("releases[0].sampler_distance", {"sampler_distance": Fraction(2)}),
        ("sampler_distance", {"sampler_distance": Fraction(-1)}),
        ("releases[0].grid", {"grid": "2^1"}),
        ("releases[0].grid", {"grid": "2^-01"}),
        ("delta", {"delta": Fraction(1, 10**30)}),
        ("delta", {"mechanism": "gaussian", "delta": Fraction(0), "delta_total": Fraction(1, 10)}),
        ("recipe", {"mechanism": "gaussian", "recipe": "best", "delta_total": Fraction(1, 10)}),
        ("rule", {"rule": "gdp"}),
        ("noise_scale_name", {"noise_scale_name": "sigma"}),
        ("noise_expected_norm", {"noise_expected_norm": EXAMPLE.noise_expected_norm * 1.01}),
        ("noise_expected_norm", {"noise_expected_norm": EXAMPLE.noise_expected_norm * 0.69}),
    ],
)
def test_contradictions_name_the_field(field: str, change: dict[str, Any]) -> None:
    path = f"statement.{field}" if field.partition(".")[0] in STATED else field
    with pytest.raises(InvalidInputError, match=re.escape(f"The '{path}' parameter of a certificate must be ")):
        restated(EXAMPLE, **change)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("proven", {"tau": None}),
        ("warnings", {"proven": False}),
        ("mechanism", {"mechanism": "none"}),
        ("noise_scale_name", {"mechanism": "knorm", "releases": (replace(EXAMPLE.releases[0], noise="knorm"),)}),
        ("releases[0].noise", {"mechanism": "knorm"}),
        ("unit", {"unit": "one person"}),
        ("neighbours", {"neighbours": "one record added"}),
        ("partition", {"partition": "diagonal"}),
        ("sensitivity_kind", {"sensitivity_kind": "loose"}),
        ("normalised_by", {"normalised_by": "nobody"}),
        ("recipe", {"recipe": "worst"}),
        ("statement.method", {"method": "guess"}),
        ("version", {"version": 2}),
        ("study", {"study": "trial"}),
        ("plan_hash", {"plan_hash": "5F" * 32}),
        ("check_delta", {"check_delta": Fraction(-1)}),
        ("facts.rows", {"facts": {"rows": 1.5}}),
        ("scheme", {"scheme": "rep5"}),
        ("secret", {"scheme": "clear"}),
        ("secret", {"secret": False}),
        ("parties", {"scheme": "rep4"}),
        ("adversary", {"adversary": "nobody"}),
        ("threshold", {"threshold": "3 of 3"}),
        ("parties", {"parties": ("a", "b"), "openings": ()}),
        ("owners", {"n": 171300}),
        ("owners", {"owners": {}}),
        ("owners", {"owners": {"a": {"X": (1000, 12)}, "b": {"X": (714, 12)}}}),
        ("owners", {"partition": "vertical"}),
        ("owners.a", {"owners": {"a": {"X": (1713, 12), "y": (1712,)}}}),
        ("owners.a", {"owners": {"a": {"X": (), "y": ()}}}),
        ("epsilon", {"epsilon": Fraction(0)}),
        ("epsilon", {"epsilon": Fraction(1025)}),
        ("epsilon", {"epsilon": 0.5}),
        ("epsilon", {"epsilon": Fraction(1, 2**1001)}),
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
        ("grid", {"grid": "2^-27"}),
        ("created", {"created": "2026-13-01"}),
        ("learned", {"learned": {"owners": ()}}),
        ("parties", {"parties": ("a", "a")}),
        ("parties", {"parties": "abc"}),
        ("dealers", {"dealers": ("one", "two")}),
        ("learned", {"dealers": ("one",)}),
        ("dealers", {"dealers": ("one",), "learned": {**EXAMPLE.learned, "dealer": ()}}),
        ("dealers", {"dealers": EXAMPLE.parties[:1]}),
        ("model", {"model": " "}),
        ("model", {"model": "a\nNO SECRECY"}),
        ("solver", {"solver": "\ud800"}),
        ("assumptions[1]", {"assumptions": ("a", 1)}),
        ("owners.a.X[0]", {"owners": {"a": {"X": (1.5,)}}}),
        ("openings[0].reason", {"openings": (CertifiedOpening(1, "", (), ()),)}),
        ("openings[0]", {"openings": ("all",)}),
        ("openings", {"openings": (CertifiedOpening(1, "more", (13,), ()),)}),
        ("openings", {"openings": (*EXAMPLE.openings, CertifiedOpening(2, "a row", (), ()))}),
        ("openings[0].shape", {"openings": (CertifiedOpening(1, "less", (-1,), ()), *EXAMPLE.openings)}),
        ("openings[0].learned_by", {"openings": (CertifiedOpening(1, "weights", (12,), ("a stranger",)),)}),
        ("releases", {"releases": ()}),
        ("releases[0].sensitivity", {"releases": (replace(EXAMPLE.releases[0], sensitivity=Fraction(0)),)}),
        ("releases", {"releases": (replace(EXAMPLE.releases[0], name="other"),)}),
        ("releases", {"releases": (replace(EXAMPLE.releases[0], norm="L1"),)}),
        ("releases", {"releases": (replace(EXAMPLE.releases[0], dimension=11),)}),
        ("releases", {"releases": (replace(EXAMPLE.releases[0], sensitivity=EXAMPLE.releases[0].sensitivity + 1),)}),
        ("releases", {"releases": (replace(EXAMPLE.releases[0], scale=EXAMPLE.releases[0].scale - 1),)}),
        ("mechanism", {"statement": DESCENT.statement, "recipe": "best", "epochs": 4}),
        ("l2", {"l2": None}),
        ("solver", {"solver": None}),
        ("gradient_bound", {"gradient_bound": None}),
        ("sensitivity_kind", {"sensitivity_kind": None}),
        ("sensitivity_exact", {"sensitivity_exact": None}),
        ("sensitivity_total", {"sensitivity_total": None}),
        ("noise_scale", {"noise_scale": None}),
        ("noise_scale_name", {"noise_scale_name": None}),
        ("grid", {"grid": None}),
    ],
)
def test_wrong_values_and_types_name_the_field(field: str, change: dict[str, Any]) -> None:
    path = f"statement.{field}" if field.partition(".")[0] in STATED else field
    with pytest.raises(InvalidInputError, match=re.escape(f"The '{path}' parameter of a certificate must be ")):
        changed(EXAMPLE, **change)


def test_a_second_release_that_nothing_accounts_for_is_refused() -> None:
    first = EXAMPLE.releases[0]
    with pytest.raises(InvalidInputError, match="'releases' parameter of a certificate must be the one release"):
        replace(EXAMPLE, releases=(first, first), sampler_distance=2 * first.sampler_distance)


@pytest.mark.parametrize("mechanism", ["knorm", "gaussian"])
def test_the_other_mechanisms_need_their_noise_too(mechanism: str) -> None:
    delta = Fraction(1, 10**6)
    enough = TOTAL / EXAMPLE.epsilon
    if mechanism == "gaussian":
        steps = 1 << 28
        enough = sigma_for(TOTAL * steps, largest_mu(EXAMPLE.epsilon, delta) ** 2) / steps
    change: dict[str, Any] = {
        "mechanism": mechanism,
        "delta_total": total_delta(delta, EXAMPLE.sampler_distance, EXAMPLE.epsilon),
    }
    assert restated(EXAMPLE, noise_scale=enough, **change).proven
    with pytest.raises(InvalidInputError, match=r"'(statement.noise_scale|delta_total)' parameter of a certificate"):
        restated(EXAMPLE, noise_scale=enough * Fraction(999, 1000), **change)


GAUSSIAN: dict[str, Any] = {"mechanism": "gaussian"}


@pytest.mark.parametrize("grid", ["2^-27", "2^-20", "2^-10", "2^-0", "2^0"])
@pytest.mark.parametrize("change", [{}, GAUSSIAN], ids=["laplace", "gaussian"])
def test_a_grid_that_the_sensitivity_does_not_count_is_refused(grid: str, change: dict[str, Any]) -> None:
    """However large the noise: one record may move a truncated weight by a whole step."""
    noise = {"noise_scale": Fraction(100), "delta_total": Fraction(1, 1000), **change}
    for fine in ("2^-28", "2^-30"):
        assert restated(EXAMPLE, **noise, grid=fine).proven
    with pytest.raises(
        InvalidInputError, match=r"'statement.sensitivity_total' parameter of a certificate .* 2 sqrt\(d\) grid"
    ):
        restated(EXAMPLE, **noise, grid=grid)


def test_no_noise_on_a_coarse_grid_is_no_proof() -> None:
    """The ratio of sensitivity and noise is enough for zCDP, but on these grids there is no noise at all."""
    delta = Fraction(1, 10**6)
    zcdp = gaussian_sigma(TOTAL, EXAMPLE.epsilon, delta)
    change = GAUSSIAN | {"noise_scale": zcdp}
    change["delta_total"] = total_delta(delta, EXAMPLE.sampler_distance, EXAMPLE.epsilon)
    assert restated(EXAMPLE, grid="2^-28", **change).proven
    for grid in ("2^-10", "2^0"):
        with pytest.raises(InvalidInputError, match=r"'statement\.sensitivity_total' parameter of a certificate"):
            restated(EXAMPLE, grid=grid, **change)
    for mechanism in ({}, change):
        with pytest.raises(InvalidInputError, match=r"'releases\[0\].grid' parameter of a certificate must be a power"):
            restated(EXAMPLE, **{**mechanism, "grid": "2^20"})


def test_noise_that_cannot_be_sampled_is_refused() -> None:
    change = GAUSSIAN | {"delta_total": Fraction(1, 1000)}
    assert restated(EXAMPLE, noise_scale=Fraction(1 << 12), **change).proven
    for proof in ({}, UNPROVEN):
        with pytest.raises(
            InvalidInputError, match=r"'releases\[0\].scale' parameter of a certificate must be at most 2\^40"
        ):
            restated(EXAMPLE, noise_scale=Fraction((1 << 12) + 1), **change, **proof)


def test_noise_by_zcdp_is_enough_on_any_grid_and_the_least_noise_only_on_a_fine_one() -> None:
    delta = Fraction(1, 10**6)
    change = GAUSSIAN | {"delta_total": total_delta(delta, EXAMPLE.sampler_distance, EXAMPLE.epsilon)}
    steps = 8  # that one record moves the weights by, on a coarse grid: 2 sqrt(12) are rounding
    zcdp = gaussian_sigma(steps, EXAMPLE.epsilon, delta)
    least = sigma_for(steps, largest_mu(EXAMPLE.epsilon, delta) ** 2) * (1 + Fraction(1, 1 << 20))
    for grid, size in (("2^-10", Fraction(1, 1 << 10)), ("2^0", Fraction(1))):
        coarse = change | {"grid": grid, "sensitivity_total": steps * size}
        assert restated(EXAMPLE, noise_scale=zcdp * size, **coarse).proven
        with pytest.raises(InvalidInputError, match="'delta_total' parameter of a certificate"):
            restated(EXAMPLE, noise_scale=least * size, **coarse)
        fine = change | {"grid": "2^-28", "sensitivity_total": steps * size}
        assert restated(EXAMPLE, noise_scale=least * size, **fine).proven


def test_the_distance_from_rounded_noise_counts_every_coordinate() -> None:
    grid, shift = Fraction(1, 1 << 12), Fraction(80)
    sigma = sigma_for(shift, largest_mu(EXAMPLE.epsilon, Fraction(1, 10**6)) ** 2)
    event = gaussian_event("weights", shift, sigma, 12, EXAMPLE.sampler_distance)
    change = GAUSSIAN | {"noise_scale": sigma * grid, "sensitivity_total": shift * grid, "grid": "2^-12"}
    change["delta_total"] = at_epsilon([event], EXAMPLE.epsilon).delta
    assert restated(EXAMPLE, **change).proven
    with pytest.raises(InvalidInputError, match="'delta_total' parameter of a certificate"):
        restated(EXAMPLE, d=1200, **change)
