"""docs/how-to/add-a-learner.md: a loss, a mechanism and a target from outside the package, trained with as it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import cofit
from cofit.errors import InvalidInputError
from cofit.learn.facts import training_facts
from cofit.learn.losses import LOSSES, register_loss
from cofit.learn.plan import plan_training
from cofit.learn.rebuild import rebuilt_plan
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.twin import minimum
from cofit.privacy.certificate import Certificate
from cofit.privacy.mechanisms import MECHANISMS, register_mechanism
from cofit.report.noise_law import noise_law
from cofit.roles.local.tables import OwnerTable
from cofit.roles.local.training import run_training
from cofit.study.plan import study_plan
from unit.study.studies import study_of

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-learner.md"
RNG = np.random.default_rng(4)
X = RNG.normal(size=(600, 3))
Y = (X @ [1.0, -1.0, 0.5] + 0.3 * RNG.normal(size=600) > 0).astype(np.int64)
OWNERS = {"a": (X[:250], Y[:250]), "b": (X[250:], Y[250:])}


def blocks(language: str) -> list[str]:
    """The programs of the page in that language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def page() -> Iterator[dict[str, Any]]:
    """Everything that the page defines, as a module outside the package; forgotten afterwards."""
    losses, mechanisms = dict(LOSSES), dict(MECHANISMS)
    module = sys.modules["from_outside"] = ModuleType("from_outside")
    for block in blocks("python"):
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), vars(module))
    yield vars(module)
    del sys.modules["from_outside"]
    for registry, before in ((LOSSES, losses), (MECHANISMS, mechanisms)):
        for name in set(registry) - set(before):
            del registry[name]


def _distance(found: npt.NDArray[Any], plan: MinimiserPlan, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> float:
    exact = minimum(plan.loss, plan.comparable_rows(x), y, float(plan.facts.l2))
    return float(np.linalg.norm(found - exact))


@pytest.mark.parametrize(
    "settings", [{"epsilon": 30.0}, {"epsilon": 200.0, "recipe": "paper", "l2": 0.1}], ids=["best", "paper"]
)
def test_a_loss(page: dict[str, Any], settings: dict[str, Any], tmp_path: Path) -> None:
    model = page["WideSVC"](scheme="rep3", **settings).fit(OWNERS)
    assert (model.predict(X) == Y).mean() > 0.9
    certificate = model.certificate_
    assert certificate.loss == certificate.facts["loss"] == "wide_hinge"
    foreign = [line for line in certificate.assumptions if "is not part of cofit" in line]
    assert len(foreign) == 1 and foreign[0].startswith("loss 'wide_hinge' ")
    assert certificate.model.startswith("linear classifier (wide hinge")
    assert certificate.proven
    model.save(tmp_path / "model.json")
    assert cofit.load_model(tmp_path / "model.json").certificate == certificate
    if "l2" in settings:
        assert isinstance(model.plan_, MinimiserPlan)
        released = np.append(model.released_coef_[0], model.intercept_)
        assert _distance(released, model.plan_, X, Y) < 0.02
        assert _distance(released, model.plan_, X, 1 - Y) > 0.2
    else:
        assert model.plan_.formats.residual == page["WideHinge"].clipped_residual


def test_a_loss_without_what_a_recipe_needs_is_refused_when_a_run_is_planned(page: dict[str, Any]) -> None:
    message = (
        r"The 'loss' parameter of a plan must be one with a clipped residual .*'wide_hinge'.* Got 'wide_huber' instead"
    )
    with pytest.raises(InvalidInputError, match=message):
        plan_training(training_facts(600, 3, loss="wide_huber"))
    with pytest.raises(TypeError, match="abstract"):
        type("Nothing", (page["Loss"],), {"name": "nothing"})()
    for register, bad in ((register_loss, page["WideHinge"]()), (register_mechanism, page["DoubleLaplace"])):
        with pytest.raises(InvalidInputError, match="new name"):
            register(bad)
    with pytest.raises(InvalidInputError, match="subclass of Loss"):
        register_loss("logistic")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="subclass of Mechanism"):
        register_mechanism(page["WideHinge"])


def test_a_mechanism(page: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"recipe": "paper", "epsilon": 20.0, "scheme": "rep3"}
    model = cofit.LogisticRegression(mechanism="double_laplace", **settings).fit(OWNERS)
    certificate = model.certificate_
    assert certificate.mechanism == certificate.releases[0].noise == "double_laplace"
    single = plan_training(training_facts(600, 3, mechanism="laplace", **settings))
    assert isinstance(single, MinimiserPlan)
    assert certificate.minimiser is not None
    assert certificate.minimiser.noise_scale / single.mechanism.scale == pytest.approx(2.0, rel=1e-3)
    assert rebuilt_plan(Certificate.from_json(certificate.to_json())) is not None
    assert noise_law(certificate).deviation == pytest.approx(2**0.5 * float(certificate.minimiser.noise_scale))
    forged = certificate.to_json().replace('"double_laplace"', '"treble_laplace"')
    with pytest.raises(InvalidInputError, match="The 'mechanism' parameter of a certificate must be one of"):
        Certificate.from_json(forged)


def test_a_target(page: dict[str, Any]) -> None:
    y = np.clip(X @ [0.5, -0.4, 0.0] / 3, -1, 1)
    plan = plan_training(training_facts(600, 3, recipe="paper", loss="wide_huber", epsilon=200.0, fit_intercept=False))
    assert isinstance(plan, MinimiserPlan)
    assert plan.target.name == "a number from -1 to 1"

    def run(x: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Any:
        return run_training(plan, {"a": OwnerTable(x[:250], labels[:250]), "b": OwnerTable(x[250:], labels[250:])})

    found = run(X, y)
    assert (found.certificate.loss, found.certificate.model) == (
        "wide_huber",
        "linear regression (Huber loss with a corner at 1)",
    )
    assert _distance(found.weights, plan, X, y) < 0.02
    assert _distance(found.weights, plan, X, -y) > 0.1
    with pytest.raises(InvalidInputError, match="Owner 'a': Targets must be numbers from -1 to 1"):
        run(X, 3 * y)


def test_a_lie_about_a_target_counts_as_nothing(page: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The target's own check on shares: what an owner's software would refuse has no part in the sum."""
    y = np.clip(X @ [0.5, -0.4, 0.0] / 3, -1, 1)
    lies = y.copy()
    lies[:60] = 5.0
    monkeypatch.setattr(page["BoundedNumber"], "encoded", lambda self, labels: labels)
    monkeypatch.setattr(page["BoundedNumber"], "bound", 8.0)
    plan = plan_training(
        training_facts(600, 3, recipe="paper", loss="wide_huber", epsilon=900.0, fit_intercept=False, l2=0.05)
    )
    assert isinstance(plan, MinimiserPlan)
    found = run_training(plan, {"a": OwnerTable(X[:250], lies[:250]), "b": OwnerTable(X[250:], lies[250:])}).weights
    rows = plan.comparable_rows(X)
    kept = minimum(plan.loss, rows[60:], y[60:], 0.05 * 600 / 540)  # the mean is still over all 600
    taken = minimum(plan.loss, rows, lies, 0.05)
    assert np.linalg.norm(found - kept) < 0.3 * np.linalg.norm(found - taken)
    assert Fraction(plan.facts.rows) == 600


def test_a_study_may_name_the_kind_of_model(page: dict[str, Any]) -> None:
    plan = study_plan(study_of(model__kind=page["WideHinge"].kind))
    assert plan.facts.loss == "wide_hinge"
    assert plan.stated().model == page["WideHinge"].title


def test_the_command_line_knows_what_was_imported_first(tmp_path: Path) -> None:
    (tmp_path / "my_learners.py").write_text("".join(blocks("python")))
    (line,) = blocks("sh")
    python, *arguments = shlex.split(line)
    assert python == "python"
    done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "clip(1 - 1 z, 0, 1) by two comparisons" in " ".join(done.stdout.split())
