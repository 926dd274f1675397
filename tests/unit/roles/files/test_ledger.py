from __future__ import annotations

import json
import sqlite3
import stat
import threading
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import BudgetExceededError, InvalidInputError
from cofit.privacy.accounted import releases_to_text
from cofit.roles.files.ledger import Cap, Ledger, PrivacyCost
from support.ledgers import OLD_STUDY, best_releases, overwrite_releases, paper_releases, write_format_2

HALF, TINY = Fraction(1, 2), Fraction(1, 10**6)
BEST = best_releases()


def test_charges_add_up_and_survive(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    ledger = Ledger(path)
    assert ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST))
    assert not ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST))
    assert ledger.charge(PrivacyCost("claims", "b" * 64, "second", Fraction(1), Fraction(0), BEST))
    assert ledger.charge(PrivacyCost("labs", "b" * 64, "second", Fraction(1), Fraction(0), BEST))
    again = Ledger(path)
    assert again.spent("claims") == Cap(Fraction(3, 2), TINY)
    assert [c.name for c in again.charges("claims")] == ["first", "second"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_cap_is_enforced_before_anything_is_charged(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.set_cap("claims", Fraction(1), TINY)
    ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST))
    with pytest.raises(BudgetExceededError, match=r"epsilon spent of data set 'claims' to 1\.25, above its cap of 1"):
        ledger.charge(PrivacyCost("claims", "b" * 64, "second", Fraction(3, 4), Fraction(0), BEST))
    with pytest.raises(BudgetExceededError, match="delta"):
        ledger.charge(PrivacyCost("claims", "b" * 64, "second", HALF, TINY, BEST))
    assert ledger.spent("claims") == Cap(HALF, TINY)
    assert ledger.charge(PrivacyCost("claims", "b" * 64, "second", HALF, Fraction(0), BEST))
    assert not ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST))


def test_a_run_with_other_parties_is_charged_again(tmp_path: Path) -> None:
    """A party that begins anew has forgotten what it released: a release after that is a second one."""
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.set_cap("claims", Fraction(5, 4), Fraction(1, 2))
    study = "claims", "a" * 64, "first", HALF, TINY, BEST
    assert ledger.charge(PrivacyCost(*study), ("aa", "bb", "cc"))
    assert not ledger.charge(PrivacyCost(*study), ("cc", "aa", "bb"))
    assert not ledger.check(PrivacyCost(*study))
    assert ledger.charge(PrivacyCost(*study), ("aa", "bb", "dd"))
    assert not ledger.charge(PrivacyCost(*study), ("aa", "bb", "cc"))
    assert [c.incarnations for c in ledger.charges("claims")] == [("aa", "bb", "cc"), ("aa", "bb", "dd")]
    assert ledger.spent("claims") == Cap(Fraction(1), 2 * TINY)
    with pytest.raises(BudgetExceededError):
        ledger.charge(PrivacyCost(*study), ("aa", "bb", "ee"))
    assert ledger.spent("claims") == Cap(Fraction(1), 2 * TINY)


def test_a_ledger_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 1")
    with pytest.raises(InvalidInputError, match="has format 1; this release reads format 3, and format 2"):
        Ledger(path)


def test_two_processes_cannot_overspend_together(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    Ledger(path).set_cap("claims", Fraction(3), Fraction(0))
    outcomes: list[bool] = []

    def spend(i: int) -> None:
        try:
            outcomes.append(
                Ledger(path).charge(PrivacyCost("claims", f"{i:064}", "study", Fraction(1), Fraction(0), BEST))
            )
        except BudgetExceededError:
            outcomes.append(False)

    threads = [threading.Thread(target=spend, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False] * 5 + [True] * 3


def test_bad_input_and_bad_files(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    for arguments in (("", HALF, TINY), ("x", Fraction(0), TINY), ("x", 0.5, TINY), ("x", HALF, Fraction(2))):
        with pytest.raises(InvalidInputError):
            ledger.set_cap(*arguments)
    ledger.charge(PrivacyCost("x", "a" * 64, "first", HALF, TINY, BEST))
    with pytest.raises(InvalidInputError, match="another epsilon"):
        ledger.charge(PrivacyCost("x", "a" * 64, "first", Fraction(1), TINY, BEST))
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"this is no database, but long enough to look like one" * 100)
    with pytest.raises(InvalidInputError, match=r"broken\.sqlite cannot be used"):
        Ledger(broken)


# --- releases -----------------------------------------------------------------------------------------------


def test_a_charge_keeps_its_releases_exactly(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    Ledger(path).charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST))
    Ledger(path).charge(PrivacyCost("claims", "b" * 64, "second", HALF, TINY, paper_releases()))
    first, second = Ledger(path).charges()
    assert (first.releases, second.releases) == (BEST, paper_releases())
    assert [release.name for release in BEST[:3]] == ["level", "centre", "step 1"]
    assert {release.currency for release in BEST} == {"mu^2"}
    assert Ledger(path).spent("claims") == Cap(2 * HALF, 2 * TINY), "one charge each, however many releases"


@pytest.mark.parametrize("run", [(), ("other", "parties")])
def test_other_releases_of_the_same_study_are_refused(tmp_path: Path, run: tuple[str, ...]) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST))
    changed = (*BEST[:-1], replace(BEST[-1], scale=BEST[-1].scale + Fraction(1, 10**12)))
    for others in (BEST[:-1], changed, paper_releases()):
        with pytest.raises(InvalidInputError, match="charged before for other noisy releases"):
            ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, others), run)
        with pytest.raises(InvalidInputError, match="charged before for other noisy releases"):
            ledger.check(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, others))
    assert len(ledger.charges()) == 1
    assert not ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST))


def test_a_charge_without_releases_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    for releases in ((), (BEST[0], BEST[0])):
        with pytest.raises(InvalidInputError, match="at least one, with a name of its own each"):
            ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, releases))
    assert ledger.charges() == []


# --- a ledger of format 2 -----------------------------------------------------------------------------------


def as_written(path: Path) -> tuple[int, list[tuple[object, ...]], list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        columns = "dataset, study, name, epsilon, delta, time, incarnations"
        charges = database.execute(f"SELECT {columns} FROM charges ORDER BY rowid").fetchall()
        return version, charges, database.execute("SELECT * FROM caps").fetchall()


def test_a_ledger_of_format_2_keeps_every_charge_and_cap(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    write_format_2(path)
    before = as_written(path)
    ledger = Ledger(path)
    assert as_written(path) == (3, *before[1:])
    assert len(before[1]) == 3
    assert [charge.releases for charge in ledger.charges()] == [None] * 3
    assert (ledger.spent("clinic"), ledger.cap("clinic")) == (Cap(Fraction(1), 2 * TINY), Cap(Fraction(3), 10 * TINY))
    old = "clinic", OLD_STUDY, "old", HALF, TINY, BEST
    assert not ledger.charge(PrivacyCost(*old), ("bb", "aa")), (
        "the same run is free, though its releases are not recorded"
    )
    assert ledger.charges()[0].releases is None, "what an earlier version did is not known"
    assert ledger.charge(PrivacyCost(*old), ("aa", "dd"))
    assert ledger.charges()[-1].releases == BEST
    assert ledger.charge(PrivacyCost("clinic", "e" * 64, "new", HALF, TINY, paper_releases()))
    with closing(sqlite3.connect(path)) as database, closing(sqlite3.connect(tmp_path / "new")) as fresh:
        Ledger(tmp_path / "new")
        assert database.execute("PRAGMA table_info(charges)").fetchall() == (
            fresh.execute("PRAGMA table_info(charges)").fetchall()
        )


def test_a_migration_that_is_interrupted_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "budget.sqlite"
    write_format_2(path)
    before = as_written(path)

    class Full(sqlite3.Connection):
        def execute(self, statement: str, *rest: Any) -> sqlite3.Cursor:
            if statement.startswith("PRAGMA user_version ="):
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(statement, *rest)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: connect(*args, factory=Full, **options))
    with pytest.raises(InvalidInputError, match="disk is full"):
        Ledger(path)
    monkeypatch.undo()
    assert as_written(path) == before
    with closing(sqlite3.connect(path)) as database, pytest.raises(sqlite3.OperationalError, match="no such column"):
        database.execute("SELECT releases FROM charges")
    assert len(Ledger(path).charges()) == 3


def test_many_processes_migrate_once(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    write_format_2(path)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(Ledger(path).charges()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3] * 8


# --- damage -------------------------------------------------------------------------------------------------

TEXT = releases_to_text(BEST)


def _with_amount(text: str, exact: str, nearest: float) -> str:
    releases = json.loads(text)
    releases[1]["amount"] = {"exact": exact, "float": nearest}
    return json.dumps(releases)


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param("", id="empty"),
        pytest.param(TEXT[: len(TEXT) // 2], id="cut off"),
        pytest.param(TEXT[:-1], id="last byte lost"),
        pytest.param(TEXT.encode()[:40] + b"\xff\xfe\x00", id="no text"),
        pytest.param("[]", id="no release"),
        pytest.param("null", id="null"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param(TEXT.replace("scale", "scala", 1), id="unknown field"),
        pytest.param(TEXT.replace('"dimension":1', '"dimension":true', 1), id="wrong type"),
        pytest.param(TEXT.replace('"name":"level"', '"name":"\\u001b[2J"', 1), id="control characters"),
        pytest.param(TEXT.replace('"name":"step 2"', '"name":"step 1"', 1), id="a name twice"),
        pytest.param(TEXT.replace('"float":', '"float":1', 1), id="number changed"),
        pytest.param(_with_amount(TEXT, "0/1", 0.0), id="amount of 0"),
        pytest.param(_with_amount(TEXT, "-1/2", -0.5), id="negative amount"),
        pytest.param(_with_amount(TEXT, f"1{'0' * 400}/1", 1e300), id="number beyond floats"),
    ],
)
def test_damaged_releases_are_an_error_and_lose_no_charge(tmp_path: Path, damaged: str | bytes) -> None:
    path = tmp_path / "budget.sqlite"
    ledger = Ledger(path)
    ledger.set_cap("claims", Fraction(1), Fraction(1))
    ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST))
    assert damaged != TEXT
    overwrite_releases(path, "a" * 64, damaged)
    ledger = Ledger(path)
    (charge,) = ledger.charges("claims")
    with pytest.raises(InvalidInputError, match=r"releases of study 'first' \(a{16}\) is damaged. Its charge"):
        charge.releases  # noqa: B018 (reading is the check)
    assert not ledger.charge(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST)), "charged once, and goes on"
    assert not ledger.check(PrivacyCost("claims", "a" * 64, "first", HALF, TINY, BEST))
    with pytest.raises(InvalidInputError, match="another epsilon or delta"):
        ledger.charge(PrivacyCost("claims", "a" * 64, "first", Fraction(1, 4), TINY, BEST))
    assert ledger.spent("claims") == Cap(HALF, TINY)
    with pytest.raises(BudgetExceededError):
        ledger.charge(PrivacyCost("claims", "b" * 64, "second", Fraction(3, 4), TINY, BEST))
    assert ledger.charge(PrivacyCost("claims", "b" * 64, "second", HALF, TINY, BEST)), "other studies go on"
    assert ledger.charges("claims")[-1].releases == BEST


@pytest.mark.parametrize(
    ("column", "value"),
    [("epsilon", "1/0"), ("epsilon", "-100"), ("epsilon", "0"), ("delta", "-1"), ("delta", "x"), ("epsilon", "1e400")],
)
def test_a_damaged_epsilon_is_an_error_where_it_counts(tmp_path: Path, column: str, value: str) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.set_cap("claims", Fraction(1), Fraction(1))
    for dataset in ("claims", "other"):
        ledger.charge(PrivacyCost(dataset, "a" * 64, "first", HALF, TINY, BEST))
    with closing(sqlite3.connect(tmp_path / "budget.sqlite")) as database, database:
        database.execute(f"UPDATE charges SET {column} = ? WHERE dataset = 'claims'", (value,))
    with pytest.raises(InvalidInputError, match="the file is damaged"):
        ledger.spent("claims")
    with pytest.raises(InvalidInputError, match="the file is damaged"):
        ledger.charge(PrivacyCost("claims", "b" * 64, "second", HALF, TINY, BEST))
    assert ledger.spent("other") == Cap(HALF, TINY)
