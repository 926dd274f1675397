"""A small study in one folder, with everybody's keys and tables, and its parties as threads of this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cofit.errors import CofitError
from cofit.roles.files.keys import load_key, write_identity
from cofit.roles.files.studies import load_study
from cofit.roles.files.tables import read_owner_table
from cofit.roles.jobs.job import Job, TableJob
from cofit.roles.jobs.training import Training
from cofit.roles.owner.contribute import contribute_table
from cofit.roles.party.service import PartyService
from cofit.study import Study
from cofit.study.encode import encode_table
from cofit.transport import generate_identity
from support.services import Services, free_ports

PARTIES = ("party-a", "party-b", "party-c")
ROWS = {"owner-a": 40, "owner-b": 30}
_HEAD = """format = 1
name = "trial"
[model]
kind = "{kind}"
recipe = "paper"
l2 = 1.0
epochs = {epochs}
[privacy]
epsilon = 100.0
delta = 1e-6
[data]
partition = "horizontal"
label = "ill"
label_values = ["no", "yes"]
row_key = "id"
[[data.features]]
name = "age"
type = "number"
lower = 0
upper = 100
[[data.features]]
name = "group"
type = "category"
values = ["x", "y"]
missing = "x"
[compute]
scheme = "rep3"
timeout = 20.0
connect_timeout = 20.0
checkpoint_epochs = 2
"""


def make_folder(folder: Path, epochs: int = 6, kind: str = "logistic_regression") -> Path:
    """Write keys, tables and study.toml; return the study's path."""
    for name in (*PARTIES, *ROWS, "analyst"):
        write_identity(generate_identity(name), folder)
    text = _HEAD.format(epochs=epochs, kind=kind)
    for name, port in zip(PARTIES, free_ports(3), strict=True):
        text += f'[[parties]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ncertificate = "{name}.pem"\n'
    for name, rows in ROWS.items():
        text += f'[[owners]]\nname = "{name}"\ncertificate = "{name}.pem"\nrows = {rows}\n'
    text += '[[analysts]]\nname = "analyst"\ncertificate = "analyst.pem"\n'
    path = folder / "study.toml"
    path.write_text(text)
    rng = np.random.default_rng(5)
    for name, rows in (*ROWS.items(), ("test", 50)):
        ages = rng.uniform(0, 100, rows)
        lines = [f"{name}{i},{'xy'[i % 2]},{age:.3f},{'yes' if age > 50 else 'no'}" for i, age in enumerate(ages)]
        (folder / f"{name}.csv").write_text("id,group,age,ill\n" + "\n".join(lines) + "\n")
    return path


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


class Loopback(Services[PartyService]):
    """The parties of a study in a folder, each with its state directory ``NAME.state``."""

    def __init__(self, folder: Path, epochs: int = 6, make_job: Callable[[Study], TableJob] = Training) -> None:
        super().__init__()
        self.folder = folder
        self.study: Study = load_study(make_folder(folder, epochs))
        self.job = make_job(self.study)
        self.ended: dict[str, str] = {}
        self.errors: dict[str, CofitError] = {}

    def state(self, name: str) -> Path:
        return self.folder / f"{name}.state"

    def start(
        self, *names: str, until_released: bool = False, job: Job | None = None, memory: int | None = None
    ) -> None:
        for name in names or PARTIES:
            identity = load_key(self.study, self.folder / f"{name}.key")
            service = PartyService(job or self.job, identity, self.state(name), memory=memory)

            def run(name: str = name, service: PartyService = service) -> None:
                try:
                    self.ended[name] = service.run(until_released=until_released)
                except CofitError as error:
                    self.errors[name] = error

            self.launch(name, service, run)

    def contribute(self, *owners: str) -> None:
        for owner in owners or tuple(ROWS):
            table = encode_table(self.study, owner, read_owner_table(self.study, owner, self.folder / f"{owner}.csv"))
            identity = load_key(self.study, self.folder / f"{owner}.key")
            contribute_table(self.job, identity, table, self.folder / f"{owner}.owner", "data")

    def released(self, *names: str) -> bool:
        return all(self.running[name][0].released for name in names or tuple(self.running))


@contextmanager
def loopback(folder: Path, epochs: int = 6, make_job: Callable[[Study], TableJob] = Training) -> Iterator[Loopback]:
    """Parties that are stopped at the end."""
    site = Loopback(folder, epochs, make_job)
    try:
        yield site
    finally:
        site.stop()
