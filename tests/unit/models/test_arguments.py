"""Arguments that the estimators do not have: the error names the public class and what to use instead."""

from __future__ import annotations

import inspect

import pytest
from sklearn.base import clone

from cofit import LinearSVC, LogisticRegression

TAUGHT = {
    "C": r"recipe='paper' give l2, which is 1 / \(rows \* C\)",
    "penalty": "recipe='paper' has the penalty l2",
    "class_weight": r"give class_weights=\(.*'balanced' would be computed from the labels",
    "random_state": "whoever knew the seed could subtract the noise",
    "max_iter": "with recipe='paper' give epochs",
    "tol": "with recipe='paper' give tolerance",
    "n_jobs": "threads",
    "verbose": "progress=True",
    "epsilom": r"\(did you mean 'epsilon'\?\)",
    "nonsense": r"See help\({name}\)",
}


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("argument", TAUGHT)
def test_an_unknown_argument_is_taught(kind: type, argument: str) -> None:
    name = kind.__name__
    with pytest.raises(TypeError, match=f"^{name} has no argument '{argument}'.*{TAUGHT[argument].format(name=name)}"):
        kind(**{argument: 1})


def test_what_is_given_by_place() -> None:
    assert (LogisticRegression(2.0, 1e-7).epsilon, LinearSVC(2.0, 1e-7).delta) == (2.0, 1e-7)
    with pytest.raises(TypeError, match=r"^LinearSVC takes epsilon and delta by position, and everything else by name"):
        LinearSVC(2.0, 1e-7, "best")


def test_every_remedy_is_an_argument_and_the_signature_is_whole() -> None:
    names = set(inspect.signature(LogisticRegression).parameters)
    assert {"l2", "epochs", "tolerance", "threads", "processes", "progress", "calibrate_intercept"} <= names
    assert names == set(LogisticRegression().get_params())
    assert clone(LinearSVC(epsilon=3.0)).epsilon == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'C' for estimator LogisticRegression"):
        LogisticRegression().set_params(C=1.0)


def test_all_unknown_arguments_are_told_at_once() -> None:
    with pytest.raises(TypeError) as caught:
        LogisticRegression(C=1.0, class_weight="balanced", random_state=0)
    for name in ("C", "class_weight", "random_state"):
        assert f"LogisticRegression has no argument '{name}':" in str(caught.value)
