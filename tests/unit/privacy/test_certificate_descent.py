"""Certificates of noisy descent: those of real plans are accepted, and read back."""

from __future__ import annotations

import pytest

from cofit.privacy.certificate import Certificate
from unit.privacy.certificates import DESCENT, PLANS, made, planned

EXTRAS: dict[str, list[str]] = {"level": ["level"]} | {
    name: [] for name in ("steps alone", "intercept", "large steps", "pure", "pure in one step")
}
EXTRAS |= {name: ["mean", "radius", "shift", "spread"] for name in PLANS if name.startswith("clipped")}


@pytest.mark.parametrize("name", PLANS)
def test_certificates_of_real_plans_are_read_back(name: str) -> None:
    certificate = made(name)
    assert certificate.method == "descent"
    assert Certificate.from_json(certificate.to_json()) == certificate
    names = [release.name for release in certificate.releases]
    extras = names[: names.index("step 1")]
    assert ("intercept 1" in names) == (name in ("calibrated", "three classes, parties"))
    assert extras == EXTRAS.get(name, ["level", "centre"] if certificate.normalised_by == "parties" else ["centre"])
    text = certificate.to_text()
    assert f"step {certificate.epochs}" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_plan_without_delta_for_dense_rows_is_one_of_the_minimiser() -> None:
    certificate = planned(1000, 12, delta=0.0)
    assert (certificate.recipe, certificate.method, certificate.mechanism) == ("best", "minimiser", "knorm")


def test_what_is_opened_is_the_weights_the_level_and_the_centre() -> None:
    assert DESCENT.released == 12 + 1 + 11
    assert made("steps alone").released == 40
    assert made("level").released == 13 + 1
    assert made("clipped").released == 13 + 12 + 12 + 1
