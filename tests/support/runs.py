"""Run a program at every party of a scheme, over any kind of mesh, in threads of this process."""

from __future__ import annotations

import functools
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from cofit.arithmetic import Ring, RingArray
from cofit.arithmetic.prg import fresh_seed
from cofit.sharing import Scheme, Share, Spec, dealer_of
from cofit.sharing.inputs import send_components
from cofit.sharing.rep4.party import Rep4
from cofit.sharing.repn.geometry import geometry_of as repn_geometry
from cofit.sharing.repn.party import Repn
from cofit.sharing.shamir.geometry import geometry_of, tables_of
from cofit.sharing.shamir.party import Shamir
from cofit.transport import (
    Counts,
    Delay,
    FaultPlan,
    Identity,
    LabelCounts,
    Mesh,
    Peer,
    Terms,
    connect_mesh,
    faulty_links,
    generate_identity,
    listen,
    memory_meshes,
)
from support.schemes import form

T = TypeVar("T")
MESHES = ("memory", "tls", "faulty")
OWNER = "owner"
DEALER = "dealer"
TIMEOUT = 20.0


@dataclass(frozen=True)
class Run(Generic[T]):
    """Results and traffic by rank; ``owner`` is the traffic of the owner, ``dealer`` that of the dealer."""

    results: list[T]
    traffic: list[Counts]
    owner: Counts | None
    dealer: Counts | None

    def rounds(self, label: str) -> int:
        """Rounds of a label: the most that any party waited."""
        return max(counts.get_or_zero(label).rounds for counts in self.traffic)

    def bytes_sent(self, label: str) -> int:
        """Payload bytes that all parties (and the dealer) sent together under a label."""
        return sum(counts.get_or_zero(label).bytes_sent for counts in self._counted)

    def everything(self) -> LabelCounts:
        """All labels of all parties (and the dealer) together."""
        return sum((counts.total for counts in self._counted), LabelCounts())

    @property
    def _counted(self) -> list[Counts]:
        return self.traffic if self.dealer is None else [*self.traffic, self.dealer]


def run_scheme(
    scheme: str | type[Scheme],
    program: Callable[[Scheme], T],
    *,
    mesh: str = "memory",
    deal: Mapping[str, tuple[Ring, RingArray]] | None = None,
    parties: int | None = None,
    names: tuple[str, ...] | None = None,
    spec: Spec | None = None,
) -> Run[T]:
    """Run ``program`` at every party (and the dealer) after its setup; traffic counts what comes after the setup.

    ``scheme``: the name of a form (``support.schemes``), or a class.
    ``deal``: what an owner outside the parties deals, in order; the program calls ``receive_input`` for each.
    """
    kind, usual = form(scheme) if isinstance(scheme, str) else (scheme, None)
    asked = len(names) if names else parties
    spec = spec or (usual if usual and asked is None else kind.info.spec(asked))
    names = names or tuple(f"party-{i}" for i in range(spec.parties))
    dealer = DEALER if kind.info.dealer else None
    members = (*names, *([OWNER] if deal else []), *([dealer] if dealer else []))
    meshes = connected(members, mesh, spec.agreed)

    def party(own: Mesh) -> tuple[T, Counts]:
        side = dealer_of(kind.info.name) if own.name == dealer else kind
        instance = side(own, names, dealer, spec)
        instance.setup()
        before = own.counts
        try:
            outcome = program(instance), own.counts - before
        except BaseException:
            own.abort("The program failed.")
            raise
        if own.name == dealer:
            own.close()
        return outcome

    def owner(own: Mesh) -> Counts:
        for ring, values in (deal or {}).values():
            send_components(own, "input", names, kind.inputs(spec).components(ring, values, fresh_seed()))
        return own.counts

    jobs: dict[str, Callable[[], object]] = {name: functools.partial(party, meshes[name]) for name in names}
    if deal:
        jobs[OWNER] = functools.partial(owner, meshes[OWNER])
    if dealer:
        jobs[dealer] = functools.partial(party, meshes[dealer])
    outcomes = in_threads(jobs)
    for own in meshes.values():
        own.close()
    pairs = [outcomes[name] for name in names]
    counts = outcomes.get(OWNER)
    return Run(
        [pair[0] for pair in pairs],  # type: ignore[index]
        [pair[1] for pair in pairs],  # type: ignore[index]
        counts if isinstance(counts, Counts) else None,
        outcomes[dealer][1] if dealer else None,  # type: ignore[index]
    )


def in_threads(jobs: Mapping[str, Callable[[], object]]) -> dict[str, object]:
    """Run all jobs at once; raise the first error after all have ended."""
    outcomes: dict[str, object] = {}
    errors: dict[str, BaseException] = {}

    def run(name: str, job: Callable[[], object]) -> None:
        try:
            outcomes[name] = job()
        except BaseException as error:
            errors[name] = error

    threads = [threading.Thread(target=run, args=item, daemon=True) for item in jobs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT * 3)
    if errors:
        raise next(iter(errors.values()))
    return outcomes


def connected(names: tuple[str, ...], kind: str, scheme: str) -> dict[str, Mesh]:
    """Connect everybody with everybody. ``faulty`` delays frames at random places but loses none."""
    terms = Terms(secrets.token_bytes(16), bytes(32), scheme)
    if kind == "memory":
        return memory_meshes(names, terms, TIMEOUT)
    if kind == "faulty":
        plans = {
            name: {peer: FaultPlan({3 + i: Delay(0.002), 5: Delay(0.001)}) for i, peer in enumerate(names)}
            for name in names
        }
        return memory_meshes(names, terms, TIMEOUT, wrap={name: faulty_links(plans[name]) for name in names})
    identities = {name: _identity(name) for name in names}
    listeners = {name: listen("127.0.0.1") for name in names}
    peers = {name: Peer(name, "127.0.0.1", listeners[name].port, identities[name].certificate_pem) for name in names}
    meshes: dict[str, Mesh] = {}

    def connect(name: str) -> None:
        place = names.index(name)
        meshes[name] = connect_mesh(
            identities[name],
            listeners[name],
            [peers[other] for other in names[:place]],
            [peers[other] for other in names[place + 1 :]],
            terms,
            timeout=TIMEOUT,
        )

    in_threads({name: functools.partial(connect, name) for name in names})
    for listener in listeners.values():
        listener.close()
    return meshes


@functools.cache
def _identity(name: str) -> Identity:
    return generate_identity(name)


def reconstruct(shares: list[Share], scheme: str) -> RingArray:
    """The value of a sharing, seen from outside: its summands added up, or its polynomial at 0."""
    if scheme == "clear":
        return shares[0].parts[0]
    ring, (kind, spec) = shares[0].ring, form(scheme)
    if issubclass(kind, Shamir):
        geometry = geometry_of(spec.parties, spec.threshold)
        rows = [tables_of(geometry, ring).summand(rank, geometry.openers) for rank in geometry.openers]
        return ring.signed_sum([ring.combined(shares[r].parts, row)[0] for r, row in enumerate(rows)])
    if issubclass(kind, Repn):  # a party has the summands of its groups
        groups: dict[tuple[int, ...], RingArray] = {}
        for held, share in zip(repn_geometry(spec.parties).held, shares, strict=True):
            groups.update(zip(held, share.parts, strict=True))
        return ring.signed_sum(list(groups.values()))
    if issubclass(kind, Rep4):  # a party has all summands but its own
        return ring.signed_sum([shares[1].parts[0], *shares[0].parts])
    return ring.signed_sum([share.parts[0] for share in shares])
