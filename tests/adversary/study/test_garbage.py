"""Noise at a party's port while a study runs: the study finishes, and nothing of the noise stays in memory."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cofit.errors import CofitError
from cofit.roles.service.conversations import connector
from cofit.transport import Conversation
from cofit.transport.frames import HEADER, MAGIC, Kind
from cofit.transport.strict_json import encode_header
from support.nursery import until
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]
HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(32)) + bytes(161)  # how a TLS client begins


def resident(pid: int) -> int:
    """Resident memory of a process, in bytes."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def peak(pid: int) -> int:
    """The most resident memory that a process has had since ``peak_from_here``, in bytes."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10


def peak_from_here(pid: int) -> int:
    """Forget earlier peaks, and return what is resident now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak(pid)


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def mutated(rng: np.random.Generator, data: bytes) -> bytes:
    """Some bytes changed, cut, or repeated."""
    copy = bytearray(data)
    for place in rng.integers(0, len(copy), rng.integers(1, 6)):
        copy[place] = rng.integers(256)
    kind = rng.integers(4)
    return bytes(copy[: rng.integers(1, len(copy))] if kind == 0 else copy * 3 if kind == 1 else copy)


def strangers(address: tuple[str, int], rng: np.random.Generator, count: int) -> None:
    """Connections from many addresses that send random bytes, or nearly TLS, and leave or stay."""
    stay = []
    for number in range(count):
        with contextlib.suppress(OSError):
            source = (f"127.0.{rng.integers(1, 9)}.{rng.integers(1, 250)}", 0)
            connection = socket.create_connection(address, timeout=2, source_address=source)
            connection.sendall(rng.bytes(int(rng.integers(1, 2000))) if number % 2 else mutated(rng, HELLO))
            if number % 10:
                connection.close()
            else:
                stay.append(connection)
    for connection in stay:
        connection.close()


def _frame(conversation: Conversation, header: dict[str, object], payload: bytes) -> bytes:
    """The bytes that a conversation would send next."""
    raw = encode_header(header)
    size = len(raw) + len(payload)
    head = HEADER.pack(MAGIC, conversation._version, Kind.MESSAGE, 0, len(raw), conversation._send_tag, 1, size)
    return head + raw + payload


def insiders(lab: Lab, party: str, rng: np.random.Generator, count: int) -> int:
    """An owner with a valid certificate that sends broken frames after a proper greeting. How many got that far."""
    heard = 0
    connect = connector(lab.study, lab.identity("owner-a"))
    good: dict[str, object] = {"request": "upload.chunk", "upload": "0" * 32, "file": "features.seed_0", "offset": 0}
    for _ in range(count):
        with contextlib.suppress(CofitError), connect(party) as conversation:
            heard += 1
            raw = _frame(conversation, good, rng.bytes(100))
            link = conversation._link
            link.queue((mutated(rng, raw) if rng.integers(2) else rng.bytes(200),))
            link.pump_send()
            conversation.receive(timeout=0.05)
    return heard


@pytest.mark.parametrize("count", [1500, pytest.param(20_000, marks=[pytest.mark.slow, pytest.mark.timeout(400)])])
def test_garbage_at_every_port_while_a_study_runs(make_lab: MakeLab, count: int) -> None:
    lab = make_lab(model={"epochs": 60}, compute={"timeout": 20, "connect_timeout": 20})
    lab.start(pause={"progress train": 0.05 if count < 5000 else 0.3})
    lab.contribute_all()
    until(lambda: "progress train: 2" in lab.trace("party-a"), "training has begun")
    pids = {party: lab.children[party].pid for party in PARTIES}
    before = {party: (resident(pid), descriptors(pid), threads(pid)) for party, pid in pids.items()}
    rng = np.random.default_rng(1)
    heard = []
    attack = [
        threading.Thread(target=strangers, args=((entry.host, entry.port), rng.spawn(1)[0], count // 3))
        for entry in lab.study.parties
    ]
    attack += [
        threading.Thread(target=lambda p=party: heard.append(insiders(lab, p, rng.spawn(1)[0], 40)))
        for party in PARTIES
    ]
    for thread in attack:
        thread.start()
    for thread in attack:
        thread.join()
    assert sum(heard) > 60, "mutated frames came through the greeting"
    lab.wait_released(100)
    time.sleep(1.0)
    for party, pid in pids.items():
        assert lab.children[party].poll() is None
        old, now = before[party], (resident(pid), descriptors(pid), threads(pid))
        # up to 512 TLS connections at once and the rest of the study: 35 to 41 MB from 20,000 to 80,000 strangers
        assert now[0] < old[0] + (50 << 20), f"{party} grew from {old[0] >> 20} to {now[0] >> 20} MB"
        assert now[1] <= old[1] + 16 and now[2] <= old[2] + 16
        assert "connection refused" in lab.events(party)
        refusals = [event for event in lab.events(party) if event == "connection refused"]
        assert len(refusals) < 600, "a flood must not become a flood of log lines"
        assert "Traceback" not in lab.log(party), lab.log(party)
    lab.check_one_release()
