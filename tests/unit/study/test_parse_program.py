"""Studies of programs: what is read, what is refused, and what the hash covers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import InvalidInputError
from cofit.study import parse_program
from cofit.study.parse_program import parse_program_study
from cofit.study.program import ProgramStudy
from cofit.study.program_statement import headline, learned_of_program, opening_in_words
from unit.study.studies import CERTIFICATES, HORIZONTAL

SHA = "ab" * 32
DOCUMENT: dict[str, Any] = {
    "format": 1,
    "name": "ages",
    "job": {
        "program": "clinics:ages",
        "sources": {"clinics.py": SHA},
        "openings": [{"reason": "sum", "shape": []}, {"reason": "for b", "shape": [2, 3], "to": ["party-b"]}],
    },
    "compute": {"scheme": "rep3"},
    "parties": HORIZONTAL["parties"],
    "owners": [
        {
            "name": "owner-a",
            "certificate": "owner-a.pem",
            "inputs": [
                {"name": "age", "shape": [3], "bound": 120},
                {"name": "both", "shape": [3, 2], "columns": ["x", "y"], "bound": 1, "fraction_bits": 0},
                {"name": "cube", "shape": [2, 2, 2], "bound": 1.5, "ring": "Z_2^128", "fraction_bits": 40},
            ],
        },
        {"name": "owner-b", "certificate": "owner-b.pem", "inputs": [{"name": "age", "shape": [4], "bound": 120}]},
    ],
    "analysts": HORIZONTAL["analysts"],
}
LEFT_OUT = object()


def with_field(path: str, value: Any) -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    place: Any = document
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    for step in steps:
        place = place[step]
    if value is LEFT_OUT:
        del place[last]
    else:
        place[last] = value
    return document


def parsed(document: dict[str, Any]) -> ProgramStudy:
    return parse_program_study(document, CERTIFICATES)


def test_what_is_read() -> None:
    study = parsed(DOCUMENT)
    assert (study.program.module, study.program.function) == ("clinics", "ages")
    assert [one.to for one in study.program.openings] == [("party-a", "party-b", "party-c"), ("party-b",)]
    age, both, cube = study.owners[0].inputs
    assert (age.columns, both.columns, cube.columns) == (("age",), ("x", "y"), ())
    assert age.facts.format.fraction_bits == 24 and cube.facts.format.ring.name == "Z_2^128"
    assert headline(study).startswith("Not differentially private: ")
    assert opening_in_words(study, study.program.openings[1]) == "2 x 3 numbers to party-b alone: for b"
    learned = learned_of_program(study)
    assert "'sum'" in learned["analysts"] and not any("for b" in fact for fact in learned["analysts"])
    assert "party-b alone: 'for b'" in learned["parties"]


def test_the_order_of_receivers_is_that_of_the_parties() -> None:
    here, there = (
        parsed(with_field("job/openings/1/to", to)) for to in (["party-c", "party-b"], ["party-b", "party-c"])
    )
    assert here.hash == there.hash and here.program.openings[1].to == ("party-b", "party-c")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("job/program", "clinics:other"),
        ("job/sources/clinics.py", "cd" * 32),
        ("job/openings/0/reason", "sum of ages"),
        ("job/openings/0/shape", [1]),
        ("job/openings/1/to", ["party-c"]),
        ("owners/0/inputs/0/bound", 121),
        ("owners/0/inputs/0/shape", [3, 1]),
        ("owners/0/inputs/1/columns", ["y", "x"]),
        ("owners/0/inputs/0/fraction_bits", 23),
        ("owners/1/inputs/0/ring", "Z_2^128"),
        ("name", "agees"),
    ],
)
def test_every_term_is_in_the_hash(path: str, value: Any) -> None:
    document = with_field(path, value)
    if path.endswith("inputs/0/shape"):
        document["owners"][0]["inputs"] = document["owners"][0]["inputs"][:1]
        document["owners"][0]["inputs"][0]["columns"] = ["age"]
    assert parsed(document).hash != parsed(DOCUMENT).hash


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("model", {"kind": "svm"}, "'model' parameter of the study must be left out"),
        ("job/program", "clinics.ages", "'job.program' .* 'module:function'"),
        ("job/program", "../clinics:ages", "'job.program'"),
        ("job/sources", {}, "cofit program-hash"),
        ("job/sources", {"other.py": SHA}, "with 'clinics.py', the file of the program"),
        ("job/sources", {"clinics.py": SHA, "../evil.py": SHA}, "path from the program's folder"),
        ("job/sources", {"clinics.py": SHA, "/evil.py": SHA}, "path from the program's folder"),
        ("job/sources", {"clinics.py": SHA, "clinics/__init__.py": SHA}, "one file of a module"),
        ("job/sources", {"clinics.py": SHA[:-1]}, "64 hexadecimal digits"),
        ("job/openings", [], "at least one"),
        ("job/openings/0/reason", "", r"'job.openings\[0\].reason'"),
        ("job/openings/0/shape", [0], r"'job.openings\[0\].shape\[0\]'"),
        ("job/openings/0/shape", 3, r"'job.openings\[0\].shape' .* a list of sizes"),
        ("job/openings/1/to", [], "at least one computing party"),
        ("job/openings/1/to", ["party-b", "party-b"], "each may occur once"),
        ("job/openings/1/to", ["owner-a"], "'owner-a' is an owner only: make it a computing party too"),
        ("job/openings/1/to", ["stranger"], "a computing party, one of"),
        ("job/openings/1/why", "x", r"'job.openings\[1\].why' .* that format 1 knows"),
        ("owners/0/inputs", [], "at least one"),
        ("owners/0/inputs/0/name", "blood pressure", "letters, digits and underscores"),
        ("owners/0/inputs/0/bound", -1, "at least 0"),
        ("owners/0/inputs/0/bound", 1e30, "cannot be encoded"),
        ("owners/0/inputs/1/columns", ["x"], "as many as the shape says"),
        ("owners/0/inputs/1/shape", [4, 2], "it has one number of rows"),
        ("owners/0/inputs/1/name", "age", "each may occur once"),
        ("owners/0/inputs/0/ring", "F_61", "one of"),
        ("compute/latency", 0.1, "that format 1 knows"),
        ("compute/scheme", "semi2k", "do not fit together|dealer"),
        ("analysts", LEFT_OUT, "'analysts'"),
    ],
)
def test_what_is_refused_names_the_field_and_the_remedy(path: str, value: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        parsed(with_field(path, value))


def test_every_field_is_in_the_reference() -> None:
    text = (Path(__file__).parents[3] / "docs" / "reference" / "study.md").read_text()
    text = text[text.index("## Studies of programs") : text.index("## The hash")]
    lists = (
        parse_program._JOB,
        parse_program._OPENING,
        parse_program._OWNER,
        parse_program._INPUT,
        parse_program._COMPUTE,
    )
    for field in {field for fields in lists for field in fields}:
        assert any(form in text for form in (f"`{field}`", f"[job.{field}]", f"[owners.{field}]")), field
