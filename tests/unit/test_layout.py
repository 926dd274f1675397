"""``tests/unit`` mirrors ``src/cofit``: every package has a folder of the same name with tests in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.pages import ROOT

SOURCE = ROOT / "src" / "cofit"
PACKAGES = sorted(
    path.parent.relative_to(SOURCE)
    for path in SOURCE.rglob("__init__.py")
    if path.parent != SOURCE and (len(list(path.parent.glob("*.py"))) > 1 or path.stat().st_size > 2000)
)
"""Those with modules of their own; the compiled kernels have all of theirs in one file."""


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_every_package_has_its_tests(package: Path) -> None:
    assert list((ROOT / "tests" / "unit" / package).glob("test_*.py")), f"tests/unit/{package} has no tests."


def test_every_folder_has_its_package() -> None:
    folders = {path.parent for path in (ROOT / "tests" / "unit").rglob("test_*.py")}
    strange = [folder for folder in folders if not (SOURCE / folder.relative_to(ROOT / "tests" / "unit")).is_dir()]
    assert strange == []


def test_no_file_of_code_is_longer_than_400_lines() -> None:
    """One idea a file: what grows beyond is divided."""
    files = [
        path
        for folder in ("src", "tests")
        for ending in ("py", "cpp", "hpp", "inc")
        for path in (ROOT / folder).rglob(f"*.{ending}")
    ]
    assert len(files) > 1000
    assert {str(path.relative_to(ROOT)): n for path in files if (n := path.read_text().count("\n")) > 400} == {}
