"""The settings of a training run as options of a command: one for each field of ``TrainingSettings``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from typing import Any, TypeVar, get_args, get_type_hints

import click

from cofit.cli.numbers import REAL, WHOLE
from cofit.errors import InvalidInputError
from cofit.learn.asked import TrainingSettings
from cofit.learn.recipes.descent.shares import SHARED
from cofit.learn.settings import choices_of, help_of
from cofit.units import bytes_in

Command = TypeVar("Command", bound=Callable[..., Any])
_FLAGS = {
    "fit_intercept": "--intercept/--no-intercept",
    "clip_rows": "--clip-rows/--no-clip-rows",
    "pure_steps": "--pure-steps/--no-pure-steps",
}


def setting_options(command: Command) -> Command:
    """Give a command an option for every setting, under the setting's name."""
    kinds = get_type_hints(TrainingSettings)
    for one in reversed(fields(TrainingSettings)):
        command = _option(one, kinds[one.name])(command)
    return command


def _option(one: Field[Any], kind: Any) -> Callable[[Command], Command]:
    """Return the option of a setting: a choice, a number, or a flag, as its type says."""
    name = one.name
    given: dict[str, Any] = {"default": one.default, "help": help_of(one)}
    long = f"--{name.replace('_', '-')}"
    choices, types = choices_of(one), [part for part in (get_args(kind) or (kind,)) if part is not type(None)]
    if name in _PARSED:
        return click.option(*_PARSED[name][0], name, **_PARSED[name][1], help=help_of(one))
    if choices is not None:
        given["type"] = click.Choice(choices)
    elif types == [bool]:
        if name in _FLAGS:
            return click.option(_FLAGS[name], name, **given, show_default=one.default is not None)
        return click.option(long, name, is_flag=True, **given)
    else:
        given["type"] = {float: REAL, int: WHOLE}.get(types[0], types[0])
    return click.option(long, name, **given, show_default=one.default is not None)


def epochs_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | str | None:
    """Return a number of epochs, or 'auto'."""
    if value is None or value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number of epochs nor 'auto'.") from None


def shares_of(_context: click.Context, _parameter: click.Parameter, value: Sequence[str]) -> dict[str, float] | None:
    """Return shares by name, or None where there are none."""
    shares: dict[str, float] = {}
    for text in value:
        name, equals, number = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not NAME=SHARE, as in {SHARED[0]}=0.02.")
        if name not in SHARED:
            raise click.BadParameter(
                f"{name!r} has no share to set: there are {', '.join(SHARED)}, and the steps have what is left."
            )
        if name in shares:
            raise click.BadParameter(f"The share of {name!r} was given twice.")
        try:
            shares[name] = float(number)
        except ValueError:
            raise click.BadParameter(f"{number!r} is not a number: write {name}=0.02 for 2 %.") from None
    return shares or None


def weights_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    """Return numbers, which commas separate."""
    try:
        return None if value is None else tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers with commas between them, as in 1,4.") from None


def size_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """Return the bytes of a size as people write it."""
    try:
        return None if value is None else bytes_in(value)
    except InvalidInputError as error:
        raise click.BadParameter(str(error)) from None


_PARSED: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "epochs": (("--epochs",), {"callback": epochs_of, "metavar": "N|auto"}),
    "memory": (("--memory",), {"callback": size_of, "metavar": "SIZE"}),
    "class_weights": (("--class-weights",), {"callback": weights_of, "metavar": "FIRST,SECOND,..."}),
    "budget_shares": (("--share",), {"multiple": True, "metavar": "NAME=SHARE", "callback": shares_of}),
}
