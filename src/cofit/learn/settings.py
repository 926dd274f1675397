"""Settings of a training run: what users may ask for, with defaults, and what each means in one line.

Each recipe has a dataclass of its own (``recipes/*/settings.py``). The estimators inherit from them all, the options of
``cofit plan`` are made from their fields, and a study hands its own fields on by their names: a new setting
is a field here, and a fact. Values are as users give them; ``facts.training_facts`` checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields
from typing import Any

from cofit.sharing import SCHEMES

RECIPES = ("best", "paper")
WHO_SCALES = ("owners", "parties")
_UNSET, _HELP, _CHOICES = "unset", "help", "choices"


def setting(help: str, *, unset: Any = None, choices: Callable[[], Iterable[str]] | None = None) -> dict[str, Any]:
    """Return the metadata of a setting. unset: what None stands for; choices: the texts that it may be."""
    return {_HELP: help, _UNSET: unset, _CHOICES: choices}


def help_of(one: Field[Any]) -> str:
    """Return what a setting means, in one line."""
    return str(one.metadata[_HELP])


def choices_of(one: Field[Any]) -> list[str] | None:
    """Return the texts that a setting may be; None: it is no choice of texts."""
    found = one.metadata[_CHOICES]
    return None if found is None else list(found())


def unset_of(kind: type[Any]) -> dict[str, Any]:
    """Return what None stands for, of every setting of a recipe."""
    return {one.name: one.metadata[_UNSET] for one in fields(kind)}


@dataclass(eq=False, repr=False)
class CommonSettings:
    """What every recipe has."""

    epsilon: float = field(default=1.0, metadata=setting("Privacy parameter epsilon: smaller is more private."))
    delta: float | None = field(
        default=None, metadata=setting("Privacy parameter delta.  [default: 1e-6 with best, 0 with paper]")
    )
    recipe: str = field(
        default="best",
        kw_only=True,
        metadata=setting(
            "best: noisy descent, the most accurate known. paper: the paper's method, with the options that say Paper.",
            choices=lambda: RECIPES,
        ),
    )
    scheme: str = field(
        default="rep3", kw_only=True, metadata=setting("Secret-sharing scheme.", choices=lambda: sorted(SCHEMES))
    )
    threshold: int | None = field(
        default=None,
        kw_only=True,
        metadata=setting(
            "How many computing parties may be corrupted together; fewer cost less, where the scheme has a choice.  "
            "[default: the most that the scheme withstands]"
        ),
    )
    memory: int | str | None = field(
        default=None,
        kw_only=True,
        metadata=setting(
            "The most memory a party may use, as in '1 GB'. Shares that exceed it lie in a private file, and rows are "
            "computed in smaller batches.  [default: no limit]"
        ),
    )
    fit_intercept: bool = field(default=True, kw_only=True, metadata=setting("Learn an intercept, or not."))
    normalised_by: str | None = field(
        default=None,
        kw_only=True,
        metadata=setting(
            "Who scales the rows.  [default: as the plan finds best; the parties if vertical]",
            choices=lambda: WHO_SCALES,
        ),
    )
    feature_bound: float | None = field(
        default=None,
        kw_only=True,
        metadata=setting("Agreed range: no feature is larger in magnitude.  [default: none]"),
    )
    feature_lower: float | None = field(
        default=None,
        kw_only=True,
        metadata=setting("Agreed range: no row's mean is below this.  [default: minus the bound]"),
    )
    norm_floor: float | None = field(
        default=None,
        kw_only=True,
        metadata=setting(
            "If the parties normalise: rows shorter than this, relative to the bound, are not stretched to length 1.  "
            "[default: 0.0625; 1 for a real target]"
        ),
    )
