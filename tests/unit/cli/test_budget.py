"""``cofit budget``: charges, sums and caps of an owner."""

from __future__ import annotations

import json
import stat
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cofit.cli.main import main
from cofit.roles.contributing import LEDGER, open_ledger


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def charged(folder: Path) -> None:
    ledger = open_ledger(folder / "clinic.state")
    ledger.charge("clinic", "ab" * 32, "first [bold]", Fraction(1), Fraction(1, 10**6))
    ledger.charge("clinic", "cd" * 32, "second", Fraction(1, 2), Fraction(0))
    ledger.charge("other", "cd" * 32, "second", Fraction(1, 4), Fraction(0))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as info, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cofit", "budget", *arguments])
        main()
    captured = capsys.readouterr()
    return int(info.value.code or 0), captured.out, captured.err


def facts(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    code, out, _ = run(capsys, "--json", *arguments)
    assert code == 0
    found: list[dict[str, Any]] = json.loads(out)["datasets"]
    return found


def test_what_people_see(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    charged(folder)
    code, out, _ = run(capsys)
    assert code == 0
    for part in ("Data set 'clinic'", "first [bold]", "ab" * 8, "1e-06", "Data set 'other'"):
        assert part in out
    words = [line.replace("│", " ").split() for line in out.splitlines()]
    assert ["spent", "1.5", "1e-06"] in words
    assert ["cap", "none", "none"] in words


def test_the_ledger_beside_a_key(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    charged(folder)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    clinic, _ = facts(capsys, "--key", "../clinic.key")
    assert (clinic["dataset"], len(clinic["charges"])) == ("clinic", 2)
    run(capsys, "--key", "../clinic.key", "--set-cap", "3")
    cap = open_ledger(folder / "clinic.state").cap("clinic")
    assert cap is not None and cap.epsilon == 3
    assert run(capsys, "--key", "../clinic.key", "--state", "../clinic.state")[0] == 2
    open_ledger(Path("clinic.state"))
    code, _, err = run(capsys, "--key", "../clinic.key")
    assert code == 2 and "Two ledgers do not add up" in err


def test_what_machines_see(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    charged(folder)
    clinic, other = facts(capsys)
    assert clinic["spent"] == {"epsilon": 1.5, "delta": 1e-6}
    assert (clinic["cap"], clinic["left"]) == (None, None)
    assert [charge["study"] for charge in clinic["charges"]] == ["first [bold]", "second"]
    assert other["spent"]["epsilon"] == 0.25
    assert facts(capsys, "--dataset", "other") == [other]


def test_caps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    charged(folder)
    (clinic,) = facts(capsys, "--dataset", "clinic", "--set-cap", "3")
    assert clinic["cap"] == {"epsilon": 3.0, "delta": 1e-5}
    assert clinic["left"] == {"epsilon": 1.5, "delta": pytest.approx(9e-6)}
    (clinic,) = facts(capsys, "--dataset", "clinic", "--set-cap", "2.5, 1e-4")
    assert clinic["cap"] == {"epsilon": 2.5, "delta": 1e-4}
    assert facts(capsys, "--set-cap", "1")[0]["cap"] == {"epsilon": 1.0, "delta": 1e-4}
    assert facts(capsys)[0]["left"]["epsilon"] == -0.5


def test_a_cap_before_anything_is_spent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = facts(capsys, "--state", "clinic.state", "--set-cap", "2,0")
    assert (one["dataset"], one["cap"], one["charges"]) == ("clinic", {"epsilon": 2.0, "delta": 0.0}, [])
    assert stat.S_IMODE((folder / "clinic.state").stat().st_mode) == 0o700
    assert run(capsys, "--state", "elsewhere", "--set-cap", "2")[0] == 2
    assert not (folder / "elsewhere").exists()


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "1,2", "1,-1", "1,1", "1,0,0", "1;0", "nan", "inf", "1/0"])
def test_wrong_caps(folder: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    charged(folder)
    code, _, err = run(capsys, "--set-cap", text)
    assert code == 2
    assert "set-cap" in err
    assert open_ledger(folder / "clinic.state").cap("clinic") is None


def test_which_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys)
    assert code == 2
    assert "Say which with --state" in err
    code, out, _ = run(capsys, "--state", "none.state")
    assert code == 0
    assert "Nothing was spent" in out
    assert not (folder / "none.state").exists()
    charged(folder)
    assert run(capsys)[0] == 0
    assert run(capsys, "--dataset", "absent")[0] == 2
    open_ledger(folder / "second.state")
    code, _, err = run(capsys)
    assert code == 2
    assert "clinic.state, second.state" in err
    (folder / "clinic.state" / LEDGER).write_bytes(b"garbage" * 1000)
    code, _, err = run(capsys, "--state", "clinic.state")
    assert code == 2
    assert "cannot be used" in err
