"""Where the parties of a local run have the shares of the data: in memory, or, where the plan allows less, on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from cofit.learn.checked import OWNER
from cofit.learn.forecast import forecast
from cofit.learn.memory_check import check_plan_memory
from cofit.learn.plan import Plan
from cofit.roles.files.share_files import check_space


@contextmanager
def disk_of(plan: Plan, parties: int, owners: int, directory: str | Path | None = None) -> Iterator[Path | None]:
    """Give the ``disk`` of ``run_local`` for a run of this plan: a private directory for as long as the block, or None.

    directory: where it is made; None: where temporary files are. Raises InvalidInputError where the plan allows less
    memory than a party needs, StateError where the disk has not the room.
    """
    if plan.facts.memory is None:
        yield None
        return
    needed = check_plan_memory(plan, partial(forecast, owners=owners, parties=parties), "memory", OWNER)
    if not needed.exceeds(plan.facts.memory):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="cofit-", dir=directory) as private:
        check_space(Path(private), parties * needed.matrix)
        yield Path(private)
