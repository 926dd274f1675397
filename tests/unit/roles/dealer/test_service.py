"""The dealer as a service: what it hears, what it keeps, what stops it, and what does not."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import InvalidInputError, StateError
from cofit.roles.dealer.desk import Call, DealerDesk
from cofit.roles.dealer.service import DealerService, DealerSessions
from cofit.roles.dealer.session import run_dealing
from cofit.roles.files.audit import AuditFile, read_audit
from cofit.roles.files.manifest import manifest_hash
from cofit.roles.files.tables import read_owner_table
from cofit.roles.jobs.steps import NO_CHECKPOINTS
from cofit.roles.jobs.training import Training
from cofit.roles.owner.contribute import contribute_table
from cofit.roles.party.service import PartyService
from cofit.roles.party.state import PartyState
from cofit.roles.service.desk import Answer
from cofit.roles.service.doors import BusyError, RefusedError
from cofit.secret.common_coin import _decode
from cofit.study.encode import encode_table
from cofit.transport import Mesh, generate_identity
from cofit.transport.measure import LABEL
from support.nursery import until
from support.studies import DEALER, Lab

Heard = dict[str, list[tuple[str, bytes]]]


def lab_in(folder: Path, **settings: Any) -> Lab:
    return Lab(folder / "lab", None, scheme="semi2k", model={"epochs": 4}, **settings)


def dealer_in(lab: Lab) -> DealerService:
    return DealerService(Training(lab.study), lab.identity(DEALER), lab.state(DEALER))


@pytest.fixture
def dealer(tmp_path: Path) -> Iterator[DealerService]:
    """One that does not run."""
    service = dealer_in(lab_in(tmp_path))
    yield service
    service._directory.close()


@contextmanager
def running(lab: Lab) -> Iterator[dict[str, PartyService | DealerService]]:
    """All parties and the dealer, in threads of this process."""
    services: dict[str, PartyService | DealerService] = {DEALER: dealer_in(lab)}
    for party in lab.parties:
        services[party] = PartyService(Training(lab.study), lab.identity(party), lab.state(party))
    threads = [threading.Thread(target=service.run, daemon=True) for service in services.values()]
    for thread in threads:
        thread.start()
    try:
        yield services
    finally:
        for service in services.values():
            service.stop()
        for thread in threads:
            thread.join(20)


def contribute(lab: Lab) -> None:
    for owner in lab.owners:
        table = encode_table(lab.study, owner, read_owner_table(lab.study, owner, str(lab.root / owner / "table.npz")))
        contribute_table(Training(lab.study), lab.identity(owner), table, lab.root / owner / "owner-state", "data")


@contextmanager
def ear(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Heard, list[Mapping[str, Any]]]]:
    """Everything that the dealer receives: messages of the mesh by label, and requests."""
    heard: Heard = {}
    requests: list[Mapping[str, Any]] = []
    exchange, answer = Mesh.exchange, DealerDesk.answer

    def listening(self: Mesh, label: str, send: Any, receive: Any, *more: Any) -> None:
        exchange(self, label, send, receive, *more)
        if self.name == DEALER:
            heard.setdefault(label, []).extend((peer, bytes(buffer)) for peer, buffer in receive.items())

    def noted(self: DealerDesk, peer: str, request: Mapping[str, Any], payload: bytes) -> Answer:
        requests.append(request)
        return answer(self, peer, request, payload)

    with monkeypatch.context() as patch:
        patch.setattr(Mesh, "exchange", listening)
        patch.setattr(DealerDesk, "answer", noted)
        yield heard, requests


def asked(dealer: DealerService, peer: str, request: Mapping[str, Any]) -> dict[str, Any]:
    return dealer._desk.answer(peer, request, b"")[0]


def basis(lab: Lab, party: str) -> bytes:
    """Digests of the plan, of the certificate's date, and of the owners' manifests, which are public (digests of salted
    files, and sizes).
    """
    with contextlib.closing(PartyState(lab.state(party), lab.study.hash, party)) as state:
        uploads = {owner: state.upload(owner) for owner in lab.owners}
        created = state.fact("created")
    hashes = [manifest_hash(upload.manifest["common"]) for upload in uploads.values() if upload]
    return b"".join(digest((value or "").encode()) for value in (lab.plan.hash, created, *hashes))


def coin(lab: Lab) -> dict[str, set[bytes]]:
    """What was said about the coin: random numbers, and digests of them and of public facts."""
    records = [_decode((lab.state(party) / "coin").read_bytes()) for party in lab.parties]
    commitments = records[0].commitments or ()
    return {
        "coin/commit/announce": set(commitments),
        "coin/commitments to the coin/announce": {digest(b"".join(commitments))},
        "coin/reveal/announce": {record.nonce for record in records},
    }


def digest(decision: bytes) -> bytes:
    return hashlib.sha256(decision).digest()


@pytest.mark.parametrize("owners", [("owner-a", "owner-b"), ("party-b", "owner-a")], ids=["owners", "owner-is-party"])
def test_it_hears_nothing_that_depends_on_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owners: tuple[str, ...]
) -> None:
    """Every message is one that follows from public facts: it is compared with what those give, byte by byte."""
    lab = lab_in(tmp_path, owners=owners, compute={"checkpoint_epochs": 2})
    with ear(monkeypatch) as (heard, requests), running(lab):
        contribute(lab)
        until(lambda: lab.phases() == ["released"] * 2, lambda: str(lab.phases()))

    public = {
        "plan and contributions/announce": {basis(lab, party) for party in lab.parties},
        **coin(lab),
        "stored release/announce": {bytes(2), digest(b"\x01")},  # nobody has stored, so all discard
        "checkpoints/announce": {NO_CHECKPOINTS},
        "chosen checkpoint/announce": {digest(b"")},
        "release/announce": {bytes(17), b"\x01"},  # no record; two barriers
    }
    told = {label: {message for _, message in messages} for label, messages in heard.items()}
    assert not any(map(any, told.pop(LABEL))), "what measures the lines is zeros"
    assert {label: words for label, words in told.items() if words} == public
    assert {peer for messages in heard.values() for peer, _ in messages} == set(lab.parties)
    assert {frozenset(request) for request in requests} == {frozenset({"request"}), frozenset({"request", "session"})}


def test_whoever_is_not_the_dealer_is_told_so(tmp_path: Path) -> None:
    lab = lab_in(tmp_path)
    with pytest.raises(InvalidInputError, match="is not the dealer of study 'lab': that is 'dealer'"):
        DealerService(Training(lab.study), lab.identity("party-a"), tmp_path / "x")
    with pytest.raises(InvalidInputError, match="certificate of 'dealer' is not the one in the study"):
        DealerService(Training(lab.study), generate_identity(DEALER), tmp_path / "x")
    with pytest.raises(InvalidInputError, match="it has none"):
        DealerService(Training(replace(lab.study, dealer=None)), lab.identity(DEALER), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_directory_is_for_one_process_and_one_role(tmp_path: Path) -> None:
    lab = lab_in(tmp_path)
    service = dealer_in(lab)
    with pytest.raises(StateError, match="Another process"):
        dealer_in(lab)
    service._directory.close()
    with pytest.raises(StateError, match="belongs to party dealer"):
        PartyService(Training(lab.study), lab.identity("party-a"), lab.state(DEALER))


def test_of_many_invitations_the_newest_is_kept(dealer: DealerService) -> None:
    for number in range(60):
        assert asked(dealer, "party-a", {"request": "dealer.begin", "session": f"{number:032x}"}) == {}
    assert dealer._desk.invitations.get(0) == Call((59).to_bytes(16, "big"), dealer._job)
    assert dealer._desk.invitations.get(0) is None
    with pytest.raises(BusyError, match="too many sessions"):
        asked(dealer, "party-a", {"request": "dealer.begin", "session": "0" * 32})
    assert dealer._desk.invitations.get(0) is None


def test_whoever_asks_too_often_is_told_so_and_nobody_else(dealer: DealerService) -> None:
    for _ in range(100):
        asked(dealer, "analyst", {"request": "status"})
    with pytest.raises(BusyError):
        asked(dealer, "analyst", {"request": "status"})
    assert asked(dealer, "party-a", {"request": "dealer.begin", "session": "0" * 32}) == {}


@pytest.mark.parametrize(
    ("peer", "request_", "why"),
    [
        ("owner-a", {"request": "dealer.state"}, "only a computing party"),
        ("party-b", {"request": "dealer.begin", "session": "0" * 32}, "only the first party"),
        ("party-a", {"request": "party.begin"}, "unknown request"),
        ("party-a", {"request": "dealer.begin", "session": "0" * 32, "created": "now"}, "unknown fields"),
        ("party-a", {"request": None}, "unknown request"),
    ],
)
def test_a_refusal_needs_no_disk(
    dealer: DealerService,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    peer: str,
    request_: dict[str, Any],
    why: str,
) -> None:
    def full(self: AuditFile, event: str, **facts: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RefusedError, match=why):
        asked(dealer, peer, request_)
    monkeypatch.setattr(AuditFile, "write", full)
    with pytest.raises(RefusedError, match=why):
        asked(dealer, peer, request_)
    assert "could not be noted" in caplog.text and dealer._desk.invitations.get(0) is None


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), pytest.param(ValueError("x"), marks=pytest.mark.slow)],
)
def test_a_session_that_fails_leads_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    lab, deal, left = lab_in(tmp_path), run_dealing, [error]

    def failing(*args: Any) -> None:
        if left:
            raise left.pop()
        deal(*args)

    monkeypatch.setattr("cofit.roles.dealer.service.run_dealing", failing)
    with running(lab):
        contribute(lab)
        until(lambda: lab.phases() == ["released"] * 2, lambda: str(lab.phases()))
    events = [record["event"] for record in read_audit(lab.state(DEALER) / "audit.jsonl")]
    assert events.count("session begins") == 2 and events.count("session failed") == 1
    assert ("Make room on its disk" in caplog.text) == isinstance(error, OSError)


def test_it_stops_in_the_middle_of_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, report = lab_in(tmp_path), DealerSessions._report
    dealing = threading.Event()

    def slow(self: DealerSessions, step: str, done: int, total: int) -> None:
        dealing.set()
        time.sleep(0.3)
        report(self, step, done, total)

    monkeypatch.setattr(DealerSessions, "_report", slow)
    with running(lab) as services:
        contribute(lab)
        assert dealing.wait(20)
        began = time.monotonic()
        services[DEALER].stop()
        until(lambda: _events(lab)[-1] == "stopped", lambda: str(_events(lab)))
        assert time.monotonic() - began < 4 and "session done" not in _events(lab)


def _events(lab: Lab) -> list[str]:
    return lab.events(DEALER)
