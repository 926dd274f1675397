"""Rows in coordinates of their own: the same geometry, and the same law of every method's scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import ks_2samp

from cofit.baselines.averaged import Jayaraman, Pathak
from cofit.baselines.averaged_in_mpc import average_in_mpc
from cofit.baselines.central import CentralNoPrivacy, CentralOutput
from cofit.baselines.federated_dpsgd import FederatedDPSGD
from cofit.baselines.federated_objective import FederatedObjective
from cofit.baselines.federated_output import FederatedOutput
from cofit.baselines.method import Method, Part
from cofit.baselines.noise import KNormNoise
from cofit.errors import InvalidInputError
from cofit.experiments.coordinates import UnitRows, in_coordinates, unit_rows

Reals = npt.NDArray[np.float64]
RNG = np.random.default_rng(4)
WIDE = np.abs(RNG.normal(size=(12, 60))) + RNG.normal(size=(12, 1))
WIDE[3] = 0
WIDE[7] = WIDE[2]
LABELS = np.arange(12) % 2
LEAST = 1e-4
DRAWS = 400


def test_lengths_and_inner_products_stay() -> None:
    rows = unit_rows(WIDE)
    found = in_coordinates(WIDE)
    assert found.rows.shape == (12, 12)
    assert found.unseen == 48
    np.testing.assert_allclose(found.rows @ found.rows.T, rows @ rows.T, atol=1e-13)


def test_tall_data_stay_as_they_are() -> None:
    found = in_coordinates(WIDE.T)
    assert found.unseen == 0
    np.testing.assert_array_equal(found.rows, unit_rows(WIDE.T))


def _scores(method: Method, unit: UnitRows, draws: int, seed: int) -> Reals:
    """The scores of two rows that were held out, which are not in the span of those trained on."""
    parts = [Part(unit.rows[some], LABELS[some], unit.unseen) for some in (slice(0, 5), slice(5, 10))]
    return np.asarray(method.train(parts).draws(draws, np.random.default_rng(seed)) @ unit.rows[10:].T)


def test_without_noise_scores_are_equal() -> None:
    method = CentralNoPrivacy(0.1)
    every, own = (_scores(method, unit, 1, 0) for unit in (UnitRows(unit_rows(WIDE), 0), in_coordinates(WIDE)))
    np.testing.assert_allclose(every, own, atol=1e-7)


@pytest.mark.parametrize(
    "method",
    [
        CentralOutput(1.0, l2=0.1),
        CentralOutput(1.0, 1e-5, l2=0.1, mechanism="gaussian"),
        FederatedOutput(1.0, l2=0.1),
        FederatedObjective(1.0, l2=0.1),
        FederatedDPSGD(1.0, 1e-5, epochs=5),
        Pathak(1.0, l2=0.1),
        Jayaraman(1.0, l2=0.1),
    ],
    ids=lambda method: f"{method.name} {getattr(method, 'mechanism', '')}",
)
def test_scores_have_the_same_law(method: Method) -> None:
    every = _scores(method, UnitRows(unit_rows(WIDE), 0), DRAWS, 1)
    own = _scores(method, in_coordinates(WIDE), DRAWS, 2)
    for row in range(2):
        assert ks_2samp(every[:, row], own[:, row]).pvalue > LEAST


def test_noise_of_another_law_is_noticed() -> None:
    """Without the unseen columns K-norm noise is far too short."""
    method = CentralOutput(1.0, l2=0.1)
    every = _scores(method, UnitRows(unit_rows(WIDE), 0), DRAWS, 1)
    short = _scores(method, replace(in_coordinates(WIDE), unseen=0), DRAWS, 2)
    assert ks_2samp(every[:, 0], short[:, 0]).pvalue < LEAST


def test_knorm_noise_of_which_some_coordinates_are_not_made() -> None:
    noise = KNormNoise(0.5)
    every = noise.sample(20_000, 20, np.random.default_rng(1))[:, :4]
    some = noise.sample(20_000, 4, np.random.default_rng(2), unseen=16)
    assert ks_2samp(every[:, 1], some[:, 1]).pvalue > LEAST
    assert ks_2samp(np.linalg.norm(every, axis=1), np.linalg.norm(some, axis=1)).pvalue > LEAST


def test_noise_inside_the_computation_needs_all_columns() -> None:
    unit = in_coordinates(WIDE)
    parts = [Part(unit.rows[:6], LABELS[:6], unit.unseen), Part(unit.rows[6:], LABELS[6:], unit.unseen)]
    with pytest.raises(InvalidInputError, match="unseen"):
        average_in_mpc(Jayaraman(1.0), parts)
