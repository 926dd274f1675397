"""Sharing a matrix from an owner to the parties, against sending its bytes once through one TLS connection."""

from __future__ import annotations

import hashlib
import secrets
import statistics
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from cofit.arithmetic import FixedPoint, Ring, RingArray, Shape
from cofit.arithmetic.prg import fresh_seed
from cofit.roles.local.member import Agenda, Job, Outcome
from cofit.roles.local.processes import run_processes
from cofit.roles.local.run import summarise
from cofit.sharing import scheme_named, scheme_of
from cofit.sharing.inputs import send_components
from cofit.transport import Mesh, Terms

_OWNER = "owner"


@dataclass(frozen=True)
class ShareResult:
    """What ``cofit bench share`` prints."""

    scheme: str
    ring: str
    rows: int
    cols: int
    repetitions: int
    seconds: float
    plain_seconds: float
    ratio: float
    bytes_sent_by_owner: int


def measure_share(rows: int = 1713, cols: int = 1874, repetitions: int = 9, scheme: str = "rep3") -> ShareResult:
    """Time from the first message of the owner to the last receipt; medians over the repetitions.

    Parties give the receipt when they hold their share as dealt (explicit summands and seeds), and expand seeds after,
    when no clock runs. Both receivers, of shares and of plain bytes, put them into newly allocated memory.
    """
    ring = FixedPoint(24).ring
    spec = scheme_named(scheme).info.spec()
    parties = tuple(f"party-{i}" for i in range(spec.parties))
    study = hashlib.sha256(f"bench share {scheme} {rows} {cols}".encode()).digest()
    agenda = Agenda(spec, parties, {_OWNER: {}}, Terms(secrets.token_bytes(16), study, spec.agreed), 60.0)
    jobs: dict[str, Job] = {
        name: partial(_party, agenda=agenda, ring=ring, shape=(rows, cols), repetitions=repetitions) for name in parties
    }
    jobs[_OWNER] = partial(_owner, agenda=agenda, ring=ring, shape=(rows, cols), repetitions=repetitions)
    outcomes = run_processes(agenda, jobs, threads=1)
    shared, plain, sent = summarise(agenda, outcomes).results[_OWNER]
    return ShareResult(
        scheme=scheme,
        ring=ring.name,
        rows=rows,
        cols=cols,
        repetitions=repetitions,
        seconds=statistics.median(shared),
        plain_seconds=statistics.median(plain),
        ratio=statistics.median(s / p for s, p in zip(shared, plain, strict=True)),
        bytes_sent_by_owner=sent,
    )


def _owner(
    mesh: Mesh, agenda: Agenda, ring: Ring, shape: Shape, repetitions: int
) -> Outcome[tuple[list[float], list[float], int]]:
    values: RingArray = ring.from_int(np.random.default_rng(1).integers(0, 1 << 24, shape))
    flat = values.reshape(-1).view(np.uint8).data
    shared, plain = [], []
    sent = 0
    for _ in range(repetitions + 1):  # the first one warms up the memory and is dropped
        _signal_from_all(mesh, agenda)
        start = time.perf_counter()
        before = mesh.counts.total.bytes_sent
        components = scheme_of(agenda.spec).inputs(agenda.spec).components(ring, values, fresh_seed())
        send_components(mesh, "input", agenda.parties, components)
        _signal_from_all(mesh, agenda)
        shared.append(time.perf_counter() - start)
        sent = mesh.counts.total.bytes_sent - before
        _signal_from_all(mesh, agenda)
        start = time.perf_counter()
        mesh.exchange("plain", {agenda.parties[0]: flat}, {})
        mesh.exchange("signal", {}, {agenda.parties[0]: bytearray(1)})
        plain.append(time.perf_counter() - start)
    return Outcome((shared[1:], plain[1:], sent), mesh.counts, ())


def _party(mesh: Mesh, agenda: Agenda, ring: Ring, shape: Shape, repetitions: int) -> Outcome[None]:
    scheme = scheme_of(agenda.spec)(mesh, agenda.parties, spec=agenda.spec)
    scheme.setup()
    for _ in range(repetitions + 1):
        mesh.exchange("signal", {_OWNER: b"\x01"}, {})
        dealt = scheme.receive_input(_OWNER, ring, shape)
        mesh.exchange("signal", {_OWNER: b"\x01"}, {})
        dealt.expand()
        mesh.exchange("signal", {_OWNER: b"\x01"}, {})
        if scheme.rank == 0:
            plain = np.empty(int(np.prod(shape)) * ring.element_bytes, np.uint8)
            mesh.exchange("plain", {}, {_OWNER: plain.data})
            mesh.exchange("signal", {_OWNER: b"\x01"}, {})
    return Outcome(None, mesh.counts, ())


def _signal_from_all(mesh: Mesh, agenda: Agenda) -> None:
    mesh.exchange("signal", {}, {party: bytearray(1) for party in agenda.parties})
