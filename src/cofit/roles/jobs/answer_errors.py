"""How far the answers to a client can be from the exact ones, in the units in which the client reads them."""

from __future__ import annotations

from cofit.learn.inference.plan import InferencePlan
from cofit.study.document import Study


def stated_error(study: Study, plan: InferencePlan, kind: str) -> float | None:
    """Return the bound for answers of a kind as the parties give them; None for classes, which are no numbers.

    Where the label is a number or a count, in its units. Where answers are ``divided``, before that.
    """
    found = plan.error(kind)
    if found is None or study.data.label_range is None:
        return None if found is None else float(found)
    return study.data.target(study.model.kind).error_of(float(found), study.data.label_range)


def divided(plan: InferencePlan, kind: str) -> bool:
    """Whether the client divides the answers of a row by their sum: probabilities of several classes.

    With the error E of each, K classes, and the sum S of what was answered, |p / S - p' / S'| <= (K + 1) E / S: the
    error in p is E, that of the sum at most K E, and p is at most its sum.
    """
    return kind == "probabilities" and plan.served.outputs > 1
