from __future__ import annotations

import sqlite3
import stat
import threading
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from cofit.errors import BudgetExceededError, InvalidInputError
from cofit.roles.ledger import Cap, Ledger

HALF, TINY = Fraction(1, 2), Fraction(1, 10**6)


def test_charges_add_up_and_survive(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    ledger = Ledger(path)
    assert ledger.charge("claims", "a" * 64, "first", HALF, TINY)
    assert not ledger.charge("claims", "a" * 64, "first", HALF, TINY)
    assert ledger.charge("claims", "b" * 64, "second", Fraction(1), Fraction(0))
    assert ledger.charge("labs", "b" * 64, "second", Fraction(1), Fraction(0))
    again = Ledger(path)
    assert again.spent("claims") == Cap(Fraction(3, 2), TINY)
    assert [c.name for c in again.charges("claims")] == ["first", "second"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_cap_is_enforced_before_anything_is_charged(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.set_cap("claims", Fraction(1), TINY)
    ledger.charge("claims", "a" * 64, "first", HALF, TINY)
    with pytest.raises(BudgetExceededError, match=r"epsilon spent of data set 'claims' to 1\.25, above its cap of 1"):
        ledger.charge("claims", "b" * 64, "second", Fraction(3, 4), Fraction(0))
    with pytest.raises(BudgetExceededError, match="delta"):
        ledger.charge("claims", "b" * 64, "second", HALF, TINY)
    assert ledger.spent("claims") == Cap(HALF, TINY)
    assert ledger.charge("claims", "b" * 64, "second", HALF, Fraction(0))
    assert not ledger.charge("claims", "a" * 64, "first", HALF, TINY)


def test_a_run_with_other_parties_is_charged_again(tmp_path: Path) -> None:
    """A party that begins anew has forgotten what it released: a release after that is a second one."""
    ledger = Ledger(tmp_path / "budget.sqlite")
    ledger.set_cap("claims", Fraction(5, 4), Fraction(1, 2))
    study = "claims", "a" * 64, "first", HALF, TINY
    assert ledger.charge(*study, ("aa", "bb", "cc"))
    assert not ledger.charge(*study, ("cc", "aa", "bb"))
    assert not ledger.check(*study)
    assert ledger.charge(*study, ("aa", "bb", "dd"))
    assert not ledger.charge(*study, ("aa", "bb", "cc"))
    assert [c.incarnations for c in ledger.charges("claims")] == [("aa", "bb", "cc"), ("aa", "bb", "dd")]
    assert ledger.spent("claims") == Cap(Fraction(1), 2 * TINY)
    with pytest.raises(BudgetExceededError):
        ledger.charge(*study, ("aa", "bb", "ee"))
    assert ledger.spent("claims") == Cap(Fraction(1), 2 * TINY)


def test_a_ledger_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 1")
    with pytest.raises(InvalidInputError, match="has format 1; this release reads format 2"):
        Ledger(path)


def test_two_processes_cannot_overspend_together(tmp_path: Path) -> None:
    path = tmp_path / "budget.sqlite"
    Ledger(path).set_cap("claims", Fraction(3), Fraction(0))
    outcomes: list[bool] = []

    def spend(i: int) -> None:
        try:
            outcomes.append(Ledger(path).charge("claims", f"{i:064}", "study", Fraction(1), Fraction(0)))
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
    ledger.charge("x", "a" * 64, "first", HALF, TINY)
    with pytest.raises(InvalidInputError, match="another epsilon"):
        ledger.charge("x", "a" * 64, "first", Fraction(1), TINY)
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"this is no database, but long enough to look like one" * 100)
    with pytest.raises(InvalidInputError, match=r"broken\.sqlite cannot be used"):
        Ledger(broken)
