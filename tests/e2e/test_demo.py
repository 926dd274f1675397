"""``cofit demo`` as a user runs it: owners and parties are real processes, connected by real TLS."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ENTRY = "from cofit.cli.main import main; main()"


@pytest.mark.parametrize("scheme", ["rep3", "clear"])
def test_demo(scheme: str) -> None:
    command = [sys.executable, "-c", ENTRY, "demo", "--scheme", scheme, "--seed", "7"]
    environment = {**os.environ, "COLUMNS": "200"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)
    assert (result.returncode, result.stderr) == (0, "")
    output = result.stdout
    assert "agrees with the clear up to rounding" in output
    assert "hospital-a" in output
    assert "hospital-b" in output
    assert all(f"party-{letter}" in output for letter in "abc")
    assert "sums[11]" in output
    assert "mean_score[0]" in output
    assert output.count("agreed by both hospitals") == 2
