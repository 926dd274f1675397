"""The owner's side of a study: share a table with the computing parties, once, however often the network breaks.

``contribute`` announces the contribution to every party in the order of their ranks before it sends a byte (the first
party decides when contributions are sealed, so whoever it accepts, all accept), uploads to all parties at once, and
returns when each has acknowledged that everything is on its disk. A connection that breaks is opened again, for as long
as the upload gets any further, or a few times; it goes on with what the party says it has not got yet.

Repeating it with the same data resumes it: shares follow from a seed that stays in the owner's state
directory until every party has acknowledged. After that the manifest stays, so that one more repetition asks the
parties and sends nothing, also when they have sealed. With other data it replaces what was sent before, until the
parties have sealed; the seed is new then, so no two contributions share their randomness.

A new seed takes the place of what is kept when the first party has accepted the announcement, so that a refused
contribution does not make the owner forget the one that counts, and before any share leaves. If the owner is stopped in
between, the seed is lost, and with it nothing but an announcement, which the next repetition replaces.

Memory: a few pieces of 1 MiB for each party beyond the encoded inputs; the shares are made again as they are sent. So
is what ``RowBlocks`` encode, of which a block is held for each party.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cofit.arithmetic.prg import SEED_BYTES
from cofit.errors import (
    InvalidInputError,
    StateError,
    StoppedError,
    TransportError,
)
from cofit.roles.files.durable import write_durably
from cofit.roles.files.manifest import DealtContribution, deal_contribution, fresh_upload_seed
from cofit.roles.service.conversations import Connect, opened, patiently
from cofit.secret import InputFacts
from cofit.sharing import Component, Spec
from cofit.sharing.inputs import Values, in_chunks
from cofit.sharing.member import as_bytes
from cofit.transport import Conversation, RequestRefusedError

_PIECE, _SMALLEST_PIECE = 1 << 20, 1 << 14
"""Bytes of a message. A party keeps whole ones only: where connections break before one is through, they shrink."""
_AHEAD = 4
"""How many pieces are sent before the first of them must be answered: so that a slow network is never idle."""
_SLOWEST_DISK = 10e6
"""Bytes a second that a party checks and syncs at least: it gets so much more time to acknowledge."""

_INCARNATION = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class UploadProgress:
    """How many bytes of how many a party has."""

    party: str
    done: int
    total: int


Listener = Callable[[UploadProgress], None]


def contribute(
    parties: Mapping[str, str],
    spec: Spec,
    inputs: Mapping[str, tuple[InputFacts, Values]],
    connect: Connect,
    state: Path,
    study: str,
    plan: str,
    progress: Listener | None = None,
    rows: str | None = None,
    holder: int | None = None,
) -> str:
    """Share encoded inputs with all parties; return the id of the upload.

    parties: their incarnations (``incarnations``), by name, in the order of ranks. A party that has another one by now
    gets nothing: the owner's ledger was not charged for it. state: the owner's private directory. study, plan: their
    hashes. rows: the digest of the row keys, in a vertical study. holder: the rank of the party that the owner is, if
    it is one. ``progress`` is called from several threads, one for each party.

    Raises RequestRefusedError where a party refuses, another TransportError that names the party where one cannot be
    reached or does not stay, and StateError while another upload for this study runs from the same directory, or where
    a party lost its state.
    """
    with _alone(state, study):
        digest = _digest(inputs, plan, rows)
        kept = _kept(state, study, digest)
        if "manifest" in kept and _complete(parties, connect, kept["manifest"]):
            return str(kept["manifest"]["upload"])
        seed = bytes.fromhex(kept["seed"]) if "seed" in kept else fresh_upload_seed()
        dealt = deal_contribution(spec, inputs, seed, plan, rows, holder)
        send_dealt(
            parties,
            dealt,
            connect,
            progress,
            accepted=lambda: _keep(state, study, {"digest": digest, "seed": seed.hex()}),
        )
        _keep(state, study, {"digest": digest, "manifest": dealt.manifest})
        return str(dealt.manifest["upload"])


@dataclass(frozen=True)
class Asks:
    """How requests of an upload are named, and what they say beside the manifest: an owner's, or a client's."""

    name: str = "upload"
    facts: Mapping[str, Any] = field(default_factory=dict)


def send_dealt(
    parties: Mapping[str, str],
    dealt: DealtContribution,
    connect: Connect,
    progress: Listener | None = None,
    asks: Asks | None = None,
    accepted: Callable[[], None] | None = None,
) -> None:
    """Announce what was dealt to every party, then upload it to all at once; return when each has acknowledged it all.

    accepted: called when the first party has taken the announcement, before any share leaves.
    """
    asks, begun = asks or Asks(), []
    for party, known in parties.items():
        begun.append(_begin(connect, party, known, dealt.manifest, asks))
        if len(begun) == 1 and accepted is not None:
            accepted()
    uploads = [
        _Upload(connect, party, known, rank, dealt, begun[rank], progress, asks)
        for rank, (party, known) in enumerate(parties.items())
    ]
    _run_together(uploads)


def incarnations(parties: Iterable[str], connect: Connect) -> dict[str, str]:
    """Ask every party for its incarnation, the random text that came with its state directory: {party: text}."""
    return {party: _incarnation(party, patiently(party, partial(_status, connect, party))) for party in parties}


class _Upload:
    """The upload to one party."""

    def __init__(
        self,
        connect: Connect,
        party: str,
        incarnation: str,
        rank: int,
        dealt: DealtContribution,
        begun: dict[str, Any],
        progress: Listener | None,
        asks: Asks,
    ) -> None:
        self.party = party
        self.stopped = threading.Event()
        self._connect = connect
        self._incarnation = incarnation
        self._manifest = dealt.manifest
        self._files = dict(dealt.files_of(rank))
        self._total = sum(component.facts.size for component in self._files.values())
        self._begun: dict[str, Any] | None = begun
        self._progress = progress
        self._asks = asks
        self._acknowledged = 0
        self._piece = _PIECE
        self._before = -1

    def run(self) -> None:
        """Return when the party has acknowledged everything."""
        patiently(self.party, self._attempt, lambda: self._acknowledged)
        self._tell(self._total)

    def _attempt(self) -> None:
        begun = self._begun or _begin(self._connect, self.party, self._incarnation, self._manifest, self._asks)
        self._begun = None  # another attempt must ask again
        if begun.get("committed") is True:
            return
        sizes = {name: begun["sizes"].get(name, 0) for name in self._files}
        self._acknowledged = max(self._acknowledged, sum(sizes.values()))
        if self._acknowledged == self._before:
            self._piece = max(self._piece // 8, _SMALLEST_PIECE)
        self._before = self._acknowledged
        with opened(self._connect, self.party) as conversation:
            self._send(conversation, sizes)
            patience = conversation.timeout + self._total / _SLOWEST_DISK
            request = {"request": f"{self._asks.name}.commit", "upload": self._manifest["upload"]}
            conversation.request(request, timeout=patience)

    def _send(self, conversation: Conversation, sizes: Mapping[str, int]) -> None:
        done = sum(sizes.values())
        unanswered: deque[int] = deque()
        for name, component in self._files.items():
            request = {"request": f"{self._asks.name}.chunk", "upload": self._manifest["upload"], "file": name}
            for offset, piece in _from(component, sizes[name], self._piece):
                if self.stopped.is_set():
                    raise StoppedError(f"The upload to '{self.party}' was stopped.")
                conversation.send({**request, "offset": offset}, piece)
                unanswered.append(len(piece))
                if len(unanswered) == _AHEAD:
                    conversation.receive_answer(0)
                    done += unanswered.popleft()
                    self._tell(done)
        while unanswered:
            conversation.receive_answer(0)
            done += unanswered.popleft()
            self._tell(done)

    def _tell(self, done: int) -> None:
        self._acknowledged = max(self._acknowledged, done)
        if self._progress is not None:
            self._progress(UploadProgress(self.party, done, self._total))


def _run_together(uploads: list[_Upload]) -> None:
    """Upload to all parties at once; raise the first error, in the order of ranks, when all have ended."""
    errors: dict[str, BaseException] = {}

    def run(upload: _Upload) -> None:
        try:
            upload.run()
        except BaseException as error:
            errors[upload.party] = error

    threads = [threading.Thread(target=run, args=(upload,), daemon=True) for upload in uploads]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for upload in uploads:
            upload.stopped.set()
    for upload in uploads:
        if upload.party in errors:
            raise errors[upload.party]


# --- requests --------------------------------------------------------------------------------------------


def _status(connect: Connect, party: str) -> dict[str, Any]:
    with opened(connect, party) as conversation:
        return conversation.request({"request": "status"})[0]


def _incarnation(party: str, answer: Mapping[str, Any]) -> str:
    found = answer.get("incarnation")
    if not isinstance(found, str) or not _INCARNATION.fullmatch(found):
        raise TransportError(party, f"'{party}' did not name its incarnation. Run the same cofit release everywhere.")
    return found


def _begin(connect: Connect, party: str, incarnation: str, manifest: Mapping[str, Any], asks: Asks) -> dict[str, Any]:
    """Announce an upload; return what the party has of it already."""

    def attempt() -> dict[str, Any]:
        with opened(connect, party) as conversation:
            return conversation.request({"request": f"{asks.name}.begin", **asks.facts, "manifest": manifest})[0]

    answer = patiently(party, attempt)
    if _incarnation(party, answer) != incarnation:
        raise StateError(
            f"'{party}' lost its state since it was asked, and got nothing. Ask why; then repeat the command."
        )
    sizes = answer.get("sizes")
    if not isinstance(sizes, dict) or not all(isinstance(size, int) and size >= 0 for size in sizes.values()):
        raise TransportError(party, f"'{party}' did not say what it has. Run the same cofit release everywhere.")
    return answer


def _complete(parties: Mapping[str, str], connect: Connect, manifest: dict[str, Any]) -> bool:
    """Whether every party still has all of an upload that was acknowledged before, and no newer one."""
    try:
        return all(_begin(connect, *party, manifest, Asks()).get("committed") is True for party in parties.items())
    except RequestRefusedError as error:
        if error.kind != StateError.__name__:
            raise
        return False


def _from(component: Component, start: int, most: int) -> Iterator[tuple[int, memoryview]]:
    """Yield what comes after the first ``start`` bytes, with its offset, in pieces of at most ``most`` bytes."""
    if start >= component.facts.size:
        return
    position = 0
    for piece in component.content():
        skip = min(max(start - position, 0), len(piece))
        for begin in range(skip, len(piece), most):
            yield position + begin, piece[begin : begin + most]
        position += len(piece)


# --- what the owner keeps --------------------------------------------------------------------------------


@contextmanager
def _alone(state: Path, study: str) -> Iterator[None]:
    """Hold the lock of this study's upload: two at once would replace each other's."""
    descriptor = os.open(state / f"{_file(study)}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StateError(f"Another process contributes to this study from {state}. Let it finish first.") from None
        yield
    finally:
        os.close(descriptor)


def _digest(inputs: Mapping[str, tuple[InputFacts, Values]], plan: str, rows: str | None) -> str:
    digest = hashlib.sha256(f"{plan} {rows} ".encode())
    for name, (facts, encoded) in sorted(inputs.items()):
        digest.update(f"{name} {encoded.shape} ".encode())
        for chunk in in_chunks(facts.format.ring, encoded):
            digest.update(as_bytes(chunk))
    return digest.hexdigest()


def _kept(state: Path, study: str, digest: str) -> dict[str, Any]:
    """Return what is kept of an upload of these very inputs: its seed, or its manifest once it was acknowledged."""
    path = state / _file(study)
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text())
        if "seed" in kept and len(bytes.fromhex(kept["seed"])) != SEED_BYTES:
            raise ValueError
        return dict(kept) if kept["digest"] == digest else {}
    except (ValueError, KeyError, TypeError):
        raise InvalidInputError(f"{path} is damaged. Delete it: the upload then starts over.") from None


def _keep(state: Path, study: str, facts: dict[str, Any]) -> None:
    write_durably(state / _file(study), json.dumps(facts).encode())


def _file(study: str) -> str:
    return f"upload-{study[:32]}.json"
