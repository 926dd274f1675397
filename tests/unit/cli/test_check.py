"""``cofit check``: everything a participant must know before agreeing, and exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofit.cli.main import cli, main
from cofit.roles.study_files import load_study
from cofit.study import study_plan
from unit.roles.test_study_files import EXAMPLES, write_study


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path, EXAMPLES[0])


def shown(path: Path, *options: str) -> str:
    result = CliRunner().invoke(cli, ["check", str(path), *options], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_what_people_see(study: Path) -> None:
    text = shown(study)
    loaded = load_study(study)
    for entry in (*loaded.parties, *loaded.owners, *loaded.analysts):
        assert entry.name in text
        assert entry.fingerprint in text
    for part in (
        "listens at [2001:db8::5]:7100",
        "4,200 rows, 25 of 25 features, label 'disease'",
        "may fetch the model",
        "Noise against signal",
        "Cost forecast",
        "What everybody will learn",
        "factor of at most 2.72",
        "every person is in the data with at most one record",
        study_plan(loaded).hash,
    ):
        assert part in text
    assert text.rstrip().splitlines()[-1] == f"Study hash: {loaded.hash}"


def test_narrow_terminals_keep_the_hash_in_one_line(study: Path) -> None:
    result = CliRunner().invoke(cli, ["check", str(study)], env={"COLUMNS": "40"})
    assert result.output.rstrip().splitlines()[-1] == f"Study hash: {load_study(study).hash}"


def test_what_machines_see(study: Path) -> None:
    loaded = load_study(study)
    told = json.loads(shown(study, "--json"))
    assert told["hash"] == loaded.hash
    assert told["study"] == json.loads(loaded.canonical())
    assert told["plan"]["hash"] == study_plan(loaded).hash
    assert [(one["role"], one["name"]) for one in told["participants"]][3:5] == [
        ("owner", "hospital-a"),
        ("owner", "hospital-b"),
    ]
    assert told["forecast"]["total"]["rounds"] > 0
    assert set(told["learned"]) == {"owners", "parties", "analysts", "network"}
    assert told["privacy"].startswith("The published model limits")
    assert told["assumptions"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = 1.0", "epsilon = 'x'", "'privacy.epsilon'"),
        ("format = 1", "format = ", "not valid TOML"),
        ('epochs = "auto"', "epochs = 1", "epochs"),
    ],
)
def test_what_is_wrong_exits_with_2(
    study: Path, old: str, new: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(study.read_text().replace(old, new))
    monkeypatch.setattr(sys, "argv", ["cofit", "check", str(study)])
    with pytest.raises(SystemExit) as info:
        main()
    captured = capsys.readouterr()
    assert (info.value.code, captured.out) == (2, "")
    assert message in captured.err
