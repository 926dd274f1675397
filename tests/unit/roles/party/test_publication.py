"""A party publishes once and signs once, whatever interrupts it: unit tests of one party's directory."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError, ProtocolError, StateError
from cofit.roles.files.audit import read_audit
from cofit.roles.files.durable import write_durably
from cofit.roles.files.published import Release
from cofit.roles.files.signatures import PartySignature, check_signature
from cofit.roles.jobs.job import Outcome
from cofit.roles.party import publication as module
from cofit.roles.party.publication import Publication
from cofit.secret import Opening
from cofit.study.encoding import study_encoding
from unit.roles.desks import planned
from unit.roles.party_directory import PartyDirectory
from unit.study.studies import IDENTITIES

JOB = planned("horizontal")
STUDY, PLAN = JOB.study, JOB.plan
NAMES = tuple(party.name for party in STUDY.parties)
OPENINGS = (Opening(1, PLAN.release_reason, "arithmetic", (PLAN.released,), NAMES),)
WEIGHTS = np.arange(PLAN.released) / 7
CREATED = "2026-03-01T10:20:30+00:00"


class Party(PartyDirectory):
    """One party's directory; ``process`` is what a process that starts there works with."""

    def process(self) -> Publication:
        return Publication(JOB, IDENTITIES["party-b"], *self.start())

    @property
    def phase(self) -> str:
        assert self.state is not None
        return self.state.phase

    def check(self) -> PartySignature:
        """What is published is signed, by this party."""
        release = Release.from_json((self.folder / "published.json").read_text())
        signed = json.loads((self.folder / "signature.json").read_text())
        software = release.certificate.cofit_version, release.certificate.software
        one = PartySignature("party-b", IDENTITIES["party-b"].certificate_pem, *software, signed["signature"])
        check_signature(one, release, study_encoding(STUDY))
        return one

    def events(self) -> list[str]:
        return [record["event"] for record in read_audit(self.folder / "audit.jsonl")]


@pytest.fixture
def party(tmp_path: Path) -> Iterator[Party]:
    one = Party(tmp_path, STUDY.hash, "party-b")
    yield one
    one.stop()


def stored(party: Party) -> Publication:
    """A process that has come as far as the opening."""
    publication = party.process()
    assert party.state is not None
    party.state.seal(CREATED, take_back=False)
    party.state.advance("stored")
    return publication


def test_published_and_signed_before_it_is_said_to_be_released(party: Party) -> None:
    publication = stored(party)
    assert not publication.unsigned
    publication.publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    assert (party.phase, publication.unsigned) == ("released", False)
    first = party.check()
    assert party.events() == ["release signed", "released"]
    publication.publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    party.process().publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    assert party.check() == first, "another session opens the same, and signs nothing"
    assert party.events().count("release signed") == 1


@pytest.mark.parametrize("file", ["published.json", "signature.json"])
def test_a_party_that_stops_in_between_goes_on_where_it_was(
    party: Party, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes, **options: Any) -> None:
        if path.name == file:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_durably(path, data, **options)

    monkeypatch.setattr(module, "write_durably", full)
    publication = stored(party)
    with pytest.raises(OSError, match="No space"):
        publication.publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    assert party.phase == "stored"
    monkeypatch.setattr(module, "write_durably", write_durably)
    again = party.process()
    assert again.unsigned == (file == "signature.json")
    if again.unsigned:
        again.sign()
        party.check()
    again.publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    assert party.phase == "released"
    party.check()


def test_what_is_published_is_kept_by_later_software(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    """A party that was stopped between publishing and its release, and updated: there is one release, as signed."""
    publication = stored(party)
    monkeypatch.setattr(party.state, "advance", lambda phase: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken"):
        publication.publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    before, first = (party.folder / "published.json").read_bytes(), party.check()
    monkeypatch.setattr("cofit.learn.certify.version", lambda name: "99.0")
    party.process().publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    assert ((party.folder / "published.json").read_bytes(), party.check()) == (before, first)
    assert party.phase == "released"


def test_other_numbers_are_never_published_nor_signed(party: Party) -> None:
    publication = stored(party)
    publication.publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    with pytest.raises(ProtocolError, match="opened other numbers"):
        publication.publish(Outcome(WEIGHTS + 2.0**-40), OPENINGS, CREATED)
    party.check()


@pytest.mark.parametrize("signature_is_lost", [True, False])
def test_no_party_signs_two_releases_of_one_study(party: Party, signature_is_lost: bool) -> None:
    """Not even if somebody changes its files: what was signed is noted before the signature is made."""
    publication = stored(party)
    publication.publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    path = party.folder / "published.json"
    document = json.loads(path.read_text())
    document["weights"][0] += 0.5
    good = path.read_bytes()
    path.write_text(json.dumps(document))
    if signature_is_lost:
        (party.folder / "signature.json").unlink()
    again = party.process()
    with pytest.raises(StateError, match="never signs two"):
        again.sign()
    path.write_bytes(good)
    again.sign()
    party.check()


def test_what_cannot_be_signed_says_why(party: Party) -> None:
    publication = stored(party)
    with pytest.raises(StateError, match=r"published\.json is missing"):
        publication.sign()
    publication.publish(Outcome(WEIGHTS), OPENINGS, CREATED)
    path = party.folder / "published.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"certificate": document["certificate"] | {"study": "00" * 32}}))
    with pytest.raises(StateError, match="of another study"):
        publication.sign()
    path.write_text("{")
    with pytest.raises(StateError, match="cannot be read"):
        publication.sign()


def test_a_key_that_cannot_sign_is_refused_at_the_start(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(identity: object) -> None:
        raise InvalidInputError("The key of 'party-b' is of a kind that cannot sign a release.")

    monkeypatch.setattr(module, "signing_key", refuse)
    with pytest.raises(InvalidInputError, match="cannot sign"):
        party.process()
