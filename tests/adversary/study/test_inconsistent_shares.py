"""Owners of a study that give parties shares of different values: nothing is sealed, they are named, and may repair.

With ``semi2k`` every share has one holder, but the manifests, which name all of them, must be the same at all parties.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cofit.roles.analyst.fetch import statuses
from cofit.roles.files.manifest import DealtContribution, deal_contribution
from cofit.roles.jobs.training import Training
from cofit.roles.owner.contribute import prepare
from cofit.roles.service.conversations import connector
from cofit.study.encode import EncodedTable
from cofit.transport import RequestRefusedError
from support.nursery import until
from support.studies import Lab

MakeLab = Callable[..., Lab]
SCHEMES = ["rep4", *(pytest.param(scheme, marks=pytest.mark.slow) for scheme in ("rep3", "repn", "semi2k", "shamir"))]
SETTINGS: dict[str, Any] = {"compute": {"timeout": 5, "connect_timeout": 5}}


def dealt(lab: Lab, *, negated: bool = False) -> DealtContribution:
    X, y, _ = lab.part(0)
    prepared = prepare(Training(lab.study), "owner-a", EncodedTable(-X if negated else X, y, None))
    seed = (b"2" if negated else b"1") * 32
    return deal_contribution(prepared.study.spec, prepared.inputs, seed, prepared.job.hash)


def upload(lab: Lab, party: str, manifest: dict[str, Any], files: DealtContribution) -> None:
    """Announce a manifest to one party, and send it files that may not be those."""
    name = manifest["upload"]
    with connector(lab.study, lab.identity("owner-a"))(party) as conversation:
        conversation.request({"request": "upload.begin", "manifest": manifest})
        for file, component in files.files_of(lab.parties.index(party)):
            content = b"".join(component.content())
            conversation.request({"request": "upload.chunk", "upload": name, "file": file, "offset": 0}, content)
        conversation.request({"request": "upload.commit", "upload": name})


def told(lab: Lab, party: str) -> str:
    answer = statuses(lab.study, lab.identity("analyst"))[party]
    return answer["contributions"]["owner-a"] if isinstance(answer, dict) else answer


def repaired(lab: Lab) -> None:
    """The owner contributes again, with the software as it is, and the study goes on."""
    assert "sealed" not in lab.phases()
    assert lab.contribute("owner-a").wait() == 0, lab.log("owner-a")
    lab.wait_released()
    lab.check_one_release()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_shares_of_different_values_at_different_parties(make_lab: MakeLab, scheme: str) -> None:
    """To each party everything fits; that another one has another contribution is found before anything is sealed."""
    lab = make_lab(scheme=scheme, **SETTINGS)
    lab.start()
    lab.up()
    for party in lab.parties:
        one = dealt(lab, negated=party == lab.parties[-1])
        upload(lab, party, one.manifest, one)
    assert lab.contribute("owner-b").wait() == 0
    until(lambda: "shares differ" in lab.events("party-a"), "the leading party names the owner", 20)
    (line,) = [line for line in lab.audit("party-a") if line["event"] == "shares differ"]
    assert (line["owners"], line["party"]) == (["owner-a"], lab.parties[-1])
    until(lambda: told(lab, "party-a") == "shares differ", "and tells it to whoever asks", 20)
    repaired(lab)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_shares_that_are_not_the_announced_ones_at_one_party(make_lab: MakeLab, scheme: str) -> None:
    """One manifest for all, and other files for one of the parties."""
    lab = make_lab(scheme=scheme, **SETTINGS)
    lab.start()
    lab.up()
    true, false, victim = dealt(lab), dealt(lab, negated=True), lab.parties[1]
    for party in lab.parties:
        if party != victim:
            upload(lab, party, true.manifest, true)
    with pytest.raises(RequestRefusedError, match="other contents than announced"):
        upload(lab, victim, true.manifest, false)
    assert lab.contribute("owner-b").wait() == 0
    (line,) = [line for line in lab.audit(victim) if line["event"] == "shares differ"]
    assert line["owner"] == "owner-a"
    assert told(lab, victim) == "shares differ"
    repaired(lab)
