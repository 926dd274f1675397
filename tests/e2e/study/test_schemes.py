"""The whole story with every scheme that a study may name, and what changes where there is a dealer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cofit.learn.opened import REASON
from e2e.study.weights import check_weights
from support.studies import Lab

MakeLab = Callable[..., Lab]
SEMI2K, REP4, REPN = {"scheme": "semi2k"}, {"scheme": "rep4"}, {"scheme": "repn"}
PAIR = {"scheme": "pair"}
SEMI2K_3 = {"scheme": "semi2k", "count": 3}
SHAMIR_5 = {"scheme": "shamir", "count": 5}
REPN_5 = {"scheme": "repn", "count": 5}
SHAMIR_CHOSEN = {"scheme": "shamir", "count": 5, "compute": {"threshold": 1, "latency": 1e-7, "connect_timeout": 60}}
HORIZONTAL = {"rows": (300, 500)}
VERTICAL = {"partition": "vertical", "rows": (700, 700), "features": 4}
BOTH_ROLES = {"owners": ("party-b", "owner-a"), "rows": (300, 500)}


@pytest.mark.parametrize(
    ("scheme", "settings"),
    [
        pytest.param(SEMI2K, VERTICAL, id="semi2k-vertical", marks=pytest.mark.slow),
        pytest.param(SEMI2K_3, BOTH_ROLES, id="semi2k-three-parties-owner-is-party"),
        pytest.param(REP4, BOTH_ROLES, id="rep4-owner-is-party", marks=pytest.mark.slow),
        pytest.param(PAIR, HORIZONTAL, id="pair-horizontal"),
        pytest.param(PAIR, VERTICAL, id="pair-vertical", marks=pytest.mark.slow),
        pytest.param(REP4, VERTICAL, id="rep4-vertical"),
        pytest.param(REPN, HORIZONTAL, id="repn-horizontal"),
        pytest.param(REPN, VERTICAL, id="repn-vertical", marks=pytest.mark.slow),
        pytest.param(REPN_5, HORIZONTAL, id="repn-five-parties-horizontal", marks=pytest.mark.slow),
        pytest.param(REPN_5, VERTICAL, id="repn-five-parties-vertical", marks=pytest.mark.slow),
        pytest.param(SHAMIR_CHOSEN, HORIZONTAL, id="shamir-five-parties-smaller-threshold-through-one-party"),
        pytest.param(SHAMIR_5, VERTICAL, id="shamir-five-parties-vertical", marks=pytest.mark.slow),
        pytest.param(SEMI2K, HORIZONTAL, id="semi2k-horizontal", marks=pytest.mark.slow),
        pytest.param(SEMI2K, BOTH_ROLES, id="semi2k-owner-is-party", marks=pytest.mark.slow),
        pytest.param(SEMI2K_3, VERTICAL, id="semi2k-three-parties-vertical", marks=pytest.mark.slow),
        pytest.param(REP4, HORIZONTAL, id="rep4-horizontal", marks=pytest.mark.slow),
    ],
)
def test_a_study_gives_every_party_the_weights_within_noise(
    make_lab: MakeLab, scheme: dict[str, Any], settings: dict[str, Any]
) -> None:
    lab = make_lab(epsilon=20.0, **scheme, **settings)
    lab.start()
    lab.contribute_all()
    lab.wait_released()
    check_weights(lab)
    spec = lab.release().certificate.spec
    assert (spec.parties, spec.threshold) == (len(lab.parties), lab.compute.get("threshold", spec.threshold))
    assert spec.route == ("king" if "latency" in lab.compute else "direct")
    for party in lab.parties:
        openings = [record for record in lab.audit(party) if record["event"] == "opening"]
        assert [(o["reason"], o["shape"]) for o in openings] == [(REASON, [len(lab.minimum())])]
    lab.stop()
    assert all(lab.events(server)[-1] == "stopped" for server in lab.servers)
