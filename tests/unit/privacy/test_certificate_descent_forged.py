"""Certificates of noisy descent that were changed: what contradicts itself or understates anything is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.privacy.accountant import at_epsilon
from cofit.privacy.certificate import Certificate, CertifiedDescent, CertifiedOpening, CertifiedRelease
from cofit.privacy.events import Event, LaplaceEvent, gaussian_event
from unit.privacy.certificates import DESCENT, EXAMPLE, made

BASES: dict[str, Certificate] = {"by hand": DESCENT} | {
    name: made(name) for name in ("steps alone", "centre", "level and centre", "clipped", "clipped, bounds", "pure")
}
"""Certificates with the least noise."""
UNITS = dict.fromkeys(BASES, Fraction(1, 1 << 16))
"""What rounding adds to the bound of a residual."""


def forged(
    base: Certificate, number: int = 0, release: Mapping[str, Any] | None = None, **parts: Any
) -> dict[str, Any]:
    """A change of one release and of the numbers of a step, with the sum of all distances and the best account."""
    assert base.descent is not None
    releases = list(base.releases)
    releases[number] = replace(releases[number], **(release or {}))
    return recounted(base, releases) | {"statement": replace(base.descent, **parts)}


def recounted(base: Certificate, releases: list[CertifiedRelease]) -> dict[str, Any]:
    """The releases with the account that they really have: its rule, and a delta that it covers."""
    change: dict[str, Any] = {"releases": tuple(releases), "openings": ()}
    change["sampler_distance"] = sum((release.sampler_distance for release in releases), Fraction(0))
    kind = LaplaceEvent if base.mechanism == "laplace" else gaussian_event
    try:
        events: list[Event] = [kind(r.name, r.sensitivity, r.scale, r.dimension, r.sampler_distance) for r in releases]
        account = at_epsilon(events, base.epsilon)
    except InvalidInputError:
        return change
    return change | {"rule": account.rule, "delta_total": max(base.delta, account.delta)}


def refused(base: Certificate, field: str, change: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(f"The '{field}' parameter of a certificate must be ")):
        replace(base, **change)


@pytest.mark.parametrize("name", BASES)
def test_a_step_left_out_renamed_repeated_or_out_of_order(name: str) -> None:
    base = BASES[name]
    one, *others = base.releases
    assert base.descent is not None
    for releases in (
        [one, *others[:-1]],
        others,
        [*base.releases[::-1]],
        [one, *others[:-1], replace(others[-1], name="step 99")],
        [one, *others[:-1], replace(others[-1], name="step 01")],
        [one, *others[:-1], replace(others[-1], name="weights")],
        [one, *others, replace(others[-1], name=f"step {base.epochs + 1}")],
        [one, *others, replace(others[-1], name="more")],
    ):
        extras_gone = releases == others and one.name in ("level", "centre")
        if not extras_gone:
            refused(base, "releases", recounted(base, releases))
    refused(base, "releases", recounted(base, [one, *others, others[-1]]))
    fewer = replace(base.descent, steps=base.epochs - 1, averaged=1)
    refused(base, "releases", {"statement": fewer, "epochs": base.epochs - 1})
    refused(base, "epochs", {"epochs": base.epochs + 1})
    refused(base, "epochs", {"statement": fewer})


def test_a_level_or_centre_left_out_contradicts_the_numbers_of_a_step() -> None:
    refused(DESCENT, "statement.mean_width", recounted(DESCENT, list(DESCENT.releases[1:])))
    assert DESCENT.descent is not None
    rounding = root_of_features() / (1 << 16) + Fraction(1, 1 << 17)  # of rows that are scaled, but not centred
    without = [DESCENT.releases[0], *DESCENT.releases[2:]]
    change = recounted(DESCENT, without) | {"statement": replace(DESCENT.descent, rounding=rounding)}
    assert replace(DESCENT, **change).released == 13
    refused(DESCENT, "statement.rounding", {"statement": replace(DESCENT.descent, rounding=rounding)})
    refused(DESCENT, "openings", change | {"openings": DESCENT.openings})


def root_of_features() -> Fraction:
    return Fraction(332, 100)  # of 11


def test_a_thousand_million_steps_are_refused_at_once() -> None:
    descent = replace(BASES["by hand"].descent, steps=10**15)  # type: ignore[type-var]
    refused(DESCENT, "releases", {"statement": descent, "epochs": 10**15})


@pytest.mark.parametrize("name", BASES)
def test_an_understated_sensitivity_of_any_release(name: str) -> None:
    """With noise for the understated one, so that the account is in order."""
    base = BASES[name]
    for number, release in enumerate(base.releases):
        share = Fraction(999, 1000) if release.name != "centre" else 1 - Fraction(1, 100)
        less = {"sensitivity": release.sensitivity * share, "scale": release.scale * share}
        refused(base, f"releases[{number}].sensitivity", forged(base, number, less))


@pytest.mark.parametrize("name", BASES)
def test_a_sensitivity_counts_reach_grid_and_dimension(name: str) -> None:
    base = BASES[name]
    assert base.descent is not None
    first_step = len(base.releases) - base.epochs
    path = f"releases[{first_step}].sensitivity"
    finer = [
        release if release.name in ("level", "radius") else replace(release, grid=f"2^-{int(release.grid[3:]) + 1}")
        for release in base.releases
    ]
    path_of_finer = f"releases[{int(finer[0].name == 'level')}].sensitivity"
    refused(base, path_of_finer, recounted(base, finer))
    refused(base, path, forged(base, row_bound=base.descent.row_bound + Fraction(1, 1000)))
    refused(base, path, forged(base, rounding=base.descent.rounding + Fraction(1, 1000)))
    factor = base.descent.residual_bound - UNITS[name]
    if factor < 1:
        more: dict[str, Any] = {"residual_bound": base.descent.residual_bound + Fraction(1, 4096)}
        more["step_size"] = base.descent.step_size * (1 + Fraction(1, 4096) / factor)
        refused(base, path, forged(base, **more))
    if base.descent.constant:
        refused(base, path, forged(base, constant=base.descent.constant + Fraction(1, 100)))
    cols = base.d + 20
    sizes = {"level": 1, "radius": 1}
    sizes |= dict.fromkeys(("centre", "mean", "shift", "spread"), cols - int(base.descent.constant > 0))
    larger = [replace(release, dimension=sizes.get(release.name, cols)) for release in base.releases]
    number = int(larger[0].name == "level")
    loose = replace(base.descent, rounding=base.descent.rounding * 3)
    refused(base, f"releases[{number}].sensitivity", recounted(base, larger) | {"d": cols, "statement": loose})


@pytest.mark.parametrize("name", BASES)
def test_too_little_noise_for_the_stated_delta(name: str) -> None:
    base = BASES[name]
    for number in (0, len(base.releases) - 1):
        less = {"scale": base.releases[number].scale * Fraction(9, 10)}
        honest = forged(base, number, less)
        releases = {"releases": honest["releases"], "noise_expected_norm": base.noise_expected_norm * 0.9}
        with pytest.raises(InvalidInputError, match=r"'(delta_total|rule)' parameter of a certificate must be"):
            replace(base, **releases)
        refused(base, "delta_total", releases | {"rule": honest["rule"]})
    refused(base, "delta_total", {"delta_total": base.delta_total / 2, "delta": base.delta / 2})
    refused(base, "epsilon", {"epsilon": Fraction(0)})


def test_an_epsilon_that_is_too_small_for_the_releases() -> None:
    for base in BASES.values():
        with pytest.raises(InvalidInputError, match=r"'(delta_total|rule)' parameter of a certificate must be"):
            replace(base, epsilon=base.epsilon * Fraction(99, 100))


@pytest.mark.parametrize("name", BASES)
def test_distances_of_samplers(name: str) -> None:
    base = BASES[name]
    first = base.releases[0]
    refused(base, "sampler_distance", {"sampler_distance": base.sampler_distance / 2})
    refused(base, "sampler_distance", {"sampler_distance": base.sampler_distance * 2})
    for distance in (Fraction(0), Fraction(first.dimension, 1 << 257), Fraction(2), -first.sampler_distance):
        refused(base, "releases[0].sampler_distance", {
            "releases": (replace(first, sampler_distance=distance), *base.releases[1:]),
        })  # fmt: skip
    far = forged(base, 0, {"sampler_distance": Fraction(1, 10)})
    refused(base, "delta_total", {name: far[name] for name in ("releases", "sampler_distance", "rule")})


@pytest.mark.parametrize(
    ("field", "number", "change"),
    [
        ("releases[2].noise", 2, {"noise": "laplace"}),
        ("releases[2].norm", 2, {"norm": "L1"}),
        ("releases[2].dimension", 2, {"dimension": 11}),
        ("releases[2].dimension", 2, {"dimension": 0}),
        ("releases[0].dimension", 0, {"dimension": 2}),
        ("releases[1].dimension", 1, {"dimension": 12}),
        ("releases[1].dimension", 1, {"dimension": 10}),
        ("releases[2].grid", 2, {"grid": "2^-11"}),
        ("releases[1].grid", 1, {"grid": "2^-11"}),
        ("releases[1].grid", 1, {"grid": "2^-012"}),
        ("releases[1].grid", 1, {"grid": "2^12"}),
        ("releases[1].grid", 1, {"grid": "1/4096"}),
        ("releases[2].scale", 2, {"scale": Fraction(0)}),
        ("releases[2].scale", 2, {"scale": Fraction(-1)}),
        ("releases[2].scale", 2, {"scale": Fraction((1 << 40) + 1)}),
        ("releases[2].sensitivity", 2, {"sensitivity": Fraction(0)}),
        ("releases[2].sensitivity", 2, {"sensitivity": -DESCENT.releases[2].sensitivity}),
        ("releases[0].sensitivity", 0, {"sensitivity": Fraction(32768)}),
    ],
)
def test_a_release_that_is_none_of_the_method(field: str, number: int, change: dict[str, Any]) -> None:
    refused(DESCENT, field, forged(DESCENT, number, change))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("statement.norm", {"norm": "L2"}),
        ("mechanism", {"norm": "l1"}),
        ("epochs", {"steps": 0}),
        ("statement.averaged", {"averaged": 0}),
        ("statement.averaged", {"averaged": 5}),
        ("statement.step_size", {"step_size": Fraction(0)}),
        ("statement.step_size", {"step_size": Fraction(-1, 4)}),
        ("statement.residual_bound", {"residual_bound": Fraction(0)}),
        ("statement.residual_bound", {"residual_bound": Fraction(3, 4)}),
        ("statement.residual_bound", {"residual_bound": Fraction(1, 2)}),
        ("statement.residual_bound", {"residual_bound": Fraction(1, 1 << 16)}),
        ("statement.residual_bound", {"residual_bound": Fraction(3, 4) + Fraction(3, 1 << 16)}),
        ("statement.residual_bound", {"residual_bound": Fraction(3, 8) + Fraction(1, 1 << 16)}),
        ("statement.residual_bound", {"residual_bound": Fraction(3, 2) + Fraction(1, 1 << 16)}),
        ("statement.residual_bound", {"step_size": Fraction(1, 1024)}),
        ("statement.row_bound", {"row_bound": Fraction(99, 100)}),
        ("statement.row_bound", {"row_bound": Fraction(3)}),
        ("statement.rounding", {"rounding": Fraction(0)}),
        ("statement.rounding", {"rounding": Fraction(-1)}),
        ("statement.rounding", {"rounding": Fraction(4, 1 << 16)}),
        ("statement.constant", {"constant": Fraction(-1, 4)}),
        ("statement.constant", {"constant": Fraction(2)}),
        ("releases[1].dimension", {"constant": Fraction(0)}),
        ("statement.mean_width", {"mean_width": Fraction(0)}),
        ("statement.mean_width", {"mean_width": Fraction(-1)}),
        ("statement.mean_width", {"mean_width": Fraction(8, 1 << 15)}),
        ("statement.mean_width", {"mean_width": Fraction(3)}),
        ("releases[0].sensitivity", {"mean_width": Fraction(11, 10)}),
        ("noise_expected_norm", {"step_size": Fraction(3, 4) / 512}),
        ("noise_expected_norm", {"averaged": 4}),
    ],
)
def test_numbers_of_a_step_that_cannot_be(field: str, change: dict[str, Any]) -> None:
    refused(DESCENT, field, forged(DESCENT, **change))


@pytest.mark.parametrize("name", ["clipped", "clipped, bounds"])
def test_releases_of_clipped_rows_that_cannot_be(name: str) -> None:
    base = BASES[name]
    assert base.descent is not None
    mean, radius, shift, spread, *steps = base.releases
    for releases in (
        [radius, shift, spread, *steps],
        [mean, shift, spread, *steps],
        [mean, radius, spread, *steps],
        [mean, radius, shift, *steps],
        [radius, mean, shift, spread, *steps],
        [mean, radius, shift, spread, replace(spread, name="spread 2"), *steps],
        [replace(mean, name="level", dimension=1), *base.releases],
    ):
        refused(base, "releases", recounted(base, releases))
    for width in (Fraction(0), Fraction(30, 64), Fraction(1, 4), Fraction(3)):
        refused(base, "statement.mean_width", forged(base, mean_width=width))
    refused(base, "releases[1].sensitivity", forged(base, mean_width=base.descent.mean_width * 2))
    refused(base, "statement.rounding", forged(base, rounding=Fraction(1, 1 << 17)))
    for number, dimension in ((0, 13), (1, 2), (2, 11), (3, 1)):
        refused(base, f"releases[{number}].dimension", forged(base, number, {"dimension": dimension}))
    for number in (0, 2, 3):
        refused(base, f"releases[{number}].grid", forged(base, number, {"grid": "2^-5"}))


def release_like(**change: Any) -> tuple[CertifiedRelease, ...]:
    return tuple(replace(release, **change) for release in DESCENT.releases)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("warnings", {"proven": False}),
        ("proven", {"proven": False, "warnings": ("It is not.",)}),
        ("statement.method", {"statement": None}),
        ("recipe", {"recipe": "paper"}),
        ("delta", {"delta": Fraction(0)}),
        ("delta_total", {"delta_total": DESCENT.delta / 2}),
        ("rule", {"rule": "zcdp"}),
        ("rule", {"rule": "pure"}),
        ("releases[0].noise", {"mechanism": "laplace", "delta": Fraction(0)}),
        ("releases[0].noise", {"mechanism": "knorm", "delta": Fraction(0)}),
        ("mechanism", {"mechanism": "laplace", "delta": Fraction(0), "releases": release_like(noise="laplace")}),
        ("releases", {"mechanism": "knorm", "delta": Fraction(0), "releases": release_like(noise="knorm")}),
        ("normalised_by", {"normalised_by": "owners"}),
        ("noise_expected_norm", {"noise_expected_norm": DESCENT.noise_expected_norm * 1.01}),
        ("noise_expected_norm", {"noise_expected_norm": DESCENT.noise_expected_norm / 2}),
        ("openings", {"openings": (CertifiedOpening(1, "weights of every step", (4, 12), ()),)}),
        ("openings", {"openings": (*DESCENT.openings, CertifiedOpening(2, "one more", (1,), ()))}),
        ("statement.noise_scale_name", {"statement": EXAMPLE.statement, "recipe": "paper"}),
    ],
)  # fmt: skip
def test_fields_that_contradict_the_method(field: str, change: dict[str, Any]) -> None:
    refused(DESCENT, field, change)


def test_pure_descent_is_of_steps_alone_on_rows_that_owners_scaled() -> None:
    base = BASES["pure"]
    assert base.descent is not None
    step = base.releases[0]
    refused(base, "normalised_by", {"normalised_by": "parties"})
    refused(base, "releases", recounted(base, [replace(step, name="centre"), *base.releases]))
    refused(base, "releases[0].norm", forged(base, 0, {"norm": "L2"}))
    refused(base, "mechanism", forged(base, norm="l2"))
    refused(base, "releases[0].scale", forged(base, 0, {"scale": step.sensitivity / 1025}))
    euclidean = replace(base.descent, norm="l2").reach * (1 << 16) * 2 + 2 * 8  # 8: the root of 61, and more
    share = euclidean / step.sensitivity
    refused(base, "releases[0].sensitivity", forged(base, 0, {"sensitivity": euclidean, "scale": step.scale * share}))


def test_the_releases_of_a_calibrated_intercept() -> None:
    base = made("calibrated")
    assert base.descent is not None
    count = sum(release.name.startswith("intercept") for release in base.releases)
    *others, last = base.releases
    number = len(others)
    assert count > 1
    assert base.released == made("centre").released + 1
    share = Fraction(999, 1000)
    less = {"sensitivity": last.sensitivity * share, "scale": last.scale * share}
    refused(base, f"releases[{number}].sensitivity", forged(base, number, less))
    refused(base, f"releases[{number}].dimension", forged(base, number, {"dimension": base.d}))
    refused(base, "releases", forged(base, number, {"name": "intercept 9"}))
    refused(base, "releases", forged(base, number, {"name": "intercept"}))
    refused(base, "releases", recounted(base, [last, *others]))
    refused(base, "releases", recounted(base, [*others[: 1 - count], last]))
    refused(base, "releases", forged(base, constant=Fraction(0)))
    with pytest.raises(InvalidInputError, match=r"'(delta_total|rule)' parameter of a certificate must be"):
        replace(base, releases=(*others, replace(last, scale=last.scale / 2)))
    pure = BASES["pure"]
    more = replace(pure.releases[-1], name="intercept 1", dimension=1)
    refused(pure, "releases", recounted(pure, [*pure.releases, more]))


@pytest.mark.parametrize("name", ["four classes", "three classes, parties"])
def test_several_classes_have_one_account_of_all_columns(name: str) -> None:
    """What is understated: any sensitivity, what a record counts for other classes, how many columns there are."""
    base = made(name)
    stated = base.descent
    assert stated is not None
    factor, unit = stated.factor
    outputs = base.d // 13
    assert (stated.outputs, stated.residual_bound) == (outputs, factor + unit)
    assert 1 < stated.joint_bound / factor < Fraction(1415, 1000), "sqrt(2), rounded"
    for number, release in enumerate(base.releases):
        less = {"sensitivity": release.sensitivity * Fraction(99, 100), "scale": release.scale * Fraction(99, 100)}
        refused(base, f"releases[{number}].sensitivity", forged(base, number, less))
    for others in (Fraction(0), -stated.others, factor + Fraction(1, 4096)):
        refused(base, "statement.others", forged(base, others=others))
    first = len(base.releases) - sum(release.name.startswith(("step", "intercept")) for release in base.releases)
    refused(base, f"releases[{first}].sensitivity", forged(base, others=factor))
    refused(base, "statement.rounding", forged(base, rounding=stated.rounding / 4))
    for wrong in (0, -1):
        refused(base, "statement.outputs", forged(base, outputs=wrong))
    refused(base, "d", forged(base, outputs=7))
    alone = [replace(release, dimension=1) for release in base.releases if release.name.startswith("intercept")]
    if alone:
        refused(base, f"releases[{len(base.releases) - 1}].dimension", forged(base, -1, {"dimension": 1}))
    refused(DESCENT, "statement.others", forged(DESCENT, others=Fraction(1, 2)))


def test_an_intercept_alone_has_no_row() -> None:
    refused(DESCENT, "statement.constant", {"d": 1, "openings": ()})


def test_numbers_that_would_take_long_to_account_for_are_refused_or_counted_at_once() -> None:
    changes: list[dict[str, Any]] = [
        {"sensitivity": Fraction(1 << 900)},
        {"scale": Fraction(1, 1 << 900)},
        {"sensitivity": Fraction(1 << 900), "scale": Fraction(1, 1 << 90)},
    ]
    for change in changes:
        with pytest.raises(InvalidInputError, match="of a certificate must be"):
            replace(DESCENT, releases=(*DESCENT.releases[:-1], replace(DESCENT.releases[-1], **change)))


def test_reach_is_the_length_of_a_row_and_its_constant() -> None:
    step = CertifiedDescent("l2", 1, 1, Fraction(1), Fraction(1), Fraction(3), Fraction(0), Fraction(4), Fraction(0))
    assert step.reach == 5
    assert replace(step, norm="l1").reach == 7
    assert replace(step, norm="l1", rounding=Fraction(1, 2)).reach == Fraction(15, 2)
    assert replace(step, norm="l1", residual_bound=Fraction(1, 2)).reach == Fraction(7, 2)
