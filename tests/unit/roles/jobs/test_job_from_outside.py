"""A job that is not part of cofit, through the party service: real TLS, and nothing opened but what its policy lists.

How many labels are 1, with discrete Laplace noise: one number, for one epsilon.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cofit.arithmetic import Z64, FixedPoint, RingArray
from cofit.errors import InvalidInputError
from cofit.privacy.accounted import accounted
from cofit.privacy.certified import CertifiedRelease
from cofit.roles.analyst.fetch import statuses
from cofit.roles.files.audit import read_audit
from cofit.roles.files.keys import load_key
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.signatures import TAG, _verify
from cofit.roles.jobs.job import OneRelease, Outcome, ReleasePolicy, Work
from cofit.roles.party.publication import Publication
from cofit.roles.party.state import RELEASE, PartyState
from cofit.roles.service.conversations import connector
from cofit.sampling.discrete_laplace import discrete_laplace, tv_distance
from cofit.secret import InputFacts, Opening, SecretArray
from cofit.secret.checkpoints import KeptState
from cofit.study import Study
from cofit.study.encode import EncodedTable
from cofit.transport import Identity
from unit.roles.loopback import PARTIES, ROWS, Loopback, loopback, until

EPSILON = Fraction(4)
SCALE = 1 / EPSILON
LABELS = "labels"
REASON = "the noisy number of ill people"


class NoisyCount(OneRelease):
    """Implements ``Job``."""

    name = "count"
    state: KeptState | None = None

    def __init__(self, study: Study) -> None:
        self.study = study
        self.spec = study.spec
        self.hash = hashlib.sha256(f"{type(self).__name__} {study.hash}".encode()).hexdigest()
        format = FixedPoint(0, Z64)
        self.inputs = {owner.name: {LABELS: InputFacts((owner.rows,), format, 1.0)} for owner in study.owners}
        distance = tv_distance(SCALE)
        noise = CertifiedRelease("count", "laplace", "L1", 1, "1", Fraction(1), SCALE, distance)
        parties = tuple(party.name for party in study.parties)
        self.policy = ReleasePolicy(REASON, (1,), parties, EPSILON, distance, accounted([noise], EPSILON))

    def encode(self, name: str, facts: InputFacts, table: EncodedTable) -> RingArray | None:
        return None if table.labels is None else facts.format.encode(table.labels, facts.bound)

    def count(self, work: Work) -> SecretArray:
        labels = work.party.joined([(owner, LABELS) for owner in self.inputs], 0)
        return labels.sum().reshape(1)

    def value(self, work: Work) -> SecretArray:
        work.party.progress("count", 0, 1)
        return self.count(work) + discrete_laplace(work.party, (1,), SCALE)

    def in_units(self, opened: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return opened.astype(np.float64)

    def publish(self, outcome: Outcome, openings: Sequence[Opening], created: str) -> bytes:
        return json.dumps({"study": self.study.hash, "count": outcome.numbers.tolist(), "created": created}).encode()

    def numbers(self, published: bytes) -> tuple[float, ...]:
        document = json.loads(published)
        if document["study"] != self.study.hash:
            raise InvalidInputError("It is of another study.")
        return tuple(document["count"])

    def to_sign(self, identity: Identity, published: bytes) -> bytes:
        return TAG + published

    def seconds(self, latency: float, rate: float) -> Mapping[str, tuple[float, float]]:
        return {}

    def progress(self, step: str, done: int, total: int) -> str:
        return f"counting, {step}"


class Curious(NoisyCount):
    """Opens the exact number before anything is stored."""

    def value(self, work: Work) -> SecretArray:
        work.party.open(self.count(work), reason="just to see")
        return super().value(work)


class Hasty(NoisyCount):
    """Opens what the policy lists, but stores nothing before."""

    def value(self, work: Work) -> SecretArray:
        work.party.open(super().value(work), reason=REASON)
        return super().value(work)


class Wide(NoisyCount):
    """Releases more numbers than the policy lists."""

    def value(self, work: Work) -> SecretArray:
        return self.count(work) + discrete_laplace(work.party, (2,), SCALE)


class Favouring(NoisyCount):
    """Opens to one party alone."""

    def value(self, work: Work) -> SecretArray:
        work.party.open(super().value(work), reason=REASON, to=[PARTIES[0]])
        return super().value(work)


class Twice(NoisyCount):
    """Opens a second draw after the first."""

    mine = threading.local()  # of the party whose session runs in this thread

    def value(self, work: Work) -> SecretArray:
        self.mine.work = work
        return super().value(work)

    def in_units(self, opened: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        self.mine.work.party.open(super().value(self.mine.work), reason=REASON)
        return super().in_units(opened)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[type[NoisyCount]], Loopback]]:
    made: list[Any] = []

    def site(kind: type[NoisyCount]) -> Loopback:
        context = loopback(tmp_path, make_job=kind)
        made.append(context)
        return context.__enter__()

    yield site
    for context in made:
        context.__exit__(None, None, None)


def events(site: Loopback, name: str) -> list[dict[str, Any]]:
    return read_audit(site.state(name) / "audit.jsonl")


def fetched(site: Loopback, party: str) -> tuple[bytes, str]:
    """What an analyst gets from one party, and its signature."""
    analyst = load_key(site.study, site.folder / "analyst.key")
    with connector(site.study, analyst)(party) as conversation:
        _, content = conversation.request({"request": "model", "offset": 0})
        signature, _ = conversation.request({"request": "model.signature"})
    return bytes(content), str(signature["signature"])


def test_it_runs_as_training_does(
    make: Callable[[type[NoisyCount]], Loopback], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "cofit")
    site = make(NoisyCount)
    site.start()
    site.contribute()
    until(site.released)
    told = statuses(site.study, load_key(site.study, site.folder / "analyst.key"))
    copies = set()
    for party in site.study.parties:
        answer = told[party.name]
        assert isinstance(answer, dict) and (answer["job"], answer["phase"]) == ("count", "released")
        content, signature = fetched(site, party.name)
        copies.add(content)
        _verify(party.certificate_pem, bytes.fromhex(signature), TAG + content)
        (charge,) = Ledger(site.state(party.name) / "ledger.sqlite").charges()
        assert (charge.epsilon, charge.releases) == (EPSILON, NoisyCount(site.study).policy.releases)
        openings = [record for record in events(site, party.name) if record["event"] == "opening"]
        assert [(one["reason"], one["shape"]) for one in openings] == [(REASON, [1])]
    (copy,) = copies
    exact = sum(
        sum(line.endswith("yes") for line in (site.folder / f"{owner}.csv").read_text().splitlines()) for owner in ROWS
    )
    assert abs(json.loads(copy)["count"][0] - exact) < 20 * SCALE + 1, "noise beyond that comes once in 10^8 runs"
    for owner in ROWS:
        (charge,) = Ledger(site.folder / f"{owner}.owner" / "budget.sqlite").charges()
        assert charge.epsilon == EPSILON
    assert "counting, count" in caplog.text and "train" not in caplog.text


def test_a_restart_opens_the_same_number(make: Callable[[type[NoisyCount]], Loopback]) -> None:
    site = make(NoisyCount)
    site.start()
    site.contribute()
    until(site.released)
    before = [(site.state(name) / "published.json").read_bytes() for name in PARTIES]
    site.stop()
    for name in PARTIES[1:]:
        (site.state(name) / "published.json").unlink()
        (site.state(name) / "signature.json").unlink()
        forget_release(site, name)
    site.start()
    until(site.released)
    assert [(site.state(name) / "published.json").read_bytes() for name in PARTIES] == before


def test_a_party_that_is_stopped_after_the_opening_opens_the_same_again(
    make: Callable[[type[NoisyCount]], Loopback], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is stopped before it has published: one draw, one charge."""
    seen: dict[str, list[float]] = {name: [] for name in PARTIES}
    original = Publication.publish

    def publish(self: Publication, outcome: Outcome, *more: Any) -> Any:
        mine = seen[self._state.fact("party") or ""]
        mine.append(float(outcome.numbers[0]))
        if len(mine) < 3:
            raise OSError("stopped before anything was written")
        return original(self, outcome, *more)

    monkeypatch.setattr(Publication, "publish", publish)
    site = make(NoisyCount)
    site.start()
    site.contribute()
    until(site.released)
    assert len(set().union(*seen.values())) == 1 and all(len(mine) >= 3 for mine in seen.values())
    for name in PARTIES:
        assert len(Ledger(site.state(name) / "ledger.sqlite").charges()) == 1


def test_records_that_all_parties_have_lost_after_the_opening_give_no_second_draw(
    make: Callable[[type[NoisyCount]], Loopback], caplog: pytest.LogCaptureFixture
) -> None:
    site = make(NoisyCount)
    site.start()
    site.contribute()
    until(site.released)
    site.stop()
    for name in PARTIES:
        for file in ("published.json", "signature.json", RELEASE):
            (site.state(name) / file).unlink()
        forget_release(site, name)
    opened = [len([r for r in events(site, name) if r["event"] == "opening"]) for name in PARTIES]
    site.start()
    until(lambda: {"failed", "released"} & {site.running[name][0]._state.phase for name in PARTIES})
    site.stop()
    assert "Nothing is drawn again" in caplog.text
    assert [len([r for r in events(site, name) if r["event"] == "opening"]) for name in PARTIES] == opened
    assert not any((site.state(name) / RELEASE).exists() for name in PARTIES)


def forget_release(site: Loopback, name: str) -> None:
    """As if the party had been stopped after the opening and before its publication."""
    state = PartyState(site.state(name), site.study.hash, name)
    state.record(phase="stored")
    state.close()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Curious, "'just to see'"),
        (Hasty, "not every party has stored"),
        (Wide, "of shape (2,)"),
        (Favouring, "to party-a ("),
        (Twice, "opening 2"),
    ],
)
def test_what_the_policy_does_not_list_is_never_opened(
    make: Callable[[type[NoisyCount]], Loopback],
    caplog: pytest.LogCaptureFixture,
    kind: type[NoisyCount],
    said: str,
) -> None:
    site = make(kind)
    site.start()
    site.contribute()
    until(lambda: {"failed", "released"} & {site.running[name][0]._state.phase for name in PARTIES})
    site.stop()
    for name in PARTIES:
        noted = [record["reason"] for record in events(site, name) if record["event"] == "opening"]
        assert noted in ([], [REASON] if kind is Twice else [])
        assert not (site.state(name) / "published.json").exists()
    assert said in caplog.text and "Nothing was opened" in caplog.text


def test_parties_with_different_jobs_do_not_begin(
    make: Callable[[type[NoisyCount]], Loopback], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "cofit")
    site = make(NoisyCount)
    site.start("party-a", "party-c")
    site.start("party-b", job=Curious(site.study))
    with pytest.raises(Exception, match="plan"):
        site.contribute()
    assert all(site.running[name][0]._state.phase == "collecting" for name in PARTIES)
