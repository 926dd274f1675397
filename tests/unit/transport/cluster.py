"""Several parties in one process, each in a thread, over either mesh: what the transport tests run on."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

from cofit.transport import (
    FaultPlan,
    Identity,
    Listener,
    Mesh,
    Peer,
    Terms,
    connect_mesh,
    faulty_links,
    generate_identity,
    listen,
    memory_meshes,
)

R = TypeVar("R")
Kind = Literal["memory", "tls"]
KINDS: tuple[Kind, ...] = ("memory", "tls")
NAMES = ("P0", "P1", "P2")
TERMS = Terms(session=b"s" * 16, study=b"h" * 32, scheme="rep3/z64")
Plans = Mapping[str, Mapping[str, FaultPlan]]


_identities: dict[str, Identity] = {}
_making = threading.Lock()


def identity(name: str) -> Identity:
    """Return the one identity of that name in this test run, also when several threads ask at once."""
    with _making:
        if name not in _identities:
            _identities[name] = generate_identity(name)
        return _identities[name]


def run_all(jobs: Mapping[str, Callable[[], R]], limit: float = 30.0) -> dict[str, R | BaseException]:
    """Run each job in a thread; return results or errors by name. Fails if one hangs."""
    outcomes: dict[str, R | BaseException] = {}

    def work(name: str) -> None:
        try:
            outcomes[name] = jobs[name]()
        except BaseException as error:
            outcomes[name] = error

    threads = {name: threading.Thread(target=work, args=(name,), daemon=True) for name in jobs}
    for thread in threads.values():
        thread.start()
    deadline = time.monotonic() + limit
    for thread in threads.values():
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not [name for name, thread in threads.items() if thread.is_alive()], "a party hangs"
    return outcomes


def results(outcomes: Mapping[str, R | BaseException]) -> dict[str, R]:
    """Return the results; raise the first error."""
    good: dict[str, R] = {}
    for name, outcome in outcomes.items():
        if isinstance(outcome, BaseException):
            raise outcome
        good[name] = outcome
    return good


def join_tls(
    name: str,
    listeners: Mapping[str, Listener],
    terms: Terms = TERMS,
    timeout: float = 5.0,
    connect_timeout: float = 10.0,
    plans: Mapping[str, FaultPlan] | None = None,
) -> Mesh:
    """Connect party ``name`` with all others that have a listener: it dials those before it."""
    names = list(listeners)
    peers = [Peer(n, "127.0.0.1", listeners[n].port, identity(n).certificate_pem) for n in names]
    at = names.index(name)
    return connect_mesh(
        identity(name),
        listeners[name],
        peers[:at],
        peers[at + 1 :],
        terms,
        timeout=timeout,
        connect_timeout=connect_timeout,
        wrap=faulty_links(plans) if plans else None,
    )


def run_cluster(
    kind: Kind,
    program: Callable[[Mesh], R],
    names: Sequence[str] = NAMES,
    *,
    timeout: float = 5.0,
    plans: Plans | None = None,
    limit: float = 30.0,
) -> dict[str, R | BaseException]:
    """Run ``program`` at every party over a mesh of the given kind; return results or errors by name."""
    plans = plans or {}
    if kind == "memory":
        wraps = {name: faulty_links(plan) for name, plan in plans.items()}
        meshes = memory_meshes(names, TERMS, timeout, wrap=wraps)

        def run(name: str) -> R:
            with meshes[name] as mesh:
                return program(mesh)

        return run_all({name: functools.partial(run, name) for name in names}, limit)

    listeners = {name: listen("127.0.0.1") for name in names}

    def connect_and_run(name: str) -> R:
        with join_tls(name, listeners, timeout=timeout, plans=plans.get(name)) as mesh:
            return program(mesh)

    try:
        return run_all({name: functools.partial(connect_and_run, name) for name in names}, limit)
    finally:
        for listener in listeners.values():
            listener.close()


def neighbours(mesh: Mesh, names: Sequence[str] = NAMES) -> tuple[str, str]:
    """Return the left and the right neighbour on the ring."""
    at = names.index(mesh.name)
    return names[at - 1], names[(at + 1) % len(names)]
