"""The cells of tables: what is measured, named by everything it depends on, and kept in files, so that work is resumed.

A cell's file is named by the hash of its key. A run that was stopped goes on with the cells that have no file yet, and
tables share cells. Whoever changes a seed, a data set or a setting asks for other cells.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cofit.baselines.method import Method
from cofit.errors import InvalidInputError, parameter_error
from cofit.roles.files.durable import write_durably

VERSION = 3


@dataclass(frozen=True)
class Cofit:
    """cofit's recipe "paper", as a contender: the paper's pi_LR and pi_DP, with an honest calibration.

    epsilon, delta, l2, mechanism, partition, sensitivity: as in ``training_facts``. There is no intercept: under a
    strong penalty it follows the class balance of the fold and nothing else.
    """

    epsilon: float
    delta: float = 0.0
    l2: float = 1.0
    mechanism: str | None = None
    partition: str = "horizontal"
    sensitivity: str = "tight"


@dataclass(frozen=True)
class Best:
    """cofit's recipe "best", as a contender: noisy descent with an intercept, and with the data set's ranges.

    raw: predict with the weights as released, without shrinkage; the noise is the same. smooth: scores are smoothed by
    the rows held out. reference: a public reference is taken from the rows held out, half of them for the other half;
    'columns' keeps all columns, 'directions' those of the reference (``unlabelled``).
    """

    epsilon: float
    delta: float
    partition: str = "horizontal"
    raw: bool = False
    smooth: bool = False
    reference: str | None = None

    def __post_init__(self) -> None:
        if not self.delta > 0:
            raise parameter_error("delta", "Best", "above 0: without one the recipe is another method", self.delta)


Contender = Cofit | Best | Method


@dataclass(frozen=True)
class AccuracyCell:
    """One contender on one fold: ``draws`` releases, each scored on the rows held out."""

    data: str
    contender: Contender
    owners: int
    folds: int
    fold: int
    draws: int
    seed: int


@dataclass(frozen=True)
class TimingCell:
    """A real run on all rows, with every member a process over TLS. ``epochs``: None takes as many as the plan says."""

    data: str
    scheme: str
    parties: int
    partition: str
    owners: int
    epochs: int | None
    epsilon: float
    l2: float
    repetitions: int


@dataclass(frozen=True)
class RunCell:
    """One real run on the rows of one fold, every member a process over TLS, scored on the rows held out."""

    data: str
    contender: Best
    scheme: str
    owners: int
    folds: int
    fold: int
    seed: int


Cell = AccuracyCell | TimingCell | RunCell


def key_of(cell: Any, digest: str) -> dict[str, Any]:
    """Return all that a cell's result depends on; ``digest``: of its data set, whose name says nothing."""
    key: dict[str, Any] = {"version": VERSION, "kind": type(cell).__name__, **asdict(cell), "data": digest}
    if isinstance(cell, AccuracyCell | RunCell):
        key["method"] = type(cell.contender).__name__
    if isinstance(cell, AccuracyCell | RunCell) and isinstance(cell.contender, Best):
        later = ("smooth", "reference")  # cells from before there were such fields keep their files
        key["contender"] = {name: v for name, v in key["contender"].items() if v or name not in later}
    return key


class CellStore:
    """The results of cells in a folder, one file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInputError(
                f"The folder '{folder}' cannot be used: {error.strerror}. Choose another --out."
            ) from None

    def load(self, key: dict[str, Any]) -> dict[str, Any] | None:
        """Return a cell's result, or None if it is not there; a file that cannot be read counts as not there."""
        try:
            document = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(document, dict) or document.get("key") != json.loads(json.dumps(key)):
            return None
        result = document.get("result")
        return result if isinstance(result, dict) else None

    def save(self, key: dict[str, Any], result: dict[str, Any]) -> None:
        """Keep a result: after a crash the file is whole, or not there."""
        text = json.dumps({"key": key, "result": result}, indent=1, allow_nan=False)
        try:
            write_durably(self._path(key), text.encode(), mode=0o644)
        except OSError as error:
            raise InvalidInputError(f"A result cannot be written to '{self._folder}': {error.strerror}.") from None

    def _path(self, key: dict[str, Any]) -> Path:
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self._folder / f"{digest[:24]}.json"
