"""Rows in coordinates of their own: the same geometry, and the same law of every method's scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import ks_2samp

from cofit.baselines.as_published import AsPublished, AveragedAsPublished, FederatedAsPublished
from cofit.baselines.averaged import Jayaraman, Pathak
from cofit.baselines.averaged_in_mpc import average_in_mpc
from cofit.baselines.central import CentralNoPrivacy, CentralOutput
from cofit.baselines.central_objective import CentralObjective
from cofit.baselines.federated_dpsgd import FederatedDPSGD
from cofit.baselines.federated_objective import FederatedObjective
from cofit.baselines.federated_output import FederatedOutput
from cofit.baselines.method import Method, Part, joined
from cofit.baselines.noise import KNormNoise
from cofit.baselines.perturbed import Perturbed
from cofit.baselines.registry import METHODS
from cofit.errors import InvalidInputError
from cofit.experiments.cells import AccuracyCell
from cofit.experiments.coordinates import UnitRows, in_coordinates, unit_rows
from cofit.experiments.datasets import DataSet
from cofit.experiments.measure import measure

Reals = npt.NDArray[np.float64]
RNG = np.random.default_rng(4)
WIDE = np.abs(RNG.normal(size=(12, 60))) + RNG.normal(size=(12, 1))
WIDE[3] = 0
WIDE[7] = WIDE[2]
LABELS = np.arange(12) % 2
NOISY: list[Method] = [
    CentralOutput(1.0, l2=0.1),
    CentralOutput(1.0, 1e-5, l2=0.1, mechanism="gaussian"),
    CentralObjective(1.0, 1e-5),
    FederatedOutput(1.0, l2=0.1),
    FederatedObjective(1.0, l2=0.1),
    FederatedDPSGD(1.0, 1e-5, epochs=5),
    Pathak(1.0, l2=0.1),
    Jayaraman(1.0, l2=0.1),
    AsPublished(1.0),
    FederatedAsPublished(1.0),
]
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
    NOISY,
    ids=lambda method: f"{method.name} {getattr(method, 'mechanism', '')}",
)
def test_scores_have_the_same_law(method: Method) -> None:
    draws = DRAWS if method.name != FederatedObjective.name else DRAWS // 4  # each of them is a training
    every = _scores(method, UnitRows(unit_rows(WIDE), 0), draws, 1)
    own = _scores(method, in_coordinates(WIDE), draws, 2)
    for row in range(2):
        assert ks_2samp(every[:, row], own[:, row]).pvalue > LEAST


def test_no_method_is_left_out() -> None:
    special = {AveragedAsPublished.name}
    assert {method.name for method in NOISY} | {CentralNoPrivacy.name} | special == set(METHODS)
    assert all(method.turns for method in NOISY)


def test_a_method_with_special_directions_gets_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    data = DataSet("wide", "wide", "", WIDE, LABELS)
    seen: list[tuple[tuple[int, ...], int]] = []
    original = AveragedAsPublished.train

    def train(self: AveragedAsPublished, parts: Sequence[Part]) -> Perturbed:
        seen.extend((part.features.shape, part.unseen) for part in parts)
        return original(self, parts)

    monkeypatch.setattr(AveragedAsPublished, "train", train)
    method = AveragedAsPublished(1.0, columns=60)
    assert not method.turns
    result = measure(AccuracyCell("wide", method, owners=2, folds=3, fold=0, draws=3, seed=1), data)
    assert len(result["accuracies"]) == 3
    assert seen == [((4, 60), 0)] * 2
    unit = in_coordinates(WIDE)
    with pytest.raises(InvalidInputError, match="'columns'"):
        AveragedAsPublished(1.0, columns=12).train([Part(unit.rows, LABELS, unit.unseen)])


def test_parts_of_other_columns_are_not_joined() -> None:
    part = Part(unit_rows(WIDE), LABELS)
    with pytest.raises(InvalidInputError, match="same columns"):
        joined([part, replace(part, unseen=3)])


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
