"""The script of continuous integration: when it installs a browser, and when the browser's tests must run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "run"
NEEDED = ("bash", "dirname", "env", "cat", "chmod", "touch", "cp")
INSTALLS = '[ "$1" = update ] || { cp "$(dirname "$0")/make" "$(dirname "$0")/chromium"; }'


def ran(folder: Path, *, user: str = "0", apt: str | None = INSTALLS, browser: bool = False, **env: str) -> list[str]:
    """Run the script beside stand-ins that write down how they were called; return those lines, then its exit code."""
    (folder / ".ci").mkdir()
    shutil.copy(SCRIPT, folder / ".ci" / "run")
    programs = {"id": f"echo {user}", "make": f'echo "make $1 ${{COFIT_REQUIRE_BROWSER:-unset}}" >> {folder}/calls'}
    if apt is not None:
        programs["apt-get"] = f'echo "apt-get $1" >> {folder}/calls; {apt}'
    if browser:
        programs["google-chrome"] = "true"
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n")
        (folder / name).chmod(0o755)
    for name in NEEDED:
        (folder / name).symlink_to(shutil.which(name) or pytest.fail(name))
    clean = {name: value for name, value in os.environ.items() if name != "COFIT_REQUIRE_BROWSER"}
    run = subprocess.run([folder / ".ci" / "run"], env={**clean, "PATH": str(folder), **env}, check=False)
    return [*(folder / "calls").read_text().splitlines(), str(run.returncode)]


def make(required: str) -> list[str]:
    return [f"make {target} {required}" for target in ("setup", "lint", "test")]


def test_root_installs_a_browser_whose_tests_must_run(tmp_path: Path) -> None:
    assert ran(tmp_path) == ["apt-get update", "apt-get install", *make("1"), "0"]


def test_a_browser_that_is_there_is_used(tmp_path: Path) -> None:
    assert ran(tmp_path, browser=True) == [*make("1"), "0"]


@pytest.mark.parametrize("apt", ['[ "$1" = install ]', '[ "$1" = update ]'])
def test_it_ends_where_the_installation_fails(tmp_path: Path, apt: str, capfd: pytest.CaptureFixture[str]) -> None:
    calls = ran(tmp_path, apt=apt)
    assert calls[0] == "apt-get update"
    assert calls[-1] == "1"
    assert not any(call.startswith("make") for call in calls)
    assert "COFIT_REQUIRE_BROWSER=0" in capfd.readouterr().err


def test_who_may_not_install_goes_on_without_and_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert ran(tmp_path, user="1000") == [*make("unset"), "0"]
    assert "the browser tests will be skipped" in capfd.readouterr().err


def test_where_there_is_no_apt_get(tmp_path: Path) -> None:
    assert ran(tmp_path, apt=None) == [*make("unset"), "0"]


def test_the_choice_of_a_developer_stands(tmp_path: Path) -> None:
    assert ran(tmp_path, COFIT_REQUIRE_BROWSER="0") == [*make("0"), "0"]


def test_a_browser_can_be_demanded(tmp_path: Path) -> None:
    assert ran(tmp_path, user="1000", COFIT_REQUIRE_BROWSER="1") == [*make("1"), "0"]
