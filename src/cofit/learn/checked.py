"""Checks of the parameters of a plan: each returns the value, or raises an error that names it and the remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from cofit.errors import InvalidInputError, parameter_error
from cofit.units import bytes_in

OWNER = "a plan"
_LONGEST_FRACTION = 256
_MOST_BYTES = 1 << 60


def one_of(allowed: tuple[str, ...], name: str, value: object) -> None:
    """Refuse any other text."""
    if not isinstance(value, str) or value not in allowed:
        raise parameter_error(name, OWNER, f"one of {list(allowed)}", value)


def flag(name: str, value: object) -> bool:
    """Truth is not guessed: the text 'false' would be true."""
    if not isinstance(value, bool | np.bool_):
        raise parameter_error(name, OWNER, "True or False", value)
    return bool(value)


def positive(name: str, value: object) -> Fraction:
    """Return a positive number of a usual size, exactly."""
    return real(name, value, "a number above 0, and below 1e12", lambda v: 0 < v < 1e12)


def real(name: str, value: object, must_be: str, holds: Callable[[Any], bool]) -> Fraction:
    """Return a number for which ``holds`` is true, exactly."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction) or not math.isfinite(number):
        raise parameter_error(name, OWNER, must_be, value)
    exact = Fraction(number)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > _LONGEST_FRACTION:
        raise parameter_error(name, OWNER, f"a number that {_LONGEST_FRACTION} bits can hold as a fraction", value)
    if not holds(number):
        raise parameter_error(name, OWNER, must_be, value)
    return exact


def integer(name: str, value: object, least: int, most: int, why: str = "") -> int:
    """Return a whole number within limits."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise parameter_error(name, OWNER, f"an integer from {least} to {most}{why}", value)
    return number


def byte_count(name: str, value: object) -> int:
    """Return a number of bytes, from one or from a size as people write it."""
    try:
        return integer(name, bytes_in(value) if isinstance(value, str) else value, 1, _MOST_BYTES)
    except InvalidInputError:
        must_be = "a size above 0, as in '1 GB' or '512 MB', or a whole number of bytes"
        raise parameter_error(name, OWNER, must_be, value) from None
