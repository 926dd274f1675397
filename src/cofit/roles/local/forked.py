"""Processes of this machine that start within milliseconds.

They are forked from a server that has imported what all of them need, where spawned ones would each import it again.
The server is a process without data, keys or threads of its own; it is started when it is first needed, ends with this
process, and has the environment that this process had then.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext

_IMPORTED = ["cofit.roles.local.processes", "cofit.roles.local.training"]


def forked_context() -> ForkServerContext:
    """Return the context in which to start processes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    return context
