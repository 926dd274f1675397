"""A private directory of one party in one study, for one process at a time, with durable facts in SQLite.

Directories have mode 0700, files 0600. Every transaction is on disk when it returns.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cofit.errors import StateError
from cofit.roles.files.directory_kinds import PARTY_FACTS, PARTY_LOCK, check_party_directory

FORMAT = 1
PHASES = ("collecting", "sealed", "stored", "released", "failed")
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE uploads (owner TEXT PRIMARY KEY, upload TEXT NOT NULL, manifest TEXT NOT NULL, committed INTEGER NOT NULL);
"""


class StateDirectory:
    """The directory of one party in one study, with its facts. One process at a time."""

    def __init__(self, directory: str | Path, study: str, party: str) -> None:
        self.directory = Path(directory)
        check_party_directory(self.directory)
        _private_directory(self.directory)
        self._lock = os.open(self.directory / PARTY_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise StateError(
                f"Another process works in the state directory {self.directory}. Stop it first; two would "
                f"contradict each other."
            ) from None
        self._mutex = threading.RLock()
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, self._lock)
            path = self.directory / PARTY_FACTS
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            try:
                self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
                undo.callback(self._database.close)
                # EXTRA syncs the directory after a commit, too: with FULL a power cut could undo the last one.
                self._database.execute("PRAGMA synchronous = EXTRA")
                self._open(study, party)
            except sqlite3.DatabaseError as error:
                raise StateError(f"The state in {self.directory} cannot be read: {error}.") from None
            undo.pop_all()

    def _open(self, study: str, party: str) -> None:
        with self._transaction() as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {FORMAT}")
                incarnation = secrets.token_hex(16)
                facts = {"study": study, "party": party, "phase": "collecting", "incarnation": incarnation}
                database.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
            elif version != FORMAT:
                raise StateError(f"The state in {self.directory} has format {version}; this release reads {FORMAT}.")
        for name, wanted in (("study", study), ("party", party)):
            if (found := self.fact(name)) != wanted:
                raise StateError(
                    f"The state directory {self.directory} belongs to {name} {found}, not to {wanted}. Use a directory "
                    f"of its own for every study and party."
                )

    def close(self) -> None:
        """Let another process work here."""
        with self._mutex:
            self._database.close()
            os.close(self._lock)

    # --- facts -------------------------------------------------------------------------------------------

    def fact(self, name: str) -> str | None:
        """Return a fact, or None."""
        with self._mutex:
            row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def count(self, beginning: str) -> int:
        """Return how many facts there are whose names begin so."""
        query = "SELECT COUNT(*) FROM facts WHERE substr(name, 1, ?) = ?"
        with self._mutex:
            return int(self._database.execute(query, (len(beginning), beginning)).fetchone()[0])

    def record(self, **facts: str) -> None:
        """Set facts, durably and together."""
        with self._transaction() as database:
            database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    @property
    def phase(self) -> str:
        """Where the study stands here: one of ``PHASES``."""
        return self.fact("phase") or "collecting"

    @property
    def forgotten(self) -> bool:
        """Whether the shares were deleted on purpose: this party then takes part in no session any more."""
        return self.fact("forgotten") is not None

    def advance(self, phase: str) -> None:
        """Go to a later phase; going back is refused."""
        if PHASES.index(phase) < PHASES.index(self.phase):
            raise StateError(f"A study that is {self.phase} cannot become {phase} again.")
        self.record(phase=phase)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._mutex:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")


def holder_of(directory: Path) -> str:
    """Return the name of the party or dealer that a directory belongs to, or raise StateError."""
    try:
        path = f"{(directory / PARTY_FACTS).resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
            (name,) = database.execute("SELECT value FROM facts WHERE name = 'party'").fetchone()
    except (sqlite3.DatabaseError, TypeError):
        raise StateError(f"The state in {directory} cannot be read: it does not say whose it is.") from None
    return str(name)


def _private_directory(directory: Path) -> None:
    """Make the directory for this user alone; one that others can look into is refused, unless it is empty."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if directory.stat().st_mode & 0o077:
            if any(directory.iterdir()):
                raise StateError(
                    f"Others on this machine can look into the state directory. Run: chmod 700 '{directory}'"
                )
            directory.chmod(0o700)
    except OSError as error:
        raise StateError(f"The state directory {directory} cannot be used: {error.strerror}.") from None
