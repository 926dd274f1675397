"""Models of several classes: a line of weights for each, from the release to predictions, files and commands."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from cofit.cli.main import cli
from cofit.cli.model import write_model
from cofit.errors import InvalidInputError, OneClassWarning
from cofit.models.estimators import LinearSVC, LogisticRegression
from cofit.models.evaluation import evaluate
from cofit.models.linear_model import LinearModel
from cofit.models.model_files import load_model
from cofit.models.study_model import StudyModel
from cofit.report.significance import published_weights
from cofit.study.plan import study_plan
from cofit.study.statement import expected_certificate
from unit.study.studies import study_of

RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, (300, 3))
NAMES = np.array(["red", "amber", "green"])
Y = NAMES[X.argmax(axis=1)]
SETTINGS: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-4, "scheme": "clear", "feature_bound": 1.0}


@pytest.fixture(scope="module")
def fitted() -> LogisticRegression:
    return LogisticRegression(**SETTINGS).fit([(X[:120], Y[:120]), (X[120:], Y[120:])])


def test_shapes_are_those_of_scikit_learn(fitted: LogisticRegression) -> None:
    assert fitted.classes_.tolist() == ["amber", "green", "red"]
    assert (fitted.coef_.shape, fitted.intercept_.shape, fitted.n_features_in_) == ((3, 3), (3,), 3)
    scores, likely = fitted.decision_function(X), fitted.predict_proba(X)
    assert scores.shape == likely.shape == (300, 3)
    np.testing.assert_allclose(likely.sum(axis=1), 1)
    assert (fitted.predict(X) == fitted.classes_[scores.argmax(axis=1)]).all()
    assert (likely.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert fitted.score(X, Y) > 0.85
    assert fitted.__sklearn_tags__().classifier_tags.multi_class


def test_the_certificate_has_one_account(fitted: LogisticRegression) -> None:
    stated = fitted.certificate_.descent
    assert stated is not None
    assert (stated.outputs, fitted.certificate_.d, fitted.certificate_.facts["classes"]) == (3, 12, 3)
    assert stated.joint_bound < 1.415 * stated.residual_bound + stated.factor[1] * 2
    steps = [release for release in fitted.certificate_.releases if release.name.startswith("step")]
    assert {release.dimension for release in steps} == {12}
    assert "outputs: 3" in fitted.certificate_.to_text()


def test_a_file_gives_the_same_model(fitted: LogisticRegression, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.json")
    again = LogisticRegression.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert (load_model(tmp_path / "model.json").predict(X) == fitted.predict(X)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ["amber", "green"]}, "coef"),
        ({"classes": ["amber", "green", "green"]}, "'classes'.*all different"),
        ({"coef": [[1.0, 2.0, 3.0]] * 2}, "3 lists of floats, one for each class"),
        ({"coef": [[1.0, 2.0, 3.0], [1.0, 2.0], [1.0, 2.0, 3.0]]}, "as many weights for each class"),
        ({"coef": [[1.0, 2.0]] * 3}, "coef"),
        ({"coef": [1.0, 2.0, 3.0]}, r"coef\[0\]"),
        ({"intercept": 0.5}, "3 floats, one for each class"),
        ({"intercept": [0.5, 0.5, float("1e999")]}, r"intercept\[2\]|JSON"),
    ],
)
def test_a_forged_file_is_refused(fitted: LogisticRegression, change: dict[str, Any], message: str) -> None:
    document = json.loads(fitted.model_.to_json()) | change
    with pytest.raises(InvalidInputError, match=message):
        LinearModel.from_json(json.dumps(document))


def test_several_have_no_threshold_and_all_rows_of_one_class_are_told(fitted: LogisticRegression) -> None:
    with pytest.raises(
        InvalidInputError, match="'threshold' parameter of predict must be left out: of several classes"
    ):
        fitted.predict(X, threshold=0.5)
    same = np.tile(X[Y == "red"][:1], (120, 1))
    with pytest.warns(OneClassWarning, match="All 120 rows are predicted to be of the class '.*', of 3"):
        fitted.predict(same)


@pytest.mark.parametrize(("count", "is_told"), [(1, True), (4, True), (5, False)])
def test_a_class_that_hardly_occurs_is_told_unless_it_was_agreed_on(count: int, is_told: bool) -> None:
    labels = Y.copy()
    labels[:count] = "Red"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        LogisticRegression(**SETTINGS).fit([(X[:120], labels[:120]), (X[120:], labels[120:])])
    found = [str(one.message) for one in told if "classes occur in the labels" in str(one.message)]
    assert bool(found) is is_told
    if is_told:
        assert found[0].startswith("4 classes occur in the labels, and some in fewer than 5 of 300 records: ")
        assert f"records: 'Red' ({count}). Correct the labels if that is a slip" in found[0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        LogisticRegression(**SETTINGS, classes=["Red", *NAMES.tolist()]).fit(X, labels)
    assert not [one for one in told if "classes occur" in str(one.message)]


def test_a_message_does_not_name_the_table_twice(fitted: LogisticRegression) -> None:
    with pytest.raises(InvalidInputError, match=r"^X has 2 features, but LogisticRegression is expecting 3 features"):
        fitted.predict(X[:, :2])


@pytest.mark.parametrize("settings", [{"recipe": "paper"}, {"delta": 0.0}])
def test_what_has_two_classes_only_says_so(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"Only binary classification is supported with recipe='paper'"):
        LogisticRegression(**settings).fit(X, Y)
    assert not LogisticRegression(**settings).__sklearn_tags__().classifier_tags.multi_class


@pytest.mark.filterwarnings("ignore")
def test_the_support_vector_machine_has_several_too() -> None:
    model = LinearSVC(**SETTINGS, classes=["amber", "blue", "green", "red"]).fit(X, Y)
    assert model.coef_.shape == (4, 3)
    assert model.score(X, Y) > 0.85
    assert not hasattr(model, "predict_proba")


# --- the model of a study --------------------------------------------------------------------------------


def model_file(folder: Path) -> Path:
    """Ages of 0 to 100 under weights that say 'young' far below the middle, 'old' far above it, else 'between'."""
    features = [{"name": "age", "type": "number", "lower": 0, "upper": 100}, {"name": "smokes", "type": "boolean"}]
    classes = ["young", "between", "old"]
    kind = {"kind": "logistic_regression"}
    study = study_of(model=kind, privacy={"epsilon": 3.0}, data__features=features, data__label_values=classes)
    plan = study_plan(study)
    weights = np.zeros((plan.cols, 3))
    weights[0] = (-3.0, 0.0, 3.0)
    weights[-1] = (0.0, 1.5 / float(plan.formats.constant), 0.0)  # type: ignore[attr-defined]
    released = (*weights.ravel().tolist(), *plan.opened.blank()[weights.size :])
    model = StudyModel.from_release(study, released, expected_certificate(study, plan))
    write_model(model, folder / "model.json")
    (folder / "rows.csv").write_text("age,smokes,ill\n2,0,young\n50,0,between\n98,0,old\n96,0,between\n")
    return folder / "model.json"


def test_predictions_of_a_table(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["predict", str(model_file(tmp_path)), str(tmp_path / "rows.csv")])
    assert result.exit_code == 0, result.output
    lines = list(csv.DictReader(result.stdout.splitlines()))
    words = ("young", "between", "old")
    assert list(lines[0]) == [*(f"score {w}" for w in words), *(f"probability {w}" for w in words), "class"]
    assert [line["class"] for line in lines] == ["young", "between", "old", "old"]
    assert all(sum(float(line[f"probability {w}"]) for w in words) == pytest.approx(1) for line in lines)


def test_figures_of_a_table(tmp_path: Path) -> None:
    arguments = ["evaluate", str(model_file(tmp_path)), str(tmp_path / "rows.csv")]
    found = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).stdout)
    assert found["confusion"] == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    assert (found["accuracy"], found["classes"]) == (0.75, ["young", "between", "old"])
    text = " ".join(CliRunner().invoke(cli, arguments).stdout.split())
    assert "most common class has an accuracy of 0.5000" in text
    assert "Calibration of the predicted class" in text


def test_published_weights_are_named_after_their_class(fitted: LogisticRegression) -> None:
    weights, names = published_weights(fitted.model_)
    assert len(weights) == len(names) == 12
    assert names[:5] == ("column 1 for amber", "column 2 for amber", "column 3 for amber", "(intercept) for amber",
                         "column 1 for green")  # fmt: skip
    np.testing.assert_allclose(weights.reshape(3, 4)[:, :3], fitted.released_coef_)


@pytest.mark.slow
def test_a_report_names_the_class_of_every_weight(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = CliRunner().invoke(cli, ["report", str(model_file(tmp_path)), "--out", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "It tells 3 classes apart" in text
    assert "age for young" in text


def test_figures_by_hand() -> None:
    labels, predicted = np.array([0, 1, 2, 2]), np.array([0, 1, 1, 2])
    scores = np.array([[3.0, 1, 0], [0, 2, 1], [0, 2, 1], [0, 1, 3]])
    likely = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.6, 0.3], [0.0, 0.1, 0.9]])
    found = evaluate(labels, scores, likely, predicted, 3)
    assert found.accuracy == 0.75
    assert found.auc == pytest.approx((1 + 5 / 6 + 7 / 8) / 3, abs=0.03)
    assert [(b.lower, b.rows, b.observed) for b in found.calibration] == [(0.6, 1, 0.0), (0.8, 2, 1.0), (0.9, 1, 1.0)]
