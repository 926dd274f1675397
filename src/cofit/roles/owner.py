"""The owner's side of a study: share a table with the computing parties, once, however often the network breaks.

``contribute`` announces the contribution to every party in the order of their ranks before it sends a byte (the first
party decides when contributions are sealed, so whoever it accepts, all accept), uploads to all parties at once, and
returns when each has acknowledged that everything is on its disk.

Repeating it with the same data goes on where it was: shares follow from a seed that stays in the owner's state
directory until every party has acknowledged. With other data it replaces what was sent before, until the parties have
sealed; the seed is new then, so no two contributions share their randomness.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofit.arithmetic import RingArray
from cofit.errors import InvalidInputError
from cofit.roles.durable import write_durably
from cofit.roles.manifest import DealtContribution, deal_contribution, fresh_upload_seed
from cofit.secret import InputFacts
from cofit.sharing.scheme import as_bytes
from cofit.transport import Conversation

Connect = Callable[[str], AbstractContextManager[Conversation]]
"""Opens a conversation with the party of that name."""
_PIECE = 1 << 20


@dataclass(frozen=True)
class UploadProgress:
    """How many bytes of how many a party has."""

    party: str
    done: int
    total: int


def contribute(
    parties: tuple[str, ...],
    scheme: str,
    inputs: Mapping[str, tuple[InputFacts, RingArray]],
    connect: Connect,
    state: Path,
    study: str,
    progress: Callable[[UploadProgress], None] | None = None,
) -> str:
    """Share encoded inputs with all parties; return the id of the upload.

    state: the owner's private directory. study: the study's hash.
    """
    dealt = deal_contribution(scheme, len(parties), inputs, _seed(state, study, inputs))
    begun = [_begin(connect, party, dealt) for party in parties]
    errors: dict[str, BaseException] = {}

    def upload(rank: int) -> None:
        try:
            _upload(connect, parties[rank], rank, dealt, begun[rank], progress)
        except BaseException as error:
            errors[parties[rank]] = error

    threads = [threading.Thread(target=upload, args=(rank,), daemon=True) for rank in range(len(parties))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next(iter(errors.values()))
    (state / _seed_file(study)).unlink(missing_ok=True)
    return str(dealt.manifest["upload"])


def _begin(connect: Connect, party: str, dealt: DealtContribution) -> dict[str, Any]:
    with connect(party) as conversation:
        answer, _ = conversation.request({"request": "upload.begin", "manifest": dealt.manifest})
    return answer


def _upload(
    connect: Connect,
    party: str,
    rank: int,
    dealt: DealtContribution,
    begun: dict[str, Any],
    progress: Callable[[UploadProgress], None] | None,
) -> None:
    files = dict(dealt.files_of(rank))
    total = sum(component.facts.size for component in files.values())
    sizes = {name: int(begun["sizes"].get(name, 0)) for name in files}
    done = sum(sizes.values())
    upload = dealt.manifest["upload"]
    with connect(party) as conversation:
        for name, component in files.items():
            for offset, piece in _from(component.content(), sizes[name]):
                conversation.request(
                    {"request": "upload.chunk", "upload": upload, "file": name, "offset": offset}, piece
                )
                done += len(piece)
                if progress is not None:
                    progress(UploadProgress(party, done, total))
        conversation.request({"request": "upload.commit", "upload": upload})
    if progress is not None:
        progress(UploadProgress(party, total, total))


def _from(pieces: Iterator[memoryview], start: int) -> Iterator[tuple[int, memoryview]]:
    """Yield what comes after the first ``start`` bytes, with its offset, in pieces of at most 1 MiB."""
    position = 0
    for piece in pieces:
        skip = min(max(start - position, 0), len(piece))
        for begin in range(skip, len(piece), _PIECE):
            part = piece[begin : begin + _PIECE]
            yield position + begin, part
        position += len(piece)


def _seed(state: Path, study: str, inputs: Mapping[str, tuple[InputFacts, RingArray]]) -> bytes:
    """Return the seed of an upload of these very inputs that was begun before, or a new one, kept before it is used."""
    digest = hashlib.sha256()
    for name, (_, encoded) in sorted(inputs.items()):
        digest.update(f"{name} {encoded.shape} ".encode())
        digest.update(as_bytes(encoded))
    path = state / _seed_file(study)
    if path.exists():
        try:
            kept = json.loads(path.read_text())
            if kept["digest"] == digest.hexdigest():
                return bytes.fromhex(kept["seed"])
        except (ValueError, KeyError, TypeError):
            raise InvalidInputError(f"{path} is damaged. Delete it: the upload then begins anew.") from None
    seed = fresh_upload_seed()
    write_durably(path, json.dumps({"digest": digest.hexdigest(), "seed": seed.hex()}).encode())
    return seed


def _seed_file(study: str) -> str:
    return f"upload-{study[:32]}.json"
