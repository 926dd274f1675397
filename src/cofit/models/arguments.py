"""Arguments that estimators do not have: an error that names the public class, and what to use instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from cofit.study.fields import suggestion

Kind = TypeVar("Kind", bound=type)

_NO_PENALTY = "recipe 'best' has no penalty and nothing to tune; "
_INSTEAD = {
    "C": _NO_PENALTY + "with recipe='paper' give l2, which is 1 / (rows * C)",
    "alpha": _NO_PENALTY + "with recipe='paper' give l2",
    "penalty": _NO_PENALTY + "recipe='paper' has the penalty l2",
    "l1_ratio": _NO_PENALTY + "recipe='paper' has the penalty l2",
    "class_weight": "give class_weights=(weight of the first class, of the second, ...), public numbers: 'balanced' "
    "would be computed from the labels. Or decide by predict(X, threshold=...)",
    "random_state": "leave it out: whoever knew the seed could subtract the noise",
    "seed": "leave it out: whoever knew the seed could subtract the noise",
    "max_iter": "recipe 'best' takes 20 steps; with recipe='paper' give epochs",
    "tol": "recipe 'best' takes 20 steps; with recipe='paper' give tolerance",
    "warm_start": "leave it out: every fit is a release of its own",
    "multi_class": "leave it out: of more than two classes, each is learned against the rest",
    "dual": "leave it out: there is one way to train",
    "loss": "LogisticRegression has the logistic loss, LinearSVC the hinge, rounded at its corner",
    "n_jobs": "give threads, with processes=True",
    "verbose": "give progress=True",
    "data_norm": "rows are scaled in training; give feature_bound, a bound that everybody agreed on",
    "accountant": "every fit is a release of its own; a study has a ledger (cofit budget)",
}


def taught(kind: Kind) -> Kind:
    """Let a class refuse arguments that it does not have with a TypeError that says what to use instead."""
    init: Callable[..., None] = kind.__init__  # type: ignore[misc]
    parameters = list(inspect.signature(init).parameters.values())[1:]
    known = [parameter.name for parameter in parameters]
    by_place = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]

    @functools.wraps(init)
    def checked(self: object, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        unknown = [given for given in kwargs if given not in known]
        if unknown:
            told = [
                f"{name} has no argument '{given}'"
                + (f": {_INSTEAD[given]}." if given in _INSTEAD else f"{suggestion(given, known)}. See help({name}).")
                for given in unknown
            ]
            raise TypeError(" ".join(told))
        if len(args) > len(by_place):
            raise TypeError(
                f"{name} takes {' and '.join(by_place)} by position, and everything else by name. Got {len(args)} "
                f"arguments by position."
            )
        init(self, *args, **kwargs)

    kind.__init__ = checked  # type: ignore[misc]
    return kind
