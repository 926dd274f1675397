"""The facts of a run as a certificate states them, and back: complete and exact, so that the plan follows from them.

Fractions are text ("1/20"), everything else is as JSON has it. What comes back has passed the checks of
``training_facts`` once more: facts that nobody could have asked for are refused, whoever states them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from cofit.errors import InvalidInputError, parameter_error
from cofit.learn.asked import PAPER_DEFAULTS
from cofit.learn.exact import added_defaults, stated_fields
from cofit.learn.facts import AUTO_PURE, PARAMETERS, Facts, training_facts
from cofit.learn.recipes.descent.clip import row_limit
from cofit.learn.recipes.descent.shares import SHARED, Shares
from cofit.privacy.certificate import Fact
from cofit.privacy.strict_fields import exact_text

_OWNER = "a certificate"
_FRACTION = re.compile(r"-?[0-9]{1,80}/[1-9][0-9]{0,79}")


def facts_as_stated(facts: Facts) -> dict[str, Fact]:
    """Return every field of the facts in JSON's types, fractions as exact text (see ``exact`` for later fields)."""
    return {field.name: _stated(getattr(facts, field.name)) for field in stated_fields(facts)}


def facts_from_stated(stated: Mapping[str, Fact]) -> Facts:
    """Return the facts, or raise InvalidInputError with the field that is missing, unknown or impossible."""
    kinds, later = get_type_hints(Facts), added_defaults(Facts)
    for name in sorted(set(kinds) - set(stated) - set(later)):
        raise parameter_error(f"facts.{name}", _OWNER, "stated", None)
    for name in sorted(set(stated) - set(kinds)):
        raise parameter_error(f"facts.{name}", _OWNER, "left out, because this version lacks it", stated[name])
    given = {name: _read(kind, stated[name], f"facts.{name}") for name, kind in kinds.items() if name in stated}
    facts = Facts(**{**later, **given})
    try:
        again = training_facts(**parameters_of(facts))
    except InvalidInputError as error:
        raise InvalidInputError(f"The facts of {_OWNER} must be those of a run. {error}") from None
    for name in kinds:
        if getattr(again, name) != getattr(facts, name):
            raise parameter_error(f"facts.{name}", _OWNER, _shown(getattr(again, name)), stated.get(name))
    return facts


def parameters_of(facts: Facts) -> dict[str, Any]:
    """Return the parameters of ``training_facts`` that give these facts, if any do."""
    asked = {name: value for name, value in vars(facts).items() if name in PARAMETERS}
    gaussian_steps = facts.recipe == "best" and facts.delta > 0
    asked["clip_rows"] = facts.row_limit is not None if gaussian_steps else None
    asked["budget_shares"] = dict(facts.budget_shares) or None
    asked["class_weights"] = tuple(weight for _, weight in facts.class_weights) or None
    if facts.recipe == "best":
        asked |= dict.fromkeys(PAPER_DEFAULTS)
    else:
        asked["mechanism"] = None if facts.mechanism == AUTO_PURE else facts.mechanism
        asked["epochs"] = "auto" if facts.epochs is None else facts.epochs
    unbounded = facts.cols > 0 and facts.row_limit is not None and facts.row_limit == row_limit(facts.cols, None)
    if unbounded and facts.normalised_by == "owners" and facts.feature_bound == 1:
        asked |= {"feature_bound": None, "feature_lower": None}
    return asked


def _stated(value: object) -> Fact:
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, tuple):
        return {name: exact_text(share) for name, share in value}
    return value if isinstance(value, str | int) else None


def _read(kind: Any, value: Fact, path: str) -> Any:
    """Return a fact of its type, or raise."""
    if get_origin(kind) is UnionType:
        return None if value is None else _read(get_args(kind)[0], value, path)
    if kind == Shares and isinstance(value, Mapping):
        names = sorted(value, key=lambda name: SHARED.index(name) if name in SHARED else len(SHARED))
        return tuple((name, _read(Fraction, value[name], f"{path}.{name}")) for name in names)
    if kind is Fraction and isinstance(value, str) and _FRACTION.fullmatch(value):
        fraction = Fraction(value)
        if exact_text(fraction) == value:
            return fraction
    if kind in (str, int, bool) and type(value) is kind:
        return value
    must_be = {
        Shares: "fractions by name",
        Fraction: "a fraction in lowest terms, as text",
        str: "text",
        bool: "a flag",
    }
    raise parameter_error(path, _OWNER, must_be.get(kind, "an integer"), value)


def _shown(value: object) -> str:
    return f"{_stated(value)!r}, which follows from the others"
