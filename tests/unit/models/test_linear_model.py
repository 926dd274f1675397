from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cofit.errors import InvalidInputError, OtherReleaseWarning, ShapeError
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.planning import plan_minimiser
from cofit.models.linear_model import LinearModel
from cofit.models.model_files import load_model
from cofit.roles.local.tables import OwnerTable
from cofit.roles.local.training import TrainingRun, run_training
from support.facts import paper_facts

RNG = np.random.default_rng(11)
X = RNG.uniform(-1, 1, (40, 3))
Y = (X[:, 0] + 0.3 > 0).astype(np.int64)
HOSTILE = np.array(
    [[0.0, 0.0, 0.0], [1e300, -1e300, 2e299], [1e-300, 1e-300, 0.0], [5e-324, 0.0, 0.0], [-0.01, 0.02, 0.0]]
)


def run(partition: str = "horizontal", **facts: Any) -> TrainingRun:
    facts = {"epsilon": 100.0, "mechanism": "laplace", "scheme": "clear", "partition": partition, **facts}
    plan = plan_minimiser(paper_facts(*X.shape, **facts))
    if partition == "horizontal":
        return run_training(plan, {"a": OwnerTable(X, Y)})
    blocks = {"a": OwnerTable(X[:, :1], Y), "b": OwnerTable(X[:, 1:])}
    return run_training(plan, blocks)


@pytest.fixture(scope="module")
def model() -> LinearModel:
    return LinearModel.from_training(run(), ["healthy", "ill"], ["age", "dose", "weight"])


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"intercept_scaling": 0.25},
        {"fit_intercept": False},
        {"normalised_by": "parties", "feature_bound": 2.0, "intercept_scaling": 0.5},
        {"normalised_by": "parties", "feature_bound": 4.0, "fit_intercept": False, "norm_floor": 0.125},
        {"partition": "vertical"},
        {"loss": "huber_hinge"},
    ],
    ids=str,
)
def test_the_score_is_that_of_the_row_as_normalised_in_training(facts: dict[str, Any]) -> None:
    result = run(**facts)
    model = LinearModel.from_training(result, (0, 1))
    assert model.loss == result.plan.facts.loss
    assert isinstance(result.plan, MinimiserPlan)
    for rows in (X, np.zeros((1, 3)), X * 1e-3):
        expected = result.plan.comparable_rows(rows) @ result.weights
        np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("facts", [{}, {"fit_intercept": False}, {"normalised_by": "parties", "fit_intercept": False}])
def test_rows_of_any_size_have_a_finite_score(facts: dict[str, Any]) -> None:
    result = run(**facts)
    model = LinearModel.from_training(result, (0, 1))
    scores = model.decision_function(HOSTILE)
    assert np.isfinite(scores).all()
    assert (np.abs(scores) <= np.linalg.norm(result.weights) * (1 + 1e-12)).all()
    unit = HOSTILE[1] / np.linalg.norm(HOSTILE[1] / 1e300) / 1e300
    assert scores[1] == pytest.approx(float(unit @ result.weights[:3]), rel=1e-9)
    if not result.plan.facts.fit_intercept:
        assert scores[0] == 0


def test_predictions(model: LinearModel) -> None:
    scores = model.decision_function(X)
    assert model.predict(X).tolist() == ["ill" if score > 0 else "healthy" for score in scores]
    proba = model.predict_proba(X)
    assert proba.shape == (40, 2)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-15)
    assert model.predict(X.tolist()).tolist() == model.predict(X.astype(object)).tolist()
    assert model.predict(np.zeros((0, 3))).tolist() == []


def test_a_support_vector_machine_has_no_probabilities() -> None:
    model = LinearModel.from_training(run(loss="huber_hinge"), (False, True))
    assert model.predict(X).dtype == np.bool_
    with pytest.raises(InvalidInputError, match="no probabilities"):
        model.predict_proba(X)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1.0, 2.0, 3.0], r"The 'X' parameter of predict must be a table .*shape \(3,\)"),
        ([[1.0, 2.0]], "a table with 3 columns. Got '2 columns'"),
        ([[1.0, 2.0, 3.0], [1.0, float("nan"), 3.0]], r"Row 1, column 1 \('dose'\) of X is not a finite number"),
        ([[1.0, 2.0, float("inf")]], r"Row 0, column 2 \('weight'\)"),
        ([[1.0, 2.0, "3"]], r"Row 0, column 2 \('weight'\)"),
        ([[1.0, None, 3.0]], r"Row 0, column 1 \('dose'\)"),
        ([[1.0, 2.0, 10**400]], r"Row 0, column 2 \('weight'\)"),
        ([[1.0, 2j, 3.0]], r"column 0|column 1"),
        (np.array([["2020-01-01"] * 3], dtype="datetime64[D]"), r"Row 0, column 0 \('age'\)"),
        ("abc", "shape"),
    ],
    ids=str,
)
def test_bad_rows_are_named(model: LinearModel, rows: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        model.predict(rows)


def test_named_columns_must_be_those_of_training(model: LinearModel) -> None:
    class Frame:
        def __init__(self, columns: list[str]) -> None:
            self.columns = columns

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array(X, dtype=dtype)

    assert model.predict(Frame(["age", "dose", "weight"])).tolist() == model.predict(X).tolist()
    with pytest.raises(ShapeError, match=r"with the columns .'age', 'dose', 'weight'.. Got .'dose', 'age'"):
        model.predict(Frame(["dose", "age", "weight"]))


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (-1.5, 2.0), (False, True)])
def test_round_trip(model: LinearModel, classes: Any, tmp_path: Path) -> None:
    model = replace(model, classes=classes, feature_names=None)
    again = LinearModel.from_json(model.to_json())
    assert again == model
    assert [type(label) for label in again.classes] == [type(label) for label in classes]
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json") == LinearModel.load(str(tmp_path / "model.json")) == model


def test_a_folder_that_is_not_there_is_named_with_the_remedy(model: LinearModel, tmp_path: Path) -> None:
    path = tmp_path / "absent" / "model.json"
    with pytest.raises(InvalidInputError) as info:
        model.save(str(path))
    assert str(info.value) == (
        f"The model cannot be written to '{path}': there is no folder '{path.parent}'. Make it, or choose another name."
    )
    with pytest.raises(InvalidInputError, match=f"The model cannot be written to '{tmp_path}': Is a directory"):
        model.save(tmp_path)


def test_a_model_is_frozen_and_its_repr_short(model: LinearModel) -> None:
    with pytest.raises(FrozenInstanceError):
        model.intercept = 0.0  # type: ignore[misc]
    assert repr(model) == "<LinearModel, logistic, 3 features, classes ('healthy', 'ill')>"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"version": 1}, "version"),
    ({"version": True}, "version"),
    ({"kind": "something"}, "kind"),
    ({"extra": 1}, "extra"),
    ({"loss": "squared"}, "loss"),
    ({"loss": 3}, "loss"),
    ({"loss": "huber_hinge"}, "certificate"),
    ({"classes": [1]}, "classes"),
    ({"classes": ["a", "a"]}, "classes"),
    ({"classes": [0, 1.0]}, "classes"),
    ({"classes": [None, 1]}, "classes"),
    ({"classes": [0.0, float("nan")]}, "classes"),
    ({"classes": [0, 1 << 63]}, "classes"),
    ({"classes": "ab"}, "classes"),
    ({"coef": []}, "coef"),
    ({"coef": [1.0, 2.0]}, "coef"),
    ({"coef": [1.0, 2.0, "3"]}, r"coef\[2\]"),
    ({"coef": [1.0, 2, 3.0]}, r"coef\[1\]"),
    ({"coef": [1.0, float("inf"), 3.0]}, r"coef\[1\]"),
    ({"coef": {"a": 1.0}}, "coef"),
    ({"intercept": float("nan")}, "intercept"),
    ({"intercept": None}, "intercept"),
    ({"constant": -1.0}, "constant"),
    ({"constant": 0.0}, "intercept"),
    ({"constant": 0.0, "intercept": 0.0}, "coef"),
    ({"norm_floor": -0.5}, "norm_floor"),
    ({"norm_floor": True}, "norm_floor"),
    ({"feature_names": ["a", "b"]}, "feature_names"),
    ({"feature_names": ["a", "b", 3]}, "feature_names"),
    ({"feature_names": "abc"}, "feature_names"),
    ({"certificate": "none"}, "certificate"),
]


@pytest.mark.parametrize(("change", "field"), BAD, ids=str)
def test_a_bad_field_is_named(model: LinearModel, change: dict[str, Any], field: str) -> None:
    text = json.dumps({**json.loads(model.to_json()), **change})
    with pytest.raises(InvalidInputError, match=f"'{field}'"):
        LinearModel.from_json(text)


@pytest.mark.parametrize("field", ["kind", "version", "loss", "classes", "coef", "constant", "certificate"])
def test_a_missing_field_is_named(model: LinearModel, field: str) -> None:
    fields = json.loads(model.to_json())
    del fields[field]
    with pytest.raises(InvalidInputError, match=f"'{field}'"):
        LinearModel.from_json(json.dumps(fields))


def test_a_certificate_that_contradicts_itself_is_refused(model: LinearModel) -> None:
    fields = json.loads(model.to_json())
    fields["certificate"]["statement"]["noise_scale"] = {"exact": "1/1000000000", "float": 1e-9}
    with pytest.raises(InvalidInputError, match="releases"):
        LinearModel.from_json(json.dumps(fields))


@pytest.mark.parametrize(("field", "value"), [("constant", 0.5), ("norm_floor", 0.25)])
def test_numbers_that_the_plan_does_not_give_are_refused(model: LinearModel, field: str, value: float) -> None:
    text = json.dumps({**json.loads(model.to_json()), field: value})
    with pytest.raises(InvalidInputError, match=f"'{field}' .* which follows from its certificate"):
        LinearModel.from_json(text)


def test_a_model_of_another_release_is_read_with_a_warning(model: LinearModel, tmp_path: Path) -> None:
    """Whoever changes a fact is refused, unless the file says that another release made it: then nothing is claimed."""
    document = json.loads(model.to_json())
    document["certificate"]["facts"]["tolerance"] = "1/50"
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match=r"model\.json: The '.*' parameter of a certificate must be"):
        load_model(path)
    document["certificate"]["cofit_version"] = "9.9"
    path.write_text(json.dumps(document))
    with pytest.warns(OtherReleaseWarning, match=r"written by cofit 9\.9; this is cofit .* not derived again"):
        again = load_model(path)
    assert isinstance(again, LinearModel)
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_a_model_of_an_older_format_names_the_release_to_use(model: LinearModel) -> None:
    text = json.dumps({**json.loads(model.to_json()), "version": 3})
    version = model.certificate.cofit_version
    with pytest.raises(InvalidInputError, match=rf"'version' .* use the release that wrote it, cofit {version}\."):
        LinearModel.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "{", "nonsense", "[" * 100_000, '{"kind": 1, "kind": 2}'], ids=len)
def test_what_is_no_model_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        LinearModel.from_json(text)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"\x80\x04\x95\xff")
    with pytest.raises(InvalidInputError, match=r"model' is not UTF-8 text\. .*fetch it again"):
        load_model(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="absent' does not exist"):
        load_model(tmp_path / "absent")


def test_a_file_that_is_cut_off_is_named(model: LinearModel, tmp_path: Path) -> None:
    path = tmp_path / "half.json"
    path.write_text(model.to_json()[:200])
    with pytest.raises(InvalidInputError, match=r"half\.json' is not valid JSON\. .*cut off: copy it again"):
        load_model(path)
