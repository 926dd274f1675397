"""Nobody asks which kind a plan is: a plan runs itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cofit

SOURCE = Path(cofit.__file__).parent
ASKS = ("isinstance", "type", "issubclass")


def kinds_asked_for(source: str) -> Iterator[tuple[int, str]]:
    """Yield where a program asks what kind of plan something is, or tests the name of the method that made it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ASKS:
            names = {getattr(one, "id", getattr(one, "attr", "")) for arg in node.args for one in ast.walk(arg)}
            if any(name.endswith("Plan") for name in names) or (node.func.id == "type" and names & {"plan"}):
                yield node.lineno, ast.unparse(node)
        if isinstance(node, ast.Compare) and "facts.method" in ast.unparse(node):
            yield node.lineno, ast.unparse(node)
        if isinstance(node, ast.MatchClass) and ast.unparse(node.cls).endswith("Plan"):
            yield node.lineno, ast.unparse(node.cls)


def test_no_program_asks_for_the_kind_of_a_plan() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 200
    found = [f"{file}:{line}: {text}" for file in files for line, text in kinds_asked_for(file.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(plan, DescentPlan)",
        "isinstance(self.plan, (MinimiserPlan, int))",
        "if type(plan) is plans.DescentPlan: pass",
        "x = plan.facts.method == 'descent'",
        "match plan:\n    case DescentPlan(): pass",
    ],
)
def test_whoever_does_is_found(source: str) -> None:
    assert list(kinds_asked_for(source))
