"""Sizes and durations as people read them: '237 GB', '16 min'. Files for machines have plain bytes and seconds."""

from __future__ import annotations

import re
from fractions import Fraction

from cofit.errors import InvalidInputError

_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>B|[kMGT]i?B)", re.IGNORECASE)
_SIZES = (("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12))
_LARGEST = ("PB", 1e15)
_DAY = 86400.0
MEGABIT_BYTES = 125_000
"""What a line carries in a second for each of the megabits by which it is sold."""


def size(count: float, digits: int = 3) -> str:
    """Return a number of bytes with so many significant digits, three or more, in the unit that keeps it short."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count:,.0f} bytes"
    for unit, factor in _SIZES:
        shown = _significant(count / factor, digits)
        if float(shown) < 1000:
            return f"{shown} {unit}"
    unit, factor = _LARGEST
    return f"{_significant(count / factor, digits)} {unit}"


def bytes_in(text: str) -> int:
    """Return the bytes that a size as people write it has: '1 GB', '512MB', '1.5 GiB'; InvalidInputError otherwise."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InvalidInputError(f"{text!r} is no size: write a number and a unit, as in '1 GB', '512 MB' or '1.5 GiB'.")
    unit = found["unit"].lower()
    return int(Fraction(found["number"]) * (1024 if unit.endswith("ib") else 1000) ** ("bkmgt".index(unit[0])))


def duration(seconds: float | None) -> str:
    """Return milliseconds, seconds, minutes, hours or days; None is 'not known'."""
    if seconds is None:
        return "not known"
    if seconds < 1e-5:
        return "below 0.01 ms" if seconds > 0 else "0 s"
    if seconds < 0.1:
        return f"{_significant(1e3 * seconds, 2)} ms"
    if seconds < 120:
        return f"{_significant(seconds, 2)} s"
    if seconds < 7200:
        return f"{_significant(seconds / 60, 2)} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * _DAY else f"{seconds / _DAY:.1f} days"


def _significant(value: float, digits: int) -> str:
    """Return so many digits, all of those before the point, and never an exponent; '1.20' is '1.2'."""
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    shown = f"{value:.{max(digits - 1 - exponent, 0)}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
