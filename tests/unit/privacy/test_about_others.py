"""What a certificate says of other owners: where there is a guarantee, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from cofit.learn.certify import certify
from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.privacy.certificate import Certificate

PROMISE = "Your records are protected whatever the other owners put in"
UNPROVEN: dict[str, Any] = {"recipe": "paper", "learning_rate": 0.1, "momentum": 0.5, "epochs": 3}


def certificate(**facts: Any) -> Certificate:
    plan = plan_training(training_facts(500, 4, **facts))
    shapes = {"a": {"features": (500, 4 + plan.own_columns), "labels": (500,)}}
    parties = ["p", "q", "r"] if plan.facts.scheme == "rep3" else ["p"]
    return certify(plan, parties=parties, owners=shapes, openings=(), created="2026-01-02T03:04:05+00:00")


@pytest.mark.parametrize("facts", [{}, {"recipe": "paper"}, {"clip_rows": True, "epsilon": 8.0}])
def test_the_promise_stands_below_the_first_line(facts: dict[str, Any]) -> None:
    found = certificate(**facts)
    assert found.about_others.startswith(PROMISE)
    assert " ".join(found.to_text().split()).startswith(f"{found.headline} {found.about_others}")
    assert not any("owner" in assumption for assumption in found.assumptions)


@pytest.mark.parametrize("facts", [{"scheme": "clear"}, {**UNPROVEN, "allow_unproven": True}, {"epsilon": 25.0}])
def test_nothing_is_promised_where_nothing_is_guaranteed(facts: dict[str, Any]) -> None:
    found = certificate(**facts)
    assert found.about_others == ""
    assert PROMISE not in " ".join(found.to_text().split())
