"""Points on the sphere: mean, covariance, the law of a coordinate, and no relation between draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cofit import Z128, FixedPoint, Party, SecretArray
from cofit.sampling import sphere as module
from cofit.sampling.sphere import unit_vectors
from cofit.secret import concatenate
from statistical.sampling.checks import Values, count_of, mean_of, unrelated
from statistical.sampling.checks import draws as draws_of
from support.chance import PValues, accept, reject

FORMAT = FixedPoint(52, Z128)
AMOUNTS = [  # in d = 30: 120,000 coordinates, and more than a million
    pytest.param("clear", 4_000, id="clear"),
    pytest.param("rep3", 400, id="rep3"),
    pytest.param("rep3", 700, id="rep3-long", marks=pytest.mark.slow),
    pytest.param("clear", 34_000, id="clear-long", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
]
AT_ONCE = 500


def vectors(d: int, scheme: str, count: int) -> Values:
    """Rows are points."""

    def draw(party: Party, n: int) -> SecretArray:
        amounts = [min(AT_ONCE, n - start) for start in range(0, n, AT_ONCE)]
        return concatenate([unit_vectors(party, amount, d, FORMAT).T for amount in amounts], axis=1)

    return draws_of(draw, scheme, count).T


def battery(points: Values) -> PValues:
    """A coordinate has (x + 1) / 2 ~ Beta((d-1)/2, (d-1)/2); mean 0, variance 1/d, E x^4 = 3 / (d (d+2))."""
    count, d = points.shape
    half = (d - 1) / 2
    coordinates = {
        f"coordinate {i}": float(stats.kstest((points[:, i] + 1) / 2, "beta", (half, half)).pvalue)
        for i in {0, 1, d // 2, d - 1}
    }
    products = points[:, :-1] * points[:, 1:]
    far = points[:, : d // 2] * points[:, d // 2 : 2 * (d // 2)]
    turned = points @ np.linalg.qr(np.random.default_rng(5).normal(size=(d, d)))[0][:, 0]
    return {
        **coordinates,
        "turned": float(stats.kstest((turned + 1) / 2, "beta", (half, half)).pvalue),
        "mean": float(stats.chi2.sf(count * d * (points.mean(axis=0) ** 2).sum(), d)) if count >= 100 else 1.0,
        "next coordinates": mean_of(products.sum(axis=1), 0, ((d - 1) / (d * (d + 2))) ** 0.5),
        "halves": mean_of(far.sum(axis=1), 0, ((d // 2) / (d * (d + 2))) ** 0.5),
        "fourth": mean_of(
            (points[:, 0] ** 2), 1 / d, (3 / (d * (d + 2)) - 1 / d**2) ** 0.5
        ) if count >= 100 else 1.0,
        "signs": count_of(points < 0, 0.5) if d == 2 else count_of(points[:, 0] < 0, 0.5),
        "runs": unrelated(points[:-1, 0], points[1:, 0]),
    }  # fmt: skip


@pytest.mark.parametrize(("scheme", "count"), AMOUNTS)
@pytest.mark.parametrize("d", [3, 30])
def test_unit_vector(scheme: str, count: int, d: int) -> None:
    points = vectors(d, scheme, count if d == 30 else count // 4)  # small d takes many attempts a point
    assert np.abs((points**2).sum(axis=1) - 1).max() < 1e-13
    accept(battery(points))


def test_covariance_in_a_large_dimension() -> None:
    d = 20_000
    point = vectors(d, "clear", 1)[0]
    half = (d - 1) / 2
    accept(
        {
            "coordinates": float(stats.kstest((point + 1) / 2, "beta", (half, half)).pvalue),
            "fourth": mean_of((point * d**0.5) ** 4, 3, 96**0.5),
            "neighbours": unrelated(point[:-1], point[1:]),
            "halves": unrelated(point[: d // 2], point[d // 2 :]),
        }
    )


def test_two_dimensions() -> None:
    points = vectors(2, "clear", 20_000)
    angle = np.arctan2(points[:, 1], points[:, 0]) / (2 * np.pi) % 1
    accept({"angle": stats.kstest(angle, "uniform").pvalue, "next": unrelated(angle[:-1], angle[1:])})


def test_one_dimension() -> None:
    signs = vectors(1, "clear", 20_000)[:, 0]
    accept({"signs": count_of(signs > 0, 0.5), "pairs": count_of(signs[:-1] == signs[1:], 0.5)})


def test_a_point_of_the_cube_is_noticed() -> None:
    points = np.random.default_rng(3).uniform(-1, 1, size=(50_000, 3))
    reject(battery(points / np.linalg.norm(points, axis=1)[:, None]))


def test_choosing_by_a_coordinate_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice among several vectors must depend on norms only."""
    take = module._first_of_ample_norm

    def wrong(found: SecretArray, squares: SecretArray) -> tuple[SecretArray, SecretArray]:
        first = found[:, :, 0].multiply(found[:, :, 0], squares.format.fraction_bits)
        chosen, _ = take(found, first)
        norms = chosen.multiply(chosen, squares.format.fraction_bits).sum(axis=2)
        return chosen, norms.reshape(*norms.shape, 1)

    monkeypatch.setattr(module, "_first_of_ample_norm", wrong)
    reject(battery(vectors(3, "clear", 1000)))


def test_wrong_versions_are_noticed() -> None:
    points = vectors(3, "clear", 500)
    reject(battery(np.abs(points)))
    reject(battery(points * 0.5))
