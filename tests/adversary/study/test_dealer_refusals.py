"""Who may not do what at the dealer: refused, noted, and without any effect on the study."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adversary.study.asking import ask, impatient, noted
from adversary.study.test_garbage import (
    HELLO,
    descriptors,
    insiders,
    peak,
    peak_from_here,
    resident,
    strangers,
    threads,
)
from cofit.errors import HandshakeError, StudyMismatchError, TransportError
from cofit.roles.service.conversations import connector
from cofit.transport import Peer, RequestRefusedError, Terms, connect_mesh, generate_identity
from cofit.transport.strangers import MAX_STRANGERS
from support.nursery import until
from support.studies import DEALER, Lab

MakeLab = Callable[..., Lab]
BEGIN = {"request": "dealer.begin", "session": "0" * 32}


@pytest.fixture
def lab(make_lab: MakeLab) -> Lab:
    """Two parties and a dealer that wait; nobody has contributed."""
    lab = make_lab(scheme="semi2k")
    lab.start()
    lab.up()
    return lab


def finishes(lab: Lab) -> None:
    lab.contribute_all()
    lab.wait_released()
    lab.check_one_release()


def test_everybody_keeps_to_its_own_requests_and_the_study_goes_on(lab: Lab) -> None:
    study = impatient(lab)
    wrong: list[tuple[str, dict[str, Any]]] = [
        *((who, request) for who in ("owner-a", "analyst") for request in ({"request": "dealer.state"}, BEGIN)),
        ("party-b", BEGIN),
        (DEALER, BEGIN),
        ("party-a", {"request": "party.state"}),
        ("party-a", {"request": "party.begin", "session": "0" * 32}),
        ("owner-a", {"request": "upload.begin", "manifest": {}}),
        ("analyst", {"request": "model", "offset": 0}),
        ("owner-a", {"request": ["status"]}),
        ("owner-a", {"request": "x" * 5000}),
        ("owner-a", {"request": "status", "more": "x" * 50_000}),
        ("owner-a", {}),
    ]
    for who, request in wrong:
        with pytest.raises(RequestRefusedError) as caught:
            ask(study, lab.identity(who), DEALER, request)
        assert caught.value.kind == "RefusedError", request
        noted(lab, DEALER, "request refused", peer=who, request=str(request.get("request"))[:64])
    for session in ("0" * 31, "0" * 33, "G" * 32, "A" * 32, "0" * 32 + "\n", 7, None, ["0" * 32], "x" * 50_000):
        with pytest.raises(RequestRefusedError, match="32 hexadecimal digits") as refused:
            ask(study, lab.identity("party-a"), DEALER, {**BEGIN, "session": session})
        assert len(str(refused.value)) < 500
    assert ask(study, lab.identity("party-b"), DEALER, {"request": "dealer.state"}) == {"plan": lab.plan.hash}
    assert ask(study, lab.identity("owner-b"), DEALER, {"request": "status"})["phase"] == "waiting"
    assert "session begins" not in lab.events(DEALER)
    finishes(lab)


def test_strangers_forged_names_and_other_studies_stay_outside(lab: Lab) -> None:
    study = impatient(lab)
    for name in ("stranger", "party-a", DEALER):
        with pytest.raises(TransportError):
            ask(study, generate_identity(name), DEALER, BEGIN)
    noted(lab, DEALER, "connection refused", kind="certificate", peer=None)
    study.__dict__["hash"] = "0" * 64
    with pytest.raises(StudyMismatchError):
        ask(study, lab.identity("party-a"), DEALER, BEGIN)
    noted(lab, DEALER, "connection refused", kind="study", peer="party-a")


@pytest.mark.parametrize("who", ["party-a", "party-b", "owner-a"])
def test_nobody_gets_a_mesh_connection_to_it(lab: Lab, who: str) -> None:
    host, port = lab.address(DEALER)
    peer = Peer(DEALER, host, port, lab.identity(DEALER).certificate_pem)
    terms = Terms(bytes(16), bytes.fromhex(lab.study.hash), "semi2k")
    with pytest.raises(HandshakeError):
        connect_mesh(lab.identity(who), None, [peer], [], terms, connect_timeout=3.0)
    noted(lab, DEALER, "connection refused", kind="not-a-party", peer=who)


def test_a_payload_ends_the_conversation_before_anything_is_allocated(lab: Lab) -> None:
    pid = lab.children[DEALER].pid

    def refused(size: int) -> None:
        with pytest.raises(TransportError):
            ask(impatient(lab), lab.identity("owner-a"), DEALER, {"request": "status"}, bytes(size))

    refused(1)  # from here on the code that refuses is in memory
    noted(lab, DEALER, "connection refused", kind="frame", peer="owner-a")
    before = peak_from_here(pid)
    for size in (1 << 20, 4 << 20, 4 << 20):
        refused(size)
    assert peak(pid) < before + (2 << 20)


def test_a_flood_of_failing_requests_is_answered_with_busy_and_not_logged(lab: Lab) -> None:
    kinds: Counter[str] = Counter()
    with connector(impatient(lab), lab.identity("owner-a"))(DEALER) as conversation:
        for _ in range(80):
            with pytest.raises(RequestRefusedError) as refused:
                conversation.request(BEGIN)
            kinds[refused.value.kind] += 1
            assert bool(refused.value.retry_after) == (refused.value.kind == "busy")
    assert kinds["busy"] >= 20 and kinds["RefusedError"] >= 50
    assert ask(impatient(lab), lab.identity("owner-b"), DEALER, {"request": "status"})["phase"] == "waiting"
    assert lab.events(DEALER).count("request refused") == kinds["RefusedError"]
    time.sleep(1.1)
    assert ask(impatient(lab), lab.identity("owner-a"), DEALER, {"request": "status"})["phase"] == "waiting"


def attack(lab: Lab, count: int, rng: np.random.Generator) -> None:
    """Random bytes and nearly TLS from many addresses, and broken frames of an owner, at once."""
    heard: list[int] = []
    waves = [
        threading.Thread(target=strangers, args=(lab.address(DEALER), rng.spawn(1)[0], count)),
        threading.Thread(target=lambda: heard.append(insiders(lab, DEALER, rng.spawn(1)[0], 30))),
    ]
    for wave in waves:
        wave.start()
    for wave in waves:
        wave.join()
    assert sum(heard) > 20, "mutated frames came through the greeting"


def fill(lab: Lab) -> None:
    """More connections than there is room for, all at once: each begins TLS and says no more."""
    pid = lab.children[DEALER].pid
    before = descriptors(pid)
    with contextlib.ExitStack() as stay:
        for number in range(MAX_STRANGERS + 100):
            source = (f"127.0.{1 + number % 8}.{1 + number // 8}", 0)
            connection = socket.create_connection(lab.address(DEALER), timeout=2, source_address=source)
            stay.callback(connection.close)
            connection.sendall(HELLO)
        until(lambda: descriptors(pid) >= before + MAX_STRANGERS - 12, "a full room", 4, 0.01)
    until(lambda: descriptors(pid) < before + 50, "an empty room", 10)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_garbage_at_its_port_while_a_study_runs(make_lab: MakeLab) -> None:
    """Waves of it fill the room for those who are not authenticated yet (512, some 75 kB each), sooner on a quick
    machine and later on a busy one. Then another one adds nothing to the peak.
    """
    lab = make_lab(scheme="semi2k", model={"epochs": 60}, compute={"timeout": 20, "connect_timeout": 20})
    lab.start(pause={"progress train": 0.05})
    lab.contribute_all()
    pid, rng = lab.children[DEALER].pid, np.random.default_rng(3)
    before = resident(pid), descriptors(pid), threads(pid)
    peaks = [peak_from_here(pid)]
    while len(peaks) < 3 or (len(peaks) < 6 and peaks[-1] >= peaks[-2] + (8 << 20)):
        attack(lab, 8000, rng)
        if len(peaks) == 1:
            lab.wait_released(100)
        time.sleep(0.5)
        fill(lab)
        peaks.append(peak(pid))
    time.sleep(1.5)
    assert lab.children[DEALER].poll() is None
    assert peaks[-1] < peaks[-2] + (8 << 20), peaks
    assert peaks[-1] < before[0] + (64 << 20), peaks
    assert descriptors(pid) <= before[1] + 16 and threads(pid) <= before[2] + 16
    assert lab.events(DEALER).count("connection refused") < 1000, "a flood must not become a flood of log lines"
    assert "Traceback" not in lab.log(DEALER)
    lab.check_one_release()
