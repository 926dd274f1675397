"""The forecast for a released model: its own setting first, from rows that are not private, the same every time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cofit.errors import InvalidInputError
from cofit.experiments.public_rows import PublicRows
from cofit.experiments.utility import EPSILONS
from cofit.report.accuracy_forecast import (
    AccuracyForecast,
    NoForecast,
    forecast_on_made_up_rows,
    forecast_on_sample,
)
from cofit.report.sample import load_sample
from cofit.study.problems import TableError
from unit.cli.study_models import model_of
from unit.report.models import DESCENTS, MECHANISMS, descended, planned, released
from unit.study.studies import study_of

FEATURES = [{"name": "age", "type": "number", "lower": 0, "upper": 100}]


def easy_rows(count: int = 600, cols: int = 5, seed: int = 0) -> PublicRows:
    """The first column decides."""
    x = np.random.default_rng(seed).uniform(-0.5, 1, (count, cols))
    return PublicRows(x, (x[:, 0] > 0.25).astype(np.int64), "a made-up sample", given=True)


@pytest.mark.parametrize("loss", ["logistic", pytest.param("huber_hinge", marks=pytest.mark.slow)])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_model_of_the_paper(mechanism: str, loss: str) -> None:
    model = released(planned(mechanism=mechanism, loss=loss, epsilon=2.5, l2=0.1))
    found = forecast_on_sample(model, easy_rows())
    assert isinstance(found, AccuracyForecast)
    assert [curve.label for curve in found.curves] == ["paper, l2 = 0.1", "best"]
    own, best = found.curves
    assert (own.l2, best.l2) == (0.1, None)
    assert own.delta == best.delta == MECHANISMS[mechanism]
    assert set(own.epsilons) == {*EPSILONS, 2.5}
    assert own.median[0] < own.median[-1] - 0.05
    assert found.asked == own.at(2.5)
    assert all(low <= middle <= high for low, middle, high in zip(own.low, own.median, own.high, strict=True))
    assert (found.trained_on, found.held_out) == (400, 180)


@pytest.mark.parametrize(
    "kind", [k if k in ("level, centred", "pure") else pytest.param(k, marks=pytest.mark.slow) for k in DESCENTS]
)
def test_a_model_of_noisy_descent(kind: str) -> None:
    found = forecast_on_sample(descended(**DESCENTS[kind]), easy_rows())
    assert isinstance(found, AccuracyForecast)
    assert [curve.label for curve in found.curves] == ["best", "paper, l2 = 1"]
    assert found.asked is not None
    assert found.curves[0].delta == DESCENTS[kind].get("delta", 1e-6)
    assert found.curves[0].median[-1] > found.curves[0].median[0]


@pytest.mark.slow
def test_the_noise_is_that_of_the_study_not_of_the_sample() -> None:
    """A study of forty times the rows has a fortieth of the noise, with the same sample."""
    for models in (
        [released(planned(rows=rows)) for rows in (200, 8_000)],
        [descended(rows=rows, epsilon=0.5) for rows in (200, 8_000)],
    ):
        few, many = (forecast_on_sample(model, easy_rows()) for model in models)
        assert isinstance(few, AccuracyForecast)
        assert isinstance(many, AccuracyForecast)
        assert many.curves[0].median[0] > few.curves[0].median[0] + 0.1
        assert "with replacement" in many.notes[0]
        assert "without replacement" in few.notes[0]


@pytest.mark.slow
def test_made_up_rows_are_as_many_as_the_study_had() -> None:
    for model in (released(planned(rows=300, cols=40)), descended(rows=300, cols=40)):
        found = forecast_on_made_up_rows(model)
        assert isinstance(found, AccuracyForecast)
        assert (found.trained_on, found.held_out) == (300, 1000)
        assert found == forecast_on_made_up_rows(model)


@pytest.mark.parametrize(("rows", "cols", "why"), [(50_000, 3, "50,000 rows"), (4000, 2001, "2,001 columns")])
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


def test_an_epsilon_that_has_no_plan_is_left_out() -> None:
    found = forecast_on_sample(released(planned(mechanism="gaussian", epsilon=100.0)), easy_rows())
    assert isinstance(found, AccuracyForecast)
    assert found.asked is None or 100.0 in found.curves[0].epsilons
    assert 100.0 not in found.curves[1].epsilons
    assert any("nothing was simulated at epsilon = 100" in note for note in found.notes)


def test_a_sample_serves_large_studies_of_the_paper() -> None:
    """Noisy descent would train on as many rows as the study has; the minimiser needs the sample alone."""
    found = forecast_on_sample(released(planned(10**6, mechanism="gaussian", l2=0.1)), easy_rows())
    own, best = found.curves
    assert own.high[-1] - own.low[-1] < 0.02
    assert best.epsilons == ()
    assert any("1,000,000 rows" in note for note in found.notes)


# --- samples ---------------------------------------------------------------------------------------------


def test_a_sample_for_a_study(tmp_path: Path) -> None:
    model = model_of(study_of(data__features=FEATURES), {"age": 1.0})
    path = tmp_path / "sample.csv"
    lines = [f"{age},{'yes' if age > 50 else 'no'}" for age in range(100)]
    path.write_text("age,ill\n" + "\n".join(lines) + "\n")
    rows = load_sample(path, model)
    assert rows.features.shape == (100, 1)
    assert rows.labels.sum() == 49
    assert rows.given
    assert "sample.csv, 100 rows" in rows.origin
    found = forecast_on_sample(model, rows)
    assert isinstance(found, AccuracyForecast)
    assert found.without_privacy > 0.7
    path.write_text("height,ill\n" + "\n".join(lines) + "\n")
    with pytest.raises(TableError, match=r"sample\.csv' does not fit the model\..*\n.*column 'age' is missing"):
        load_sample(path, model)
    path.write_text("age,sick\n" + "\n".join(lines) + "\n")
    with pytest.raises(TableError, match=r"sample\.csv' does not fit the model\..*\n.*column 'ill', the label"):
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
        forecast_on_sample(released(planned()), rows)
