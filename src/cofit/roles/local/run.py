"""Run a party program on this machine: as threads in memory, or as real processes over TLS on loopback."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from cofit.errors import (
    CofitError,
    DisputeError,
    PartyFailedError,
    PeerAbortedError,
    PeerSilentError,
    StoppedError,
    TransportError,
    parameter_error,
)
from cofit.roles.local.member import (
    Agenda,
    Contribution,
    Job,
    Outcome,
    Outcomes,
    ReportingParty,
    run_dealer,
    run_owner,
    run_party,
)
from cofit.roles.local.processes import run_processes
from cofit.roles.local.progress import Listener, Progress, silent
from cofit.secret import Opening, Party
from cofit.sharing import Spec, scheme_named, scheme_of
from cofit.transport import Counts, Mesh, Terms, memory_meshes

R = TypeVar("R")
DEALER = "dealer"
_MOST_THREADS = 1024


@dataclass(frozen=True)
class LocalRun(Generic[R]):
    """The outcome of a run: each party's result, each member's exact traffic, and the audit log of openings.

    ``seconds``: the wall-clock time of the steps at the party of rank 0: "start" (until it is connected and set up),
    "share" (until the contributions are received), "program" (the whole party program), and within it every step that
    the program reported, from its first report to the first report of the next step.
    ``peak_memory``: the peak resident bytes of each member's process, ``processor_seconds``: what it took of the
    processor; both are empty when the members were threads.
    """

    results: Mapping[str, R]
    traffic: Mapping[str, Counts]
    openings: tuple[Opening, ...]
    seconds: Mapping[str, float]
    peak_memory: Mapping[str, int]
    processor_seconds: Mapping[str, float]


def run_local(
    program: Callable[[Party], R],
    *,
    scheme: str = "rep3",
    parties: int | Sequence[str] | None = None,
    threshold: int | None = None,
    route: str | None = None,
    owners: Mapping[str, Mapping[str, Contribution]] | None = None,
    processes: bool = False,
    threads: int | None = None,
    timeout: float = 60.0,
    progress: Callable[[Progress], None] | None = None,
    disk: str | Path | None = None,
) -> LocalRun[R]:
    """Run ``program`` at every computing party and return their results.

    program: a plain function of one ``Party``. With ``processes=True`` it must be importable (defined at the top level
        of a module), because every party is a fresh Python process. With a scheme that has a dealer, the dealer runs
        the program as well, without values: what is opened are zeros there, so the program must not branch on it.
    parties: how many computing parties, or their names; by default as many as is usual with the scheme.
    threshold: how many of them may be corrupted together; by default the most that the scheme withstands.
    route: how the messages of products travel, where the scheme has a choice ('direct', 'king'); by default as usual.
    owners: what each owner contributes, by name. Owners run as members of their own, and only they see their values.
    processes: real processes over TLS on loopback instead of threads in memory.
    threads: kernel threads of each process (``processes=True`` only); by default COFIT_THREADS, or 1.
    timeout: seconds after which a silent peer is given up.
    progress: called with what the party of rank 0 reports, at most about 20 times a second for each step: from the
        calling thread with processes, from a party's thread otherwise. It should return quickly. If it raises, the run
        is stopped and that error is raised.
    disk: a directory for inputs of two dimensions that are joined (``Party.joined``) and their products' operands: each
        party has them in a private file there, which is deleted when the run ends, and not in memory. The same results,
        rounds and bytes. Not with schemes that need the data in memory (``semi2k``, ``repn``, ``pair``).

    Raises PartyFailedError, naming the member, when any member fails; no partial result is returned.
    """
    began = time.monotonic()
    if not callable(program):
        raise parameter_error("program", "run_local", "a function of one Party", program)
    if threads is not None and (
        isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= _MOST_THREADS
    ):
        raise parameter_error("threads", "run_local", f"an integer from 1 to {_MOST_THREADS}, or None", threads)
    if progress is not None and not callable(progress):
        raise parameter_error("progress", "run_local", "a function of one Progress, or None", progress)
    if not isinstance(owners, Mapping | None):
        raise parameter_error(
            "owners", "run_local", "a mapping from owner to named Contributions", type(owners).__name__
        )
    for name, named in (owners or {}).items():
        if not isinstance(named, Mapping):
            kind = type(named).__name__
            raise parameter_error(f"owners['{name}']", "run_local", "a mapping from input name to Contribution", kind)
    owners = {name: dict(named) for name, named in (owners or {}).items()}
    for name, named in owners.items():
        for key, contribution in named.items():
            if not isinstance(contribution, Contribution):
                raise parameter_error(
                    f"owners['{name}']['{key}']", "run_local", "a Contribution", type(contribution).__name__
                )
    facts = {name: {k: c.facts() for k, c in named.items()} for name, named in owners.items()}
    info = scheme_named(scheme).info
    names = party_names(info.default_parties if parties is None else parties)
    spec = info.spec(len(names), threshold, route)
    study = hashlib.sha256(repr((_program_name(program), scheme, names, facts)).encode()).digest()
    dealer = DEALER if info.dealer else None
    place = None if disk is None else _checked_disk(disk, spec)
    agenda = Agenda(spec, names, facts, Terms(secrets.token_bytes(16), study, spec.agreed), timeout, dealer, place)
    jobs: dict[str, Job] = {name: partial(run_party, agenda=agenda, program=program) for name in names}
    jobs[names[0]] = ReportingParty(agenda, program, began)
    jobs |= {name: partial(run_owner, agenda=agenda, contributions=named) for name, named in owners.items()}
    if dealer is not None:
        jobs[dealer] = partial(run_dealer, agenda=agenda, program=program)
    listener = progress or silent
    outcomes = run_processes(agenda, jobs, threads, listener) if processes else run_threads(agenda, jobs, listener)
    return summarise(agenda, outcomes)


def _checked_disk(disk: str | Path, spec: Spec) -> Path:
    if why := scheme_of(spec).in_memory:
        raise parameter_error("disk", "run_local", f"None with scheme '{spec.name}': {why}", str(disk))
    if not Path(disk).is_dir():
        raise parameter_error("disk", "run_local", "a directory that exists, or None", str(disk))
    return Path(disk)


def _program_name(program: Callable[[Party], object]) -> str:
    """The name under which the members agree on the program (arguments bound to it are not part of it)."""
    bare = program.func if isinstance(program, partial) else program
    return f"{getattr(bare, '__module__', '')}.{getattr(bare, '__qualname__', type(bare).__qualname__)}"


def party_names(parties: int | Sequence[str]) -> tuple[str, ...]:
    """Return the names of the computing parties: as given, or party-a, party-b ... for a number."""
    if isinstance(parties, str):
        raise parameter_error("parties", "run_local", "a number, or a list of names", parties)
    if not isinstance(parties, int | Sequence):
        raise parameter_error("parties", "run_local", "a number, or a list of names", parties)
    if isinstance(parties, int):
        if not 0 < parties <= 26:
            raise parameter_error("parties", "run_local", "from 1 to 26, or a list of names", parties)
        return tuple(f"party-{chr(ord('a') + i)}" for i in range(parties))
    return tuple(parties)


def run_threads(agenda: Agenda, jobs: Mapping[str, Job], listener: Listener = silent) -> Outcomes:
    """Run every member's job in a thread, over the in-memory mesh.

    ``listener`` is called from the thread of the reporting party; its error ends that party and is raised at the end.
    """
    outcomes: Outcomes = {}
    failed: list[BaseException] = []

    def listen(progress: Progress) -> None:
        if failed:  # the program caught the error and went on
            raise failed[0]
        try:
            listener(progress)
        except BaseException as error:
            failed.append(error)
            raise

    meshes = memory_meshes(agenda.members, agenda.terms, agenda.timeout, agenda.links())

    def member(name: str, mesh: Mesh) -> None:
        try:
            with mesh:
                job = jobs[name]
                outcomes[name] = job.run(mesh, listen) if isinstance(job, ReportingParty) else job(mesh)
        except BaseException as error:  # carried to the caller
            outcomes[name] = error

    workers = [threading.Thread(target=member, args=item, name=item[0], daemon=True) for item in meshes.items()]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]
    return outcomes


def summarise(agenda: Agenda, outcomes: Outcomes) -> LocalRun[Any]:
    """Return everybody's results, or raise the error closest to the cause."""
    failures = {name: outcomes[name] for name in agenda.members if isinstance(outcomes[name], BaseException)}
    if failures:
        raise _failure(failures, agenda.members)
    done = {name: outcome for name in agenda.members if isinstance(outcome := outcomes[name], Outcome)}
    results = {name: o.result for name, o in done.items() if name in agenda.parties or o.result is not None}
    first = done[agenda.parties[0]]
    peaks = {name: o.peak_memory for name, o in done.items() if o.peak_memory is not None}
    spent = {name: o.processor_seconds for name, o in done.items() if o.processor_seconds is not None}
    traffic = {name: o.traffic for name, o in done.items()}
    return LocalRun(results, traffic, first.openings, first.seconds, peaks, spent)


def _failure(failures: dict[str, Any], members: tuple[str, ...]) -> PartyFailedError:
    """Name the culprit: a member with an error of its own, or else whom the others saw fail."""
    witness, error = min(failures.items(), key=lambda item: _distance_from_cause(item[1]))
    culprit, seen = witness, ""
    if isinstance(error, TransportError) and not isinstance(error, PeerAbortedError) and error.peer in members:
        culprit, seen = error.peer, f", as '{witness}' noticed"
    elif isinstance(error, DisputeError):  # the witness is the one that is not under suspicion
        culprit, seen = " or ".join(error.parties), f", as '{witness}' noticed"
    failed = PartyFailedError(culprit, f"'{culprit}' failed{seen}: {type(error).__name__}: {error}", failures)
    failed.__cause__ = error
    return failed


def _distance_from_cause(error: BaseException) -> int:
    """An error of a member's own comes first, then a death, then what members noticed of others."""
    if isinstance(error, PeerAbortedError | StoppedError):
        return 4
    if isinstance(error, PeerSilentError):
        return 2  # before the closed connections that a silent member finds when it wakes
    if isinstance(error, TransportError):
        return 3
    return 1 if type(error) is CofitError else 0
