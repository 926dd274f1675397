"""``cofit experiment`` as a user runs it: interrupted, continued, and with results that are there."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ENTRY = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # ignored where tests run in background
    "from cofit.cli.main import main; main()"
)
DATA = "claims:rows=150,cols=12,density=0.3,signal=12"
ARGUMENTS = ["table1", "--data", DATA, "--quick", "--workers", "2", "--draws", "2", "--folds", "4"]


def _start(out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ENTRY, "experiment", *ARGUMENTS, "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_interrupted_and_continued(tmp_path: Path) -> None:
    cells = tmp_path / "cells"
    process = _start(tmp_path)
    deadline = time.monotonic() + 100
    while len(list(cells.glob("*.json"))) < 5 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 130, errors
    assert "the same command resumes" in errors
    assert "Traceback" not in errors
    kept = {path.name: path.stat().st_mtime_ns for path in cells.glob("*.json")}
    assert len(kept) >= 5

    process = _start(tmp_path)
    output, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    for name, written in kept.items():
        assert (cells / name).stat().st_mtime_ns == written
    stem = "table1-claims-rows150-cols12-density0.3-signal12.0"
    assert {path.name for path in tmp_path.glob("table1*")} == {f"{stem}{end}" for end in (".json", ".md", ".csv")}
    table = json.loads((tmp_path / f"{stem}.json").read_text())
    entries = {row["label"]: row["figures"] for row in table["rows"]}
    assert entries["no privacy, C = 1"][0]["value"] > 0.6
    timed = entries["cofit, the paper's K-norm noise"][2]
    assert timed["unit"] == "seconds"
    assert timed["value"] > 0
    assert "true epsilon" in output
