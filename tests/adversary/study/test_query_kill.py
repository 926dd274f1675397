"""kill -9 of parties, dealer and client at every step of a query: no count is lost, no mask serves two computations.

The study is trained once; what a party opens of a query, in every session, is written down as a digest. The client's
answers are those of an undisturbed query, within the proven error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support.nursery import Nursery, until
from support.studies import Lab

CLIENT, ROWS, BATCH = "clinic", 30, 20
WRITES_DOWN = """
import hashlib
from cofit.roles.jobs.predictions import Prediction
plain = Prediction.in_units
def noted(self, opened):
    digest = hashlib.sha256(repr(opened.tolist()).encode()).hexdigest()
    with open("seen", "a") as file:
        file.write(f"{self.question.query} {digest}\\n")
    return plain(self, opened)
Prediction.in_units = noted
"""
PARTY_POINTS = (
    "before begin upload", "after begin upload", "before append", "before commit", "after commit",
    "after phase sealed", "before connect", "before save coin", "after save coin", "before count", "after count",
    "before save release", "after save release", "before confirm", "after confirm", "before begin opening",
    "after begin opening", "before audit opening", "before open", "after open", "before write answer",
    "after write answer", "before phase released", "after phase released",
)  # fmt: skip
CLIENT_POINTS = (
    "before request query.begin", "after request query.begin#2", "before send query.chunk",
    "before request query.commit", "after request query.commit#3", "before request query.answer",
    "before keep", "after keep",
    "before request query.done", "after request query.done", "before keep#2", "after keep#2",
)  # fmt: skip
DEALER_POINTS = ("before answer dealer.begin", "after answer dealer.begin", "before connect")
SAMPLE = {("party-c", "after count")}


class Trained:
    """A study that is trained, with the answers of an undisturbed query."""

    def __init__(self, root: Path, nursery: Nursery, scheme: str) -> None:
        self.lab = Lab(
            root, nursery, scheme=scheme, terms={"model": "shared"}, clients={CLIENT: None}, model={"recipe": "best"}
        )
        self.rows = np.random.default_rng(5).uniform(-1, 1, (ROWS, self.lab.features))
        self.lab.start(before=WRITES_DOWN)
        self.lab.up()
        self.lab.contribute_all()
        self.lab.wait_released()
        self.lab.stop()
        self.start(*self.lab.servers)
        self.expected = self.asked()
        self.answered = ROWS

    def start(self, *names: str, die: dict[str, int] | None = None) -> None:
        self.lab.start(*names, before=WRITES_DOWN, die=die or {})
        self.lab.up(*names)

    def asked(self) -> np.ndarray:
        child = self.lab.ask(CLIENT, self.rows, batch=BATCH, answers="scores")
        assert child.wait(60) == 0, self.lab.log(CLIENT)
        self.forget()
        return self.lab.answers(CLIENT)

    def forget(self) -> None:
        for path in (self.lab.root / CLIENT / "asking").glob("*"):
            path.unlink()

    def check(self) -> None:
        """After one more table was answered."""
        self.answered += ROWS
        error = 1e-4
        assert np.abs(self.lab.answers(CLIENT) - self.expected).max() <= error
        seen: dict[str, set[str]] = {}
        for party in self.lab.parties:
            for line in (self.lab.root / party / "seen").read_text().splitlines():
                query, digest = line.split()
                seen.setdefault(query, set()).add(digest)
            assert self.lab.counted(party, CLIENT) >= self.answered
        assert all(len(digests) == 1 for digests in seen.values()), "one mask, two computations"
        assert len(seen) >= self.answered // ROWS * 2


@pytest.fixture(scope="module", params=["rep3", "semi2k"])
def trained(
    request: pytest.FixtureRequest, nursery: Nursery, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trained]:
    one = Trained(tmp_path_factory.mktemp("lab") / "lab", nursery, request.param)
    yield one
    for child in one.lab.children.values():
        child.kill()


def died(point: str) -> dict[str, int]:
    step, _, count = point.partition("#")
    return {step: int(count or 1)}


@pytest.mark.parametrize("trained", ["rep3"], indirect=True)
@pytest.mark.parametrize(
    ("party", "point"),
    [
        pytest.param(party, point, marks=() if (party, point) in SAMPLE else pytest.mark.slow)
        for point in PARTY_POINTS
        for party in ("party-a", "party-c")
    ],
)
def test_a_party_killed_at_any_point_loses_no_count_and_opens_nothing_twice(
    trained: Trained, party: str, point: str
) -> None:
    lab = trained.lab
    lab.kill(party)
    trained.start(party, die=died(point))
    child = lab.ask(CLIENT, trained.rows, batch=BATCH, answers="scores")
    assert lab.children[party].wait(60) == -9, lab.log(party)
    trained.start(party)
    if child.wait(60) != 0:  # the client may have given up meanwhile; what it keeps goes on
        assert lab.ask(CLIENT, trained.rows, batch=BATCH, answers="scores").wait(60) == 0, lab.log(CLIENT)
    trained.forget()
    trained.check()


@pytest.mark.slow
@pytest.mark.parametrize("trained", ["rep3"], indirect=True)
@pytest.mark.parametrize("point", CLIENT_POINTS)
def test_a_client_killed_at_any_point_goes_on_and_is_counted_once(trained: Trained, point: str) -> None:
    lab = trained.lab
    before = lab.counted("party-b", CLIENT)
    child = lab.ask(CLIENT, trained.rows, batch=BATCH, answers="scores", die=died(point))
    assert child.wait(60) == -9, lab.log(CLIENT)
    assert lab.ask(CLIENT, trained.rows, batch=BATCH, answers="scores").wait(60) == 0, lab.log(CLIENT)
    trained.forget()
    trained.check()
    assert lab.counted("party-b", CLIENT) == before + ROWS


@pytest.mark.slow
@pytest.mark.parametrize("trained", ["semi2k"], indirect=True)
@pytest.mark.parametrize("point", DEALER_POINTS)
def test_a_dealer_killed_at_any_point_delays_an_answer(trained: Trained, point: str) -> None:
    lab = trained.lab
    lab.kill("dealer")
    trained.start("dealer", die=died(point))
    child = lab.ask(CLIENT, trained.rows, batch=BATCH, answers="scores")
    assert lab.children["dealer"].wait(60) == -9, lab.log("dealer")
    trained.start("dealer")
    assert child.wait(60) == 0, lab.log(CLIENT)
    trained.forget()
    trained.check()


@pytest.mark.parametrize("trained", ["rep3"], indirect=True)
def test_what_was_fetched_is_kept_no_longer(trained: Trained) -> None:
    folders = [trained.lab.state(party) / "queries" for party in trained.lab.parties]
    before = [set(folder.iterdir()) for folder in folders]  # what clients left that were killed
    trained.asked()
    trained.check()
    until(
        lambda: all(set(folder.iterdir()) <= old for folder, old in zip(folders, before, strict=True)),
        "nothing is left of a query that was fetched",
    )
