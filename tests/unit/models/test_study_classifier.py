"""The model of a study in Python: a fitted classifier of raw tables, with the scores of ``cofit predict``."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

import cofit
from cofit.cli.main import cli
from cofit.errors import InvalidInputError, OneClassWarning
from cofit.models.study_classifier import StudyClassifier
from unit.cli.study_models import model_file
from unit.study.studies import HORIZONTAL, VERTICAL, study_of

WEIGHTS = {"age": 1.0, "group=y": 0.5, "group=z": -2.0, "w0": 0.25, "dose": 3.0, "smoker": -1.0}
ROWS = 60
RNG = np.random.default_rng(4)
FRAME = pd.DataFrame(
    {
        "w2": RNG.uniform(-1, 1, ROWS),
        "extra": [object() for _ in range(ROWS)],
        "group": [["x", "y", "z", None][i] for i in RNG.integers(4, size=ROWS)],
        "age": RNG.uniform(0, 100, ROWS),
        "w0": RNG.uniform(-1, 1, ROWS),
        "treated": RNG.random(ROWS) < 0.5,
        "dose": np.where(RNG.random(ROWS) < 0.2, np.nan, RNG.uniform(-3, 4, ROWS)),
        "smoker": RNG.random(ROWS) < 0.3,
        "w1": RNG.uniform(-1, 1, ROWS),
        "ill": RNG.choice(["no", "yes"], ROWS),
    }
)
PLAIN = FRAME.drop(columns="extra")


def classifier(path: Path) -> StudyClassifier:
    loaded = cofit.load_model(path)
    assert isinstance(loaded, StudyClassifier)
    return loaded


@pytest.fixture(params=[HORIZONTAL, VERTICAL], ids=["horizontal", "vertical"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return model_file(tmp_path, study_of(request.param), WEIGHTS, intercept=0.75)


def in_every_form(folder: Path) -> dict[str, Any]:
    """The same rows as every kind of table, with columns in other orders."""
    PLAIN.to_csv(folder / "rows.csv", index=False)
    PLAIN.to_parquet(folder / "rows.parquet")
    arrow = pa.Table.from_pandas(PLAIN, preserve_index=False)
    return {
        "pandas": FRAME,
        "pandas, columns turned round": FRAME[FRAME.columns[::-1]],
        "pandas, categories": PLAIN.astype({"group": "category"}),
        "pandas, Arrow types": PLAIN.convert_dtypes(dtype_backend="pyarrow"),
        "pandas, rows of others": PLAIN.set_index(np.arange(ROWS)[::-1]),
        "polars": pl.from_pandas(PLAIN),
        "polars, categories": pl.from_pandas(PLAIN).with_columns(pl.col("group").cast(pl.Categorical)),
        "Arrow": arrow,
        "Arrow, a batch": arrow.to_batches()[0],
        "path of CSV": folder / "rows.csv",
        "path as text": str(folder / "rows.parquet"),
    }


def test_scores_are_those_of_cofit_predict_bit_for_bit(path: Path, tmp_path: Path) -> None:
    model = classifier(path)
    for name, table in in_every_form(tmp_path).items():
        result = CliRunner().invoke(cli, ["predict", str(path), str(tmp_path / "rows.parquet")])
        told = list(csv.DictReader(result.stdout.splitlines()))
        assert model.decision_function(table).tolist() == [float(row["score"]) for row in told], name
        assert model.predict_proba(table)[:, 1].tolist() == [float(row["probability"]) for row in told], name
        assert model.predict(table).tolist() == [row["class"] for row in told], name
        assert len(set(model.predict(table))) == 2


def test_thresholds_are_those_of_cofit_predict(path: Path, tmp_path: Path) -> None:
    model = classifier(path)
    in_every_form(tmp_path)
    limit = float(np.median(model.predict_proba(FRAME)[:, 1]))
    command = ["predict", str(path), str(tmp_path / "rows.parquet"), "--threshold", repr(limit)]
    told = list(csv.DictReader(CliRunner().invoke(cli, command).stdout.splitlines()))
    assert model.predict(FRAME, threshold=limit).tolist() == [row["class"] for row in told]
    assert (model.predict(FRAME, threshold=limit) == "yes").sum() == ROWS // 2
    with pytest.raises(InvalidInputError, match="'threshold' parameter of predict"):
        model.predict(FRAME, threshold=1.0)


def test_it_is_a_fitted_classifier(path: Path) -> None:
    model = classifier(path)
    check_is_fitted(model)
    assert is_classifier(model)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == ["age", "dose", "smoker", "treated", "group", "w0", "w1", "w2"]
    assert model.n_features_in_ == 8
    assert "privacy" in model.certificate_.to_text()
    assert "StudyModel of 'trial'" in repr(model)
    truth = (model.predict(FRAME) == FRAME["ill"]).mean()
    assert model.score(FRAME, FRAME["ill"]) == model.score(FRAME) == pytest.approx(truth)
    with pytest.raises(
        InvalidInputError, match=r"study 'trial' was trained .* cannot be fitted again.*FrozenEstimator"
    ):
        model.fit(FRAME, FRAME["ill"])


def test_it_works_with_the_tools_of_scikit_learn(path: Path) -> None:
    model = classifier(path)
    truth = FRAME["ill"]
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.decision_function(FRAME), model.decision_function(FRAME))
    assert 0 < get_scorer("roc_auc")(model, FRAME, truth == "yes") < 1
    assert get_scorer("accuracy")(model, FRAME, truth) == model.score(FRAME, truth)
    renamed = FRAME.rename(columns={"age": "years"})
    back = FunctionTransformer(lambda table: table.rename(columns={"years": "age"}))
    pipeline = Pipeline([("names", back), ("model", model)])
    np.testing.assert_array_equal(pipeline.predict_proba(renamed), model.predict_proba(FRAME))
    frozen = make_pipeline(back, FrozenEstimator(model)).fit(renamed, truth)
    np.testing.assert_array_equal(frozen.predict(renamed), model.predict(FRAME))
    importance = permutation_importance(model, PLAIN, truth, n_repeats=2, random_state=0)
    assert importance.importances_mean.shape == (len(PLAIN.columns),)


def test_a_vector_machine_has_no_probabilities(tmp_path: Path) -> None:
    model = classifier(model_file(tmp_path, study_of(model__kind="linear_svc"), WEIGHTS))
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(FRAME)
    limit = float(np.median(model.decision_function(FRAME)))
    assert (model.predict(FRAME, threshold=limit) == "yes").sum() == ROWS // 2


def test_one_class_for_many_rows_is_warned_of(tmp_path: Path) -> None:
    study = study_of(data__features=[{"name": "age", "type": "number", "lower": 0, "upper": 100}])
    model = classifier(model_file(tmp_path, study, {"age": 1.0}))
    with pytest.warns(OneClassWarning, match="All 100 rows are predicted to be of the class 'yes'"):
        model.predict(pd.DataFrame({"age": [90.0] * 100}))


BAD: dict[str, tuple[Any, str]] = {
    "beyond bounds": (FRAME.assign(age=4711.0), "column 'age' must hold numbers from 0 to 100 in every row"),
    "unknown category": (FRAME.assign(group="q-4711"), "column 'group' must hold one of x, y, z, or be missing"),
    "no number": (FRAME.assign(w1="4711 mg"), "column 'w1' must hold numbers from -1 to 1 in every row"),
    "missing": (FRAME.assign(w0=[np.nan] + [0.4711] * (ROWS - 1)), "column 'w0' must hold numbers from -1 to 1"),
    "date": (FRAME.assign(age=pd.Timestamp(2011, 4, 7)), "column 'age' must hold numbers"),
    "two columns": (FRAME.assign(age=-1.0, smoker="4711"), "'age' must .*; column 'smoker' must hold true or false"),
    "different types": (FRAME.assign(age=[4711, "old"] * (ROWS // 2)), "Column 'age' of the table holds values of"),
    "column left out": (FRAME.drop(columns=["age", "w1"]), r"Missing, or there more than once: \['age', 'w1'\]"),
    "column twice": (pd.concat([PLAIN, PLAIN[["age"]]], axis=1), r"Missing, or there more than once: \['age'\]"),
    "no rows": (PLAIN[:0], "has no rows"),
    "array": (np.zeros((3, 8)), r"must be a table with named columns .*Got ndarray instead\. Name its columns"),
    "lazy": (pl.LazyFrame({"age": [1.0]}), r"Got LazyFrame instead\. Call its collect\(\) first"),
    "nothing": (None, "Got NoneType instead"),
    "no such file": ("absent.csv", "must be a file that exists"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_named_without_a_value(name: str, tmp_path: Path) -> None:
    model = classifier(model_file(tmp_path, study_of(), WEIGHTS))
    table, message = BAD[name]
    for method in (model.decision_function, model.predict, model.predict_proba, model.score):
        with pytest.raises(InvalidInputError, match=message) as caught:
            method(table)
        error = caught.value
        assert "4711" not in str(error)
        assert (error.__cause__, error.__context__) == (None, None)


def test_a_score_needs_labels_of_the_study(tmp_path: Path) -> None:
    model = classifier(model_file(tmp_path, study_of(), WEIGHTS))
    with pytest.raises(InvalidInputError, match="column 'ill', the label, must be there once"):
        model.score(FRAME.drop(columns="ill"))


def test_files_that_are_no_models(tmp_path: Path) -> None:
    whole = model_file(tmp_path, study_of(), WEIGHTS).read_text()
    path = tmp_path / "given.json"
    for content, message in (
        (whole[:-40], r"given\.json' is not valid JSON.*cut off: copy it again, or fetch it again"),
        ("", r"given\.json' is not valid JSON.*cut off"),
        ('{"kind": "certificate"}', r"'kind' field of '.*given\.json' must be .* not a model: give model\.json"),
        (json.dumps({**json.loads(whole), "version": 9}), r"given\.json: The 'version' parameter"),
    ):
        path.write_text(content)
        with pytest.raises(InvalidInputError, match=message):
            cofit.load_model(path)
    with pytest.raises(InvalidInputError, match="The model must be a file that `cofit model`"):
        cofit.load_model(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"absent\.json' does not exist"):
        cofit.load_model(tmp_path / "absent.json")
