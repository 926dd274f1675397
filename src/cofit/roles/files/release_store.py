"""Where a party keeps the record of a release (see ``cofit.secret.release``)."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cofit.errors import InvalidInputError, ProtocolError


class MemoryStore:
    """A store for runs in one process, as in tests: nothing survives it."""

    def __init__(self, record: bytes | None = None) -> None:
        self._record = record

    def load(self) -> bytes | None:
        return self._record

    def save(self, record: bytes) -> None:
        if self._record not in (None, record):
            raise _refused("This store")
        self._record = record

    def confirm(self) -> None:
        """Nothing to note: what is saved is never discarded."""

    def __repr__(self) -> str:
        return f"<MemoryStore, {'empty' if self._record is None else 'with a record'}>"


@dataclass(frozen=True)
class FileStore:
    """A store in one file, readable by its owner alone (mode 0600), in a directory that exists.

    The file appears whole and durable, or not at all. The record is a secret of this party: keep it as long as the data
    and away from all other parties.
    """

    path: str | Path

    def load(self) -> bytes | None:
        path = Path(self.path)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            if not os.access(path.parent, os.W_OK | os.X_OK):  # found out now, not after hours of computing
                raise InvalidInputError(
                    f"The directory of the release store '{path}' must exist and be writable. Create it."
                ) from None
            return None

    def confirm(self) -> None:
        """Nothing to note: what is saved is never discarded."""

    def save(self, record: bytes) -> None:
        path = Path(self.path)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(record)
                file.flush()
                os.fsync(descriptor)
            os.link(temporary, path)  # a rename that cannot replace
        except FileExistsError:
            if self.load() != record:
                raise _refused(f"The release store '{path}'") from None
            _sync(path)
        finally:
            Path(temporary).unlink()
        _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refused(store: str) -> ProtocolError:
    return ProtocolError(
        f"{store} holds another record already, which is never replaced: it may have been opened. Use a new store for "
        "a new release."
    )
