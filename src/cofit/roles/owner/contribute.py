"""From an owner's encoded table to acknowledged contributions: rows in the common order, budget, sharing, upload.

Horizontal: ``prepare``, then ``send``. Vertical: ``align_table`` first, with the secret that owners share and, where
the study says unmatched = "drop", the row files of all other owners. Secrets and row files go from owner to owner, by a
way that the owners trust, and never to a computing party. ``cofit.study.align`` says what they reveal to whom.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cofit.errors import BudgetExceededError, InvalidInputError, parameter_error
from cofit.roles.files.directory_kinds import OWNER_LEDGER, check_owner_directory
from cofit.roles.files.durable import why_not_written, write_durably
from cofit.roles.files.ledger import Ledger
from cofit.roles.files.manifest import SALT_BYTES, check_rows_digest
from cofit.roles.jobs.job import Job, TableJob
from cofit.roles.owner.upload import UploadProgress, contribute, incarnations
from cofit.roles.service.conversations import Waiting, connector
from cofit.secret import InputFacts
from cofit.sharing import scheme_of
from cofit.sharing.inputs import Values
from cofit.sharing.known_inputs import layout_of
from cofit.study.agreement import Agreement
from cofit.study.align import HASH_BYTES, SECRET_BYTES, aligned_rows, key_hashes, set_digest
from cofit.study.document import Study
from cofit.study.encode import EncodedTable
from cofit.study.expected import party_ranks
from cofit.transport import Identity

LEDGER = OWNER_LEDGER
_ROWS_FORMAT = 1
_READABLE_BY_OTHERS = 0o077
NO_MEMORY = "These parties have no memory of the earlier run of this study: a release would be a second one"
_log = logging.getLogger(__name__)


# --- contributing ----------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class PreparedContribution:
    """An owner's data, checked and encoded, of which nothing has left yet. ``rows``: their digest, or None."""

    job: Job
    owner: str
    inputs: Mapping[str, tuple[InputFacts, Values]]
    rows: str | None

    @property
    def study(self) -> Agreement:
        """The study that it is for."""
        return self.job.study

    def __repr__(self) -> str:
        return f"<PreparedContribution of {self.owner!r}>"

    @property
    def holder(self) -> int | None:
        """The rank of the party that the owner is, if it is one."""
        return party_ranks(self.study).get(self.owner)

    @property
    def kept(self) -> bool:
        """Whether the owner is a party that keeps its data as they are, and the other parties get nothing of them."""
        return self.holder is not None and scheme_of(self.job.spec).info.knows_inputs

    def bytes_for(self, rank: int) -> int:
        """Return how many bytes the party of this rank gets: its components, each with its salt."""
        spec, holder = self.job.spec, self.holder
        shapes = [(facts.format.ring, facts.shape) for facts, _ in self.inputs.values()]
        layouts = [layout_of(scheme_of(spec), spec, ring, shape, holder) for ring, shape in shapes]
        return sum(c.size + SALT_BYTES for layout in layouts for c in layout if rank in c.ranks)


def prepare(job: TableJob, owner: str, table: EncodedTable, rows: str | None = None) -> PreparedContribution:
    """Return an owner's table as numbers in the formats of the job, or raise InvalidInputError.

    table: encoded as the study says, rows in the common order. rows: their digest, in a vertical study.
    """
    wanted = _wanted(job, owner)
    return prepare_inputs(job, owner, {name: job.encode(name, facts, table) for name, facts in wanted.items()}, rows)


def prepare_inputs(
    job: Job, owner: str, encoded: Mapping[str, Values | None], rows: str | None = None
) -> PreparedContribution:
    """The same for inputs that are encoded already, by name; None: there is no such."""
    check_rows_digest(rows, vertical=job.study.common_rows)
    inputs = {}
    for name, facts in _wanted(job, owner).items():
        values = encoded.get(name)
        if values is None or values.shape != facts.shape:
            got = None if values is None else values.shape
            raise InvalidInputError(f"The {name} must have shape {facts.shape} by the study; got {got}.")
        inputs[name] = facts, values
    return PreparedContribution(job, owner, inputs, rows)


def _wanted(job: Job, owner: str) -> Mapping[str, InputFacts]:
    if owner not in job.inputs:
        raise parameter_error("owner", "a study", f"one of {list(job.inputs)}", owner)
    return job.inputs[owner]


def ask_parties(study: Agreement, identity: Identity, waiting: Waiting | None = None) -> dict[str, str]:
    """Return the incarnation of every party, by name: who would make the release that an owner pays for.

    waiting: told of a party that does not answer.
    """
    return incarnations([party.name for party in study.parties], connector(study, identity, waiting=waiting))


def send(
    contribution: PreparedContribution,
    identity: Identity,
    state: Path,
    dataset: str,
    progress: Callable[[UploadProgress], None] | None = None,
    parties: Mapping[str, str] | None = None,
    waiting: Waiting | None = None,
) -> str:
    """Charge the owner's ledger, share with all parties, and return the id of the upload when all have acknowledged.

    state: the owner's private directory. dataset: the name under which the ledger knows the data. parties: who they
    are, if they were asked before (``ask_parties``). waiting: told of a party that does not answer. Nothing of the data
    leaves the owner before the ledger is charged for a release by them.
    """
    study, ledger = contribution.study, open_ledger(state)
    connect = connector(study, identity, waiting=waiting)
    parties = ask_parties(study, identity, waiting) if parties is None else parties
    _charge(ledger, contribution, dataset, parties.values())
    return contribute(
        parties,
        contribution.job.spec,
        contribution.inputs,
        connect,
        state,
        study.hash,
        contribution.job.hash,
        progress,
        contribution.rows,
        contribution.holder,
    )


def _charge(ledger: Ledger, contribution: PreparedContribution, dataset: str, parties: Collection[str]) -> None:
    """Charge the run of these parties; say loudly that the study is charged once more, if it is."""
    again = not charge_due(ledger, contribution, dataset) and charge_due(ledger, contribution, dataset, parties)
    contribution.job.policy.charge(ledger, dataset, contribution.study, parties)
    if again:
        _log.warning("WARNING: %s; charged again.", NO_MEMORY)


def charge_due(
    ledger: Ledger, contribution: PreparedContribution, dataset: str, parties: Collection[str] | None = None
) -> bool:
    """Return whether a run by these parties must be charged, or raise where it would exceed the cap; charge nothing.

    parties: their incarnations; None: whether no run of the study was charged before, whoever made it.
    """
    try:
        return contribution.job.policy.due(ledger, dataset, contribution.study, parties)
    except BudgetExceededError as error:
        if not any(charge.study == contribution.study.hash for charge in ledger.charges(dataset)):
            raise
        raise BudgetExceededError(f"{NO_MEMORY}. {error}") from None


def contribute_table(
    job: TableJob,
    identity: Identity,
    table: EncodedTable,
    state: Path,
    dataset: str,
    progress: Callable[[UploadProgress], None] | None = None,
    rows: str | None = None,
) -> str:
    """``prepare`` and ``send``: return the id of the upload when all parties have acknowledged it."""
    return send(prepare(job, identity.name, table, rows), identity, state, dataset, progress)


def open_ledger(state: Path) -> Ledger:
    """Return the ledger in an owner's private directory; both are made where they do not exist."""
    check_owner_directory(state)
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Ledger(state / LEDGER)
    except OSError as error:
        raise InvalidInputError(f"The directory '{state}' cannot be used: {error.strerror}.") from None


# --- rows of a vertical study ----------------------------------------------------------------------------


def align_table(
    study: Study, table: EncodedTable, secret: bytes, others: Mapping[str, Sequence[bytes]]
) -> tuple[EncodedTable, str]:
    """Return an owner's rows in the order that all owners have in common, and the digest of their keys.

    others: the hashes of other owners' row keys, by name; all other owners where the study says unmatched = "drop".
    Raises TableError, whose text is for the owner's own terminal, where the rows are not those of the others.
    """
    if table.keys is None:
        raise InvalidInputError("The table has no row keys.")
    hashes = key_hashes(secret, study.hash, table.keys)
    unmatched = study.data.unmatched or "refuse"
    order = aligned_rows(table.keys, hashes, others, unmatched=unmatched, rows=study.data.rows)
    return table.rows(order), set_digest([hashes[i] for i in order.tolist()]).hex()


def new_secret(path: Path) -> None:
    """Write a fresh secret for the owners of a study, for this user alone. An existing file is never replaced."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(SECRET_BYTES) + "\n")
            file.flush()
            os.fsync(descriptor)
    except FileExistsError:
        raise InvalidInputError(f"'{path}' exists, and a secret is never overwritten. Choose another name.") from None
    except OSError as error:
        raise InvalidInputError(f"The secret cannot be written to '{path}': {why_not_written(path, error)}.") from None


def read_secret(path: Path) -> bytes:
    """Read the owners' secret; a file that others may read is used, with a warning."""
    try:
        text = path.read_bytes()
        mode = path.stat().st_mode
    except OSError as error:
        raise InvalidInputError(f"The secret '{path}' cannot be read: {error.strerror}.") from None
    try:
        secret = bytes.fromhex(text.decode().strip())
    except ValueError:
        secret = b""
    if len(secret) < SECRET_BYTES:
        raise InvalidInputError(
            f"'{path}' is not a secret of `cofit align --new-secret`: {2 * SECRET_BYTES} hex digits."
        )
    if mode & _READABLE_BY_OTHERS:
        _log.warning("'%s' can be read by other users of this machine. Run: chmod 600 '%s'", path, path)
    return secret


def write_rows(path: Path, study: Study, owner: str, secret: bytes, hashes: Iterable[bytes]) -> None:
    """Write the hashes of an owner's row keys for the other owners, sorted, which hides the order of the table."""
    document = {
        "format": _ROWS_FORMAT,
        "study": study.hash,
        "owner": owner,
        "secret": _tag(study, secret),
        "rows": sorted(h.hex() for h in hashes),
    }
    try:
        write_durably(path, json.dumps(document, indent=0).encode())
    except OSError as error:
        raise InvalidInputError(f"The rows cannot be written to '{path}': {why_not_written(path, error)}.") from None


def read_rows(paths: Iterable[Path], study: Study, owner: str, secret: bytes) -> dict[str, list[bytes]]:
    """Return the hashes in the row files of other owners, by owner, or raise with the file and what is wrong."""
    found: dict[str, list[bytes]] = {}
    for path in paths:
        name, hashes = _read_rows(path, study, secret)
        if name == owner or name in found:
            raise InvalidInputError(
                f"'{path}' holds the rows of '{name}' {'itself' if name == owner else 'once more'}."
            )
        found[name] = hashes
    return found


def _read_rows(path: Path, study: Study, secret: bytes) -> tuple[str, list[bytes]]:
    try:
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict) or document["format"] != _ROWS_FORMAT:
            raise ValueError
        of_study, name, tag = document["study"], document["owner"], document["secret"]
        hashes = [bytes.fromhex(h) for h in document["rows"]]
        if any(len(h) != HASH_BYTES for h in hashes) or len(set(hashes)) != len(hashes):
            raise ValueError
    except OSError as error:
        raise InvalidInputError(f"The rows in '{path}' cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidInputError(f"'{path}' is no row file of `cofit align --out`, or is damaged.") from None
    if of_study != study.hash:
        raise InvalidInputError(
            f"'{path}' belongs to another study. Its owner must make it again with this study's file."
        )
    if study.owner(str(name)) is None:
        raise InvalidInputError(f"'{path}' holds the rows of {name!r}, which is not an owner of this study.")
    if tag != _tag(study, secret):
        raise InvalidInputError(
            f"'{path}' was made with another secret. All owners must use the same one; compare the files."
        )
    return str(name), hashes


def _tag(study: Study, secret: bytes) -> str:
    """Tells whether two owners have the same secret, and nothing else of it: it has 256 random bits."""
    return hmac.digest(secret, b"cofit secret check 1\0" + study.hash.encode(), "sha256").hex()
