"""A study with repn in which one party sends something else than it should: it ends, for good, and nobody releases.

Checks come late: what was changed in an epoch is found at the next checkpoint, or before the opening.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from support.nursery import until
from support.studies import Lab

MakeLab = Callable[..., Lab]


def failed(lab: Lab) -> list[str]:
    return [party for party in lab.parties if lab.phase(party) == "failed"]


@pytest.mark.parametrize(
    ("cheat", "label", "when"),
    [
        pytest.param(cheat, label, when, marks=pytest.mark.slow)  # ``test_failed_check.py`` has one that is not slow
        for cheat in ("party-a", "party-b", "party-c")
        for label, when in (("", 7), ("matmul", 3), ("noise", 2), ("verify", 4), ("verify/fold", 2))
    ],
)
def test_a_flipped_bit_ends_the_study_without_a_release(make_lab: MakeLab, cheat: str, label: str, when: int) -> None:
    lab = make_lab(scheme="repn", model={"epochs": 4}, compute={"checkpoint_epochs": 2})
    for party in lab.parties:
        lab.start(party, tamper={label: when} if party == cheat else {})
    lab.contribute_all()
    until(lambda: "tampers with" in lab.log(cheat), lambda: f"the bit is flipped\n{lab.log(cheat)}")
    until(lambda: failed(lab), lambda: "a check fails\n" + "\n".join(map(lab.log, lab.parties)))
    found = failed(lab)
    for party in found:
        until(lambda name=party: "check failed" in lab.events(name), f"'{party}' notes it")  # type: ignore[misc]
    lab.stop()
    lab.start()
    lab.up()
    time.sleep(1.0)
    assert set(failed(lab)) >= set(found)
    for party in lab.parties:
        assert not (lab.state(party) / "published.json").exists() and not (lab.state(party) / "release").exists()
        assert not {"opening", "released", "release stored"} & set(lab.events(party))
        assert "before open" not in lab.trace(party) and "before charge" not in lab.trace(party)
