"""A party with shards, all in this process: every shard is a thread with connections of its own.

Rows of every owner are divided evenly among the shards, which the owner shares separately.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofit import Contribution, Party
from cofit.arithmetic.prg import fresh_seed
from cofit.learn.batches import even_parts
from cofit.roles.shards.threads import ThreadShards
from cofit.sharing import dealer_of
from cofit.sharing.inputs import send_components
from cofit.transport import Counts, Mesh, Terms, memory_meshes
from support.runs import in_threads
from support.schemes import form

DEALER = "dealer"


@dataclass(frozen=True)
class ShardedRun:
    """Results by party; traffic of every party's head, and of its shards. ``members``: of all members, owners and
    dealer among them, in every session: that of the heads first."""

    results: dict[str, Any]
    heads: dict[str, Counts]
    shards: dict[str, list[Counts]]
    members: list[dict[str, Counts]]

    def rounds(self, label: str) -> int:
        """What the busiest party waits for under a label: its head, after the slowest of its shards."""

        def most(counts: Sequence[Counts]) -> int:
            return max(
                (sum(one.rounds for name, one in each.items() if name.startswith(label)) for each in counts), default=0
            )

        return max(most([self.heads[name]]) + most(self.shards[name]) for name in self.heads)


def run_sharded(
    program: Callable[[Party], Any], scheme: str, owners: Mapping[str, Mapping[str, Any]], count: int
) -> ShardedRun:
    """Run a program at every party with so many shards. owners: their contributions, as for ``run_local``."""
    kind, spec = form(scheme)
    names = tuple(f"party-{i}" for i in range(spec.parties))
    dealer = DEALER if kind.info.dealer else None
    members = (*names, *([dealer] if dealer else []))
    meshes = [memory_meshes(members, _terms(spec.agreed), timeout=60)]
    meshes += [memory_meshes((*members, *owners), _terms(spec.agreed), timeout=60) for _ in range(count)]
    divided = [
        {owner: {name: _rows(value, k, count) for name, value in named.items()} for owner, named in owners.items()}
        for k in range(count)
    ]

    def party_of(mesh: Mesh, inputs: Mapping[str, Mapping[str, Any]]) -> Party:
        side = dealer_of(kind.info.name) if mesh.name == dealer else kind
        instance = side(mesh, names, dealer, spec)
        instance.sessions = count + 1
        instance.setup()
        facts = {owner: {name: value.facts() for name, value in named.items()} for owner, named in inputs.items()}
        party = Party(instance, facts)
        if inputs:
            party.collect()
        return party

    def member(name: str) -> Any:
        own, closing = [one[name] for one in meshes], contextlib.ExitStack()
        try:
            with ThreadPoolExecutor(count) as pool:
                shards = list(pool.map(party_of, own[1:], divided))
            head = party_of(own[0], {})
            closing.callback(ThreadShards(head, shards).close)
            result = program(head)
            head.verify()
        except BaseException:
            for mesh in own:
                mesh.abort("The program failed.")
            raise
        finally:
            closing.close()
        if name == dealer:
            for mesh in own:
                mesh.close()
        return result

    def owner(name: str, k: int) -> None:
        for value in divided[k][name].values():
            components = kind.inputs(spec).components(value.format.ring, value.encoded(), fresh_seed())
            send_components(meshes[k + 1][name], "input", names, components)

    jobs: dict[str, Callable[[], object]] = {name: functools.partial(member, name) for name in members}
    jobs |= {f"{name} {k}": functools.partial(owner, name, k) for name in owners for k in range(count)}
    outcomes = in_threads(jobs)
    counts = [{name: mesh.counts for name, mesh in one.items()} for one in meshes]
    for one in meshes:
        for mesh in one.values():
            mesh.close()
    return ShardedRun(
        {name: outcomes[name] for name in names},
        {name: counts[0][name] for name in names},
        {name: [one[name] for one in counts[1:]] for name in names},
        counts,
    )


def _terms(scheme: str) -> Terms:
    return Terms(session=secrets.token_bytes(16), study=bytes(32), scheme=scheme)


def _rows(value: Contribution, k: int, count: int) -> Contribution:
    """The rows of shard k."""
    values = np.asarray(value.values)
    start, end = even_parts(len(values), count)[k]
    return Contribution(values[start:end], value.bound, value.format)
