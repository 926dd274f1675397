"""``cofit contribute``: checks, what is shown, real parties over TLS, refusals and exit codes."""

from __future__ import annotations

import shutil
import sys
import time
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cofit.cli import contribute as command
from cofit.errors import InvalidInputError, TransportError
from cofit.roles.files.keys import load_identity_for
from cofit.roles.files.ledger import Ledger, PrivacyCost
from cofit.roles.files.studies import load_study
from cofit.roles.owner.contribute import LEDGER, open_ledger
from cofit.roles.owner.upload import UploadProgress
from cofit.roles.service import conversations
from cofit.units import size
from support.ledgers import best_releases
from unit.cli.contributing import OWNERS, PARTIES, ROWS, Site, parties, write_site, write_table


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Site:
    write_site(tmp_path)
    return Site(tmp_path, capsys)


# --- without parties -----------------------------------------------------------------------------------------


def test_a_dry_run_shows_everything_and_leaves_nothing(site: Site) -> None:
    before = sorted(site.folder.iterdir())
    code, out, err = site.contribute("owner-a", "--dry-run")
    assert (code, err) == (0, "")
    study = load_study(site.study)
    for part in (
        study.hash,
        f"{ROWS} rows, 3 features and the label",
        f"party-a ({study.parties[0].host}:{study.parties[0].port}): {128 + 4 * 32} bytes of random shares",
        f"party-b ({study.parties[1].host}:{study.parties[1].port}): {size(64 + ROWS * 40 + 128)} of random shares",
        f"The charge to data set 'owner-a' in the ledger {site.folder / 'owner-a.state'}",
        "one for all noisy releases of the study: 1 (weights), ",
        "epsilon 1, delta",
        "factor of at most 2.72",
        "of the data nothing, as long as",
        "nothing was charged or sent",
    ):
        assert part in out, part
    assert sorted(site.folder.iterdir()) == before


def test_the_ledger_is_beside_the_key_wherever_the_command_is_run(
    site: Site,
) -> None:
    (site.folder / "keys").mkdir()
    (site.folder / "owner-a.key").rename(site.folder / "keys" / "owner-a.key")
    (site.folder / "owner-a.key").symlink_to(site.folder / "keys" / "owner-a.key")
    place = site.folder / "keys" / "owner-a.state"
    open_ledger(place).charge(PrivacyCost("owner-a", "ab" * 32, "earlier", Fraction(7), Fraction(0), best_releases()))
    for folder in ("here", "there"):
        site.cwd = Path(folder)
        (site.folder / folder).mkdir()
        code, out, _ = site.contribute("owner-a", "--dry-run")
        assert code == 0
        assert str(place) in out and "spent before: epsilon 7," in out and "spent after:  epsilon 8," in out


@pytest.mark.parametrize("beside_the_key", [False, True])
def test_a_second_ledger_is_never_taken_or_begun_silently(site: Site, beside_the_key: bool) -> None:
    site.cwd = Path("elsewhere")
    other = site.folder / site.cwd / "owner-a.state"
    open_ledger(other).set_cap("owner-a", Fraction(1, 2), Fraction(0))
    if beside_the_key:
        open_ledger(site.folder / "owner-a.state")
    code, out, err = site.contribute("owner-a", "--dry-run")
    assert (code, out) == (2, "")
    assert "Two ledgers do not add up" in err and str(other) in err
    code, _, err = site.contribute("owner-a", "--dry-run", "--state", "owner-a.state")
    assert code == 1 and "cap" in err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("p3,no,yes", "p3,perhaps,yes", "column 'u', row 4: it is none of"),
        ("p3,no,yes", "p4,no,yes", "rows 4 and 5: another row has the same key"),
        ("p3,no,yes", "p3,,yes", "the value is missing"),
        ("id,u,v", "id,u,z", "column 'v' is missing"),
    ],
)
def test_a_wrong_table_is_told_and_nothing_is_charged(site: Site, old: str, new: str, message: str) -> None:
    path = site.folder / "owner-a.csv"
    path.write_text(path.read_text().replace(old, new))
    code, out, err = site.contribute("owner-a")
    assert (code, out) == (2, "")
    assert message in err
    assert not (site.folder / "owner-a.state").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--owner", "party-a", "--key", "party-a.key", "--data", "owner-a.csv"), "owner-a"),
        (("--owner", "owner-a", "--key", "owner-b.key", "--data", "owner-a.csv"), "does not belong"),
        (("--owner", "owner-a", "--key", "owner-a.pem", "--data", "owner-a.csv"), "is a certificate"),
        (("--owner", "owner-a", "--key", "owner-a.key", "--data", "absent.csv"), "absent.csv"),
        (("--owner", "owner-a", "--key", "owner-a.key", "--data", "owner-a.csv", "--secret", "x"), "horizontal"),
        (("--owner", "owner-a", "--key", "owner-a.key"), "--data"),
    ],
)
def test_wrong_usage_exits_with_2(site: Site, arguments: tuple[str, ...], message: str) -> None:
    code, _, err = site.run("contribute", "study.toml", *arguments)
    assert code == 2
    assert message in err


def test_above_the_cap_it_exits_with_1_and_the_remedy(site: Site) -> None:
    open_ledger(site.folder / "mine").set_cap("cohort", Fraction(1, 2), Fraction(1, 1000))
    for options in ((), ("--dry-run",)):
        code, _, err = site.contribute("owner-a", "--state", "mine", "--dataset", "cohort", *options)
        assert code == 1
        assert "cofit budget --set-cap" in err
    assert Ledger(site.folder / "mine" / LEDGER).charges() == []


def test_parties_that_are_down_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_site(tmp_path, timeout=1)
    site = Site(tmp_path, capsys)
    with parties(tmp_path, PARTIES[:1]):
        code, _, err = site.contribute("owner-a")
    assert code == 1
    assert "'party-b' cannot be reached" in err
    assert "This time nothing was charged or sent." in err and "resumes" not in err
    assert not open_ledger(site.folder / "owner-a.state").charges()


def test_who_is_waited_for_is_told_soon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "_SOON", 0.3)
    write_site(tmp_path, timeout=1)
    site = Site(tmp_path, capsys)
    first, second, _ = (f"'{one.name}' at {one.host}:{one.port}" for one in load_study(site.study).parties)
    with parties(tmp_path, PARTIES[:1]):
        code, out, err = site.contribute("owner-a")
    assert code == 1 and "Waiting" not in out
    assert err.splitlines()[0] == f"Waiting for {second}, which does not answer, for up to 1 s."
    assert err.count("Waiting") == 1
    code, out, err = site.run("model", "study.toml", "--key", "analyst.key", "--out", "model.json")
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == f"Waiting for {first}, which does not answer, for up to 1 s."


def test_a_party_that_goes_away_after_the_charge(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> str:
        raise TransportError("party-b", "'party-b' cannot be reached.")

    monkeypatch.setattr(command, "ask_parties", lambda *_: {})
    monkeypatch.setattr(command, "send", gone)
    code, _, err = site.contribute("owner-a")
    assert code == 1
    assert "Repeat the command: it resumes" in err and "nothing was charged" not in err


def test_an_interruption_before_the_charge_says_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> dict[str, str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "ask_parties", interrupted)
    code, _, err = site.contribute("owner-a")
    assert code == 130
    assert "Interrupted. This time nothing was charged or sent." in err


def test_the_key_of_somebody_who_is_no_owner(site: Site) -> None:
    code, _, err = site.contribute("party-a", "--key", str(site.folder / "party-a.key"))
    assert code == 2
    assert "is no data owner of this study; those are ['owner-a', 'owner-b']" in err


def test_an_interruption_says_how_to_go_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "ask_parties", lambda *_: {})
    monkeypatch.setattr(command, "send", interrupted)
    code, _, err = site.contribute("owner-a")
    assert code == 130
    assert "Interrupted. Repeat the command: it resumes" in err


def test_a_bar_for_each_party_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with command._display() as progress:
        assert progress is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with command._display() as progress:
        assert progress is not None
        for party in PARTIES:
            for done in (0, 500, 1000):
                progress(UploadProgress(party, done, 1000))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert all(party in captured.err for party in PARTIES)
    assert "1.0/1.0 kB" in captured.err


def test_certificates_out_of_their_dates(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    study = load_study(site.study)
    assert load_identity_for(study, site.folder / "owner-a.key", "owner-a").name == "owner-a"

    class Later:
        @staticmethod
        def now(zone: Any) -> Any:
            return datetime(2060, 1, 1, tzinfo=zone)

    monkeypatch.setattr("cofit.roles.files.keys.datetime", Later)
    with pytest.raises(InvalidInputError, match=r"certificate of 'owner-a' is valid from .* it is 2060-01-01"):
        load_identity_for(study, site.folder / "owner-a.key", "owner-a")


# --- with parties ----------------------------------------------------------------------------------------------


def test_from_the_first_contribution_to_sealing(site: Site) -> None:
    with parties(site.folder):
        code, out, err = site.contribute("owner-a")
        assert (code, err) == (0, "")
        assert "All 3 parties have acknowledged: upload " in out
        assert "Not there yet: owner-b. Until every owner has contributed you may replace yours" in out
        assert site.contributions() == {"owner-a": "complete", "owner-b": "missing"}
        code, again, _ = site.contribute("owner-a")
        assert code == 0
        assert "was made before, with epsilon" in again
        assert again.splitlines()[-2:] == out.splitlines()[-2:]
        write_table(site.folder / "other.csv", "owner-a", vertical=False, keys=range(5, 5 + ROWS))
        code, other, _ = site.contribute("owner-a", data="other.csv")
        assert code == 0
        assert other.splitlines()[-2:] != out.splitlines()[-2:]
        assert [float(charge.epsilon) for charge in Ledger(site.folder / "owner-a.state" / LEDGER).charges()] == [1.0]
        code, last, _ = site.contribute("owner-b")
        assert code == 0
        assert "Every owner has contributed: nothing can be replaced any more" in last
        assert "you may replace" not in last
        deadline = time.monotonic() + 60
        while any(state["phase"] == "collecting" for state in site.states().values()):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        code, _, err = site.contribute("owner-a")
        assert code == 1
        assert "has sealed the contributions" in err
        code, _, _ = site.contribute("owner-a", data="other.csv")  # what counts is still recognised
        assert code == 0
        code, out, _ = site.contribute("owner-b")  # the same as before: all is well
        assert code == 0


def test_parties_that_begin_anew_cost_the_budget_again(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    """With empty state directories the parties would release once more, on the same data."""
    for spent in (1.0, 2.0):
        with parties(site.folder):
            for _ in range(2):
                assert site.contribute("owner-a")[0] == 0
        ledger = Ledger(site.folder / "owner-a.state" / LEDGER)
        assert float(ledger.spent("owner-a").epsilon) == spent
        for name in PARTIES:
            shutil.rmtree(site.folder / name)
    assert "a release would be a second one; charged again" in caplog.text
    ledger.set_cap("owner-a", Fraction(5, 2), Fraction(1, 1000))
    with parties(site.folder):
        code, _, err = site.contribute("owner-a")
        assert code == 1
        assert "no memory of the earlier run" in err and "above its cap" in err
        assert site.contributions()["owner-a"] == "missing"
    assert len(ledger.charges()) == 2


def test_rows_of_a_vertical_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_site(tmp_path, vertical=True)
    site = Site(tmp_path, capsys)
    assert site.run("align", "--new-secret", "secret")[0] == 0
    with parties(tmp_path):
        code, _, err = site.contribute("owner-a")
        assert code == 2
        assert "--secret" in err and "cofit align --new-secret" in err
        code, out, _ = site.contribute("owner-a", "--secret", "secret")
        assert code == 0
        assert "keyed digest of the row keys" in out
        write_table(tmp_path / "wrong.csv", "owner-b", vertical=True, keys=range(1, ROWS + 1))
        code, _, err = site.contribute("owner-b", "--secret", "secret", data="wrong.csv")
        assert code == 1
        assert "The rows of 'owner-b' are not those of 'owner-a'" in err
        assert site.contributions() == {"owner-a": "complete", "owner-b": "rows differ"}
        assert site.run("align", "--new-secret", "wrong")[0] == 0
        code, _, err = site.contribute("owner-b", "--secret", "wrong")
        assert code == 1
        assert "use the same secret" in err
        code, _, _ = site.contribute("owner-b", "--secret", "secret")
        assert code == 0
        assert site.contributions() == dict.fromkeys(OWNERS, "complete")


def test_rows_that_are_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_site(tmp_path, vertical=True, unmatched="drop")
    site = Site(tmp_path, capsys)
    write_table(tmp_path / "owner-a.csv", "owner-a", vertical=True, keys=range(ROWS + 5))
    write_table(tmp_path / "owner-b.csv", "owner-b", vertical=True, keys=range(-3, ROWS))
    site.run("align", "--new-secret", "secret")
    for owner in OWNERS:
        arguments = ("--owner", owner, "--data", f"{owner}.csv", "--secret", "secret", "--out", f"{owner}.rows")
        assert site.run("align", "study.toml", *arguments)[0] == 0
    code, _, err = site.contribute("owner-a", "--secret", "secret")
    assert code == 2
    assert "the row files of owner-b" in err
    code, out, _ = site.contribute("owner-a", "--secret", "secret", "--rows-of", "owner-b.rows", "--dry-run")
    assert code == 0
    assert f"{ROWS} rows, 2 features." in out
    code, out, _ = site.contribute("owner-b", "--secret", "secret", "--rows-of", "owner-a.rows", "--dry-run")
    assert code == 0
