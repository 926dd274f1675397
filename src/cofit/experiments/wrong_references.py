r"""A noisy test of a reference on the records themselves: what it would cost, and what it would tell.

    python -m cofit.experiments.wrong_references breast-cancer

**The test.** For a record z, prepared, q = ||V (z - u)||^2 / ||z - u||^2 is the part of its distance from the
reference's mean that lies in the reference's directions V: from 0 to 1, so that one replaced record moves the mean of
all n by 1 / n at most. Of a part s of the budget (of mu^2) the test has normal noise of standard deviation
1 / (n mu sqrt s). A reference of random numbers in d columns has q of about k / d for k directions.

**What it would have to tell**: whether the reference helps. ``tested`` puts both beside each other, for a good
reference and for wrong ones: q with its noise, and the points gained, by the cleartext twin.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from cofit.experiments.cells import Best
from cofit.experiments.datasets import DataSet, load_data_set
from cofit.experiments.folds import among_owners, folds
from cofit.experiments.twin import TWIN
from cofit.experiments.unlabelled import plan_referenced
from cofit.learn.facts import training_facts
from cofit.learn.recipes.descent.many_scores import scores_of_releases
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.learn.recipes.descent.planning import plan_descent
from cofit.learn.recipes.descent.reference import ReferenceMap, prepared, reference_map
from cofit.learn.recipes.descent.twin import cleartext_descent
from cofit.privacy.accountant import split

Reals = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
PART = Fraction(1, 100)
_FEWEST = 20


@dataclass(frozen=True)
class Tested:
    """Means over folds. kept: q; noise: of the test, its standard deviation. gained: points of accuracy over no
    reference; error: the standard error of that, over folds and draws."""

    reference: str
    kept: float
    noise: float
    gained: float
    error: float


def kept_of(reference: ReferenceMap, rows: npt.ArrayLike) -> Reals:
    """Return q of every row; 0 of a row at the reference's mean."""
    apart = prepared(np.asarray(rows, dtype=np.float64)) - reference.mean
    whole = np.square(apart).sum(axis=1)
    along = np.square(apart @ reference.directions.T.astype(np.float64)).sum(axis=1)
    return np.asarray(np.divide(along, whole, out=np.zeros_like(whole), where=whole > 0))


def noise_of_test(records: int, epsilon: float, delta: float, part: Fraction = PART) -> float:
    """Return the standard deviation of the noise of the mean of q, for a part of the budget."""
    mu_squared = split(Fraction(epsilon), Fraction(delta), {"test": part})["test"]
    return 1 / (records * math.sqrt(mu_squared))


def wrong(rows: Reals, labels: npt.NDArray[np.int64], rng: np.random.Generator) -> dict[str, Reals]:
    """Return reference rows by what is wrong with them; those of one class only where they are enough."""
    spread = float(np.sqrt(np.square(rows - rows.mean(axis=0)).sum(axis=1).mean()))
    shift = rng.standard_normal(rows.shape[1])
    found = {
        "good": rows,
        "one class": rows[labels == 1],
        "shifted": rows + spread * shift / np.linalg.norm(shift),
        "shuffled": rows[:, rng.permutation(rows.shape[1])],
        "noise": rng.standard_normal(rows.shape),
    }
    return {name: made for name, made in found.items() if len(made) >= _FEWEST}


def tested(data: DataSet, contender: Best, draws: int, seed: int = 1, count: int = 5) -> list[Tested]:
    """Return what the test and the accuracy say of every reference, on data whose rows held out are halved: one half is
    the reference, and the other is scored."""
    rng = np.random.default_rng(seed)
    kept: dict[str, list[float]] = {}
    gained: dict[str, list[float]] = {}
    noise = 0.0
    for fold in folds(data, count, seed):
        public, test = among_owners(data, fold.test, 2, 1)
        features = np.asarray(data.features, dtype=np.float64)
        noise = noise_of_test(len(fold.train), contender.epsilon, contender.delta)
        without = _accuracies(_plain(len(fold.train), data, contender), features, data, (fold.train, test), draws)
        for name, rows in wrong(features[public], data.labels[public], rng).items():
            made = reference_map(rows, len(fold.train), epsilon=contender.epsilon, delta=contender.delta)
            plan = plan_referenced(made, contender)
            found = _accuracies(plan, made.in_blocks(features), data, (fold.train, test), draws)
            kept.setdefault(name, []).append(float(kept_of(made, features[fold.train]).mean()))
            gained.setdefault(name, []).extend(100 * (found - without))
    return [
        Tested(
            name,
            float(np.mean(kept[name])),
            noise,
            float(np.mean(points)),
            float(np.std(points) / np.sqrt(len(points))),
        )
        for name, points in gained.items()
    ]


def _plain(records: int, data: DataSet, contender: Best) -> DescentPlan:
    facts = training_facts(
        records, data.features.shape[1], epsilon=contender.epsilon, delta=contender.delta, scheme=TWIN, clip_rows=False
    )
    return plan_descent(facts)


def _accuracies(plan: DescentPlan, features: Reals, data: DataSet, places: tuple[Places, Places], draws: int) -> Reals:
    train, test = places
    released = cleartext_descent(plan, features[train], data.labels[train], draws, np.random.default_rng(7))
    scores = scores_of_releases(plan, released, features[test])
    return np.asarray(((scores > 0) == (data.labels[test] == 1)[:, np.newaxis]).mean(axis=0))


def main(specs: list[str], draws: int = 10) -> None:
    """Print a line for every data set, epsilon and reference."""
    for spec in specs:
        data = load_data_set(spec)
        for epsilon in (1.0, 3.0):
            for one in tested(data, Best(epsilon, 1e-5), draws):
                print(
                    f"{data.name}, epsilon {epsilon:g}, {one.reference}: q {one.kept:.3f} +- {one.noise:.3f}, "
                    f"{one.gained:+.1f} +- {one.error:.1f} points"
                )


if __name__ == "__main__":
    main(sys.argv[1:] or ["breast-cancer"])
