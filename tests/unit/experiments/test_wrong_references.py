"""What a noisy test of a reference would tell: its statistic, its noise, and what wrong references are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cofit.experiments import wrong_references
from cofit.experiments.cells import Best
from cofit.experiments.datasets import DataSet, load_data_set
from cofit.experiments.wrong_references import kept_of, noise_of_test, wrong
from cofit.learn.recipes.descent.reference import prepared, reference_map
from cofit.privacy.accountant import at_epsilon
from cofit.privacy.events import GaussianEvent

RNG = np.random.default_rng(8)
ROWS = RNG.normal(size=(50, 3)) @ RNG.normal(size=(3, 60)) + 0.1 * RNG.normal(size=(50, 60))


def test_the_statistic_is_the_part_in_the_directions() -> None:
    made = reference_map(ROWS[:30], 100, epsilon=1.0, delta=1e-5)
    kept = kept_of(made, ROWS)
    assert ((kept >= 0) & (kept <= 1 + 1e-6)).all()
    assert kept[:30].min() > 0.999, "a reference's own rows lie in its directions"
    apart = prepared(ROWS[40:41]) - made.mean
    projected = apart @ made.directions.T @ made.directions
    assert kept[40] == pytest.approx(np.square(projected).sum() / np.square(apart).sum(), rel=1e-5)
    noise = reference_map(RNG.normal(size=(24, 60)), 100, epsilon=1.0, delta=1e-5)
    assert kept_of(noise, ROWS).mean() < 0.6
    assert kept_of(made, ROWS).mean() > 0.9


def test_its_noise_is_paid_for() -> None:
    """A part of the budget as the accountant sees it: all of it together is what was asked for."""
    sigma = noise_of_test(1000, 1.0, 1e-5, Fraction(1))
    event = GaussianEvent("test", Fraction(10**6), Fraction(10**9 * sigma), 1, Fraction(0))
    assert 0.9e-5 < at_epsilon([event], Fraction(1)).delta <= 1.001e-5
    assert noise_of_test(1000, 1.0, 1e-5) == pytest.approx(10 * sigma)


def test_wrong_references_are_wrong() -> None:
    made = wrong(ROWS, np.arange(50) % 2, np.random.default_rng(1))
    assert set(made) == {"good", "one class", "shifted", "shuffled", "noise"}
    moved = made["shifted"] - ROWS
    assert np.ptp(moved, axis=0).max() < 1e-9
    assert np.linalg.norm(moved[0]) == pytest.approx(np.sqrt(np.square(ROWS - ROWS.mean(axis=0)).sum(axis=1).mean()))
    assert "one class" not in wrong(ROWS[:30], np.arange(30) % 2, np.random.default_rng(1))


def test_the_test_and_the_gain_are_measured_together() -> None:
    data: DataSet = load_data_set("breast-cancer")
    found = {one.reference: one for one in wrong_references.tested(data, Best(1.0, 1e-5), 1, count=2)}
    assert found["good"].kept > found["noise"].kept
    assert all(abs(one.gained) < 30 and one.noise == found["good"].noise for one in found.values())
