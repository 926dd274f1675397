"""What users ask of a training run: all settings of every recipe, and the refusal of what does not go together."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from cofit.errors import parameter_error
from cofit.learn.checked import OWNER, flag, integer, one_of
from cofit.learn.losses import LOSSES
from cofit.learn.recipes.descent.budget import clipping_pays
from cofit.learn.recipes.descent.settings import DescentSettings
from cofit.learn.recipes.descent.shares import Shares, refuse_clipped
from cofit.learn.recipes.minimiser.settings import MinimiserSettings
from cofit.learn.settings import CommonSettings, unset_of
from cofit.learn.targets import MOST_CLASSES
from cofit.privacy.release_names import CENTRE, LEVEL
from cofit.sharing import scheme_named

_HASH = re.compile("[0-9a-f]{64}")
PAPER_DEFAULTS = unset_of(MinimiserSettings)
"""The parameters that recipe 'paper' alone has, and what None stands for."""


@dataclass(eq=False, repr=False)
class TrainingSettings(MinimiserSettings, DescentSettings, CommonSettings):
    """All settings of a training run, of every recipe."""


SETTINGS = tuple(one.name for one in fields(TrainingSettings))


def check_counts(asked: TrainingSettings, loss: str, largest_count: int | None, delta: Fraction) -> None:
    """Refuse a loss where a plan cannot have it, and a largest count that is missing or goes with another loss."""
    of_counts, recipe = LOSSES[loss].up_to(largest_count), asked.recipe
    if not of_counts.minimised and recipe != "best":
        must_be = f"'best' with the loss '{loss}', for which nothing else is proven"
        raise parameter_error("recipe", OWNER, must_be, recipe)
    if not of_counts.minimised and not delta:
        raise parameter_error("delta", OWNER, f"above 0 (for example 1e-6) with the loss '{loss}'", float(delta))
    if of_counts.target.counted and largest_count is None:
        must_be = f"stated with the loss '{loss}': what no count exceeds, agreed on beforehand"
        raise parameter_error("largest_count", OWNER, must_be, largest_count)
    if of_counts.target.counted and asked.calibrate_intercept:
        must_be = f"False with the loss '{loss}': its steps are too long for rates, and the model is good without"
        raise parameter_error("calibrate_intercept", OWNER, must_be, asked.calibrate_intercept)


def check_weights(asked: TrainingSettings, loss: str, descends: bool) -> None:
    """Refuse weights where a plan cannot have them."""
    for name in ("weight_bound", "class_weights"):
        if getattr(asked, name) is not None and not descends:
            must_be = "left out (None) unless recipe='best' and delta > 0"
            raise parameter_error(name, OWNER, must_be, getattr(asked, name))
    if asked.class_weights is not None and of_numbers(loss):
        must_be = f"left out (None) with the loss '{loss}', whose target has no classes"
        raise parameter_error("class_weights", OWNER, must_be, asked.class_weights)
    if asked.class_weights is not None and asked.weight_bound is not None:
        must_be = "left out (None) where records have weights of their own: let owners multiply those by the class's"
        raise parameter_error("class_weights", OWNER, must_be, asked.class_weights)


def check_reference(reference: str, asked: TrainingSettings, loss: str, descends: bool) -> None:
    """Refuse a reference where a plan cannot have one."""
    if not isinstance(reference, str) or not _HASH.fullmatch(reference):
        raise parameter_error("reference", OWNER, "the SHA-256 of a reference map, in hexadecimal digits", reference)
    wrong = {
        "recipe='best' and delta > 0": not descends,
        f"what is predicted are classes, and not with the loss '{loss}': mapped rows all get length 1, and a number "
        "depends on how long a row is": of_numbers(loss),
        "rows are not clipped (clip_rows=None or False): clipping brings all columns to one spread, which undoes what "
        "the map does": bool(asked.clip_rows),
    }
    for needed, is_wrong in wrong.items():
        if is_wrong:
            raise parameter_error("reference", OWNER, f"left out (None) unless {needed}", reference)


def of_numbers(loss: str) -> bool:
    """Return whether a loss is of a real target, and not of classes."""
    return loss in LOSSES and LOSSES[loss].target.ranged


def other_route(scheme: str, route: str | None) -> str | None:
    """Return the route, or None where it is the scheme's usual one."""
    routes = scheme_named(scheme).info.routes
    if route is not None:
        one_of(routes, "route", route)
    return None if route == routes[0] else route


def class_count(classes: int, loss: str, recipe: str, delta: Fraction) -> int:
    """Return how many classes there are, or refuse what is not made for more than two."""
    count = integer("classes", classes, 2, MOST_CLASSES)
    LOSSES[loss].target.among(count)
    if count > 2 and not (recipe == "best" and delta):
        must_be = "2 unless recipe='best' and delta > 0 (for example 1e-6): several classes need noise in every step"
        raise parameter_error("classes", OWNER, must_be, classes)
    return count


def rows_are_clipped(
    asked: bool | None, rows: int, cols: int, epsilon: Fraction, delta: Fraction, shares: Shares
) -> bool:
    """Return whether rows are clipped. delta: 0 where noise is not Gaussian and in every step."""
    if asked is None:
        chosen = {LEVEL, CENTRE} & {name for name, _ in shares}
        return bool(delta) and not chosen and clipping_pays(rows, cols, epsilon, delta)
    if flag("clip_rows", asked) and not delta:
        raise parameter_error("clip_rows", OWNER, "None or False unless recipe='best' and delta > 0", asked)
    if asked:
        refuse_clipped(shares)
    return bool(asked)


def given_to_paper(asked: TrainingSettings) -> dict[str, Any]:
    """Return the settings of recipe 'paper' with defaults filled in; refuse any with 'best'."""
    found = {name: getattr(asked, name) for name in PAPER_DEFAULTS}
    for name, value in found.items():
        if asked.recipe == "best" and value is not None:
            must_be = "left out (None) with recipe='best', which has no such choice; or set recipe='paper'"
            raise parameter_error(name, OWNER, must_be, value)
    return PAPER_DEFAULTS | {name: value for name, value in found.items() if value is not None}
