"""One list of noisy releases: certificates and ledgers have the same one, and its parts are those of the account."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

import pytest

from cofit.learn.certify import certify
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.releases import accounted_releases
from cofit.privacy.accountant import at_epsilon
from cofit.privacy.accounted import releases_from_text, releases_to_text
from cofit.privacy.certificate import CertifiedRelease

BEST = {"recipe": "best", "normalised_by": "parties"}
PAPER = {"recipe": "paper", "l2": 0.5}
CASES: dict[str, dict[str, Any]] = {
    "best": BEST,
    "best, owners": {"recipe": "best"},
    "best, intercept": {**BEST, "calibrate_intercept": True, "delta": 1e-7},
    "best, pure": {"recipe": "best", "delta": 0.0},
    "knorm": {**PAPER, "mechanism": "knorm"},
    "laplace": {**PAPER, "mechanism": "laplace"},
    "gaussian": {**PAPER, "mechanism": "gaussian", "delta": 1e-6},
}


@pytest.mark.parametrize("epsilon", [0.3, 4.0])
@pytest.mark.parametrize("case", CASES)
def test_the_list_is_that_of_the_certificate_and_of_the_account(case: str, epsilon: float) -> None:
    plan = plan_training(training_facts(500, 4, epsilon=epsilon, **CASES[case]))
    releases = accounted_releases(plan)
    shapes = {"owner": {"features": (500, 4 + plan.own_columns), "labels": (500,)}}
    certificate = certify(plan, parties=("a", "b", "c"), owners=shapes, openings=(), created="2026-01-01")
    names = [one.name for one in fields(CertifiedRelease)]
    listed = [{name: getattr(one, name) for name in names} for one in releases]
    assert listed == [vars(one) for one in certificate.releases]
    account = at_epsilon([one.event for one in releases], plan.facts.epsilon)
    assert account.rule == certificate.rule
    assert account.delta <= plan.total_delta, "the charge covers what the releases together may reveal"
    if isinstance(plan, DescentPlan):
        assert [one.event for one in releases] == list(plan.events)
        account = plan.account
    else:
        assert isinstance(plan, MinimiserPlan)
    parts = [(part.name, part.currency, part.amount, part.distance) for part in account.contributions]
    assert [(one.name, one.currency, one.amount, one.distance) for one in releases] == parts
    if certificate.rule == "pure":
        assert sum((one.amount for one in releases), Fraction(0)) <= plan.facts.epsilon
    assert releases_from_text(releases_to_text(releases)) == releases
