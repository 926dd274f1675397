"""What a worker has of the owners' contributions: the rows of its shard, in private files without a name.

A head sends a worker its rows of every component, in chunks, with the digest of all of them. They lie in files that the
system deletes when the process ends, however that happens (``files.share_files``), and stay there over sessions: a head
that comes again sends only what is missing. Small ones, as seeds are, stay in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from cofit.arithmetic.mapped import give_back
from cofit.errors import StateError
from cofit.roles.files.share_files import allot

_SMALL = 1 << 16
_CHUNK = 8 << 20


class Wanted(NamedTuple):
    """The size of a piece, and its SHA-256 in hexadecimal."""

    size: int
    digest: str


class _Piece:
    def __init__(self, wanted: Wanted, room: memoryview) -> None:
        self.wanted, self.room, self.written = wanted, room, 0


class StoredRows:
    """The pieces of one shard, by name. Used by one thread at a time."""

    def __init__(self, directory: Path, allot: Callable[[Path, int], object] = allot) -> None:
        """directory: private, and made where it does not exist."""
        self._directory, self._allot = directory, allot
        self._pieces: dict[str, _Piece] = {}

    def missing(self, wanted: Mapping[str, Wanted]) -> list[str]:
        """Say what this shard is to have; return what is not here, and drop everything else."""
        kept = {
            name: piece
            for name, piece in self._pieces.items()
            if wanted.get(name) == piece.wanted and piece.written == piece.wanted.size
        }
        self._pieces = kept
        return [name for name in wanted if name not in kept]

    def write(self, name: str, wanted: Wanted, offset: int, data: bytes) -> None:
        """Take the next chunk of a piece; StateError where it is not the next one, or all of them are not as said."""
        piece = self._pieces.get(name)
        if offset == 0:
            piece = self._pieces[name] = _Piece(wanted, self._room(wanted.size))
        if piece is None or piece.wanted != wanted or offset != piece.written or offset + len(data) > wanted.size:
            raise StateError("A worker got a chunk of a contribution out of order. The session is repeated.")
        piece.room[offset : offset + len(data)] = data
        give_back(piece.room[offset : offset + len(data)])
        piece.written += len(data)
        if piece.written == wanted.size and digest_of(piece.room) != wanted.digest:
            del self._pieces[name]
            raise StateError(
                "What a worker has stored of a contribution is not what its head has sent: its disk or its memory is "
                "damaged. Nothing is computed with it. Use another worker."
            )

    def content(self, name: str) -> memoryview:
        """Return a piece, all of which is here."""
        piece = self._pieces.get(name)
        if piece is None or piece.written != piece.wanted.size:
            raise StateError("A worker lacks a part of the contributions. The session is repeated.")
        return piece.room

    def forget(self) -> None:
        """Drop everything."""
        self._pieces.clear()

    def _room(self, size: int) -> memoryview:
        if size <= _SMALL:
            return memoryview(bytearray(size))
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return memoryview(self._allot(self._directory, size))  # type: ignore[arg-type]


def digest_of(content: memoryview) -> str:
    """Return the SHA-256 of a piece, in hexadecimal, a block at a time."""
    digest = hashlib.sha256()
    for start in range(0, len(content), _CHUNK):
        digest.update(content[start : start + _CHUNK])
        give_back(content[start : start + _CHUNK])
    return digest.hexdigest()


def piece_name(owner: str, input_name: str, component: str) -> str:
    """Return what a piece of a component is called between head and worker."""
    return "\0".join((owner, input_name, component))
