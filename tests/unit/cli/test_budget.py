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
from cofit.privacy.accounted import releases_from_text
from cofit.roles.files.ledger import Ledger, PrivacyCost
from cofit.roles.owner.contribute import LEDGER, open_ledger
from support.ledgers import best_releases, overwrite_releases, paper_releases, write_format_2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def charged(folder: Path) -> None:
    ledger = open_ledger(folder / "clinic.state")
    ledger.charge(PrivacyCost("clinic", "ab" * 32, "first [bold]", Fraction(1), Fraction(1, 10**6), best_releases()))
    ledger.charge(PrivacyCost("clinic", "cd" * 32, "second", Fraction(1, 2), Fraction(0), paper_releases()))
    ledger.charge(PrivacyCost("other", "cd" * 32, "second", Fraction(1, 4), Fraction(0), paper_releases()))


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


def test_people_see_the_releases_in_80_columns(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    charged(folder)
    open_ledger(folder / "clinic.state").charge(
        PrivacyCost("clinic", "ab" * 32, "first [bold]", Fraction(1), Fraction(1, 10**6), best_releases()), ("anew",)
    )
    _, out, _ = run(capsys, "--dataset", "clinic")
    text = " ".join(out.split())
    first = f"'first [bold]' {'ab' * 8}: 22 (level, centre, step 1 to 20), gaussian noise"
    assert text.count(first) == 1, "one line for all runs of a study"
    assert f"'second' {'cd' * 8}: 1 (weights), knorm noise" in text
    code, out, _ = run(capsys, "--releases")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    rows = [line.split() for line in out.splitlines()]
    level, step = best_releases()[0], best_releases()[2]
    share = f"{float(level.amount / sum(release.amount for release in best_releases())):.1%}"
    assert (level.grid, step.grid) == ("2^-15", "2^-12")
    wanted = ["level", "gaussian", "1"]
    assert [*wanted, f"{float(level.sensitivity) / 2**15:.4g}", f"{float(level.scale) / 2**15:.4g}", share] in rows
    (steps,) = (row for row in rows if row[:4] == ["step", "1", "to", "15"])
    assert steps[6:8] == [f"{float(step.sensitivity) / 2**12:.4g}", f"{float(step.scale) / 2**12:.4g}"]
    shares = [float(row[-1].removesuffix("%")) for row in rows if row and row[-1].endswith("%")]
    assert sum(shares) == pytest.approx(300, abs=0.5), "three studies, 100 % each"


def test_the_ledger_beside_a_key(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    charged(folder)
    (folder / "clinic.key").touch()
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


def test_machines_see_every_release_in_full(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    charged(folder)
    clinic, other = facts(capsys)
    listed = [charge["releases"] for charge in (*clinic["charges"], *other["charges"])]
    read = [releases_from_text(json.dumps(releases)) for releases in listed]
    assert read == [best_releases(), paper_releases(), paper_releases()]


def test_a_ledger_of_an_earlier_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "clinic.state").mkdir()
    write_format_2(folder / "clinic.state" / LEDGER)
    code, out, err = run(capsys, "--releases")
    assert (code, err) == (0, "")
    assert out.count("not recorded (charged by an earlier version)") == 2, "one line a study and data set"
    clinic, _ = facts(capsys)
    assert clinic["spent"]["epsilon"] == 1.0
    assert [charge["releases"] for charge in clinic["charges"]] == [None, None]


def test_damaged_releases_are_told_after_all_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    charged(folder)
    overwrite_releases(folder / "clinic.state" / LEDGER, "ab" * 32, '[{"name": "lev')
    for options in ((), ("--releases",), ("--json",)):
        code, out, err = run(capsys, *options)
        assert code == 2
        assert "releases of study 'first [bold]' (abababababababab) is damaged" in " ".join(err.split())
        if "--json" in options:
            clinic, other = json.loads(out)["datasets"]
            assert clinic["spent"]["epsilon"] == 1.5
            assert [charge["releases"] == "damaged" for charge in clinic["charges"]] == [True, False]
            assert other["charges"][0]["releases"][0]["name"] == "weights"
        else:
            assert "DAMAGED" in out and "knorm" in out and "Data set 'other'" in out
            assert ["spent", "1.5", "1e-06"] in [line.replace("│", " ").split() for line in out.splitlines()]


def test_the_ledger_of_a_party(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "party.state").mkdir()
    Ledger(folder / "party.state" / "ledger.sqlite").charge(
        PrivacyCost("release", "ab" * 32, "first", Fraction(1), Fraction(1, 10**6), best_releases())
    )
    (one,) = facts(capsys, "--state", "party.state")
    assert (one["dataset"], len(one["charges"][0]["releases"])) == ("release", 22)
    code, _, err = run(capsys, "--state", "party.state", "--set-cap", "3")
    assert code == 2 and "state of a computing party" in err
    assert not (folder / "party.state" / LEDGER).exists()


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
    (folder / "clinic.key").touch()
    assert "Nothing was spent" in run(capsys, "--key", "clinic.key")[1]
    assert not (folder / "clinic.state").exists()
    (one,) = facts(capsys, "--key", "clinic.key", "--set-cap", "2,0")
    assert (one["dataset"], one["cap"], one["charges"]) == ("clinic", {"epsilon": 2.0, "delta": 0.0}, [])
    assert stat.S_IMODE((folder / "clinic.state").stat().st_mode) == 0o700
    (folder / "elsewhere").mkdir()
    assert run(capsys, "--state", "elsewhere", "--set-cap", "2")[0] == 2, "whose data set is it?"
    assert not list((folder / "elsewhere").iterdir())


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


@pytest.mark.parametrize("options", [("--key", "nothere.key"), ("--state", "nothere.state")])
@pytest.mark.parametrize("cap", [(), ("--set-cap", "1")])
def test_a_ledger_that_cannot_be_meant_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], cap: tuple[str, ...]
) -> None:
    before = sorted(folder.rglob("*"))
    code, out, err = run(capsys, *options, *cap)
    assert (code, out) == (2, "")
    assert f"'{options[0][2:]}' parameter of cofit budget must be" in " ".join(err.split())
    assert sorted(folder.rglob("*")) == before, "nothing was made"


def test_a_cap_below_what_is_spent_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    charged(folder)
    code, out, _ = run(capsys, "--set-cap", "0.1")
    assert code == 0
    assert "more is spent than the cap allows" in out


def test_an_empty_ledger_points_to_those_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The directory is called after the owner, and the key's file may be called otherwise."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.key").touch()
    assert "beside it" not in run(capsys, "--key", "mine.key")[1]
    open_ledger(tmp_path / "clinic.state")
    code, out, _ = run(capsys, "--key", "mine.key")
    assert (code, f"There are other ledgers beside it; --state shows one: {tmp_path / 'clinic.state'}" in out) == (
        0,
        True,
    )
