"""The ledger: which data set took part in which study, at which epsilon and delta, and how much may be spent.

Kept by whoever answers for data: each owner for its own data sets (``cofit budget``), and each computing party for the
release of a study. Charged *before* anything leaves or is opened. Totals are sums (basic composition: always valid).

A charge is one (epsilon, delta): the account of all noisy releases of a study together, which is far below the sum of
its parts. The ledger keeps the list of these releases with it, as the certificate has it, and the part of each in that
account (``privacy.accounted``). Sums and caps do not read the list: where it is damaged the charge counts as before,
and the study goes on.

An owner's charge is for one *run* of a study: parties that remember it release once. The run is named by the parties'
incarnations, random texts that come with their state directories. Charging the same run twice costs nothing, so a
repeated or interrupted upload is charged once. If a party has another incarnation, it may have lost its state after a
release that it has forgotten: that is another run, which can end in a second release, and is charged again.

What a study opens without noise has no epsilon that a sum could hold: the ledger lists it as an *exposure*, durably and
before anything leaves, and no cap covers it. The list is a table of its own, made when the first one is noted.

One SQLite file, mode 0600; a charge is on disk when ``charge`` returns. Format 2 had no releases: such a file is made
one of format 3 where it is opened, in one transaction, and its charges stay, with ``releases`` None: not recorded.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from cofit.errors import BudgetExceededError, InvalidInputError, parameter_error
from cofit.privacy.accounted import AccountedRelease, releases_from_text, releases_to_text

_VERSION = 3
_WITHOUT_RELEASES = 2
_LARGEST = 1 << 64  # no epsilon is: a larger one is damage
_SCHEMA = """
CREATE TABLE charges (
    dataset TEXT NOT NULL, study TEXT NOT NULL, name TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    time TEXT NOT NULL, incarnations TEXT NOT NULL, releases TEXT, PRIMARY KEY (dataset, study, incarnations));
CREATE TABLE caps (dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL);
"""


_EXPOSURES = """
CREATE TABLE IF NOT EXISTS exposures (
    dataset TEXT NOT NULL, study TEXT NOT NULL, name TEXT NOT NULL, openings TEXT NOT NULL, time TEXT NOT NULL,
    incarnations TEXT NOT NULL, PRIMARY KEY (dataset, study, incarnations))
"""


@dataclass(frozen=True)
class Exposure:
    """One run of a study that opens values without noise. openings: what is opened, to whom, why, a line each."""

    dataset: str
    study: str
    name: str
    openings: tuple[str, ...]
    time: str = ""


@dataclass(frozen=True)
class Charge:
    """One run of a study that a data set took part in: ``study`` is its hash, ``incarnations`` name the run.

    ``recorded``: its releases as the file has them; None: a charge from before they were kept.
    """

    dataset: str
    study: str
    name: str
    epsilon: Fraction
    delta: Fraction
    time: str
    incarnations: tuple[str, ...]
    recorded: bytes | None

    @property
    def releases(self) -> tuple[AccountedRelease, ...] | None:
        """The noisy releases that the charge is for, or None where they were not recorded; raises if damaged."""
        return None if self.recorded is None else _read(self.recorded, self.study, self.name)


@dataclass(frozen=True)
class PrivacyCost:
    """What a run of a study costs a data set. study: its hash. releases: all of its noisy releases, of which
    (epsilon, delta) is the account (``accounted_releases``)."""

    dataset: str
    study: str
    name: str
    epsilon: Fraction
    delta: Fraction
    releases: Sequence[AccountedRelease]

    def __post_init__(self) -> None:
        _check(self.dataset, self.epsilon, self.delta)


@dataclass(frozen=True)
class Cap:
    """The most that all studies together may spend of a data set."""

    epsilon: Fraction
    delta: Fraction


class Ledger:
    """The ledger in one file, created where it does not exist."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        if not self._path.exists():
            os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
        with self._transaction() as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    database.execute(statement)
            elif version == _WITHOUT_RELEASES:
                database.execute("ALTER TABLE charges ADD COLUMN releases TEXT")
            elif version != _VERSION:
                raise InvalidInputError(
                    f"The ledger {self._path.name} has format {version}; this release reads format {_VERSION}, and "
                    f"format {_WITHOUT_RELEASES}."
                )
            if version != _VERSION:
                database.execute(f"PRAGMA user_version = {_VERSION}")

    def set_cap(self, dataset: str, epsilon: Fraction, delta: Fraction) -> None:
        """Set the most that may be spent of a data set; it may lie below what is spent already."""
        _check(dataset, epsilon, delta)
        with self._transaction() as database:
            database.execute("INSERT OR REPLACE INTO caps VALUES (?, ?, ?)", (dataset, str(epsilon), str(delta)))

    def cap(self, dataset: str) -> Cap | None:
        """Return the cap of a data set, if there is one."""
        with self._transaction() as database:
            row = database.execute("SELECT epsilon, delta FROM caps WHERE dataset = ?", (dataset,)).fetchone()
        return None if row is None else Cap(_epsilon(row[0]), _delta(row[1]))

    def charges(self, dataset: str | None = None) -> list[Charge]:
        """Return all charges, or those of one data set, oldest first."""
        with self._transaction() as database:
            rows = database.execute(
                "SELECT dataset, study, name, epsilon, delta, time, incarnations, CAST(releases AS BLOB) FROM charges "
                "WHERE dataset = ? OR ? IS NULL ORDER BY rowid",
                (dataset, dataset),
            )
            return [
                Charge(d, s, n, _epsilon(e), _delta(dl), t, tuple(i.split()), r) for d, s, n, e, dl, t, i, r in rows
            ]

    def datasets(self) -> list[str]:
        """Return the names of all data sets that have a charge, a cap or an exposure, sorted."""
        with self._transaction() as database:
            rows = database.execute("SELECT dataset FROM charges UNION SELECT dataset FROM caps").fetchall()
        return sorted({*(name for (name,) in rows), *(one.dataset for one in self.exposures())})

    def exposures(self, dataset: str | None = None) -> list[Exposure]:
        """Return all runs of studies that open values without noise, or those of one data set, oldest first."""
        with self._transaction() as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'exposures'").fetchone():
                return []
            rows = database.execute(
                "SELECT dataset, study, name, openings, time FROM exposures WHERE dataset = ? OR ? IS NULL "
                "ORDER BY rowid",
                (dataset, dataset),
            ).fetchall()
        return [Exposure(d, s, n, tuple(str(o).splitlines()), t) for d, s, n, o, t in rows]

    def expose(self, exposure: Exposure, incarnations: Collection[str] = ()) -> bool:
        """Note a run of a study that opens values without noise, durably; False if it was noted already."""
        values = (exposure.dataset, exposure.study, exposure.name, "\n".join(exposure.openings))
        now, run = datetime.now(UTC).isoformat(timespec="seconds"), " ".join(sorted(incarnations))
        with self._transaction() as database:
            database.execute(_EXPOSURES)
            added = database.execute("INSERT OR IGNORE INTO exposures VALUES (?, ?, ?, ?, ?, ?)", (*values, now, run))
            return added.rowcount > 0

    def noted(self, exposure: Exposure, incarnations: Collection[str] | None = None) -> bool:
        """Whether a run by these parties (None: any run) was noted."""
        with self._transaction() as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'exposures'").fetchone():
                return False
            rows = database.execute(
                "SELECT incarnations FROM exposures WHERE dataset = ? AND study = ?", (exposure.dataset, exposure.study)
            ).fetchall()
        runs = {run for (run,) in rows}
        return bool(runs) if incarnations is None else " ".join(sorted(incarnations)) in runs

    def spent(self, dataset: str) -> Cap:
        """Return the sums over all studies of a data set."""
        charges = self.charges(dataset)
        return Cap(sum((c.epsilon for c in charges), Fraction(0)), sum((c.delta for c in charges), Fraction(0)))

    def charge(self, cost: PrivacyCost, incarnations: Collection[str] = ()) -> bool:
        """Charge a run of a study to a data set, durably; False if it was charged already.

        incarnations: those of all parties, in any order; none in the ledger of a party, which is part of its state.

        Raises BudgetExceededError, and charges nothing, where the cap would be exceeded; InvalidInputError where the
        study was charged before at another epsilon or delta, or for other releases.
        """
        run, text = " ".join(sorted(incarnations)), releases_to_text(cost.releases)
        with self._transaction() as database:
            if run in self._runs(database, cost):
                return False
            self._check_cap(database, cost)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            values = (cost.dataset, cost.study, cost.name, str(cost.epsilon), str(cost.delta), now, run, text)
            database.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        return True

    def check(self, cost: PrivacyCost, incarnations: Collection[str] | None = None) -> bool:
        """Return whether a run by these parties (None: any run) was not charged yet, or raise what ``charge`` would
        then; charge nothing."""
        with self._transaction() as database:
            runs = self._runs(database, cost)
            if runs and (incarnations is None or " ".join(sorted(incarnations)) in runs):
                return False
            self._check_cap(database, cost)
            return True

    @staticmethod
    def _runs(database: sqlite3.Connection, cost: PrivacyCost) -> set[str]:
        """Return the runs of a study that were charged; raises where they were at another epsilon or delta, or for
        other releases: the plan is a function of the study."""
        rows = database.execute(
            "SELECT epsilon, delta, incarnations, CAST(releases AS BLOB) FROM charges WHERE dataset = ? AND study = ?",
            (cost.dataset, cost.study),
        ).fetchall()
        if any((_epsilon(e), _delta(d)) != (cost.epsilon, cost.delta) for e, d, _, _ in rows):
            raise InvalidInputError(f"Study {cost.study[:16]} was charged before at another epsilon or delta.")
        if any(_differ(r, tuple(cost.releases)) for _, _, _, r in rows):
            raise InvalidInputError(
                f"Study {cost.study[:16]} was charged before for other noisy releases than its plan has now. Use the "
                f"release of cofit that it was charged with, or agree on a new study."
            )
        return {run for _, _, run, _ in rows}

    @staticmethod
    def _check_cap(database: sqlite3.Connection, cost: PrivacyCost) -> None:
        row = database.execute("SELECT epsilon, delta FROM caps WHERE dataset = ?", (cost.dataset,)).fetchone()
        if row is None:
            return
        spent = database.execute("SELECT epsilon, delta FROM charges WHERE dataset = ?", (cost.dataset,)).fetchall()
        for which, cap, new, old in (
            ("epsilon", _epsilon(row[0]), cost.epsilon, sum((_epsilon(e) for e, _ in spent), Fraction(0))),
            ("delta", _delta(row[1]), cost.delta, sum((_delta(d) for _, d in spent), Fraction(0))),
        ):
            if old + new > cap:
                raise BudgetExceededError(
                    f"Study '{cost.name}' would bring the {which} spent of data set '{cost.dataset}' to "
                    f"{float(old + new):g}, above its cap of {float(cap):g} ({float(old):g} is spent). Nothing was "
                    f"sent. Raise the cap with `cofit budget --set-cap`, or agree on a smaller {which}."
                )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, alone on the file, durable when it ends."""
        try:
            with closing(sqlite3.connect(self._path, timeout=30, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = EXTRA")
                database.execute("BEGIN IMMEDIATE")
                try:
                    yield database
                except BaseException:
                    database.execute("ROLLBACK")
                    raise
                database.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise InvalidInputError(f"The ledger {self._path.name} cannot be used: {error}.") from None


def _epsilon(text: object) -> Fraction:
    return _number(text, lambda value: value > 0)


def _delta(text: object) -> Fraction:
    return _number(text, lambda value: 0 <= value <= 1)


def _number(text: object, holds: Callable[[Fraction], bool]) -> Fraction:
    try:
        value = Fraction(str(text))
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or value >= _LARGEST or not holds(value):
        raise InvalidInputError(
            "An epsilon or delta in the ledger is none: the file is damaged, and nothing can be added up. Keep it as "
            "evidence, and put back a backup; then charge again what came after it (the certificates of the studies "
            "have each epsilon and delta)."
        )
    return value


def _differ(recorded: bytes | None, releases: tuple[AccountedRelease, ...]) -> bool:
    """Whether a list says otherwise; one that is not recorded, or damaged, says nothing."""
    if recorded is None:
        return False
    try:
        return releases_from_text(recorded) != releases
    except InvalidInputError:
        return False


def _read(recorded: bytes, study: str, name: str) -> tuple[AccountedRelease, ...]:
    try:
        return releases_from_text(recorded)
    except InvalidInputError:
        raise InvalidInputError(
            f"The ledger's list of the releases of study '{name}' ({study[:16]}) is damaged. Its charge, epsilon and "
            f"delta, still counts, and the study can continue; what it covers stands in the plan and the certificate."
        ) from None


def _check(dataset: object, epsilon: object, delta: object) -> None:
    if not isinstance(dataset, str) or not dataset.strip() or not dataset.isprintable():
        raise parameter_error("dataset", "Ledger", "a printable name", dataset)
    if not isinstance(epsilon, Fraction) or epsilon <= 0:
        raise parameter_error("epsilon", "Ledger", "a positive Fraction", epsilon)
    if not isinstance(delta, Fraction) or not 0 <= delta <= 1:
        raise parameter_error("delta", "Ledger", "a Fraction from 0 to 1", delta)
