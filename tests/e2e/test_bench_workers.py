"""``cofit bench scale --workers`` as a user runs it: parties and workers are processes, whose bytes are counted."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

from cofit.benchmarks.workers import WorkersRun
from cofit.benchmarks.workers_model import counted, session
from cofit.cli.main import cli

pytest.importorskip("distributed")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("scheme", ["rep3", "rep4", "shamir", "semi2k"])
def test_workers_send_a_part_each_and_no_more_rounds(scheme: str) -> None:
    size = ["--rows", "4000", "--cols", "3", "--workers", "1,2", "--for", "100000", "10", "20"]
    done = CliRunner().invoke(cli, ["bench", "scale", *size, "--scheme", scheme, "--json"])
    assert (done.exit_code, done.exception) == (0, None)
    report = json.loads(done.stdout)
    measured, modelled = report["measured"], report["modelled"]
    runs = [*measured["runs"], measured["fewer_rows"], measured["wider"]]
    assert [(run["rows"], run["cols"], run["workers"]) for run in runs] == [
        (4000, 3, 0),
        (4000, 3, 1),
        (4000, 3, 2),
        (1000, 3, 2),
        (1000, 12, 2),
    ]
    for run in runs[1:]:
        assert run["session_bytes"] == session(counted(WorkersRun(**run))).bytes, "as the plan counts them"
    assert measured["rounds_added"] == 0
    assert measured["bytes_off"] < 0.02
    assert measured["head_bytes_ratio"] == 1, "what heads send does not depend on the rows"
    assert all(run["step_worker_processor"] > 0 for run in runs)
    assert (modelled["rows"], modelled["cols"], modelled["workers"]) == (100_000, 10, 20)
    assert all(math.isfinite(value) and value >= 0 for value in report["constants"].values())
