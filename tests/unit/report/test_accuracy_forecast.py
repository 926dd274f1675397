"""The forecast of the accuracy: calibrated as the certificate, from rows that are not private, the same every time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.report.accuracy_forecast import (
    COMPARISON_DELTA,
    EPSILONS,
    MOST_COLS,
    AccuracyForecast,
    NoForecast,
    Rows,
    forecast_accuracy,
    forecast_on_made_up_rows,
    made_up_rows,
    noise_scale,
    scaled_rows,
)
from cofit.report.sample import load_sample
from unit.cli.study_models import model_of
from unit.report.models import MECHANISMS, planned, released
from unit.study.studies import study_of

FEATURES = [{"name": "age", "type": "number", "lower": 0, "upper": 100}]


def easy_rows(count: int = 600, cols: int = 5, seed: int = 0) -> Rows:
    """The first column decides."""
    x = np.random.default_rng(seed).uniform(-1, 1, (count, cols))
    return Rows(x, (x[:, 0] > 0).astype(np.int64), "a made-up sample")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_at_the_released_epsilon_the_noise_is_the_certificates(mechanism: str) -> None:
    certificate = released(planned(mechanism=mechanism, epsilon=0.7)).certificate
    found = noise_scale(certificate, mechanism, 0.7, certificate.delta)
    assert found == pytest.approx(float(certificate.noise_scale), rel=2e-3)


@pytest.mark.parametrize("loss", ["logistic", "huber_hinge"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_more_epsilon_more_accuracy(mechanism: str, loss: str) -> None:
    model = released(planned(mechanism=mechanism, loss=loss, epsilon=2.5, l2=0.1))
    found = forecast_accuracy(model, easy_rows())
    assert isinstance(found, AccuracyForecast)
    assert [curve.mechanism for curve in found.curves] == ([mechanism] + ["gaussian"] * (mechanism != "gaussian"))
    assert found.curves[-1].delta == float(COMPARISON_DELTA)
    first = found.curves[0]
    assert set(first.epsilons) == {*EPSILONS, 2.5}
    assert first.median[0] < first.median[-1] - 0.05
    assert found.without_noise > 0.9
    assert first.median[-1] == pytest.approx(found.without_noise, abs=0.02)
    assert found.at_release == first.median[first.epsilons.index(2.5)]
    assert all(low <= middle <= high for low, middle, high in zip(first.low, first.median, first.high, strict=True))
    assert (found.trained_on, found.held_out) == (420, 180)


def test_the_noise_is_that_of_the_study_not_of_the_sample() -> None:
    """A study of ten times the rows has a tenth of the noise, with the same sample."""
    few, many = (forecast_accuracy(released(planned(rows=rows)), easy_rows()) for rows in (200, 20_000))
    assert isinstance(few, AccuracyForecast)
    assert isinstance(many, AccuracyForecast)
    assert few.without_noise == many.without_noise
    assert many.curves[0].median[0] > few.curves[0].median[0] + 0.1


def test_made_up_rows_are_as_many_as_the_study_had() -> None:
    model = released(planned(rows=300, cols=40))
    rows = made_up_rows(model)
    assert isinstance(rows, Rows)
    assert rows.features.shape == (1300, 40)
    found = forecast_on_made_up_rows(model)
    assert isinstance(found, AccuracyForecast)
    assert (found.trained_on, found.held_out) == (300, 1000)
    assert found == forecast_on_made_up_rows(model)


@pytest.mark.parametrize(("rows", "cols", "why"), [(5000, 3, "5,000 rows"), (400, MOST_COLS + 1, "2,001 columns")])
def test_beyond_the_cap_there_is_none(rows: int, cols: int, why: str) -> None:
    found = forecast_on_made_up_rows(released(planned(rows, cols)))
    assert isinstance(found, NoForecast)
    assert why in found.reason
    assert "--sample" in found.reason


def test_very_small_studies() -> None:
    assert isinstance(
        forecast_on_made_up_rows(released(planned(2, 1, allow_unproven=True))), NoForecast | AccuracyForecast
    )
    assert isinstance(forecast_on_made_up_rows(released(planned(300, 1, fit_intercept=False))), AccuracyForecast)


def test_extreme_epsilons_are_on_the_curve() -> None:
    model = released(planned(mechanism="laplace"))
    for epsilon in (Fraction(1, 1000), Fraction(1000)):
        certificate = replace(model.certificate, epsilon=epsilon, proven=False, warnings=("made up",))
        found = forecast_accuracy(replace(model, certificate=certificate), easy_rows())
        assert isinstance(found, AccuracyForecast)
        assert float(epsilon) in found.curves[0].epsilons


@pytest.mark.parametrize("facts", [{}, {"fit_intercept": False}, {"partition": "vertical", "norm_floor": 0.5}])
def test_rows_are_scaled_as_the_model_scales_them(facts: dict[str, object]) -> None:
    model = released(planned(**facts))  # type: ignore[arg-type]
    rows = np.vstack([easy_rows(50).features, np.zeros(5), np.full(5, 0.01)])
    weights = np.append(model.coef, model.intercept / model.constant) if model.constant else np.array(model.coef)
    assert scaled_rows(model, rows) @ weights == pytest.approx(model.decision_function(rows), rel=1e-12, abs=1e-15)


# --- samples ---------------------------------------------------------------------------------------------


def test_a_sample_for_a_study(tmp_path: Path) -> None:
    model = model_of(study_of(data__features=FEATURES), {"age": 1.0})
    path = tmp_path / "sample.csv"
    lines = [f"{age},{'yes' if age > 50 else 'no'}" for age in range(100)]
    path.write_text("age,ill\n" + "\n".join(lines) + "\n")
    rows = load_sample(path, model)
    assert rows.features.shape == (100, 1)
    assert rows.labels.sum() == 49
    assert "sample.csv, 100 rows" in rows.origin
    found = forecast_accuracy(model.model, rows)
    assert isinstance(found, AccuracyForecast)
    assert found.without_noise > 0.7
    path.write_text("height,ill\n" + "\n".join(lines) + "\n")
    with pytest.raises(InvalidInputError, match="column 'age' is missing"):
        load_sample(path, model)


def test_a_sample_for_a_plain_model(tmp_path: Path) -> None:
    model, rows = released(planned()), easy_rows()
    for labels in (rows.labels, np.where(rows.labels == 1, "yes", "no")):
        np.savez(tmp_path / "sample.npz", X=rows.features, y=labels)
        found = load_sample(tmp_path / "sample.npz", model)
        assert (found.features == rows.features).all()
        assert (found.labels == rows.labels).all()


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"X": np.zeros((50, 4)), "y": np.zeros(50)}, "5 columns"),
        ({"X": np.zeros((50, 5)), "y": np.zeros(49)}, "one label for each"),
        ({"X": np.full((50, 5), np.nan), "y": np.zeros(50)}, "finite"),
        ({"X": np.zeros((50, 5)), "y": np.full(50, 7)}, "no and yes, or 0 and 1"),
        ({"X": np.zeros((50, 5))}, "X and y"),
        ({"X": np.zeros((9, 5)), "y": np.zeros(9)}, "at least 40 rows"),
        ({"X": np.full((50, 5), "a"), "y": np.zeros(50)}, "numbers"),
    ],
)
def test_a_sample_that_does_not_fit(
    arrays: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]], why: str, tmp_path: Path
) -> None:
    path = tmp_path / "sample.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=why):
        load_sample(path, released(planned()))


def test_no_npz_file(tmp_path: Path) -> None:
    (tmp_path / "sample.npz").write_text("no zip")
    (tmp_path / "sample.csv").write_text("a,b\n")
    for name in ("sample.npz", "sample.csv", "missing.npz"):
        with pytest.raises(InvalidInputError, match="npz"):
            load_sample(tmp_path / name, released(planned()))


def test_one_class_is_refused() -> None:
    rows = replace(easy_rows(), labels=np.zeros(600, dtype=np.int64))
    with pytest.raises(InvalidInputError, match="both classes"):
        forecast_accuracy(released(planned()), rows)
