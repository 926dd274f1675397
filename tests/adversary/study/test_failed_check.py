"""One party of an active scheme sends something else than it should: the run ends, for good, and nobody releases."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from support.nursery import until
from support.studies import Lab

MakeLab = Callable[..., Lab]


def failed(lab: Lab) -> list[str]:
    return [party for party in lab.parties if lab.phase(party) == "failed"]


def notice(lab: Lab) -> None:
    """Wait until the leader, which alone begins sessions, has ended itself or has heard of another's end."""
    said = "a check failed there: the study is not resumed"
    times = lab.events("party-a").count("started")
    until(lambda: "party-a" in failed(lab) or lab.log("party-a").count(said) >= times, lambda: lab.log("party-a"))


@pytest.mark.parametrize(
    ("scheme", "cheat", "label", "when"),
    [
        ("rep4", "party-b", "matmul", 7),
        ("repn", "party-b", "matmul", 7),
        *(
            pytest.param(scheme, cheat, label, when, marks=pytest.mark.slow)
            for scheme, parties in (("rep4", "abcd"), ("repn", "abc"))
            for cheat in (f"party-{letter}" for letter in parties)
            for label, when in (("", 5), ("matmul", 4), ("noise", 3), ("noise", 20))
        ),
    ],
)
def test_a_flipped_bit_ends_the_study_without_a_release(
    make_lab: MakeLab, scheme: str, cheat: str, label: str, when: int
) -> None:
    lab = make_lab(scheme=scheme, model={"epochs": 6}, compute={"checkpoint_epochs": 2})
    for party in lab.parties:
        lab.start(party, tamper={label: when} if party == cheat else {})
    lab.contribute_all()
    until(lambda: "tampers with" in lab.log(cheat), lambda: f"the bit is flipped\n{lab.log(cheat)}")
    until(lambda: failed(lab), lambda: "a check fails\n" + "\n".join(map(lab.log, lab.parties)))
    found = failed(lab)
    notice(lab)
    for party in found:
        until(lambda name=party: "check failed" in lab.events(name), f"'{party}' notes it")  # type: ignore[misc]
        (record,) = (record for record in lab.audit(party) if record["event"] == "check failed")
        dispute = record["dispute"]
        assert party not in dispute, "whoever noticed is not in dispute"
        assert party == cheat or cheat in dispute, "the cheat is; its own program, which is honest, blames the others"
        (line,) = (line for line in lab.log(party).splitlines() if "check failed:" in line)
        assert len(dispute) == len(lab.parties) - 1 or all(f"'{name}'" in line for name in dispute), (
            "a pair is named in the log"
        )
    sessions = {party: lab.events(party).count("session begins") for party in lab.parties}
    lab.stop()
    lab.start()
    lab.up()
    notice(lab)
    time.sleep(1.0)
    assert set(failed(lab)) >= set(found)
    for party in lab.parties:
        assert not (lab.state(party) / "published.json").exists() and not (lab.state(party) / "release").exists()
        assert not {"opening", "released", "release stored"} & set(lab.events(party))
        assert "before open" not in lab.trace(party) and "before charge" not in lab.trace(party)
        assert lab.events(party).count("session begins") == sessions[party], "nothing is resumed"
    told = lab.statuses()
    assert all(isinstance(told[party], dict) and told[party]["phase"] == "failed" for party in found)  # type: ignore[index]
