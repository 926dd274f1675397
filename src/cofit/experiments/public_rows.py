"""Labelled rows that are nobody's secret, to simulate a study with: made up, or a sample that somebody gives as public.

``PublicRows.split`` holds some rows out and hands the others to training. A study has n records whatever size the
sample has, and noise that fits n; so training sees n rows: drawn from the sample without replacement where it has
enough, and with replacement where it has fewer. Equal inputs give equal rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.errors import InvalidInputError
from cofit.experiments.claims import claims

Reals = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
FEWEST_ROWS = 40
MOST_SAMPLE_CELLS = 20_000_000
_HELD_OUT = 1000
_HELD_OUT_SHARE = 0.3
_DENSITY, _CODES = 0.03, 8  # a made-up record has 3 % of all codes, but 8 of them on average where there are few
_SEED = 1


@dataclass(frozen=True, repr=False)
class PublicRows:
    """Labelled rows that are not private. ``origin``: one phrase on where they come from.

    ``given``: whether they are somebody's sample, of which only that person knows that it is public or made up.
    ``held_out``: how many rows are kept from training; None: 30 %.
    """

    features: Reals
    labels: Labels
    origin: str
    given: bool = False
    held_out: int | None = None

    def __repr__(self) -> str:
        return f"<PublicRows, {self.features.shape[0]} rows, {self.features.shape[1]} columns: {self.origin}>"

    def split(self, rows: int) -> Split:
        """Return rows to train on and others to score, for a study with ``rows`` records."""
        rng = np.random.default_rng(_SEED)
        count = len(self.labels)
        rest = round(_HELD_OUT_SHARE * count) if self.held_out is None else self.held_out
        shuffled = rng.permutation(count)
        test, train = shuffled[:rest], shuffled[rest:][:rows]
        for part in (train, test):
            if len(set(self.labels[part].tolist())) < 2:
                raise InvalidInputError(
                    "The sample must have rows of both classes, and enough of them to hold some out."
                )
        again = rng.integers(0, len(train), rows - len(train)) if rows > len(train) else np.zeros(0, dtype=np.int64)
        return Split(self.features, self.labels, train, np.concatenate([train, train[again]]), test)


@dataclass(frozen=True, repr=False)
class Split:
    """Places of rows. ``train``: different rows, at most as many as the study has; ``filled``: those and repetitions of
    them, exactly as many as the study has; ``test``: rows that training does not see."""

    features: Reals
    labels: Labels
    train: npt.NDArray[np.int64]
    filled: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]

    @property
    def truth(self) -> npt.NDArray[np.bool_]:
        """Which of the rows held out are of the second class."""
        return np.asarray(self.labels[self.test] == 1)

    @property
    def majority(self) -> float:
        """The accuracy of always naming the class that is commoner among the rows held out."""
        return float(max(self.truth.mean(), 1 - self.truth.mean()))


def made_up_rows(rows: int, cols: int, scale: float = 1.0) -> PublicRows:
    """Return made-up rows, as many to train on as a study has, and others to hold out; values are 0 and ``scale``."""
    density = min(max(_DENSITY, _CODES / cols), 0.5)
    data = claims(rows + _HELD_OUT, cols, density=density, prevalence=0.5, seed=_SEED)
    origin = (
        f"made-up 0/1 data, like medical claims, with as many rows to train on ({rows:,}) and columns ({cols:,}) as "
        f"the study, both classes equally common"
    )
    return PublicRows(scale * data.features.astype(np.float64), data.labels, origin, held_out=_HELD_OUT)


def public_sample(features: Any, labels: Any, cols: int, name: str = "the sample") -> PublicRows:
    """Return a sample in the study's columns with labels 0 and 1, checked; of a very large one some rows, at random."""
    x, y = np.asarray(features), np.asarray(labels)
    if x.ndim != 2 or x.shape[1] != cols or x.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"The features of {name} must be a table of numbers with the study's {cols} columns. Got {x.dtype} of "
            f"shape {x.shape} instead."
        )
    if not np.isfinite(x).all():
        raise InvalidInputError(f"The features of {name} must be finite numbers only.")
    if y.shape != x.shape[:1]:
        raise InvalidInputError(f"There must be one label for each of the {len(x)} rows of {name}.")
    if not set(np.unique(y).tolist()) <= {0, 1}:
        raise InvalidInputError(f"The labels of {name} must be 0 and 1.")
    count = len(y)
    if count < FEWEST_ROWS:
        raise InvalidInputError(f"There must be at least {FEWEST_ROWS} rows in {name}. Got {count} instead.")
    origin = f"{name}, {count:,} rows that whoever asked for this forecast gave as public or made up"
    if count * cols > MOST_SAMPLE_CELLS:
        chosen = np.random.default_rng(_SEED).permutation(count)[: max(FEWEST_ROWS, MOST_SAMPLE_CELLS // cols)]
        x, y = x[chosen], y[chosen]
        origin += f"; {len(chosen):,} of them, drawn at random, were used"
    return PublicRows(x.astype(np.float64), y.astype(np.int64), origin, given=True)
