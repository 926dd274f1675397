"""The generator has the marginals, the correlation and the signal that its documentation states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from cofit.errors import InvalidInputError
from cofit.experiments.claims import GROUP, claims


def test_equal_arguments_give_equal_data_and_another_seed_other_data() -> None:
    first, again, other = claims(200, 50), claims(200, 50), claims(200, 50, seed=2)
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.array_equal(first.features, other.features)


@pytest.mark.parametrize("density", [0.02, 0.1, 0.4])
def test_density(density: float) -> None:
    made = claims(4000, 240, density=density, seed=5)
    assert set(np.unique(made.features)) <= {0, 1}
    assert made.features.mean() == pytest.approx(density, rel=0.06)
    assert made.features.mean(axis=0).max() < 0.55


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.7])
def test_codes_of_a_group_occur_together_as_a_bivariate_normal_says_and_others_do_not(correlation: float) -> None:
    made = claims(60_000, 2 * GROUP, density=0.3, correlation=correlation, seed=3)
    x = made.features.astype(float)
    p = x.mean(axis=0)
    quantiles = norm.ppf(p)
    rng = np.random.default_rng(8)
    common, own = rng.standard_normal((2, 400_000)), rng.standard_normal((2, 400_000))
    for i, j in ((0, 1), (2, 9), (0, GROUP), (3, 2 * GROUP - 1)):
        together = (x[:, i] * x[:, j]).mean()
        same = i // GROUP == j // GROUP
        first = np.sqrt(correlation) * common[0] + np.sqrt(1 - correlation) * own[0]
        second = np.sqrt(correlation) * common[0 if same else 1] + np.sqrt(1 - correlation) * own[1]
        expected = ((first < quantiles[i]) & (second < quantiles[j])).mean()
        assert together == pytest.approx(expected, abs=0.008)


def test_the_planted_weights_predict_and_without_signal_nothing_does() -> None:
    made = claims(6000, 300, seed=4)
    scores = made.features @ made.planted
    assert ((scores > np.quantile(scores, 0.6)) == made.labels).mean() > 0.85
    silent = claims(6000, 300, signal=0.0, seed=4)
    scores = silent.features @ silent.planted
    assert abs(np.corrcoef(scores, silent.labels)[0, 1]) < 0.05


def test_informative_groups_and_prevalence() -> None:
    made = claims(5000, 600, informative=0.1, prevalence=0.25, seed=6)
    weighted = made.planted.reshape(-1, GROUP)
    assert (weighted == weighted[:, :1]).all()
    assert (weighted[:, 0] != 0).sum() == 5
    assert made.labels.mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", 0),
        ("cols", 0),
        ("cols", 1 << 40),
        ("density", 0.0),
        ("density", 0.6),
        ("correlation", 1.0),
        ("correlation", -0.1),
        ("informative", 0.0),
        ("signal", -1.0),
        ("prevalence", 1.0),
        ("seed", -1),
    ],
)
def test_bad_settings_are_named(name: str, value: float) -> None:
    with pytest.raises(InvalidInputError, match=f"'{name}' parameter"):
        claims(**{"rows": 10, "cols": 5, name: value})  # type: ignore[arg-type]
