"""A whole study on this machine: every participant in a directory of its own, every process its own, real TLS."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import sqlite3
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.roles.analyst.fetch import fetch_release, statuses
from cofit.roles.files.audit import read_audit
from cofit.roles.files.keys import write_identity
from cofit.roles.files.published import Release
from cofit.roles.files.studies import load_study
from cofit.sharing import scheme_named
from cofit.study.document import Study
from cofit.study.plan import study_plan
from cofit.transport import Identity, generate_identity
from support import services
from support.nursery import Child, Nursery, until
from support.one_release import check_one_release
from support.proxy import Shape, ShapingProxy
from support.study_process import identity_of
from support.training import minimiser

Reals = npt.NDArray[np.float64]
PAPER = {"recipe": "paper", "l2": 1.0}
PARTIES = ("party-a", "party-b", "party-c")
"""The parties of a lab with rep3."""
DEALER = "dealer"


@dataclass
class Lab:
    """A study among processes. Directories: one for each participant, with its key, the study and its state.

    ``rows``: of every owner (horizontal), or how many all have (vertical). ``owners``: a name of a party makes it both.
    ``count``: of the parties; without it, the number that the scheme has by default. Where the scheme has a dealer, it
    is a participant and a process like the parties. ``nursery`` is needed by those who start processes only.
    ``shape``: with it all addresses of the study are those of proxies (``proxies``, by name), and servers listen behind
    them. ``classes``: where there are more than two, the largest feature tells. ``largest``: the labels are counts up
    to that. ``terms``: the table [release]. ``clients``: whom the parties answer, each with the limit of its rows, or
    None. ``reference``: of how many public rows the study names a table; 0: none. ``directions``: whether it keeps
    only theirs.
    """

    root: Path
    nursery: Nursery | None
    scheme: str = "rep3"
    count: int | None = None
    owners: Sequence[str] = ("owner-a", "owner-b")
    rows: Sequence[int] = (30, 40)
    features: int = 3
    partition: str = "horizontal"
    model: Mapping[str, Any] = field(default_factory=dict)
    epsilon: float = 1.0
    compute: Mapping[str, Any] = field(default_factory=dict)
    hosts: Sequence[str] = ()
    seed: int = 1
    shape: Shape | None = None
    classes: int = 2
    largest: int | None = None
    terms: Mapping[str, Any] = field(default_factory=dict)
    clients: Mapping[str, int | None] = field(default_factory=dict)
    reference: int = 0
    directions: bool = False
    children: dict[str, Child] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        info = scheme_named(self.scheme).info
        self.parties = tuple(
            f"party-{letter}" for letter in string.ascii_lowercase[: self.count or info.default_parties]
        )
        self.dealers = (DEALER,) if info.dealer else ()
        self.servers = (*self.parties, *self.dealers)
        self.proxies: dict[str, ShapingProxy] = {}
        self.names = tuple(dict.fromkeys((*self.servers, *self.owners, "analyst", *self.clients)))
        rng = np.random.default_rng(self.seed)
        n = sum(self.rows) if self.partition == "horizontal" else self.rows[0]
        self.X: Reals = rng.uniform(-1, 1, (n, self.features))
        self.y = (self.X[:, 0] + 0.3 * rng.standard_normal(n) > 0).astype(np.int64)
        if self.classes > 2:
            self.y = self.X[:, : self.classes].argmax(axis=1)
        if self.largest is not None:
            self.y = np.minimum(rng.poisson(np.exp(1 + self.X[:, 0])), self.largest)
        public = self.root / "public"
        public.mkdir()
        for name in self.names:
            (self.root / name).mkdir()
            write_identity(generate_identity(name), self.root / name)
            shutil.copy(self.root / name / f"{name}.pem", public)
        if self.reference:
            rows = np.random.default_rng(self.seed + 1).uniform(-1, 1, (self.reference, self.features))
            columns = {f"w{i}": rows[:, i] for i in range(self.features)}
            pq.write_table(pa.table(columns), public / "reference.parquet")
        self.write_study(public)
        for name in self.names:
            for file in public.iterdir():
                shutil.copy(file, self.root / name / file.name)
        for number, owner in enumerate(self.owners):
            self.write_table(owner, *self.part(number))
            (self.root / owner / "secret").write_bytes(b"s" * 32)

    # --- what the study says -----------------------------------------------------------------------------

    def write_study(self, folder: Path, **changes: Any) -> None:
        """Write study.toml; ``changes``: sections to replace."""
        ports = services.free_ports(len(self.servers))
        if self.shape is not None:
            behind = zip(self.servers, ports, strict=True)
            self.proxies = {name: ShapingProxy(("127.0.0.1", port), self.shape) for name, port in behind}
            ports = [proxy.port for proxy in self.proxies.values()]
        hosts = self.hosts or ["127.0.0.1"] * len(self.servers)
        servers = [
            {"name": name, "address": f"{host}:{port}", "certificate": f"{name}.pem"}
            for name, host, port in zip(self.servers, hosts, ports, strict=True)
        ]
        dealer: dict[str, Any] = {"dealer": servers[-1]} if self.dealers else {}
        vertical = self.partition == "vertical"
        columns = np.array_split(np.arange(self.features), len(self.owners))
        best = self.model.get("recipe") == "best"
        document: dict[str, Any] = {
            "model": {"kind": "logistic_regression", **(self.model if best else {**PAPER, **self.model})},
            "privacy": {"epsilon": self.epsilon},
            "data": {
                "partition": self.partition,
                "label": "y",
                **({"label_range": [0, self.largest]} if self.largest else {"label_values": list(range(self.classes))}),
                **({"row_key": "id", "rows": self.rows[0], "norm_floor": 0.05} if vertical else {}),
                **({"reference": "reference.parquet"} if self.reference else {}),
                **({"reference_directions": True} if self.directions else {}),
            },
            "compute": {"scheme": self.scheme, "timeout": 10, "connect_timeout": 10, **self.compute},
            "parties": servers[: len(self.parties)],
            **dealer,
            "owners": [
                {"name": name, "certificate": f"{name}.pem"}
                | (
                    {"columns": [f"w{i}" for i in columns[number]], "holds_label": number == 0}
                    if vertical
                    else {"rows": self.rows[number]}
                )
                for number, name in enumerate(self.owners)
            ],
            "analysts": [{"name": "analyst", "certificate": "analyst.pem"}],
            "data.features": [
                {"prefix": "w", "count": self.features, "type": "number", "lower": -1, "upper": 1, "clip": True}
            ],
            **({"release": dict(self.terms)} if self.terms else {}),
            **({"clients": [self._client(name) for name in self.clients]} if self.clients else {}),
        } | changes
        if not self.terms.get("noise", True):
            del document["privacy"]
        lines = ["format = 1", 'name = "lab"']
        for section, content in document.items():
            for table in content if isinstance(content, list) else [content]:
                lines.append(f"[[{section}]]" if isinstance(content, list) else f"[{section}]")
                lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
        (folder / "study.toml").write_text("\n".join(lines) + "\n")

    def _client(self, name: str) -> dict[str, Any]:
        limit = {} if self.clients[name] is None else {"rows": self.clients[name]}
        return {"name": name, "certificate": f"{name}.pem", **limit}

    def part(self, number: int) -> tuple[Reals, npt.NDArray[np.int64] | None, list[str]]:
        """The features, labels and row keys of one owner; in a vertical study every owner has its own order."""
        if self.partition == "vertical":
            columns = np.array_split(np.arange(self.features), len(self.owners))[number]
            order = np.random.default_rng(number).permutation(len(self.X))
            keys = [f"patient {i}" for i in order]
            return self.X[np.ix_(order, columns)], self.y[order] if number == 0 else None, keys
        start = sum(self.rows[:number])
        rows = slice(start, start + self.rows[number])
        return self.X[rows], self.y[rows], []

    def write_table(
        self,
        owner: str,
        X: Reals,
        y: npt.NDArray[np.int64] | None,
        keys: Sequence[str] = (),
        name: str = "table",
    ) -> None:
        """Write an owner's table: CSV with keys, .npz without."""
        folder = self.root / owner
        if not keys:
            np.savez(folder / f"{name}.npz", X=X, y=np.asarray(y))
            return
        entry = next(o for o in self.study.owners if o.name == owner)
        lines = [",".join((*entry.columns, *(["y"] if y is not None else []), "id"))]
        for i, key in enumerate(keys):
            label = [] if y is None else [str(y[i])]
            lines.append(",".join((*(repr(float(v)) for v in X[i]), *label, key)))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")

    @cached_property
    def study(self) -> Study:
        return load_study(self.root / "public" / "study.toml")

    @cached_property
    def plan(self) -> MinimiserPlan:
        plan = study_plan(self.study)
        assert isinstance(plan, MinimiserPlan), "a study of this kind states recipe 'paper'"
        return plan

    def identity(self, name: str) -> Identity:
        return identity_of(name, self.root / name)

    def minimum(self) -> Reals:
        """The weights that exact training would give, in the order of the release."""
        return np.asarray(minimiser(self.plan, self.X, self.y))

    # --- processes ---------------------------------------------------------------------------------------

    def start(self, *servers: str, **job: Any) -> None:
        """Start parties and the dealer (all, if none is named)."""
        for name in servers or self.servers:
            behind = {"listen": self.proxies[name].target[1]} if self.proxies else {}
            self.children[name] = self._launch("dealer" if name in self.dealers else "party", name, {**behind, **job})

    def contribute(self, owner: str, *, table: str = "", **job: Any) -> Child:
        """Start the process of an owner that contributes."""
        default = "table.csv" if self.partition == "vertical" else "table.npz"
        return self._launch("owner", owner, {"table": table or default, **job})

    def ask(self, client: str, rows: Reals, **job: Any) -> Child:
        """Start the process of a client that asks about rows."""
        np.save(self.root / client / "rows.npy", rows)
        (self.root / client / "answers.npy").unlink(missing_ok=True)
        return self._launch("client", client, job)

    def answers(self, client: str) -> Reals:
        """What a client has got."""
        return np.asarray(np.load(self.root / client / "answers.npy"))

    def facts(self, party: str) -> dict[str, str]:
        """All facts in a party's own state."""
        path = self.state(party) / "state.sqlite"
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as database:
            return dict(database.execute("SELECT name, value FROM facts").fetchall())

    def counted(self, party: str, client: str) -> int:
        """The rows that a party has counted for a client."""
        return int(self.facts(party).get(f"answered {client}", 0))

    def contribute_all(self) -> None:
        """Let all owners contribute at once, and wait for their success."""
        for owner, child in [(owner, self.contribute(owner)) for owner in self.owners]:
            assert child.wait() == 0, self.log(owner)

    def _launch(self, main: str, name: str, job: Mapping[str, Any]) -> Child:
        folder = self.root / name
        assert self.nursery is not None
        return self.nursery.start(
            {"main": main, "name": name, "cwd": str(folder), "log": str(folder / f"{main}.log"), **job}
        )

    def kill(self, *servers: str) -> None:
        """kill -9."""
        for name in servers:
            self.children[name].kill()

    def stop(self) -> None:
        """End all parties and the dealer in good order."""
        for child in self.children.values():
            child.end()

    def up(self, *servers: str) -> None:
        """Wait until parties and the dealer answer (all, if none is named)."""
        for name in servers or self.servers:
            host, port = self.proxies[name].target if self.proxies else self.address(name)
            until(lambda host=host, port=port: _answers(host, port), f"'{name}' answers")  # type: ignore[misc]

    def address(self, server: str) -> tuple[str, int]:
        """Where a party or the dealer listens."""
        entries = [*self.study.parties, *([] if self.study.dealer is None else [self.study.dealer])]
        return next((entry.host, entry.port) for entry in entries if entry.name == server)

    # --- what has happened -------------------------------------------------------------------------------

    def state(self, party: str) -> Path:
        return self.root / party / "state"

    def log(self, name: str) -> str:
        """What the processes of a participant have said."""
        return "\n".join(path.read_text() for path in sorted((self.root / name).glob("*.log")))

    def trace(self, name: str) -> list[str]:
        """The points that the processes of a participant have reached, in order."""
        return [point for _, point in self.timed_trace(name)]

    def timed_trace(self, name: str) -> list[tuple[float, str]]:
        """The same, with the time."""
        path = self.root / name / "trace"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(float(line.partition(" ")[0]), line.partition(" ")[2]) for line in lines]

    def phase(self, party: str) -> str:
        """The phase in a party's database."""
        path = self.state(party) / "state.sqlite"
        try:
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as database:
                return str(database.execute("SELECT value FROM facts WHERE name = 'phase'").fetchone()[0])
        except (sqlite3.OperationalError, TypeError):
            return "none"

    def phases(self) -> list[str]:
        return [self.phase(party) for party in self.parties]

    def statuses(self) -> dict[str, dict[str, Any] | str]:
        return statuses(self.study, self.identity("analyst"))

    def audit(self, party: str) -> list[dict[str, Any]]:
        return read_audit(self.state(party) / "audit.jsonl")

    def events(self, party: str) -> list[str]:
        return [record["event"] for record in self.audit(party)]

    def wait_released(self, seconds: float = 60.0) -> None:
        """Wait until every party says that the model is released."""
        until(
            lambda: set(self.phases()) == {"released"},
            lambda: f"release at every party; they are {self.phases()}\n" + "\n".join(map(self.log, self.servers)),
            seconds,
        )

    def release(self) -> Release:
        return fetch_release(self.study, self.identity("analyst")).release

    def check_one_release(self) -> Release:
        """See ``support.one_release``."""
        return check_one_release(self)

    def sessions(self, party: str) -> list[list[str]]:
        """The points that each session of a party has reached."""
        found: list[list[str]] = [[]]
        for point in self.trace(party):
            if point == "after audit session begins":
                found.append([])
            found[-1].append(point)
        return found[1:]

    def first_epochs(self, party: str) -> list[int]:
        """At which epoch each training session of a party began."""
        found: list[int] = []
        begun = False
        for point in self.trace(party):
            begun = begun or point == "after audit session begins"
            if begun and point.startswith("progress train"):
                found.append(int(point.rpartition(": ")[2]))
                begun = False
        return found


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def lab_of(root: Path, nursery: Nursery, **settings: Any) -> Iterator[Lab]:
    """A lab whose processes end with the block."""
    lab = Lab(root, nursery, **settings)
    try:
        yield lab
    finally:
        for child in lab.children.values():
            child.kill()
        for proxy in lab.proxies.values():
            proxy.close()
