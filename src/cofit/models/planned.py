"""A model from a file, compared with the plan that its certificate gives again."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from cofit.errors import OtherReleaseWarning, parameter_error
from cofit.learn.plan import Plan
from cofit.learn.rebuild import of_another_release, rebuilt_plan

if TYPE_CHECKING:
    from cofit.models.linear_model import LinearModel


def check_planned(model: LinearModel) -> Plan | None:
    """Raise InvalidInputError, which names the field, unless certificate and model are what the stated facts give.

    Warns, and returns None, where another release of cofit wrote the certificate and this one cannot rebuild it.
    """
    plan = rebuilt_plan(model.certificate)
    if plan is None:
        warnings.warn(of_another_release(model.certificate), OtherReleaseWarning, stacklevel=4)
        return None
    blank = model.again(plan, plan.opened.blank())
    for name in ("loss", "constant", "norm_floor"):
        _require(name, getattr(model, name), getattr(blank, name))
    _require("number of weights", (model.lines, model.features), (blank.lines, blank.features))
    if blank.rows is not None and model.rows is not None:
        for name in ("norm", "bound", "floor"):
            _require(f"rows.{name}", getattr(model.rows, name), getattr(blank.rows, name))
    return plan


def _require(name: str, stated: object, wanted: object) -> None:
    if stated != wanted:
        raise parameter_error(name, "a LinearModel", f"{wanted!r}, which follows from its certificate", stated)
