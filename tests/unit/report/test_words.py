"""How the headline of a certificate is to be taken."""

from __future__ import annotations

from fractions import Fraction

import pytest

from cofit.privacy.certificate import NOT_MET
from cofit.report.words import explanation, verdict
from unit.report.models import planned, released


@pytest.mark.parametrize(
    ("epsilon", "tone", "said"), [(0.5, "good", "Proven"), (8, "weak", "weak"), (30, "bad", "Hardly any protection")]
)
def test_the_tone_follows_epsilon(epsilon: float, tone: str, said: str) -> None:
    certificate = released(planned(mechanism="laplace", epsilon=epsilon)).certificate
    assert verdict(certificate).tone == tone
    assert said in verdict(certificate).label


@pytest.mark.parametrize(("delta", "tone"), [(Fraction(1, 2000), "weak"), (Fraction(1, 2001), "good")])
def test_a_delta_that_allows_to_publish_a_record_is_weak(delta: Fraction, tone: str) -> None:
    certificate = released(planned(2000, 5, "gaussian"), delta_total=delta).certificate
    assert verdict(certificate).tone == tone
    assert any("drawn at random" in sentence for sentence in explanation(certificate)) == (tone == "weak")


@pytest.mark.parametrize(("epsilon", "label"), [(1, "Proven, but an"), (8, "Proven, but weak, and an")])
def test_an_assumption_that_is_not_met_is_no_green_box(epsilon: float, label: str) -> None:
    unmet = "one assumption is not met: ranges were chosen by people who know the data"
    assert f"{NOT_MET}: " in unmet
    plan = planned(mechanism="laplace", epsilon=epsilon)
    for warnings, tone in (((*plan.warnings, unmet), "weak"), ((*plan.warnings, "a rehearsal"), "good")):
        model = released(plan, warnings=warnings)
        assert verdict(model.certificate).tone == (tone if epsilon == 1 else "weak")
        assert (f"{label} assumption is not met" == verdict(model.certificate).label) == (unmet in warnings)
