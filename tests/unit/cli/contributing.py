"""A study in a folder with keys, tables and parties, for the tests of commands of owners."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cofit.cli.main import main
from cofit.roles.analyst.fetch import statuses
from cofit.roles.files.keys import load_key, write_identity
from cofit.roles.files.studies import load_study
from cofit.roles.jobs.training import Training
from cofit.roles.party.service import PartyService
from cofit.transport import generate_identity
from support.services import free_ports

PARTIES = ("party-a", "party-b", "party-c")
OWNERS = ("owner-a", "owner-b")
ROWS = 40


@dataclass
class Site:
    """A study in one folder, with everybody's keys, and the parties that run."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    cwd: Path = Path()
    """Where commands are run, relative to the folder."""

    @property
    def study(self) -> Path:
        return self.folder / "study.toml"

    def run(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as info, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["cofit", *arguments])
            patch.chdir(self.folder / self.cwd)
            main()
        captured = self.capsys.readouterr()
        code = info.value.code
        return (int(code) if code else 0), captured.out, captured.err

    def contribute(self, owner: str, *options: str, data: str = "") -> tuple[int, str, str]:
        up = Path(*[".."] * len(self.cwd.parts))
        study, key, table = (str(up / name) for name in ("study.toml", f"{owner}.key", data or f"{owner}.csv"))
        return self.run("contribute", study, "--yes", "--owner", owner, "--key", key, "--data", table, *options)

    def states(self) -> dict[str, Any]:
        study = load_study(self.study)
        told = statuses(study, load_key(study, self.folder / "analyst.key"))
        assert all(isinstance(one, dict) for one in told.values()), told
        return told

    def contributions(self) -> dict[str, str]:
        (one,) = {json.dumps(state["contributions"], sort_keys=True) for state in self.states().values()}
        found: dict[str, str] = json.loads(one)
        return found


def write_site(folder: Path, *, vertical: bool = False, unmatched: str = "refuse", timeout: float = 20) -> None:
    for name in (*PARTIES, *OWNERS, "analyst", "stranger"):
        write_identity(generate_identity(name), folder)
    partition = (
        f'partition = "vertical"\nrows = {ROWS}\nrow_key = "id"\nunmatched = "{unmatched}"'
        if vertical
        else 'partition = "horizontal"\nrow_key = "id"'
    )
    owners = {
        "owner-a": 'columns = ["u", "v"]' if vertical else f"rows = {ROWS}",
        "owner-b": 'columns = ["w"]\nholds_label = true' if vertical else f"rows = {ROWS}",
    }
    text = f"""
format = 1
name = "trial"
[model]
kind = "logistic_regression"
recipe = "paper"
l2 = 1.0
[privacy]
epsilon = 1.0
[data]
{partition}
label = "ill"
label_values = ["no", "yes"]
[[data.features]]
names = ["u", "v", "w"]
type = "boolean"
[compute]
scheme = "rep3"
timeout = {timeout}
connect_timeout = {timeout}
[[analysts]]
name = "analyst"
certificate = "analyst.pem"
"""
    for name, port in zip(PARTIES, free_ports(3), strict=True):
        text += f'[[parties]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ncertificate = "{name}.pem"\n'
    for name, part in owners.items():
        text += f'[[owners]]\nname = "{name}"\ncertificate = "{name}.pem"\n{part}\n'
    (folder / "study.toml").write_text(text)
    for owner in OWNERS:
        write_table(folder / f"{owner}.csv", owner, vertical=vertical)


def write_table(path: Path, owner: str, *, vertical: bool, keys: Sequence[int] = range(ROWS)) -> None:
    columns = {"owner-a": ["u", "v"], "owner-b": ["w", "ill"]}[owner] if vertical else ["u", "v", "w", "ill"]
    lines = [",".join(["id", *columns])]
    for key in keys if owner == "owner-a" else reversed(keys):
        lines.append(",".join([f"p{key}", *(["yes", "no"][(key + i) % 2] for i in range(len(columns)))]))
    path.write_text("\n".join(lines) + "\n")


@contextlib.contextmanager
def parties(folder: Path, names: Sequence[str] = PARTIES) -> Iterator[None]:
    study = load_study(folder / "study.toml")
    services = [PartyService(Training(study), load_key(study, folder / f"{name}.key"), folder / name) for name in names]
    threads = [threading.Thread(target=service.run, daemon=True) for service in services]
    try:
        for thread in threads:
            thread.start()
        yield
    finally:
        for service in services:
            service.stop()
        for thread in threads:
            thread.join(20)
