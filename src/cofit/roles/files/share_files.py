"""Files for shares that are larger than the memory of a party: private, without a name, gone with the session.

A file is made with mode 0600 in a private directory and loses its name at once, before anything is written to it: no
other process finds it, and the system deletes it when the process ends, however that happens. Its space on the disk is
taken beforehand: a disk that fills up is an error here, and not in the middle of a session. One engine is for one
session, and empties its files when that ends (``MappedEngine.close``), so that nothing of it is left in the next.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from cofit.arithmetic.engine import Engine
from cofit.arithmetic.mapped import MappedEngine, Pages
from cofit.errors import StateError
from cofit.units import size

PREFIX = ".shares."
"""With which the name of such a file begins for the moment that it has one."""


def engine_on(directory: Path | None) -> AbstractContextManager[Engine | None]:
    """Return the engine of a session with its matrices in files there; None for None: that of the scheme."""
    return nullcontext() if directory is None else shares_on_disk(directory)


@contextmanager
def shares_on_disk(directory: Path) -> Iterator[Engine]:
    """Return an engine whose matrices lie in files on the disk of a private directory, for as long as the block."""
    engine = MappedEngine(partial(allot, directory))
    try:
        yield engine
    finally:
        engine.close()


def check_space(directory: Path, needed: int) -> None:
    """Raise StateError unless so many bytes are free on the disk of a directory."""
    free = os.statvfs(directory)
    there = free.f_bavail * free.f_frsize
    if there < needed:
        raise StateError(
            f"The shares of the data do not fit into the memory that this party may use, and need {size(needed)} on "
            f"the disk of {directory}, where {size(there)} are free. Make room there, or allow more memory (--memory)."
        )


def allot(directory: Path, needed: int) -> Pages:
    """Return a shared mapping of a new file of so many bytes, all zero, that has no name."""
    try:
        check_space(directory, needed)
        descriptor, name = tempfile.mkstemp(dir=directory, prefix=PREFIX)
        try:
            Path(name).unlink()
            os.posix_fallocate(descriptor, 0, needed)
            return Pages(descriptor, needed)
        finally:
            with suppress(OSError):
                os.close(descriptor)
    except OSError as error:
        raise StateError(
            f"No file of {size(needed)} can be made in {directory}: {error.strerror}. Make room on its disk, or check "
            f"its permissions."
        ) from None
