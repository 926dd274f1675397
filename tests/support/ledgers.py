"""Releases for ledgers, and a ledger as earlier versions wrote it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from cofit.learn.facts import training_facts
from cofit.learn.plan import plan_training
from cofit.learn.releases import accounted_releases
from cofit.privacy.accounted import AccountedRelease

_FORMAT_2 = """
CREATE TABLE charges (
    dataset TEXT NOT NULL, study TEXT NOT NULL, name TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    time TEXT NOT NULL, incarnations TEXT NOT NULL, PRIMARY KEY (dataset, study, incarnations));
CREATE TABLE caps (dataset TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL);
INSERT INTO charges VALUES ('clinic', '{study}', 'old', '1/2', '1/1000000', '2026-01-02T03:04:05+00:00', 'aa bb');
INSERT INTO charges VALUES ('clinic', '{study}', 'old', '1/2', '1/1000000', '2026-01-03T03:04:05+00:00', 'aa cc');
INSERT INTO charges VALUES ('labs', '{study}', 'old', '1/2', '1/1000000', '2026-01-04T03:04:05+00:00', '');
INSERT INTO caps VALUES ('clinic', '3', '1/100000');
PRAGMA user_version = 2;
"""
OLD_STUDY = "0d" * 32


@cache
def best_releases(epsilon: float = 1.0) -> tuple[AccountedRelease, ...]:
    """Those of a small study by recipe best: level, centre and steps."""
    return accounted_releases(plan_training(training_facts(500, 4, epsilon=epsilon, normalised_by="parties")))


@cache
def paper_releases() -> tuple[AccountedRelease, ...]:
    """That of a small study by recipe paper."""
    return accounted_releases(plan_training(training_facts(500, 4, recipe="paper", l2=0.5)))


def write_format_2(path: Path) -> None:
    """Write a ledger of format 2: three charges and a cap."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_FORMAT_2.format(study=OLD_STUDY))


def overwrite_releases(path: Path, study: str, value: object) -> None:
    """Damage, in a ledger, the list of the releases of a study."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE charges SET releases = CAST(? AS TEXT) WHERE study = ?", (value, study))
