"""Workers on this machine, with a scheduler in the head's process.

It is ``distributed.LocalCluster`` with a scheduler that wants to hear from its workers rarely. Dask asks for two signs
of life a second, each with statistics, from workers that compute: at the head that is half a percent of a core for
every worker, while it waits. A dead worker is noticed without them, because its connections end; of one that hangs the
head knows by ``Cluster._watch``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distributed import Nanny, Scheduler, Security, SpecCluster

_BEAT_SECONDS = 10.0
_SYNC_SECONDS = 60  # the cluster's own picture of itself, which nobody looks at
_PAGES = "127.0.0.1:0"  # Dask's HTTP servers cannot be left out: they have no pages, at a port that nobody else reaches


class _Quiet(Scheduler):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for limit in ("idle-timeout", "no-workers-timeout"):  # not set, and looked at four times a second all the same
            self.periodic_callbacks.pop(limit, None)

    def heartbeat_worker(self, **told: Any) -> dict[str, Any]:
        answer: dict[str, Any] = super().heartbeat_worker(**told)
        if "heartbeat-interval" in answer:
            answer["heartbeat-interval"] = _BEAT_SECONDS
        return answer


def start_workers(workers: int, threads: int, host: str, directory: Path, environment: Mapping[str, str]) -> Any:
    """Start a scheduler in this process, and processes of workers, that speak TLS with keys made for them.

    threads: of each worker. directory: for their files. environment: what they find in theirs beside our own.
    """
    security: Any = Security.temporary()  # type: ignore[no-untyped-call]
    common = {"host": host, "protocol": "tls://", "security": security, "dashboard": False, "dashboard_address": _PAGES}
    worker = {
        "cls": Nanny,
        "options": {
            **common,
            "nthreads": threads,
            "memory_limit": 0,
            "silence_logs": logging.ERROR,
            "local_directory": str(directory),
            "env": dict(environment),
        },
    }
    return SpecCluster(  # type: ignore[no-untyped-call]
        workers=dict.fromkeys(range(workers), worker),
        worker=worker,
        scheduler={"cls": _Quiet, "options": {**common, "port": 0}},
        security=security,
        silence_logs=logging.ERROR,
        scheduler_sync_interval=_SYNC_SECONDS,
    )
