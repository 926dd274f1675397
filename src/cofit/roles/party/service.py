"""A computing party as a long-running process: waits for contributions and peers, does its job, releases, and answers.

Parties may start in any order and stop at any moment. Leading (see ``sessions``) gives no power over the result: every
party checks the study, the job and the contributions itself before it takes part.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import Any

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.memory_check import check_head_memory, check_memory
from cofit.roles.files.share_files import check_space
from cofit.roles.jobs.job import Job
from cofit.roles.party.desk import PartyDesk
from cofit.roles.party.queries import Queries
from cofit.roles.party.sealing import Sealing
from cofit.roles.party.session import MOST_SESSIONS
from cofit.roles.party.sessions import PartySessions
from cofit.roles.party.state import WORKERS, PartyState
from cofit.roles.service.service import Service, check_certificate
from cofit.roles.shards.cluster import Cluster
from cofit.transport import Identity
from cofit.units import size

_log = logging.getLogger(__name__)
LEAST_ATTEMPTS = 8
"""So many sessions with all its shards a study must be able to begin, where a scheme counts them."""


class PartyService(Service):
    """One party of one study, with its job and its state directory. ``run`` returns when it is stopped.

    memory: the bytes that it may use; None: what the study says, if it does. Where the shares of the data exceed it,
    they lie in a private file on the disk of the state directory while a session runs.
    cluster, workers: where its shards are, in a study that has some: at the Dask scheduler at this address, or in so
    many processes on this machine; neither: in one process for every shard, and no more than there are processors.
    """

    def __init__(
        self,
        job: Job,
        identity: Identity,
        state: str | Path,
        listen_at: tuple[str, int] | None = None,
        memory: int | None = None,
        cluster: str | None = None,
        workers: int | None = None,
    ) -> None:
        study = job.study
        names = [party.name for party in study.parties]
        if identity.name not in names:
            raise InvalidInputError(f"'{identity.name}' is no computing party of this study; those are {names}.")
        rank = names.index(identity.name)
        entry = study.parties[rank]
        check_certificate(identity, entry)
        limit = study.compute.memory if memory is None else memory
        check_limit(job, memory)
        self._cluster = _cluster(job, identity.name, Path(state) / WORKERS, cluster, workers)
        self._state = PartyState(state, study.hash, identity.name)
        callers = [*names, *([] if study.dealer is None else [study.dealer.name])]
        super().__init__("party", job, identity, self._state, listen_at or (entry.host, entry.port), callers)
        if limit is not None and job.memory is not None and job.memory.exceeds(limit) and cluster is None:
            check_space(self._state.directory, job.memory.matrix * (job.shards or 1))
        active = study.spec.active
        sealing = Sealing(tuple(job.inputs), self._state, self._audit, take_back=not active)
        self._queries = None
        if job.questions is not None:
            self._queries = Queries(study, job.questions, rank, self._state, self._audit)
        self._desk: PartyDesk = PartyDesk(
            job, rank, self._state, sealing, self._audit, self._progress, queries=self._queries
        )
        self._sessions = PartySessions(
            job,
            identity,
            self._state,
            sealing,
            self._audit,
            self._desk,
            self._stopping,
            self._queries,
            limit,
            self._cluster,
        )

    @property
    def released(self) -> bool:
        """Whether the result is out."""
        return self._state.phase == "released"

    def run(self, *, until_released: bool = False) -> str:
        """Serve until stopped (or, if so asked, until all parties have the model); return the phase then.

        StateError, if so asked, where no release can come any more; TransportError where nobody can connect any more.
        """
        with contextlib.ExitStack() as closing:
            for one in (self._queries, self._cluster):
                if one is not None:
                    closing.enter_context(contextlib.closing(one))
            if self._cluster is not None:
                self._cluster.look(self._study.compute.connect_timeout)
            return self._serve(lambda reception: self._sessions.work(reception, until_released))

    def _phase(self) -> str:
        return self._state.phase

    def _progress(self) -> dict[str, Any]:
        return self._sessions.status()

    def _answered(self, peer: str, request: dict[str, Any]) -> None:
        kind = request.get("request")
        if kind not in ("upload.begin", "upload.commit") or not self._desk.doors.loggable(str(kind), peer):
            return
        if kind == "upload.begin":
            _log.info("the contribution of '%s' is announced", peer)
        else:
            uploads = [self._state.upload(owner.name) for owner in self._study.owners]
            complete = sum(upload is not None and upload.committed for upload in uploads)
            _log.info("the contribution of '%s' is complete (%d of %d)", peer, complete, len(uploads))


def _cluster(job: Job, name: str, directory: Path, address: str | None, workers: int | None) -> Cluster | None:
    """Return where the shards of a party are; None where the study has none. InvalidInputError for wrong options."""
    given = "--cluster" if address is not None else "--workers"
    if job.shards is None:
        if address is not None or workers is not None:
            wanted = "left out: the study has no compute.shards, so that a party is one process"
            raise parameter_error(given, "a party", wanted, address or workers)
        return None
    if address is not None and workers is not None:
        raise parameter_error("--workers", "a party", "left out where --cluster is given", workers)
    if address is None and workers is None:
        workers = min(job.shards, os.cpu_count() or 1)
    if job.spec.soundness_bits is not None and (job.shards + 1) * LEAST_ATTEMPTS > MOST_SESSIONS:
        most = MOST_SESSIONS // LEAST_ATTEMPTS - 1
        reason = f"at most {most} with scheme '{job.spec.name}', which counts the sessions of all shards"
        raise parameter_error("compute.shards", "a study", reason, job.shards)
    host = next(party.host for party in job.study.parties if party.name == name)
    return Cluster(address, workers, directory, host)


def check_limit(job: Job, memory: int | None) -> None:
    """Raise InvalidInputError unless a party can do the job with so much memory; None: as much as the study allows."""
    if memory is None:
        return
    if job.memory is None:
        raise parameter_error("--memory", "a party", "left out: this study has a program of its own", size(memory))
    check_head_memory(memory, job.head_memory, "--memory", "a party")
    check_memory(memory, job.memory, job.spec, "--memory", "a party", shards=job.shards)
