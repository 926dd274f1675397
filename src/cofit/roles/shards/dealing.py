"""The dealer of a party with shards: in one process, with a session and a thread for every shard.

It hears from the heads who their shards are, checks what they have signed, and dials each of them, as it dials the
heads: so every shard has correlated randomness of its own, and no draw is used in two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cofit.learn.division import DELEGATION_BYTES, SHARDS, divided_rows, facts_of_shard
from cofit.roles.jobs.job import Job
from cofit.roles.shards.delegation import Place, delegated, split_records
from cofit.roles.shards.threads import ThreadShards
from cofit.secret import Party
from cofit.sharing import dealer_of
from cofit.sharing.pieces import assembled_rows
from cofit.transport import Identity, Mesh, Reception, Terms, connect_mesh


@dataclass
class DealerSpread:
    """Meets the shards of all parties, in one session. ``check``: raises what ends it."""

    job: Job
    identity: Identity
    shards: int
    reception: Reception
    check: Callable[[], None]

    def __post_init__(self) -> None:
        self._meshes: list[Mesh] = []
        self._placed: ThreadShards | None = None

    def __call__(self, party: Party) -> None:
        """Hear who the shards are, and meet all of them."""
        told = party.announce(SHARDS, bytes(self.shards * DELEGATION_BYTES))
        by_party = [split_records(one, self.shards, name) for one, name in zip(told, party.parties, strict=True)]
        with ThreadPoolExecutor(self.shards, thread_name_prefix="meets a shard") as pool:
            under_way = [
                pool.submit(self._met, party.session, k, [one[k] for one in by_party]) for k in range(self.shards)
            ]
            parties = [one.result() for one in under_way]
        self._placed = ThreadShards(party, parties, self.check)

    def _met(self, session: bytes, shard: int, records: Sequence[bytes]) -> Party:
        job, study = self.job, self.job.study
        place = Place(study.hash, session, shard, self.shards)
        peers = [delegated(record, entry, place) for record, entry in zip(records, study.parties, strict=True)]
        mesh = connect_mesh(
            self.identity,
            None,
            dial=peers,
            accept=[],
            terms=Terms(place.own_session, bytes.fromhex(study.hash), job.spec.agreed),
            connect_timeout=study.compute.connect_timeout,
            timeout=study.compute.timeout,
            lines=self.reception.lines,
        )
        self._meshes.append(mesh)
        names = [entry.name for entry in study.parties]
        scheme = dealer_of(job.spec.name)(mesh, names, self.identity.name, job.spec)
        scheme.setup()
        rows = divided_rows(job.inputs, self.shards)[shard]
        party = Party(scheme, facts_of_shard(job.inputs, rows))
        for owner, named in job.inputs.items():
            for name, facts in named.items():
                given = type(scheme), job.spec, facts.format.ring, facts.shape, scheme.rank
                party.take(owner, name, assembled_rows(*given, {}, job.ranks.get(owner), rows[owner]))
        return party

    def end(self, *, well: bool) -> None:
        """Leave all sessions."""
        for mesh in self._meshes if not well else ():
            mesh.interrupt()
        if self._placed is not None:
            self._placed.close()
        for mesh in self._meshes:  # whose threads have ended
            if well:
                mesh.close()
            else:
                mesh.abort("The dealer's session has ended.")
        self._meshes, self._placed = [], None
