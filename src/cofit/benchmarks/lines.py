"""What lines cost where no connection breaks: the same work over a mesh with lines and over one without, in turns.

Every party is a process with two meshes to the same peers, over TLS on loopback, and goes from one to the other: whole
training runs on shares that it has already, and exchanges of small and of large messages in a ring.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cofit.benchmarks.train import contributions, sparse_boolean_data
from cofit.learn.facts import training_facts
from cofit.learn.inputs import Holders
from cofit.learn.plan import Plan, plan_training
from cofit.learn.private_training import private_training
from cofit.roles import run_local
from cofit.roles.files.release_store import MemoryStore
from cofit.roles.local.processes import forget_peak, peak_memory
from cofit.roles.local.run import party_names
from cofit.secret import Party
from cofit.sharing import DealtShare
from cofit.transport import Mesh, Peer, connect_mesh, generate_identity, listen
from cofit.transport.homecoming import LineRegistry

_CARD_BYTES = 4096
_SMALL_BYTES, _SMALL_EXCHANGES = 64, 2000
_LARGE_BYTES, _LARGE_EXCHANGES = 8 << 20, 8
_HUGE_BYTES = 160 << 20
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class LinesResult:
    """What ``cofit bench lines`` prints: medians over the repetitions, of the slowest party in each.

    Ratios are those of the mesh with lines to the one without, in one repetition: of a training run, of an exchange of
    64 bytes, of one of 8 MiB. ``train_processor_ratio``: of the processor time of all parties together for a training
    run, which says more on a machine that others use. ``peak_bytes_per_peer``: how much more memory a party takes at
    most to exchange 160 MiB, twice, over lines than without them, for each peer that it has.
    """

    parties: int
    rows: int
    cols: int
    repetitions: int
    train_seconds: float
    train_seconds_with_lines: float
    train_ratio: float
    train_processor_ratio: float
    small_microseconds: float
    small_microseconds_with_lines: float
    small_ratio: float
    large_milliseconds: float
    large_milliseconds_with_lines: float
    large_ratio: float
    peak_bytes_per_peer: int


def measure_lines_cost(rows: int = 1713, cols: int = 1874, repetitions: int = 7, threads: int = 1) -> LinesResult:
    """Measure with rep3 and the default recipe, on the data of ``bench train``."""
    plan = plan_training(training_facts(rows, cols, feature_bound=1.0, feature_lower=0.0))
    spec = plan.facts.spec(None)
    owners = contributions(plan, *sparse_boolean_data(rows, cols), owners=2)
    holders = Holders(tuple(owners), tuple(owners))
    program = partial(_program, plan=plan, holders=holders, repetitions=repetitions)
    names = party_names(spec.parties)
    run = run_local(
        program, scheme=spec.name, parties=names, owners=owners, processes=True, threads=threads, timeout=600.0
    )
    found = list(run.results.values())

    def slowest(work: int, way: int, scale: float) -> list[float]:
        return [scale * max(turn) for turn in zip(*(times[work][way] for times, _ in found), strict=True)]

    figures: list[tuple[float, float, float]] = []
    for work, scale in enumerate((1.0, 1e6 / _SMALL_EXCHANGES, 1e3 / _LARGE_EXCHANGES)):
        without, with_lines = slowest(work, 0, scale), slowest(work, 1, scale)
        ratio = statistics.median(b / a for a, b in zip(without, with_lines, strict=True))
        figures.append((statistics.median(without), statistics.median(with_lines), ratio))
    train, small, large = figures
    grown = max(grown for _, grown in found)
    spent = [[sum(turn) for turn in zip(*(times[-1][way] for times, _ in found), strict=True)] for way in (0, 1)]
    processor = statistics.median(b / a for a, b in zip(*spent, strict=True))
    return LinesResult(spec.parties, rows, cols, repetitions, *train, processor, *small, *large, grown)


def _program(
    party: Party, plan: Plan, holders: Holders, repetitions: int
) -> tuple[list[tuple[list[float], list[float]]], int]:
    """Return the seconds of each work, without lines and with them, last those of the processor in trainings; and the
    memory that lines took for each peer."""
    plain, dealt = party._scheme.mesh, dict(party._dealt)
    with _with_lines(plain, party.parties) as lined:
        meshes = (plain, lined)
        works: list[Callable[[Mesh], None]] = [
            lambda mesh: _train(party, mesh, dealt, plan, holders),
            lambda mesh: _ring(mesh, party.parties, _SMALL_BYTES, _SMALL_EXCHANGES),
            lambda mesh: _ring(mesh, party.parties, _LARGE_BYTES, _LARGE_EXCHANGES),
        ]
        times: list[tuple[list[float], list[float]]] = []
        processor: tuple[list[float], list[float]] = ([], [])
        for work in works:
            times.append(([], []))
            for turn in range(repetitions + 1):
                for way in (0, 1) if turn % 2 else (1, 0):
                    party.barrier("barrier")
                    start, spent = time.perf_counter(), time.process_time()
                    work(meshes[way])
                    if turn:  # the first one warms up
                        times[-1][way].append(time.perf_counter() - start)
                        if len(times) == 1:
                            processor[way].append(time.process_time() - spent)
        party._scheme.mesh = plain
        peaks = []
        for mesh in (plain, lined):
            party.barrier("barrier")
            forget_peak()
            _ring(mesh, party.parties, _HUGE_BYTES, 2)
            peaks.append(peak_memory())
    return [*times, processor], max(0, peaks[1] - peaks[0]) // len(lined.peers)


def _with_lines(mesh: Mesh, names: Sequence[str]) -> Mesh:
    """Connect the parties a second time, with lines."""
    identity = generate_identity(mesh.name)
    others = [name for name in names if name != mesh.name]
    with listen(_LOOPBACK) as listener:
        card = f"{listener.port} {identity.certificate_pem}".encode().ljust(_CARD_BYTES)
        cards = {peer: bytearray(_CARD_BYTES) for peer in others}
        mesh.exchange("cards", dict.fromkeys(others, card), cards)
        peers = []
        for peer, said in cards.items():
            port, _, certificate = bytes(said).decode().partition(" ")
            peers.append(Peer(peer, _LOOPBACK, int(port), certificate.rstrip(" ")))
        own = names.index(mesh.name)
        return connect_mesh(
            identity,
            listener,
            dial=[peer for peer in peers if names.index(peer.name) < own],
            accept=[peer for peer in peers if names.index(peer.name) > own],
            terms=replace(mesh.terms, session=bytes(reversed(mesh.terms.session))),
            timeout=600.0,
            lines=LineRegistry(),
        )


def _train(party: Party, mesh: Mesh, dealt: Mapping[tuple[str, str], DealtShare], plan: Plan, holders: Holders) -> None:
    """One training on the shares that were dealt; a program drops them when it needs them no longer."""
    party._scheme.mesh = mesh
    for (owner, name), share in dealt.items():
        party.take(owner, name, share)
    private_training(party, plan, holders, {name: MemoryStore() for name in party.parties}, key="benchmark")


def _ring(mesh: Mesh, names: Sequence[str], size: int, times: int) -> None:
    """Everybody sends to the next one, and receives from the one before."""
    at = names.index(mesh.name)
    outgoing, incoming = {names[(at + 1) % len(names)]: bytearray(size)}, {names[at - 1]: bytearray(size)}
    for _ in range(times):
        mesh.exchange("ring", outgoing, incoming)
