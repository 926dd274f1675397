"""Two parties and a dealer, with the commands that people type."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.study.test_commands import COFIT, cofit
from support.nursery import environment, until
from support.studies import DEALER, Lab

MakeLab = Callable[..., Lab]


@contextmanager
def started(lab: Lab, *names: str) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """The processes of parties and the dealer, as commands."""
    with contextlib.ExitStack() as stack:
        running = {}
        for name in names:
            folder, role = lab.root / name, "dealer" if name == DEALER else "party"
            log = stack.enter_context((folder / f"{role}.log").open("ab"))
            arguments = [role, "study.toml", "--name", name, "--key", f"{name}.key", "--state", "state"]
            process = subprocess.Popen(
                [*COFIT, *arguments], cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=environment()
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            running[name] = process
        yield running


@pytest.mark.slow
def test_a_study_with_a_dealer_by_commands(make_lab: MakeLab) -> None:
    lab = make_lab(scheme="semi2k", model={"epochs": 6}, compute={"connect_timeout": 60})
    analyst = lab.root / "analyst"
    said = cofit(analyst, "check", "study.toml", "--no-forecast")
    assert lab.study.hash in said and DEALER in said
    facts = json.loads(cofit(analyst, "check", "study.toml", "--no-forecast", "--json"))
    assert [one["role"] for one in facts["participants"]].count("dealer") == 1
    assert any("dealer" in line for line in facts["assumptions"]), "the trust in it is said before anybody agrees"
    refused = cofit(lab.root / "party-a", "dealer", "study.toml", "--key", "party-a.key", "--state", "x", code=2)
    assert not refused and not (lab.root / "party-a" / "x").exists()
    with started(lab, *lab.servers) as running:
        for owner in lab.owners:
            arguments = ["contribute", "study.toml", "--yes", "--key", f"{owner}.key", "--data", "table.npz"]
            cofit(lab.root / owner, *arguments)
        watched = cofit(analyst, "status", "study.toml", "--key", "analyst.key", "--json", "--watch").splitlines()
        last = json.loads(watched[-1])["parties"]
        assert {last[party]["phase"] for party in lab.parties} == {"released"}
        assert last[DEALER]["phase"] in ("waiting", "dealing")
        table = cofit(analyst, "status", "study.toml", "--key", "analyst.key")
        assert all(name in table for name in lab.servers)
        cofit(analyst, "model", "study.toml", "--key", "analyst.key", "--out", "model.json")
        lab.check_one_release()
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        assert [process.wait(15) for process in running.values()] == [0] * 3
    certificate = (analyst / "certificate.txt").read_text()
    assert "Dealer of randomness" in certificate and DEALER in certificate
    assert "answers at" in lab.log(DEALER) and "is done" in lab.log(DEALER) and "stopped" in lab.log(DEALER)


@pytest.mark.slow
def test_status_says_that_the_dealer_is_missing(make_lab: MakeLab) -> None:
    lab = make_lab(scheme="semi2k", model={"epochs": 6}, compute={"timeout": 2, "connect_timeout": 60})
    analyst = lab.root / "analyst"
    with started(lab, *lab.parties):
        lab.contribute_all()
        until(lambda: f"waits for '{DEALER}'" in lab.log("party-a"), lambda: lab.log("party-a"))
        told = json.loads(cofit(analyst, "status", "study.toml", "--key", "analyst.key", "--json", code=1))
        assert set(told["parties"][DEALER]) == {"unreachable"}
        with started(lab, DEALER):
            lab.wait_released()
            time.sleep(0.5)
            lab.check_one_release()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["semi2k", "rep4"])
def test_cofit_run_starts_everybody(make_lab: MakeLab, tmp_path: Path, scheme: str) -> None:
    lab = make_lab(scheme=scheme, model={"epochs": 6})
    keys = tmp_path / "keys"
    keys.mkdir()
    for name in lab.names:
        (lab.root / name / f"{name}.key").rename(keys / f"{name}.key")
    tables = [part for owner in lab.owners for part in ("--data", f"{owner}={lab.root / owner / 'table.npz'}")]
    arguments = ["run", "study.toml", *tables, "--keys", str(keys), "--out", str(tmp_path / "out")]
    said = cofit(lab.root / "public", *arguments)
    assert (" and a dealer" in said) == bool(lab.dealers)
    assert (tmp_path / "out" / "model.json").exists()
    logs = {path.name for path in (tmp_path / "out" / "logs").iterdir()}
    assert {f"{DEALER}.dealer.log" for _ in lab.dealers} | {f"{name}.party.log" for name in lab.parties} <= logs
    if lab.dealers:
        (keys / f"{DEALER}.key").unlink()
        cofit(lab.root / "public", *arguments, code=2)
