"""What a computing party keeps on disk for one study: facts in SQLite, shares in files, all private to its user.

    DIR/lock                            held by the one process that works here
    DIR/state.sqlite                    format version, study, party, phase, uploads
    DIR/audit.jsonl                     the audit log (``files.audit``)
    DIR/uploads/OWNER/UPLOAD/FILE       components of contributions (``sharing``: ``Component``)
    DIR/checkpoints/STEP.SESSION        this party's fresh share of what the job goes on with after that step
    DIR/coin                            this party's record of the study's coin (``party.coin``)
    DIR/release                         the stored release (``secret.release``); release-2 ... of a program's later ones
    DIR/ledger.sqlite                   what this party has released (``ledger``)
    DIR/published.json                  the opened weights and their certificate (``publication``)
    DIR/signature.json                  this party's signature of both
    DIR/result.json                     what a program opened to this party, and returned here (``jobs.program``)
    DIR/queries/ID                      a directory like this one, of a query of a client (``queries``)
    (no name)                           shares of the data, while a session runs that may not have them in memory

Directories have mode 0700, files 0600. Every fact is durable before it is acknowledged: files are synced before the
transaction that speaks of them, and transactions are synced too. Killing the process at any moment loses nothing that
was acknowledged.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import shutil
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofit.arithmetic.mapped import Pages
from cofit.errors import InvalidInputError, StateError
from cofit.roles.files.durable import sync_directory
from cofit.roles.files.share_files import PREFIX as SHARES
from cofit.roles.party.checkpoint_files import CheckpointFiles

RELEASE = "release"
COIN = "coin"
LEDGER = "ledger.sqlite"
PUBLISHED, SIGNATURE = "published.json", "signature.json"
RESULT = "result.json"
QUERIES = "queries"
WORKERS = "workers"
_PIECE = 1 << 20

_LONGEST_FILE_NAME = 64


class OtherContentsError(StateError):
    """A file of an upload is not what the owner has announced to all parties. ``file``: its name."""

    def __init__(self, file: str) -> None:
        super().__init__(f"{file!r} arrived with other contents than announced. Send it again.")
        self.file = file


@dataclass(frozen=True)
class Upload:
    """A contribution as it was announced: its id, what it consists of, and whether all of it is here."""

    upload: str
    manifest: dict[str, Any]
    committed: bool


class PartyState(CheckpointFiles):
    """The state directory of one party in one study. One process at a time."""

    def __init__(self, directory: str | Path, study: str, party: str) -> None:
        super().__init__(directory, study, party)
        self._checking: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._intact: dict[Path, tuple[int, ...]] = {}
        try:
            self._delete_leftovers()
            self._delete_replaced()
        except BaseException:
            self.close()
            raise

    # --- uploads -----------------------------------------------------------------------------------------

    def upload(self, owner: str) -> Upload | None:
        """Return what an owner has announced last."""
        with self._mutex:
            row = self._database.execute(
                "SELECT upload, manifest, committed FROM uploads WHERE owner = ?", (owner,)
            ).fetchone()
        return None if row is None else Upload(row[0], json.loads(row[1]), bool(row[2]))

    def begin_upload(self, owner: str, upload: str, manifest: Mapping[str, Any]) -> dict[str, int]:
        """Take the announcement of an upload; return how many bytes of each of its files are here already.

        The same upload resumes; another one replaces what the owner sent before, until all is sealed.
        What was replaced is deleted, unless it is held.
        """
        with self._mutex:
            known = self.upload(owner)
            if known is not None and known.upload == upload:
                if known.manifest != dict(manifest):
                    raise StateError(f"Upload {upload} was announced with other contents before.")
            else:
                if self.phase != "collecting":
                    raise StateError("The contributions are sealed: nothing can be changed any more.")
                folder = self._folder(owner, upload)
                for step in (folder.parent.parent, folder.parent, folder):
                    step.mkdir(mode=0o700, exist_ok=True)
                    sync_directory(step.parent)
                with self._transaction() as database:
                    row = (owner, upload, json.dumps(manifest, sort_keys=True))
                    database.execute("INSERT OR REPLACE INTO uploads VALUES (?, ?, ?, 0)", row)
                self._delete_replaced()
            return {name: self._size(owner, upload, name) for name in _files(manifest)}

    def append(self, owner: str, upload: str, name: str, offset: int, data: bytes | memoryview) -> int:
        """Append a piece at the end of a file of an upload; return the file's new size."""
        with self._mutex:
            known = self._current(owner, upload)
            wanted = _files(known.manifest).get(name)
            if known.committed or wanted is None:
                raise StateError(f"Upload {upload} has no file {name!r} to write to.")
            size = self._size(owner, upload, name)
            if offset != size or size + len(data) > wanted["size"]:
                raise StateError(f"A piece of {name!r} starts at {offset} or is too long; {size} bytes are here.")
            path = self._folder(owner, upload) / name
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
            finally:
                os.close(descriptor)
            return self._size(owner, upload, name)

    def commit(self, owner: str, upload: str, allowed: Callable[[], None] | None = None) -> None:
        """Check that all of an upload is here and intact, sync it, and say so durably.

        A file with other contents than announced is emptied, to be sent again: OtherContentsError. The files are
        read while other requests go on; what was replaced meanwhile does not count. ``allowed`` is called last, while
        nothing can change, and may raise.
        """
        with self._checking[owner]:  # one check at a time: nothing else empties a file
            known = self._current(owner, upload)
            if known.committed:
                return
            for name, wanted in _files(known.manifest).items():
                if (size := self._size(owner, upload, name)) != wanted["size"]:
                    raise StateError(f"{name!r} is not complete: {size} bytes are here.")
            folder, damaged = self._folder(owner, upload), None
            try:
                wanted = {name: entry["sha256"] for name, entry in _files(known.manifest).items()}
                damaged = next((name for name in wanted if _digest_and_sync(folder / name) != wanted[name]), None)
                sync_directory(folder)
            except FileNotFoundError:
                self._current(owner, upload)  # another one has replaced it, and its files were deleted
                raise
            with self._mutex:
                self._current(owner, upload)
                if damaged is not None:
                    os.truncate(folder / damaged, 0)
                    raise OtherContentsError(damaged)
                if allowed is not None:
                    allowed()
                with self._transaction() as database:
                    database.execute("UPDATE uploads SET committed = 1 WHERE owner = ? AND upload = ?", (owner, upload))

    def held(self) -> dict[str, Upload]:
        """Return the complete uploads that are kept although their owners may have replaced them; see ``sealing``."""
        held = json.loads(self.fact("held") or "{}")
        return {owner: Upload(upload, manifest, True) for owner, (upload, manifest) in held.items()}

    def hold(self) -> None:
        """Keep every upload that is complete now, whatever replaces it, and let go of those that were held before."""
        with self._mutex:
            rows = self._database.execute("SELECT owner, upload, manifest FROM uploads WHERE committed").fetchall()
            self.record(held=json.dumps({owner: (upload, json.loads(text)) for owner, upload, text in rows}))
            self._delete_replaced()

    def seal(self, created: str, *, take_back: bool) -> None:
        """Let nothing be replaced any more, in one transaction: what is here now, or, taken back, what is held."""
        with self._mutex:
            held = self.held() if take_back else {}
            rows = [(one.upload, json.dumps(one.manifest, sort_keys=True), owner) for owner, one in held.items()]
            with self._transaction() as database:
                database.executemany("UPDATE uploads SET upload = ?, manifest = ?, committed = 1 WHERE owner = ?", rows)
                facts = {"phase": "sealed", "created": created}
                database.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())
                database.execute("DELETE FROM facts WHERE name = 'held'")
            self._delete_replaced()

    def _delete_replaced(self) -> None:
        """Delete the files of every upload that is neither the owner's last one nor held."""
        rows = self._database.execute("SELECT owner, upload FROM uploads").fetchall()
        kept = {self._folder(*row) for row in rows} | {self._folder(o, one.upload) for o, one in self.held().items()}
        for folder in (self.directory / "uploads").glob("*/*"):
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def component(self, owner: str, name: str) -> memoryview:
        """Return the contents of a file of a committed upload, mapped and not read."""
        path = self._committed(owner)[0] / name
        if not path.stat().st_size:
            return memoryview(b"")
        with path.open("rb") as file:
            return memoryview(Pages(file.fileno(), 0, access=mmap.ACCESS_READ))

    def damaged(self, owner: str) -> Path | None:
        """Return a file of a committed upload that has not the announced contents, or is missing; None if all have.

        Read in pieces, not mapped. A file that was intact is read again only if it has changed, or by another process:
        so a session that fails because one party reads slowly is not followed by the same.
        """
        folder, known = self._committed(owner)
        for name, wanted in _files(known.manifest).items():
            path = folder / name
            try:
                facts = path.stat()
                stamp = facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
                if self._intact.get(path) != stamp and _digest_and_sync(path) != wanted["sha256"]:
                    return path
            except FileNotFoundError:
                return path
            self._intact[path] = stamp
        return None

    def forget_shares(self) -> None:
        """Delete every share, for good: of the data, of checkpoints, of the release, of queries; and the coin.

        Facts, log and model stay.
        """
        self.record(forgotten="yes")
        for folder in ("uploads", "checkpoints", QUERIES):
            if (self.directory / folder).exists():
                shutil.rmtree(self.directory / folder)
        (self.directory / COIN).unlink(missing_ok=True)
        for path in self.directory.glob(f"{RELEASE}*"):
            path.unlink(missing_ok=True)
        self._delete_leftovers()
        sync_directory(self.directory)

    # --- the release -------------------------------------------------------------------------------------

    def opening_begun(self, number: int = 1) -> bool:
        """Whether this party may have sent a message of the opening of that number, from 1."""
        return self.fact(_numbered("opening", number)) is not None

    def confirmed(self, number: int = 1) -> bool:
        """Whether this party knows that every party has stored what the opening of that number opens."""
        return self.fact(_numbered("confirmed", number)) is not None or self.opening_begun(number)

    def stored_at(self, number: int) -> Path:
        """Return where the shares are stored that the opening of that number opens."""
        return self.directory / (RELEASE if number == 1 else f"{RELEASE}-{number}")

    def confirm_release(self, number: int = 1) -> None:
        """Note that every party has stored what the opening of that number opens."""
        self.record(**{_numbered("confirmed", number): "yes"})

    def begin_opening(self, number: int = 1) -> None:
        """Note, before the first message of the opening is sent, that it may be."""
        self.record(**{_numbered("opening", number): "begun"})

    def discard_release(self, number: int = 1) -> None:
        """Delete stored shares that not every party has stored, so that others can be drawn."""
        if self.confirmed(number):
            raise StateError("Every party has stored this release, so it may have been opened: it is never discarded.")
        self.drop_checkpoints()  # first: the next draw has nothing in common with this one
        self.stored_at(number).unlink(missing_ok=True)
        self._delete_leftovers()
        sync_directory(self.directory)
        if number == 1 and self.phase == "stored":
            self.record(phase="sealed")

    def _delete_leftovers(self) -> None:
        """Delete what a killed process left of files that it was writing: they may hold whole shares."""
        for pattern in (
            f".{RELEASE}.*",
            f".{RELEASE}-*",
            f".{RESULT}.*",
            f".{COIN}.*",
            f".{PUBLISHED}.*",
            f".{SIGNATURE}.*",
            f"{SHARES}*",
        ):
            for path in self.directory.glob(pattern):
                path.unlink(missing_ok=True)

    # --- helpers -----------------------------------------------------------------------------------------

    def _current(self, owner: str, upload: str) -> Upload:
        known = self.upload(owner)
        if known is None or known.upload != upload:
            raise StateError(f"Upload {upload} was not announced, or another one replaced it.")
        return known

    def _committed(self, owner: str) -> tuple[Path, Upload]:
        known = self.upload(owner)
        if known is None or not known.committed:
            raise StateError(f"The contribution of '{owner}' is not here.")
        return self._folder(owner, known.upload), known

    def _folder(self, owner: str, upload: str) -> Path:
        return self.directory / "uploads" / _safe(owner) / _safe(upload)

    def _size(self, owner: str, upload: str, name: str) -> int:
        path = self._folder(owner, upload) / name
        return path.stat().st_size if path.exists() else 0


def _numbered(fact: str, number: int) -> str:
    """The name of a fact about an opening: that about the first has the name from when there was one."""
    return fact if number == 1 else f"{fact} {number}"


def _files(manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    files: dict[str, dict[str, Any]] = manifest["files"]
    return files


def _safe(name: str) -> str:
    """A name from a study or a request as a file name: its hash, so that nothing in it can lead elsewhere."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def _digest_and_sync(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
        os.fsync(file.fileno())
    return digest.hexdigest()


def check_file_name(name: object) -> str:
    """Return a component's file name, or raise InvalidInputError: ASCII letters, digits, '.', '_' only."""
    plain = isinstance(name, str) and name.isascii() and name.replace(".", "").replace("_", "").isalnum()
    if not isinstance(name, str) or not plain or len(name) > _LONGEST_FILE_NAME:
        raise InvalidInputError(f"{name!r} is not a file name of a contribution.")
    return name
