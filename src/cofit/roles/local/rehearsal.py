"""A whole study on one machine, for trying it out: every party and every owner is a process of its own, over real TLS.

The processes are those that the participants would start on their machines, with the same study, keys and state. What
differs is that one user holds all keys and all data: nothing is secret from that user.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from cofit.errors import InvalidInputError, PartyFailedError, parameter_error
from cofit.roles.analyst.fetch import fetch_release, statuses
from cofit.roles.files.keys import load_identity_for
from cofit.roles.files.signatures import SignedRelease
from cofit.roles.files.studies import load_study
from cofit.roles.files.tables import read_owner_table
from cofit.roles.files.text_tables import ANY_LAYOUT, TextLayout
from cofit.study.agreement import Agreement
from cofit.study.document import Study
from cofit.study.encode import encode_table
from cofit.study.range_use import WARNING
from cofit.transport import Identity

_START_SECONDS = 120.0
_STOP_SECONDS = 15.0
_ASK_SECONDS = 0.5
S = TypeVar("S", bound=Agreement)
R = TypeVar("R")
Told = dict[str, dict[str, Any] | str]


@dataclass(frozen=True)
class Staged(Generic[S]):
    """What a study on one machine needs: the study, the keys (NAME.key) of everybody, and the owners' tables.

    out: gets ``state`` (of every participant) and ``logs``, both for this user alone: what an owner is told of its
    table tells something about the data. secret: the owners' secret, for a vertical study. layout: what was said of all
    tables. memory: the bytes that each party may use; None: what the study says. workers: processes of each party for
    its shards, in a study that has some; None: as many as ``cofit party`` starts by itself.
    """

    path: Path
    study: S
    keys: Path
    data: Mapping[str, Path]
    out: Path
    secret: Path | None = None
    layout: TextLayout = ANY_LAYOUT
    memory: int | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        owners = {owner.name for owner in self.study.owners}
        if set(self.data) != owners:
            missing, unknown = sorted(owners - set(self.data)), sorted(set(self.data) - owners)
            wrong = (f"; no owner of this study: {', '.join(unknown)}" if unknown else "") + (
                f"; still missing: {', '.join(missing)}" if missing else ""
            )
            raise InvalidInputError(f"Give one table for every owner, as --data OWNER=FILE{wrong}.")
        for owner, table in self.data.items():
            if not table.is_file():
                raise InvalidInputError(f"The table of '{owner}' must be a file that exists. Got '{table}' instead.")
        if self.study.common_rows and self.secret is None:
            raise InvalidInputError(
                "In a vertical study the owners share a secret: make one (`cofit align "
                "--new-secret FILE`), and give its file with --secret."
            )
        if self.workers is not None and self.study.compute.shards is None:
            wanted = "left out: the study has no compute.shards, so that a party is one process"
            raise parameter_error("--workers", "a rehearsal", wanted, self.workers)
        for name in (*self.parties, *self.dealers, *owners, self.analyst):
            load_identity_for(self.study, self.key(name), name)

    @property
    def parties(self) -> list[str]:
        """The computing parties."""
        return [party.name for party in self.study.parties]

    @property
    def dealers(self) -> list[str]:
        """The dealer, if there is one."""
        return [] if self.study.dealer is None else [self.study.dealer.name]

    @property
    def analyst(self) -> str:
        """The first analyst of the study whose key is there."""
        names = [analyst.name for analyst in self.study.analysts]
        return next((name for name in names if self.key(name).is_file()), names[0])

    def key(self, name: str) -> Path:
        """Where the private key of a participant is."""
        return self.keys / f"{name}.key"

    def party_command(self, name: str) -> list[str]:
        """The command of a computing party."""
        memory = () if self.memory is None else ("--memory", f"{self.memory} B")
        workers = () if self.workers is None else ("--workers", str(self.workers))
        state = self._state(name, "party")
        return self._command("party", "--name", name, "--key", self.key(name), "--state", state, *memory, *workers)

    def dealer_command(self, name: str) -> list[str]:
        """The command of the dealer."""
        return self._command("dealer", "--name", name, "--key", self.key(name), "--state", self._state(name, "dealer"))

    def owner_command(self, name: str) -> list[str]:
        """The command of an owner."""
        who = ("--owner", name, "--key", self.key(name))
        secret = () if self.secret is None else ("--secret", self.secret)
        others = [other for other in self.data if other != name] if self.exchanges_rows else []
        rows = [part for other in others for part in ("--rows-of", self.rows_of(other))]
        table: tuple[str | Path, ...] = ("--data", self.data[name], *self.layout.options)
        return self._command("contribute", "--yes", *who, *table, "--state", self._state(name, "owner"), *secret, *rows)

    @property
    def exchanges_rows(self) -> bool:
        """Whether the owners give each other the hashes of their row keys first."""
        return False

    def rows_command(self, name: str) -> list[str]:
        """The command with which an owner writes the hashes of its row keys for the other owners."""
        where = ("--secret", self.secret or "", "--out", self.rows_of(name))
        return self._command("align", "--owner", name, "--data", self.data[name], *self.layout.options, *where)

    def rows_of(self, name: str) -> Path:
        """Where that file is."""
        return self.out / "state" / f"{name}.rows"

    def log(self, name: str, role: str) -> Path:
        """Where a process's output goes."""
        return self.out / "logs" / f"{name}.{role}.log"

    def _state(self, name: str, role: str) -> Path:
        return self.out / "state" / f"{name}.{role}"

    def _command(self, command: str, *options: str | Path) -> list[str]:
        return [sys.executable, "-m", "cofit.cli.main", command, str(self.path), *map(str, options)]


class Rehearsal(Staged[Study]):
    """The same of a study that trains a model."""

    @classmethod
    def of(
        cls,
        path: Path,
        keys: Path,
        data: Mapping[str, Path],
        out: Path,
        secret: Path | None,
        layout: TextLayout = ANY_LAYOUT,
        memory: int | None = None,
        workers: int | None = None,
    ) -> Rehearsal:
        """Read the study, and check that everything is there before anything is started."""
        return cls(path, load_study(path), keys, data, out, secret, layout, memory, workers)

    def check_tables(self) -> None:
        """Raise InvalidInputError, which names the owner or the file, unless every table is as the study says."""
        for owner, path in self.data.items():
            encode_table(self.study, owner, read_owner_table(self.study, owner, path, self.layout))

    @property
    def exchanges_rows(self) -> bool:
        """Whether the owners give each other the hashes of their row keys first."""
        return self.study.data.unmatched == "drop" and self.secret is not None


def run_rehearsal(rehearsal: Rehearsal, tell: Callable[[str], None], watch: Callable[[Told], None]) -> SignedRelease:
    """Run a study that trains a model, and return the model that an analyst fetches; see ``run_staged``."""
    return run_staged(rehearsal, fetch_release, tell, watch)


def run_staged(
    rehearsal: Staged[S],
    fetch: Callable[[S, Identity], R],
    tell: Callable[[str], None],
    watch: Callable[[Told], None],
) -> R:
    """Start the parties, let every owner contribute, wait for the release, ``fetch`` it as an analyst, stop all.

    tell: gets a line for every step. watch: gets what the parties say, again and again. Interrupted or failed, it can
    be repeated with the same directories: the participants go on where they were. Raises PartyFailedError that names
    the process and its log; all processes are stopped before.
    """
    study = rehearsal.study
    identity = load_identity_for(study, rehearsal.key(rehearsal.analyst), rehearsal.analyst)
    try:
        for folder in ("state", "logs"):
            (rehearsal.out / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        where = f"The folder '{rehearsal.out}' cannot be used"
        raise InvalidInputError(f"{where}: {error.strerror}. Choose another --out.") from None
    with _servers(rehearsal) as servers:
        dealer = " and a dealer" if rehearsal.dealers else ""
        tell(f"Started {len(rehearsal.parties)} parties{dealer}; waiting until they answer.")
        deadline = time.monotonic() + _START_SECONDS
        while silent := [(name, why) for name, why in statuses(study, identity, 1.0).items() if isinstance(why, str)]:
            _check(rehearsal, servers)
            if time.monotonic() > deadline:
                name, why = silent[0]
                raise _failure(rehearsal, name, _role(rehearsal, name), f"does not answer: {why}")
        _contribute(rehearsal, tell)
        tell("Every owner has contributed; the parties compute.")
        while True:
            told = statuses(study, identity)
            watch(told)
            phases = {name: _phase(told[name]) for name in rehearsal.parties}
            if all(phase == "released" for phase in phases.values()):
                break
            for name, phase in phases.items():
                if phase == "failed":
                    raise _failure(rehearsal, name, "party", "says that a check failed")
            _check(rehearsal, servers)
            time.sleep(_ASK_SECONDS)
        return fetch(study, identity)


@contextmanager
def _servers(rehearsal: Staged[Any]) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Run the parties and the dealer for as long as the block takes."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name in rehearsal.dealers:
            running[name] = _start(rehearsal.dealer_command(name), rehearsal.log(name, "dealer"))
        for name in rehearsal.parties:
            running[name] = _start(rehearsal.party_command(name), rehearsal.log(name, "party"))
        yield running
    finally:
        _stop(running)


def _contribute(rehearsal: Staged[Any], tell: Callable[[str], None]) -> None:
    """Let all owners contribute; a contribution that was sealed in an earlier attempt counts."""
    if rehearsal.exchanges_rows:
        _owners(rehearsal, rehearsal.rows_command)
        tell("The owners have exchanged the hashes of their row keys.")
    _owners(rehearsal, rehearsal.owner_command)
    for warning in owners_warnings(rehearsal):
        tell(warning)


def owners_warnings(rehearsal: Staged[Any]) -> list[str]:
    """Return what owners were warned of in their own data: for the one who runs this and holds all of it."""
    logs = {owner: rehearsal.log(owner, "owner") for owner in rehearsal.data}
    lines = [(owner, line) for owner, log in logs.items() for line in log.read_text(errors="replace").splitlines()]
    return list(dict.fromkeys(f"Owner '{owner}': {line}" for owner, line in lines if line.startswith(WARNING)))


def _owners(rehearsal: Staged[Any], command: Callable[[str], list[str]]) -> None:
    """Run a command for every owner, all at once."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for owner in rehearsal.data:
            running[owner] = _start(command(owner), rehearsal.log(owner, "owner"))
        for owner, process in running.items():
            code = process.wait()
            if code and "sealed" not in _last_line(rehearsal.log(owner, "owner")):
                raise _failure(rehearsal, owner, "owner", f"ended with exit code {code}")
    finally:
        _stop(running)


def _start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as file:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)  # noqa: S603


def _stop(running: Mapping[str, subprocess.Popen[bytes]]) -> None:
    for process in running.values():
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + _STOP_SECONDS
    for process in running.values():
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _check(rehearsal: Staged[Any], servers: Mapping[str, subprocess.Popen[bytes]]) -> None:
    for name, process in servers.items():
        if (code := process.poll()) is not None:
            raise _failure(rehearsal, name, _role(rehearsal, name), f"ended with exit code {code}")


def _role(rehearsal: Staged[Any], name: str) -> str:
    return "dealer" if name in rehearsal.dealers else "party"


def _phase(told: dict[str, Any] | str) -> Any:
    return told["phase"] if isinstance(told, dict) else None


def _failure(rehearsal: Staged[Any], name: str, role: str, what: str) -> PartyFailedError:
    log = rehearsal.log(name, role)
    return PartyFailedError(name, f"{role.title()} '{name}' {what}. Its log is {log}; it ends with: {_last_line(log)}")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1].strip() if lines else "(nothing)"
