"""Numbers as options: what people write that is no number for a program is refused with how to write it."""

from __future__ import annotations

import math
import re
from typing import Any

import click
from click.types import FloatParamType, IntParamType

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d*")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,' ]\d{3})+")


class _Real(FloatParamType):
    """A number, with a decimal point where it has one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(value)
        except ValueError:
            point = str(value).replace(",", ".")
            meant = f" Write it with a decimal point: {point}" if _DECIMAL_COMMA.fullmatch(str(value)) else ""
            self.fail(f"{value!r} is not a number.{meant}", param, ctx)


class _Whole(IntParamType):
    """A whole number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number.{_meant(str(value))}", param, ctx)


def _meant(text: str) -> str:
    """Return how to write the whole number that was meant, where that is plain."""
    if _THOUSANDS.fullmatch(text):
        return f" Write it in digits alone: {re.sub('[^0-9+-]', '', text)}"
    try:
        number = float(text)
    except ValueError:
        return ""
    return f" Write it in digits alone: {int(number)}" if math.isfinite(number) and number == int(number) else ""


REAL = _Real()
WHOLE = _Whole()
