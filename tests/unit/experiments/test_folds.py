"""Folds and owners partition the rows, keep persons together, and come from the seed."""

from __future__ import annotations

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.experiments.datasets import DataSet
from cofit.experiments.folds import among_owners, folds

RNG = np.random.default_rng(1)
LABELS = RNG.integers(0, 2, 100)
PERSONS = RNG.integers(0, 40, 100)


def _data(*, grouped: bool) -> DataSet:
    return DataSet("d", "d", "", np.ones((100, 1)), LABELS, PERSONS if grouped else None)


@pytest.mark.parametrize("grouped", [False, True])
def test_every_row_is_held_out_once(grouped: bool) -> None:
    made = folds(_data(grouped=grouped), 5, seed=1)
    assert sorted(np.concatenate([fold.test for fold in made]).tolist()) == list(range(100))
    for fold in made:
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(100))
        assert abs(LABELS[fold.test].mean() - LABELS.mean()) < 0.15


def test_a_persons_rows_are_never_on_both_sides() -> None:
    for fold in folds(_data(grouped=True), 5, seed=1):
        assert not set(PERSONS[fold.train]) & set(PERSONS[fold.test])
    plain = folds(_data(grouped=False), 5, seed=1)
    assert any(set(PERSONS[fold.train]) & set(PERSONS[fold.test]) for fold in plain)


def test_the_seed_decides() -> None:
    data = _data(grouped=False)
    first, again, other = (folds(data, 5, seed)[0].test.tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("owners", [1, 2, 8])
def test_owners_have_every_row_once_and_about_equally_many(grouped: bool, owners: int) -> None:
    data, rows = _data(grouped=grouped), np.arange(10, 90)
    owned = among_owners(data, rows, owners, seed=3)
    assert len(owned) == owners
    assert sorted(np.concatenate(owned).tolist()) == rows.tolist()
    sizes = [len(np.unique(PERSONS[o])) if grouped else len(o) for o in owned]
    assert max(sizes) - min(sizes) <= 1
    if grouped:
        assert sum(len(set(PERSONS[o])) for o in owned) == len(set(PERSONS[rows]))


def test_too_many_folds_or_owners() -> None:
    with pytest.raises(InvalidInputError, match="'folds'"):
        folds(_data(grouped=True), 41, seed=1)
    with pytest.raises(InvalidInputError, match="'owners'"):
        among_owners(_data(grouped=True), np.arange(100), 41, seed=1)


def test_data_that_cannot_be_divided_are_refused_with_the_reason() -> None:
    lonely = DataSet("lonely", "lonely", "", np.ones((4, 1)), np.array([0, 1, 0, 1]), np.zeros(4, dtype=np.int64))
    with pytest.raises(InvalidInputError, match="1 persons and 2 rows"):
        folds(lonely, 2, seed=1)
    rare = DataSet("rare", "rare", "", np.ones((9, 1)), np.array([0] * 6 + [1] * 3))
    with pytest.raises(InvalidInputError, match="from 2 to 3 for 'rare'"):
        folds(rare, 5, seed=1)
