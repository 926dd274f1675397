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
from cofit.learn.bounds import scaled_by_bounds
from cofit.learn.facts import Facts
from cofit.learn.losses import loss_named
from cofit.learn.targets import NUMBER, Count

Reals = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]
"""0 and 1; or targets from -1 to 1."""
FEWEST_ROWS = 40
MOST_SAMPLE_CELLS = 20_000_000
_HELD_OUT = 1000
_HELD_OUT_SHARE = 0.3
_DENSITY, _CODES = 0.03, 8  # a made-up record has 3 % of all codes, but 8 of them on average where there are few
_DEVIATION, _EXPLAINED = 0.35, 2 / 3  # of made-up targets, in units of half of their range; the part of its square
_COMMON_COUNT, _LEAST_MEAN, _SPREAD_OF_RATES = 1 / 20, 1 / 4, 0.7  # of made-up counts
_SEED = 1
_UNSURE = 0.3  # deviation of what is added to scores of several classes, of their own


@dataclass(frozen=True, repr=False)
class PublicRows:
    """Labelled rows that are not private. ``origin``: one phrase on where they come from.

    ``given``: whether they are somebody's sample, of which only that person knows that it is public or made up.
    ``held_out``: how many rows are kept from training; None: 30 %. ``numbers``: whether labels are real targets.
    ``largest``: the largest count, where they are counts.
    """

    features: Reals
    labels: Labels
    origin: str
    given: bool = False
    held_out: int | None = None
    numbers: bool = False
    largest: int | None = None

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
                what = "different targets" if self.numbers else "both classes"
                raise InvalidInputError(f"The sample must have rows of {what}, and enough of them to hold some out.")
        again = rng.integers(0, len(train), rows - len(train)) if rows > len(train) else np.zeros(0, dtype=np.int64)
        filled = np.concatenate([train, train[again]])
        return Split(self.features, self.labels, train, filled, test, self.numbers, self.largest)


@dataclass(frozen=True, repr=False)
class Split:
    """Places of rows. ``train``: different rows, at most as many as the study has; ``filled``: those and repetitions of
    them, exactly as many as the study has; ``test``: rows that training does not see."""

    features: Reals
    labels: Labels
    train: npt.NDArray[np.int64]
    filled: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]
    numbers: bool = False
    largest: int | None = None

    @property
    def truth(self) -> Labels:
        """The classes of the rows held out."""
        return np.asarray(self.labels[self.test])

    @property
    def majority(self) -> float:
        """The accuracy of always naming the commonest class of the rows held out; of the mean, R squared."""
        return 0.0 if self.numbers else float(np.bincount(self.truth.astype(np.int64)).max() / len(self.truth))

    def quality(self, scores: Reals) -> Reals:
        """Return the accuracy of scores of the rows held out, R squared where they are of a real target, D squared of
        counts; a draw in each column. Of several classes the third axis are these."""
        if not self.numbers:
            found = scores > 0 if scores.ndim == 2 else scores.argmax(axis=2)
            return np.asarray((found == self.truth[:, np.newaxis]).mean(axis=0))
        if self.largest is None:
            return NUMBER.explained(self.truth, NUMBER.predicted(scores, (-1.0, 1.0)))
        ends, target = (0.0, float(self.largest)), Count(self.largest)
        return target.explained(NUMBER.predicted(self.truth, ends), target.predicted(scores, ends))


def made_up_rows(rows: int, cols: int, scale: float = 1.0, classes: int = 2) -> PublicRows:
    """Return made-up rows, as many to train on as a study has, and others to hold out; values are 0 and ``scale``.

    More than two classes: that with the largest of as many planted scores, with noise.
    """
    density = min(max(_DENSITY, _CODES / cols), 0.5)
    data = claims(rows + _HELD_OUT, cols, density=density, prevalence=0.5, seed=_SEED)
    origin = (
        f"made-up 0/1 data, like medical claims, with as many rows to train on ({rows:,}) and columns ({cols:,}) as "
        f"the study, both classes equally common"
    )
    labels = data.labels
    if classes > 2:
        origin = origin.replace("both classes equally common", f"{classes} classes about equally common")
        labels = _several(data.features, classes)
    return PublicRows(scale * data.features.astype(np.float64), labels, origin, held_out=_HELD_OUT)


def _several(features: npt.NDArray[np.uint8], classes: int) -> Labels:
    """Return the class whose planted score, one of independent normal weights each, is the largest."""
    rng = np.random.default_rng(_SEED)
    weights = rng.normal(size=(features.shape[1], classes))
    scores = (features - features.mean(axis=0)) @ weights
    scores /= np.maximum(scores.std(axis=0), np.finfo(float).tiny)
    return np.asarray((scores + _UNSURE * rng.normal(size=scores.shape)).argmax(axis=1), dtype=np.int64)


def made_up_numbers(rows: int, cols: int, scale: float = 1.0) -> PublicRows:
    """Return the same for a real target: columns that are uniform from -``scale`` to ``scale``, a tenth of which, and
    three at least, matter, and a target two thirds of whose variance they explain."""
    rng = np.random.default_rng(_SEED)
    features = rng.uniform(-1, 1, (rows + _HELD_OUT, cols))
    matter = min(cols, max(3, cols // 10))
    signal = features[:, :matter] @ rng.standard_normal(matter)
    signal *= _DEVIATION * np.sqrt(_EXPLAINED) / signal.std()
    targets = signal + _DEVIATION * np.sqrt(1 - _EXPLAINED) * rng.standard_normal(len(signal))
    origin = (
        f"made-up columns with as many rows to train on ({rows:,}) and columns ({cols:,}) as the study, and a target "
        f"of which they explain two thirds"
    )
    return PublicRows(scale * features, np.clip(targets, -1, 1), origin, held_out=_HELD_OUT, numbers=True)


def made_up_counts(rows: int, cols: int, largest: int, scale: float = 1.0) -> PublicRows:
    """Return the same for counts up to ``largest``, about a twentieth of that on average, whose rate is log-linear."""
    rng = np.random.default_rng(_SEED)
    features = rng.uniform(-1, 1, (rows + _HELD_OUT, cols))
    matter = min(cols, max(3, cols // 10))
    signal = features[:, :matter] @ rng.standard_normal(matter)
    rates = max(_COMMON_COUNT * largest, _LEAST_MEAN) * np.exp(_SPREAD_OF_RATES * signal / signal.std())
    counts = np.minimum(rng.poisson(rates), largest)
    origin = (
        f"made-up columns with as many rows to train on ({rows:,}) and columns ({cols:,}) as the study, and Poisson "
        f"counts whose mean is {counts.mean():.2g}"
    )
    labels = scaled_by_bounds(counts.astype(np.float64), 0.0, float(largest))
    return PublicRows(scale * features, labels, origin, held_out=_HELD_OUT, numbers=True, largest=largest)


def rows_like(facts: Facts, scale: float = 1.0) -> PublicRows:
    """Return made-up rows for a plan with these facts, of the kind of its target."""
    if facts.largest_count is not None:
        return made_up_counts(facts.rows, facts.cols, facts.largest_count, scale)
    if loss_named(facts.loss).target.ranged:
        return made_up_numbers(facts.rows, facts.cols, scale)
    return made_up_rows(facts.rows, facts.cols, scale, facts.classes)


def public_sample(
    features: Any,
    labels: Any,
    cols: int,
    name: str = "the sample",
    *,
    numbers: bool = False,
    classes: int = 2,
    largest: int | None = None,
) -> PublicRows:
    """Return a sample in the study's columns with labels from 0 on (``numbers``: targets from -1 to 1; ``largest``: of
    counts up to that), checked; of a very large one some rows, at random."""
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
    if numbers and (y.dtype.kind not in "biuf" or not (np.abs(y) <= 1).all()):
        raise InvalidInputError(f"The targets of {name} must be numbers from -1 to 1, scaled from their public range.")
    if largest is not None:
        Count(largest).encoded(y)
    if not numbers and not set(np.unique(y).tolist()) <= set(range(classes)):
        wanted = "0 and 1" if classes == 2 else f"from 0 to {classes - 1}"
        raise InvalidInputError(f"The labels of {name} must be {wanted}.")
    count = len(y)
    if count < FEWEST_ROWS:
        raise InvalidInputError(f"There must be at least {FEWEST_ROWS} rows in {name}. Got {count} instead.")
    origin = f"{name}, {count:,} rows that whoever asked for this forecast gave as public or made up"
    if count * cols > MOST_SAMPLE_CELLS:
        chosen = np.random.default_rng(_SEED).permutation(count)[: max(FEWEST_ROWS, MOST_SAMPLE_CELLS // cols)]
        x, y = x[chosen], y[chosen]
        origin += f"; {len(chosen):,} of them, drawn at random, were used"
    values = y.astype(np.float64 if numbers else np.int64)
    return PublicRows(x.astype(np.float64), values, origin, given=True, numbers=numbers, largest=largest)
