"""The same story with the commands that people type, from `cofit keygen` to `cofit evaluate`."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from support.nursery import environment
from support.studies import PARTIES, Lab

MakeLab = Callable[..., Lab]
COFIT = [sys.executable, "-c", "import sys; from cofit.cli.main import main; sys.argv[0] = 'cofit'; main()"]


def cofit(folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [*COFIT, *arguments], cwd=folder, capture_output=True, text=True, env=environment(), timeout=100, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow  # the tutorial's own commands do the same in ``pages``
@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_a_study_by_commands(make_lab: MakeLab, partition: str) -> None:
    lab = make_lab(epsilon=20.0, partition=partition, rows=(300, 300), features=4)
    table, extra = ("table.npz", []) if partition == "horizontal" else ("table.csv", ["--secret", "shared.secret"])
    if partition == "vertical":
        (lab.root / "owner-a" / "shared.secret").unlink(missing_ok=True)
        cofit(lab.root / "owner-a", "align", "--new-secret", "shared.secret")
        secret = (lab.root / "owner-a" / "shared.secret").read_bytes()
        (lab.root / "owner-b" / "shared.secret").write_bytes(secret)
        (lab.root / "owner-b" / "shared.secret").chmod(0o600)
    assert lab.study.hash[:16] in cofit(lab.root / "owner-a", "check", "study.toml", "--no-forecast")
    with contextlib.ExitStack() as stack:
        running = []
        for party in PARTIES:
            folder = lab.root / party
            log = stack.enter_context((folder / "party.log").open("wb"))
            arguments = ["party", "study.toml", "--key", f"{party}.key", "--state", "state"]
            process = subprocess.Popen(
                [*COFIT, *arguments], cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=environment()
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            running.append(process)
        for owner in lab.owners:
            arguments = ["contribute", "study.toml", "--yes", "--key", f"{owner}.key", "--data", table]
            cofit(lab.root / owner, *arguments, *extra)
        lab.wait_released()
        analyst = lab.root / "analyst"
        told = json.loads(cofit(analyst, "status", "study.toml", "--key", "analyst.key", "--json"))
        assert json.dumps(told).count('"released"') == 3
        cofit(analyst, "model", "study.toml", "--key", "analyst.key", "--out", "model.json")
        release = lab.check_one_release()
        listed = json.loads(release.certificate.to_json())["releases"]
        for folder, option in ((lab.root / "owner-a", "--key=owner-a.key"), (lab.root / "party-a", "--state=state")):
            (account,) = json.loads(cofit(folder, "budget", option, "--json"))["datasets"]
            (charge,) = account["charges"]
            assert [{name: one[name] for name in listed[0]} for one in charge["releases"]] == listed
        assert np.linalg.norm(np.asarray(release.weights) - lab.minimum()) <= 8 * lab.plan.mechanism.expected_norm
        refused = cofit(
            lab.root / "owner-a", "model", "study.toml", "--key", "owner-a.key", "--out", "stolen.json", code=1
        )
        assert "released" not in refused and not (lab.root / "owner-a" / "stolen.json").exists()
        for process in running:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(15) for process in running] == [0, 0, 0]
    assert cofit(analyst, "verify", "model.json", "--study", "study.toml").startswith("Everything holds:")
    assert cofit(analyst, "verify", "model.json", code=3).startswith("NOBODY VOUCHES FOR THE KEYS")
    names = ",".join([*(f"w{i}" for i in range(4)), "y"])
    rows = [",".join([*(repr(float(v)) for v in x), str(label)]) for x, label in zip(lab.X, lab.y, strict=True)]
    (analyst / "test.csv").write_text("\n".join([names, *rows]) + "\n")
    scores = json.loads(cofit(analyst, "evaluate", "model.json", "test.csv", "--json"))
    assert scores["accuracy"] > 0.7
