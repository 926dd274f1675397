"""The options that choose a scheme and the form in which it runs: how many parties, how many of them corrupted."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cofit.cli.numbers import WHOLE
from cofit.errors import InvalidInputError
from cofit.sharing import SCHEMES, Spec, scheme_named

_Command = TypeVar("_Command", bound=Callable[..., Any])
_WITH_DEALER, _WITHOUT = "semi2k", "pair"


dealer_option = click.option(
    "--dealer",
    type=click.Choice(["none"]),
    help=f"With --scheme {_WITH_DEALER}: 'none' for two parties alone, which is --scheme {_WITHOUT}.",
)


def scheme_option(command: _Command) -> _Command:
    """Add --scheme, and --dealer none, which is another way to ask for two parties alone."""

    @click.option(
        "--scheme", default="rep3", show_default=True, type=click.Choice(sorted(SCHEMES)), help="Secret-sharing scheme."
    )
    @dealer_option
    @functools.wraps(command)
    def chosen(*args: Any, scheme: str, dealer: str | None, **options: Any) -> Any:
        return command(*args, scheme=without_dealer(scheme, dealer), **options)

    return chosen  # type: ignore[return-value]


def without_dealer(scheme: str, dealer: str | None) -> str:
    """Return the scheme that the options --scheme and --dealer mean together."""
    if dealer is None or scheme == _WITHOUT:
        return scheme
    if scheme != _WITH_DEALER:
        raise click.UsageError(
            f"--dealer {dealer} goes with --scheme {_WITH_DEALER} only: scheme '{scheme}' has no dealer. Leave it out."
        )
    return _WITHOUT


parties_option = click.option(
    "--parties",
    type=WHOLE,
    help="How many computing parties, where the scheme has a choice.  [default: as is usual with the scheme]",
)
threshold_option = click.option(
    "--threshold",
    type=WHOLE,
    help="How many of them may be corrupted together; fewer cost less, where the scheme has a choice.  [default: the "
    "most that the scheme withstands]",
)
route_option = click.option(
    "--route",
    type=click.Choice(sorted({route for scheme in SCHEMES.values() for route in scheme.info.routes})),
    help="How products travel, where the scheme has a choice.  [default: as is usual with the scheme]",
)


def check_form(scheme: str, parties: int | None, threshold: int | None, route: str | None = None) -> Spec:
    """Return the scheme in this form, or raise InvalidInputError with the option that must change."""
    info = scheme_named(scheme).info
    count = info.default_parties if parties is None else parties
    try:
        info.check_parties(count)
    except InvalidInputError as error:
        fewest, most = info.parties
        remedy = "Leave out --parties" if fewest == most else f"Choose --parties {info.parties_in_words}"
        others = [name for name in sorted(SCHEMES) if SCHEMES[name].info.secret and SCHEMES[name].info.runs_with(count)]
        if others:
            remedy += f", or take a scheme that runs with {count}: --scheme {' or '.join(others)}"
        raise InvalidInputError(f"{error} {remedy}.") from None
    return info.spec(count, threshold, route)
