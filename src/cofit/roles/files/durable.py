"""Files that are whole and on disk, or not there at all."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path


def write_durably(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file, or replace it: after a crash there is the old one or the new one, never a part."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def why_not_written(path: Path, error: OSError) -> str:
    """Return why a file cannot be written, and the remedy where it is a folder that is not there; without a full stop
    at the end."""
    folder = path.parent
    if isinstance(error, FileNotFoundError) and not folder.exists():
        return f"there is no folder '{folder}'. Make it, or choose another name"
    return error.strerror or type(error).__name__


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def disk_problem(error: Exception) -> str | None:
    """Return what is wrong with the disk, and the remedy; None if the error is about something else."""
    if isinstance(error, OSError):
        what = error.strerror or type(error).__name__
    elif isinstance(error, sqlite3.Error):
        what = str(error)
    else:
        return None
    return f"The state directory cannot be used: {what}. Make room on its disk, or check its permissions."
