"""How the rows of a party come to its shards, and how these meet those of the other parties.

Within the session of the heads, when the program is about to use the data:

    1. every head asks its cluster for its shards, and sends each its rows of every contribution, if it has not got them
    2. every worker makes a key and listens; the heads sign and tell each other who their shards are, in one round
    3. shard k of all parties, and the dealer, connect to each other (``delegation``), in sessions of their own

A head has checked all contributions against the owners' digests, and the heads agree on these, before: what the shards
have then follows from what every party has stored, and is fixed when the study's coin is drawn.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from cofit.arithmetic.mapped import give_back
from cofit.errors import ProtocolError
from cofit.learn.division import SHARDS, divided_rows
from cofit.roles.files.manifest import without_salt
from cofit.roles.jobs.job import Job
from cofit.roles.shards.cluster import Cluster
from cofit.roles.shards.delegation import Place, delegation, split_records
from cofit.roles.shards.head import ClusterShards
from cofit.roles.shards.session import Setting
from cofit.roles.shards.shard import Shard, results
from cofit.roles.shards.stored_rows import Wanted, digest_of, piece_name
from cofit.secret import Party
from cofit.secret.party import PREPARATION
from cofit.sharing import scheme_of
from cofit.sharing.known_inputs import layout_of
from cofit.sharing.pieces import component_range
from cofit.transport import Identity
from cofit.units import size

_log = logging.getLogger(__name__)
_CHUNK = 4 << 20
_PARTS = 100
_LEAVE_SECONDS, _PAUSE_SECONDS = 20.0, 0.02
Component = Callable[[str, str], memoryview]
"""Returns a file of an owner's contribution, by owner and name of the file."""


@dataclass
class Spread:
    """Brings the rows of one session to the shards of this party. ``check``: raises what ends the session."""

    cluster: Cluster
    job: Job
    identity: Identity
    shards: int
    on_disk: bool
    component: Component
    check: Callable[[], None]
    begun: Callable[[bytes], None] = field(default=lambda session: None)
    """Notes the session of a shard, before it begins."""
    met: Callable[[Sequence[bytes]], None] = field(default=lambda told: None)
    """Notes what all parties have said of their shards, by rank."""
    _placed: ClusterShards | None = None
    _used: list[Shard] = field(default_factory=list)

    def __call__(self, party: Party) -> None:
        """Spread the rows; from then on they are in the shards of the party."""
        study = self.job.study
        seconds = study.compute.connect_timeout
        self._used = self.cluster.shards(study.hash, party.name, self.shards, seconds)
        rows = divided_rows(self.job.inputs, self.shards)
        settings = [self._setting(party, k, rows[k]) for k in range(self.shards)]
        self._send(party, settings)
        for shard, setting in zip(self._used, settings, strict=True):
            shard.session = setting.place.own_session
            self.begun(shard.session)
        asked = [shard.ask("offer", setting) for shard, setting in zip(self._used, settings, strict=True)]
        records = [
            delegation(self.identity, setting.place, *offer)
            for setting, offer in zip(settings, results(asked, self._used, self.check), strict=True)
        ]
        told = party.announce(SHARDS, b"".join(records))
        self.met(told)
        by_party = [split_records(one, self.shards, name) for one, name in zip(told, party.parties, strict=True)]
        met = [shard.ask("join", [one[k] for one in by_party]) for k, shard in enumerate(self._used)]
        results(met, self._used, self.check)
        self._placed = ClusterShards(party, self._used, self.check)

    def _setting(self, party: Party, shard: int, rows: Mapping[str, slice]) -> Setting:
        study, job = self.job.study, self.job
        return Setting(
            Place(study.hash, party.session, shard, self.shards),
            party.name,
            tuple(study.parties),
            study.dealer,
            job.spec,
            {owner: dict(named) for owner, named in job.inputs.items()},
            rows,
            dict(job.ranks),
            study.compute.connect_timeout,
            study.compute.timeout,
            self.on_disk,
        )

    def _send(self, party: Party, settings: list[Setting]) -> None:
        """Send every shard the rows that it has not got."""
        left: list[tuple[Shard, str, Wanted, memoryview]] = []
        for shard, setting in zip(self._used, settings, strict=True):
            pieces = dict(_pieces(setting, self.component))
            wanted = {name: Wanted(len(piece), digest_of(piece)) for name, piece in pieces.items()}
            (missing,) = results([shard.ask("missing", wanted)], [shard], self.check)
            left += [(shard, name, wanted[name], pieces[name]) for name in missing]
        by_shard = [_chunks(shard, [one[1:] for one in left if one[0] is shard]) for shard in self._used]
        total, done, parts = sum(len(piece) for *_, piece in left), 0, 0
        if left:
            _log.info("sends %s of shares to its workers", size(total))
        while ready := [found for found in (next(chunks, None) for chunks in by_shard) if found is not None]:
            results([future for _, future, _ in ready], [shard for shard, _, _ in ready], self.check)
            done += sum(sent for _, _, sent in ready)
            if _PARTS * done // max(total, 1) > parts:
                parts = _PARTS * done // total
                party.progress(PREPARATION, parts, _PARTS)

    def end(self, *, well: bool) -> None:
        """End the sessions of the shards; after a failure as far as they can be reached."""
        asked = []
        for shard in self._used:
            with contextlib.suppress(Exception):
                asked.append((shard, shard.ask("leave", well, well)))
        until = time.monotonic() + _LEAVE_SECONDS
        while asked and time.monotonic() < until:  # Dask tries for long to reach a worker that is lost: we do not
            asked = [(shard, future) for shard, future in asked if not (future.done() or shard.lost)]
            time.sleep(_PAUSE_SECONDS)
        self._used = []
        self._placed = None


def _chunks(shard: Shard, pieces: list[tuple[str, Wanted, memoryview]]) -> Iterator[tuple[Shard, Future[Any], int]]:
    """Send a worker its pieces, a chunk each time that the next is asked for."""
    for name, wanted, piece in pieces:
        for offset in range(0, max(1, len(piece)), _CHUNK):
            chunk = bytes(piece[offset : offset + _CHUNK])
            give_back(piece[offset : offset + _CHUNK])
            yield shard, shard.ask("write", name, wanted, offset, chunk), len(chunk)


def _pieces(setting: Setting, component: Component) -> Iterator[tuple[str, memoryview]]:
    """Yield what a shard needs of every component that this party has, by name."""
    kind, rank = scheme_of(setting.spec), setting.rank
    for owner, named in setting.inputs.items():
        for name, facts in named.items():
            layout = layout_of(kind, setting.spec, facts.format.ring, facts.shape, setting.ranks.get(owner))
            for one in layout:
                if rank in one.ranks:
                    content = without_salt(component(owner, f"{name}.{one.name}"))
                    if len(content) != one.size:
                        raise ProtocolError(f"A component of the contribution of '{owner}' has another size.")
                    part = component_range(one, facts.shape, setting.rows[owner])
                    yield piece_name(owner, name, one.name), content[part]
