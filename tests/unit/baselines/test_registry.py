"""The methods by name, and what all of them have in common."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cofit.baselines.as_published import AveragedAsPublished
from cofit.baselines.central_objective import CentralObjective
from cofit.baselines.federated_dpsgd import FederatedDPSGD
from cofit.baselines.method import Method
from cofit.baselines.registry import METHODS
from cofit.errors import InvalidInputError
from unit.baselines.neighbours import random_part

COLUMNS = 5


def made(kind: type[Method]) -> Method:
    if kind is FederatedDPSGD:
        return FederatedDPSGD(1.0, 1e-3, epochs=2)
    if kind is CentralObjective:
        return CentralObjective(1.0, 1e-3)
    if kind is AveragedAsPublished:
        return AveragedAsPublished(1.0, COLUMNS)
    needed = [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING]  # type: ignore[arg-type]
    return kind(**dict.fromkeys(needed, 1.0))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_trains_and_draws(name: str) -> None:
    method = made(METHODS[name])
    rng = np.random.default_rng(0)
    owners = [random_part(rng, rows, COLUMNS) for rows in (40, 40)]
    trained = method.train(owners)
    first, again = (trained.draws(3, np.random.default_rng(1)) for _ in range(2))
    assert first.shape == (3, COLUMNS)
    assert np.isfinite(first).all()
    assert (first == again).all(), "the same seed, the same releases"
    assert name == "central" or len(np.unique(first[:, 0])) == 3
    assert trained.draws(0, rng).shape == (0, COLUMNS)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_frozen_has_a_title_and_says_why(name: str) -> None:
    method = made(METHODS[name])
    assert method.name == name
    assert method.title
    guarantee = method.guarantee([40, 30])
    assert guarantee.why.endswith(".")
    assert guarantee.epsilon is None or guarantee.epsilon > 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(method, dataclasses.fields(method)[0].name, 2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("sizes", [[], [10, 0]])
def test_owners_without_rows_are_refused(name: str, sizes: list[int]) -> None:
    with pytest.raises(InvalidInputError, match="at least one row"):
        made(METHODS[name]).guarantee(sizes)


WITHOUT_L2 = {"as-published", "federated-as-published", "federated-dpsgd", "central-objective"}


@pytest.mark.parametrize("name", sorted(set(METHODS) - WITHOUT_L2))
def test_a_penalty_that_is_not_positive_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="l2"):
        dataclasses.replace(made(METHODS[name]), l2=0.0)  # type: ignore[type-var]


def test_the_true_epsilon_of_what_was_published() -> None:
    assert made(METHODS["as-published"]).guarantee([800, 913]).epsilon == pytest.approx(1713, rel=1e-5)
    assert made(METHODS["federated-as-published"]).guarantee([800, 913]).epsilon == pytest.approx(913, rel=1e-5)
    averaged = AveragedAsPublished(1.0, 1874).guarantee([856, 857]).epsilon
    assert averaged is not None
    assert averaged == pytest.approx(1874**0.5 * 0.659, rel=1e-3)
    assert AveragedAsPublished(1.0, 1874, source="pathak").guarantee([856, 857]).epsilon == pytest.approx(averaged / 2)


def test_with_a_delta_the_wrong_norm_costs_less() -> None:
    """As normal noise of that standard deviation, whatever the number of columns."""
    few, many = (AveragedAsPublished(1.5, columns, delta=1e-5).guarantee([50]).epsilon for columns in (2, 10**6))
    assert few is not None
    assert many is not None
    assert few == pytest.approx(1.5 * 0.659 * 2**0.5, rel=1e-3)
    assert few < many < 5
