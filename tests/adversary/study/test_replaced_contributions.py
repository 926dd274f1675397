"""Contributions that are repeated, replaced, or left half way."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable

import numpy as np
import pytest

from adversary.study.asking import ask, dealt, impatient, noted, upload_whole
from cofit.roles.service.conversations import connector
from cofit.transport import RequestRefusedError
from support.nursery import until
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]


def test_half_an_upload_then_silence_delays_nobody_else(make_lab: MakeLab) -> None:
    lab = make_lab()
    lab.start()
    lab.up()
    study, a = impatient(lab), lab.identity("owner-a")
    ours = dealt(lab)
    for party in PARTIES:
        ask(study, a, party, {"request": "upload.begin", "manifest": ours.manifest})
    with connector(study, a)("party-a") as silent:
        name, component = next(iter(ours.files_of(0)))
        piece = next(component.content())
        silent.request({"request": "upload.chunk", "upload": ours.manifest["upload"], "file": name, "offset": 0}, piece)
        assert lab.contribute("owner-b").wait() == 0
        assert lab.contribute("owner-a").wait() == 0, "a fresh upload replaces the one that fell silent"
        lab.wait_released()
    lab.check_one_release()


def test_other_data_replace_a_contribution_until_all_is_sealed(make_lab: MakeLab) -> None:
    lab = make_lab(epsilon=20.0, rows=(300, 400))
    lab.start()
    X, y, _ = lab.part(0)
    rng = np.random.default_rng(9)
    lab.write_table("owner-a", -X, rng.integers(0, 2, len(y) if y is not None else 0), name="wrong")
    assert lab.contribute("owner-a", table="wrong.npz").wait() == 0
    assert lab.contribute("owner-a").wait() == 0
    assert lab.contribute("owner-b").wait() == 0
    lab.wait_released()
    release = lab.check_one_release()
    assert np.linalg.norm(np.asarray(release.weights) - lab.minimum()) <= 8 * lab.plan.mechanism.expected_norm
    assert lab.contribute("owner-a", table="wrong.npz").wait() == 1
    assert "sealed" in lab.log("owner-a")
    for party in PARTIES:
        folders = [p for p in (lab.state(party) / "uploads").glob("*/*") if p.is_dir()]
        assert len(folders) == 2, "shares of the replaced contribution are deleted"
    assert lab.check_one_release() == release


def test_an_upload_that_was_replaced_does_not_come_back(lab: Lab) -> None:
    study, a = impatient(lab), lab.identity("owner-a")
    first, second = dealt(lab, seed=b"1" * 32), dealt(lab, seed=b"2" * 32)
    ask(study, a, "party-a", {"request": "upload.begin", "manifest": first.manifest})
    ask(study, a, "party-a", {"request": "upload.begin", "manifest": second.manifest})
    for request in (
        {"request": "upload.begin", "manifest": first.manifest},
        {"request": "upload.commit", "upload": first.manifest["upload"]},
    ):
        with pytest.raises(RequestRefusedError):
            ask(study, a, "party-a", request)


@pytest.mark.parametrize(
    ("pause", "slow_owner"),
    [
        pytest.param("before send party.state", 2.5, marks=pytest.mark.slow),
        pytest.param("before send party.begin", 2.5, marks=pytest.mark.slow),
        pytest.param("before phase sealed", 2.5, marks=pytest.mark.slow),
        pytest.param("before send party.state", 0.0, marks=pytest.mark.slow),
        pytest.param("before phase sealed", 0.0, marks=pytest.mark.slow),
    ],
)
def test_data_replaced_while_the_parties_seal(make_lab: MakeLab, pause: str, slow_owner: float) -> None:
    """Either the replacement is refused everywhere, or the parties wait for it: never a bit of both."""
    lab = make_lab()
    lab.start("party-a", pause={pause: 1.5})
    lab.start("party-b", "party-c")
    X, y, _ = lab.part(0)
    lab.write_table("owner-a", -X, y, name="other")
    lab.contribute_all()
    until(lambda: pause in lab.trace("party-a"), "the first party asks the others")
    replacing = lab.contribute("owner-a", table="other.npz", pause={"after request upload.begin": slow_owner})
    assert replacing.wait(60) in (0, 1)
    lab.wait_released(30)
    lab.check_one_release()


@pytest.mark.parametrize(
    "whole", [pytest.param(False, marks=pytest.mark.slow, id="announced"), pytest.param(True, id="complete")]
)
@pytest.mark.parametrize(
    "pause", ["before send party.begin", pytest.param("before phase sealed", marks=pytest.mark.slow)]
)
def test_an_owner_that_replaces_at_one_party_alone_while_the_leader_seals(
    make_lab: MakeLab, pause: str, whole: bool
) -> None:
    """The leader has asked everybody and seals one contribution; a party that has another by then must not be stuck."""
    lab = make_lab()
    lab.start("party-a", pause={pause: 2.0})
    lab.start("party-b", "party-c")
    lab.up()
    study, a = impatient(lab), lab.identity("owner-a")
    for party in PARTIES:
        upload_whole(study, a, party, dealt(lab, seed=b"1" * 32))
    assert lab.contribute("owner-b").wait() == 0
    until(lambda: pause in lab.trace("party-a"), "the leader has asked the others")
    other = dealt(lab, seed=b"2" * 32)
    if whole:
        upload_whole(study, a, "party-b", other)
    else:
        ask(study, a, "party-b", {"request": "upload.begin", "manifest": other.manifest})
    lab.wait_released(30)
    lab.check_one_release()
    sealed = {_uploads(lab, party) for party in PARTIES}
    assert len(sealed) == 1, "all parties sealed the same contributions"
    assert dealt(lab, seed=b"1" * 32).manifest["upload"] in sealed.pop()
    for party in PARTIES:
        assert len(list((lab.state(party) / "uploads").glob("*/*"))) == 2, "the other shares are deleted"


def _uploads(lab: Lab, party: str) -> tuple[str, ...]:
    with contextlib.closing(sqlite3.connect(lab.state(party) / "state.sqlite")) as database:
        return tuple(row[0] for row in database.execute("SELECT upload FROM uploads ORDER BY owner"))


def test_parties_with_different_studies_do_not_begin(make_lab: MakeLab) -> None:
    lab = make_lab()
    text = (lab.root / "party-c" / "study.toml").read_text()
    (lab.root / "party-c" / "study.toml").write_text(text.replace("epsilon = 1.0", "epsilon = 2.0"))
    lab.start()
    lab.up()
    owner = lab.contribute("owner-a")
    noted(lab, "party-c", "connection refused", kind="study", peer="owner-a")
    assert owner.wait() == 1 and "StudyMismatchError" in lab.log("owner-a")
    assert lab.phases() == ["collecting"] * 3
