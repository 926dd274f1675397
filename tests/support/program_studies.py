"""Small studies that run a program: their files in one folder, and their parties as threads of this process."""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cofit.roles.analyst.results import fetch_results
from cofit.roles.dealer.service import DealerService
from cofit.roles.files.audit import read_audit
from cofit.roles.files.keys import load_key, write_identity
from cofit.roles.files.program_tables import read_inputs
from cofit.roles.files.statements import SignedStatement
from cofit.roles.files.studies import load_program_study
from cofit.roles.jobs.of_study import served_job
from cofit.roles.jobs.program import ProgramJob
from cofit.roles.owner.contribute import prepare_inputs, send
from cofit.roles.party.service import PartyService
from cofit.sharing import scheme_named
from cofit.transport import generate_identity
from support.nursery import until
from support.services import Services, free_ports

AGES = {"clinic-a": (34.0, 51.0, 29.0), "clinic-b": (62.0, 45.0)}
TOTAL = sum(map(sum, AGES.values()))
TOTAL_REASON, LARGEST_REASON = "sum of all ages", "sum of squared ages in units of 100 years"
SOURCE = f'''
def ages(party):
    a = party.input("clinic-a", "age")
    b = party.input("clinic-b", "age")
    total = party.open(a.sum() + b.sum(), reason="{TOTAL_REASON}")
    with party.label("squares"):
        squares = ((a * 0.01) ** 2).sum() + ((b * 0.01) ** 2).sum()
    second = party.open(squares.reshape(1), reason="{LARGEST_REASON}", to=list(party.parties)[-1:])
    return {{"mean": float(total) / (len(a) + len(b)), "mine": None if second is None else float(second[0])}}
'''
OPENINGS: tuple[dict[str, Any], ...] = (
    {"reason": TOTAL_REASON, "shape": []},
    {"reason": LARGEST_REASON, "shape": [1], "to": ["party-c"]},
)


def sha256(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def write_program_study(
    folder: Path,
    source: str = SOURCE,
    openings: Sequence[Mapping[str, Any]] = OPENINGS,
    *,
    function: str = "ages",
    scheme: str = "rep3",
) -> Path:
    """Write keys, the program, tables and study.toml; return the study's path."""
    info = scheme_named(scheme).info
    parties = [f"party-{letter}" for letter in string.ascii_lowercase[: info.default_parties]]
    dealers = ["dealer"] if info.dealer else []
    for name in (*parties, *dealers, *AGES, "analyst"):
        write_identity(generate_identity(name), folder)
    (folder / "clinics.py").write_text(source)
    lines = ["format = 1", 'name = "ages"', "[job]", f'program = "clinics:{function}"']
    lines += ["[job.sources]", f'"clinics.py" = "{sha256(source)}"']
    for opening in openings:
        lines += ["[[job.openings]]", *(f"{key} = {json.dumps(value)}" for key, value in opening.items())]
    lines += ["[compute]", f'scheme = "{scheme}"', "timeout = 20", "connect_timeout = 20"]
    ports = free_ports(len(parties) + len(dealers))
    for name, port in zip((*parties, *dealers), ports, strict=True):
        lines.append("[dealer]" if name in dealers else "[[parties]]")
        lines += [f'name = "{name}"', f'address = "127.0.0.1:{port}"', f'certificate = "{name}.pem"']
    for name, ages in AGES.items():
        lines += ["[[owners]]", f'name = "{name}"', f'certificate = "{name}.pem"']
        lines += ["[[owners.inputs]]", 'name = "age"', f"shape = [{len(ages)}]", "bound = 120"]
        (folder / f"{name}.csv").write_text("patient,age\n" + "".join(f"{i},{age}\n" for i, age in enumerate(ages)))
    lines += ["[[analysts]]", 'name = "analyst"', 'certificate = "analyst.pem"']
    path = folder / "study.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


class ProgramSite(Services[PartyService | DealerService]):
    """The parties and the dealer of such a study, as threads, each with its state directory ``NAME.party``."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.folder = path, path.parent
        self.study = load_program_study(path)
        self.parties = [party.name for party in self.study.parties]

    def state(self, name: str) -> Path:
        return self.folder / f"{name}.party"

    def start(self, *names: str, job: ProgramJob | None = None) -> None:
        """job: in place of the one that the study agreed on, as a party that lies would run it."""
        dealers = [] if self.study.dealer is None else [self.study.dealer.name]
        for name in names or (*self.parties, *dealers):
            kind = DealerService if name in dealers else PartyService
            service = kind(
                job or served_job(self.path), load_key(self.study, self.folder / f"{name}.key"), self.state(name)
            )
            self.launch(name, service, service.run)

    def contribute(self, *owners: str) -> None:
        for owner in self.study.owners:
            if not owners or owner.name in owners:
                inputs = read_inputs(owner, self.folder / f"{owner.name}.csv")
                prepared = prepare_inputs(ProgramJob(self.study), owner.name, inputs)
                identity = load_key(self.study, self.folder / f"{owner.name}.key")
                send(prepared, identity, self.folder / f"{owner.name}.owner", "data")

    def phases(self) -> set[str]:
        return {self.running[name][0]._directory.phase for name in self.parties if name in self.running}

    def wait(self, phase: str) -> None:
        until(lambda: self.phases() == {phase}, lambda: f"{phase}; they are {self.phases()}", 60)

    def wait_ended(self) -> None:
        """Wait until some party has released or failed."""
        until(lambda: self.phases() & {"failed", "released"}, "an end", 60)

    def results(self) -> SignedStatement:
        return fetch_results(self.study, load_key(self.study, self.folder / "analyst.key"))

    def own(self, name: str) -> Any:
        """What a party has for itself."""
        return json.loads((self.state(name) / "result.json").read_bytes())

    def events(self, name: str) -> list[str]:
        return [one["event"] for one in read_audit(self.state(name) / "audit.jsonl")]

    def openings(self, name: str) -> list[tuple[str, list[str]]]:
        records = read_audit(self.state(name) / "audit.jsonl")
        return [(one["reason"], one["learned_by"]) for one in records if one["event"] == "opening"]


@contextmanager
def program_site(path: Path) -> Iterator[ProgramSite]:
    """Parties that are stopped at the end."""
    site = ProgramSite(path)
    try:
        yield site
    finally:
        site.stop()
