"""``cofit contribute`` spends budget: it shows the ledger before and after, and a person agrees, or nothing happens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from cofit.roles.files.ledger import Ledger, PrivacyCost
from cofit.roles.owner.contribute import LEDGER, open_ledger
from support.ledgers import best_releases
from unit.cli.contributing import PARTIES, Site, parties, write_site

COFIT = [sys.executable, "-c", "import sys; from cofit.cli.main import main; sys.argv[0] = 'cofit'; main()"]
ARGUMENTS = ("contribute", "study.toml", "--key", "owner-a.key", "--data", "owner-a.csv")


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Site:
    write_site(tmp_path)
    return Site(tmp_path, capsys)


def on_a_terminal(folder: Path, answer: str) -> tuple[int, str]:
    """Run the command in a process whose standard streams are a terminal, and type an answer."""
    ours, theirs = os.openpty()
    try:
        process = subprocess.Popen([*COFIT, *ARGUMENTS], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        while b"the shares? [y/N]: " not in shown:
            shown += os.read(ours, 65536)
        os.write(ours, answer.encode())
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # the process has ended, and with it the terminal
            pass
        return process.wait(60), shown.decode().replace("\r\n", "\n")
    finally:
        os.close(ours)


def test_a_person_is_asked_and_may_decline(site: Site) -> None:
    open_ledger(site.folder / "owner-a.state").charge(
        PrivacyCost("owner-a", "ab" * 32, "earlier", Fraction(7), Fraction(0), best_releases())
    )
    ledger = Ledger(site.folder / "owner-a.state" / LEDGER)
    with parties(site.folder):
        for answer, code in (("n\n", 1), ("\x04", 130)):
            ended, shown = on_a_terminal(site.folder, answer)
            assert ended == code
            assert "spent before: epsilon 7, delta 0\n" in shown
            assert "spent after:  epsilon 8, delta" in shown
            assert "Charge epsilon 1, delta" in shown
            assert "Nothing was charged or sent." in shown
            assert [charge.name for charge in ledger.charges()] == ["earlier"]
            assert site.contributions()["owner-a"] == "missing"
        ended, shown = on_a_terminal(site.folder, "y\n")
        assert (ended, "All 3 parties have acknowledged" in shown) == (0, True)
        assert float(ledger.spent("owner-a").epsilon) == 8
        assert site.contributions()["owner-a"] == "complete"


def test_without_a_terminal_it_is_refused_unless_told_yes(site: Site) -> None:
    with parties(site.folder):
        code, out, err = site.run(*ARGUMENTS)
        assert code == 2
        assert "spent after:  epsilon 1, delta" in out
        assert "there is no terminal" in err and "--yes" in err
        assert not (site.folder / "owner-a.state").exists()
        assert site.contributions()["owner-a"] == "missing"
        code, out, _ = site.run(*ARGUMENTS, "--yes")
        assert code == 0
        assert "the shares?" not in out
        assert site.contributions()["owner-a"] == "complete"


@pytest.mark.parametrize("there", ["stdin", "stdout"])
def test_half_a_terminal_is_none_and_no_party_is_asked_first(site: Site, there: str) -> None:
    """Who cannot see the charge, or cannot answer, does not agree to it; no party runs here, and none is missed."""
    ours, theirs = os.openpty()
    try:
        stdin, stdout = (theirs if there == name else subprocess.DEVNULL for name in ("stdin", "stdout"))
        done = subprocess.run(
            [*COFIT, *ARGUMENTS],
            cwd=site.folder,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert "there is no terminal" in done.stderr
    assert not (site.folder / "owner-a.state").exists()


def test_the_ledger_after_is_the_ledger_before_where_nothing_is_due(site: Site) -> None:
    with parties(site.folder):
        assert site.run(*ARGUMENTS, "--yes")[0] == 0
        code, out, _ = site.run(*ARGUMENTS, "--yes")
    assert code == 0
    assert "nothing more is due" in out
    before, after = (line for line in out.splitlines() if line.startswith("  spent "))
    assert before.split(":")[1].strip() == after.split(":")[1].split(";")[0].strip() != ""


def test_parties_that_have_begun_anew_are_told_before_they_are_paid(site: Site) -> None:
    with parties(site.folder):
        assert site.run(*ARGUMENTS, "--yes")[0] == 0
    for name in PARTIES:
        shutil.rmtree(site.folder / name)
    with parties(site.folder):
        ended, shown = on_a_terminal(site.folder, "n\n")
        assert ended == 1
        assert "have no memory of the earlier run of this study" in shown and "It is charged once more" in shown
        assert "spent after:  epsilon 2, delta" in shown
        assert site.contributions()["owner-a"] == "missing"
    assert float(Ledger(site.folder / "owner-a.state" / LEDGER).spent("owner-a").epsilon) == 1


def test_the_cap_stands_beside_what_is_spent_or_how_to_set_one(site: Site) -> None:
    code, out, _ = site.run(*ARGUMENTS, "--dry-run")
    after = next(line for line in out.splitlines() if line.startswith("  spent after: "))
    assert (code, after.split("; ")[1]) == (0, "no cap (`cofit budget --set-cap`)")
    assert site.run("budget", "--key", "owner-a.key", "--set-cap", "3,1e-5")[0] == 0
    code, out, _ = site.run(*ARGUMENTS, "--dry-run")
    after = next(line for line in out.splitlines() if line.startswith("  spent after: "))
    assert (code, after.split("; ")[1]) == (0, "the cap is epsilon 3, delta 1e-05")


# --- where the ledger lies -----------------------------------------------------------------------------------


def test_the_ledger_in_the_folder_of_the_study_is_told(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    told = "keep it when you delete that folder"
    assert told in site.run(*ARGUMENTS, "--dry-run")[1]
    elsewhere = str(tmp_path_factory.mktemp("owner"))
    code, out, _ = site.run(*ARGUMENTS, "--dry-run", "--state", elsewhere)
    assert (code, told in out) == (0, False)


@pytest.mark.parametrize("state", ["party-a", "party-a/ledger", "party-a/uploads/mine", "."])
@pytest.mark.parametrize("more", ["--dry-run", "--yes"])
def test_a_partys_state_is_no_place_for_a_ledger(site: Site, state: str, more: str) -> None:
    with parties(site.folder, PARTIES[:1]):
        pass
    code, out, err = site.run(*ARGUMENTS, "--state", state, more)
    assert (code, out) == (2, "")
    assert "the state of a computing party" in err and "party-a.owner" in err
    assert not list(site.folder.rglob(LEDGER))


def test_a_party_that_took_the_owners_default_is_noticed(site: Site) -> None:
    """Somebody who is owner and party, and has named the party's state NAME.state."""
    with parties(site.folder, PARTIES[:1]):
        pass
    (site.folder / "party-a").rename(site.folder / "owner-a.state")
    code, out, err = site.run(*ARGUMENTS, "--yes")
    assert (code, out) == (2, "")
    assert f"--state {site.folder / 'owner-a.owner'}" in err
    code, out, _ = site.run(*ARGUMENTS, "--dry-run", "--state", "owner-a.owner")
    assert code == 0
    code, _, err = site.run("budget", "--key", "owner-a.key")
    assert code == 2
    assert "the state of a computing party" in err


@pytest.mark.parametrize("state", ["owner-a.state", "owner-a.state/party", "around"])
def test_an_owners_directory_is_no_state_of_a_party(site: Site, state: str) -> None:
    for place in ("owner-a.state", "around/of/owner"):
        open_ledger(site.folder / place)
    before = sorted(site.folder.rglob("*"))
    code, out, err = site.run("party", "study.toml", "--key", "party-a.key", "--state", state)
    assert (code, out) == (1, "")
    assert "the private directory of an owner, with its ledger" in err and ".party" in err
    assert sorted(site.folder.rglob("*")) == before


def test_forgetting_and_deleting_a_partys_state_leave_the_ledger(site: Site) -> None:
    with parties(site.folder):
        assert site.run(*ARGUMENTS, "--yes")[0] == 0
    code, _, _ = site.run("forget", "study.toml", "--name", "party-a", "--state", "party-a", "--yes", "--force")
    assert code == 0
    for name in PARTIES:
        shutil.rmtree(site.folder / name)
    assert float(Ledger(site.folder / "owner-a.state" / LEDGER).spent("owner-a").epsilon) == 1
