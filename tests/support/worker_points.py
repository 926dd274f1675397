"""Points of a Dask worker's program at which it dies, waits or cheats, as those of ``study_process`` for parties.

The worker loads this module before anything else (Dask's ``preload``). Points are "before X" and "after X" of what a
head asks of a shard, such as "before join" and "after run". A new worker has the same instructions as the one in whose
place it came, so what was done once is noted in a file and not done again. Points that are reached, with the process
and the shard, go to the file ``worker-trace`` in the working directory.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from cofit.roles.shards.worker import ShardWorker
from support.tampering import tamper

INSTRUCTIONS = "COFIT_TEST_WORKER"
ASKED = ("missing", "write", "offer", "join", "run", "leave")


def instrument_workers(instructions: Mapping[str, Any]) -> None:
    """Let the workers that this process starts do as they are told. ``die``, ``pause`` and ``tamper``: by point."""
    os.environ[INSTRUCTIONS] = json.dumps(dict(instructions))
    importlib.import_module("dask").config.set({"distributed.worker.preload": [__name__]})


class _Points:
    def __init__(self, die: Mapping[str, int], pause: Mapping[str, float]) -> None:
        self._die, self._pause = die, pause
        self._seen: Counter[str] = Counter()
        self._trace = os.open("worker-trace", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def reached(self, point: str, who: str) -> None:
        self._seen[point] += 1
        os.write(self._trace, f"{time.time():.6f} {os.getpid()} {point}: {who}\n".encode())
        if self._die.get(point) == self._seen[point] and _first(point):
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
        time.sleep(self._pause.get(point, 0.0))


def _first(what: str) -> bool:
    """Whether no worker of this party has done this before."""
    try:
        os.close(os.open(f"done {what}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _instrument(points: _Points) -> None:
    for name in ASKED:
        asked = getattr(ShardWorker, name)

        @functools.wraps(asked)
        async def around(self: ShardWorker, *arguments: Any, _asked: Any = asked, _name: str = name) -> Any:
            points.reached(f"before {_name}", self._name)
            result = await _asked(self, *arguments)
            points.reached(f"after {_name}", self._name)
            return result

        setattr(ShardWorker, name, around)


def dask_setup(worker: Any) -> None:
    """Called by Dask in every worker."""
    del worker
    told = json.loads(os.environ.get(INSTRUCTIONS, "{}"))
    _instrument(_Points(told.get("die", {}), told.get("pause", {})))
    for label, when in told.get("tamper", {}).items():
        if _first(f"tamper {label}".replace("/", " ")):
            tamper(label, when)
