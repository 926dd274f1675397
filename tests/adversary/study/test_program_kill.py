"""kill -9 at every step of a program with two openings: no opening ever shows a second draw.

Each opening is of bits that a session draws, so a value that was drawn twice shows. Every party writes down whatever it
learns, in every session.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cofit.roles.analyst.results import fetch_results
from cofit.roles.files.audit import read_audit
from cofit.roles.files.studies import load_program_study
from support.nursery import Child, Nursery, until
from support.program_studies import AGES, write_program_study
from support.study_process import identity_of

PARTIES = ("party-a", "party-b", "party-c")
SEEN = """
def write(line):
    with open("seen", "a") as file:
        file.write(line + "\\n")
"""
FRESH = (
    SEEN
    + """
def ages(party):
    total = party.open(party.input("clinic-a", "age").sum(), reason="first")
    write(f"first {total}")
    bits = party.open(party.random_bits((40,)), reason="second")
    write(f"second {bits.tolist()}")
"""
)
"""Draws after its first opening: a restart is safe at any point."""
SAME = (
    SEEN
    + """
def ages(party):
    bits = party.random_bits((40,))
    write(f"first {party.open(bits, reason='first').tolist()}")
    write(f"second {party.open(bits, reason='second').tolist()}")
"""
)
"""Opens one draw twice: a restart between the two can only end the study."""
SHAPES = {FRESH: ([], [40]), SAME: ([40], [40])}
STEPS = (
    "before charge", "after charge", "before save release", "after save release", "before confirm", "after confirm",
    "before begin opening", "after begin opening", "before audit opening", "before open", "after open",
)  # fmt: skip
POINTS = (
    "before audit session begins",
    *STEPS,
    *(f"{step}#2" for step in STEPS),
    "before barrier#3", "after barrier#3", "before barrier#4", "after barrier#4",
    "before write published.json", "after write published.json", "before write signature.json", "after phase released",
)  # fmt: skip
SAMPLE = {("party-c", "before save release#2")}


class ProgramLab:
    """A folder for each participant, and processes that can be killed."""

    def __init__(self, root: Path, nursery: Nursery, source: str) -> None:
        self.root, self._nursery = root, nursery
        public = root / "public"
        public.mkdir(parents=True)
        first, second = SHAPES[source]
        openings = [{"reason": "first", "shape": first}, {"reason": "second", "shape": second}]
        self.study = load_program_study(write_program_study(public, source, openings))
        for name in (*PARTIES, *AGES):
            shutil.copytree(public, root / name)
        self.children: dict[str, Child] = {}

    def start(self, name: str, **job: Any) -> None:
        self.children[name] = self._launch("party", name, job)

    def contribute(self) -> None:
        for owner in AGES:
            child = self._launch("program owner", owner, {"table": f"{owner}.csv"})
            if child.wait(60):
                assert self._launch("program owner", owner, {"table": f"{owner}.csv"}).wait(60) == 0

    def _launch(self, main: str, name: str, job: dict[str, Any]) -> Child:
        folder = self.root / name
        facts = {"main": main, "name": name, "cwd": str(folder), "log": str(folder / f"{main}.log")}
        return self._nursery.start({**facts, **job})

    def phases(self) -> list[str]:
        return [self._phase(self.root / name / "state" / "state.sqlite") for name in PARTIES]

    @staticmethod
    def _phase(path: Path) -> str:
        try:
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as database:
                return str(database.execute("SELECT value FROM facts WHERE name = 'phase'").fetchone()[0])
        except (sqlite3.OperationalError, TypeError):
            return "none"

    def seen(self, opening: str) -> set[str]:
        """Every value of an opening that any party ever learned."""
        paths = [path for name in PARTIES if (path := self.root / name / "seen").exists()]
        lines = [line for path in paths for line in path.read_text().splitlines()]
        return {line for line in lines if line.startswith(f"{opening} ")}

    def openings(self, name: str) -> list[str]:
        records = read_audit(self.root / name / "state" / "audit.jsonl")
        return [record["reason"] for record in records if record["event"] == "opening"]

    def log(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.root.glob("*/*.log")))


@pytest.fixture
def make(nursery: Nursery, tmp_path: Path) -> Iterator[Any]:
    made: list[ProgramLab] = []

    def lab(source: str) -> ProgramLab:
        made.append(ProgramLab(tmp_path / "lab", nursery, source))
        return made[-1]

    yield lab
    for one in made:
        for child in one.children.values():
            child.kill()


def killed(lab: ProgramLab, party: str, point: str) -> None:
    """Run the study with a party that dies at a point, and starts again."""
    step, _, count = point.partition("#")
    for name in PARTIES:
        lab.start(name, die={step: int(count or 1)} if name == party else {})
    lab.contribute()
    assert lab.children[party].wait(60) == -9, lab.log()
    lab.start(party)


@pytest.mark.parametrize(
    ("party", "point"),
    [
        pytest.param(party, point, marks=() if (party, point) in SAMPLE else pytest.mark.slow)
        for point in POINTS
        for party in PARTIES
    ],
)
def test_a_program_killed_at_any_point_opens_every_value_once(make: Any, party: str, point: str) -> None:
    lab = make(FRESH)
    killed(lab, party, point)
    until(lambda: lab.phases() == ["released"] * 3, lambda: f"{lab.phases()}\n{lab.log()}", 60)
    assert len(lab.seen("first")) == len(lab.seen("second")) == 1, "a second draw was opened"
    signed = fetch_results(lab.study, identity_of("analyst", lab.root / "public"))
    (bits,) = lab.seen("second")
    assert list(signed.statement.values[1] or ()) == json.loads(bits.removeprefix("second "))
    for name in PARTIES:
        assert set(lab.openings(name)) == {"first", "second"}


BETWEEN = ("after open", "before save release#2", "before confirm#2")


@pytest.mark.parametrize(
    "point", ["after open", *(pytest.param(point, marks=pytest.mark.slow) for point in (*BETWEEN[1:], "after open#2"))]
)
def test_one_draw_in_two_openings_is_never_drawn_again(make: Any, point: str) -> None:
    """Killed between them the study ends; after the second it goes on from the records."""
    lab = make(SAME)
    killed(lab, "party-b", point)
    until(
        lambda: set(lab.phases()) == {"released"} or "failed" in lab.phases(),
        lambda: f"{lab.phases()}\n{lab.log()}",
        60,
    )
    assert len(lab.seen("first")) == 1
    assert {line.removeprefix("second ") for line in lab.seen("second")} <= {
        line.removeprefix("first ") for line in lab.seen("first")
    }, "two draws"
    if point in ("after open", "before save release#2"):
        assert "failed" in lab.phases()
        until(lambda: "cannot draw again" in lab.log(), lab.log, 15)  # the log says it after the state does
    if point == "after open#2":
        assert lab.phases() == ["released"] * 3
