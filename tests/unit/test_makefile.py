"""What each target of the Makefile installs: a demo needs no tools of developers, and nothing is installed twice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COFIT, TOOLS = "pip install --quiet --editable .", "pip install --quiet --group dev"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    return tmp_path


def installed(folder: Path, target: str) -> list[str]:
    """What a target would install."""
    said = subprocess.run(["make", "--dry-run", target], cwd=folder, capture_output=True, text=True, check=True).stdout
    return [what for what in (COFIT, TOOLS) if what in said]


def test_a_demo_installs_cofit_alone(folder: Path) -> None:
    assert installed(folder, "demo") == [COFIT]
    (folder / ".venv/.runtime").touch()
    assert installed(folder, "demo") == []


@pytest.mark.parametrize("target", ["setup", "test", "test-all", "lint"])
def test_developers_get_their_tools(folder: Path, target: str) -> None:
    assert installed(folder, target) == [COFIT, TOOLS]
    (folder / ".venv/.runtime").touch()  # after a demo
    assert installed(folder, target) == [TOOLS]
    (folder / ".venv/.ready").touch()
    assert installed(folder, target) == []
    assert installed(folder, "demo") == []


def test_new_requirements_are_installed(folder: Path) -> None:
    for stamp in (".runtime", ".ready"):
        (folder / ".venv" / stamp).touch()
    later = (folder / ".venv/.ready").stat().st_mtime + 10
    subprocess.run(["touch", "-d", f"@{later}", "pyproject.toml"], cwd=folder, check=True)
    assert installed(folder, "demo") == [COFIT]
    assert installed(folder, "test") == [COFIT, TOOLS]
