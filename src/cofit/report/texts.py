"""Texts of other people, and numbers, as they are shown."""

from __future__ import annotations

from datetime import datetime, timedelta

_MOST_DECIMALS = 6
_LARGE = 1e7


def printable(text: str) -> str:
    """Return the text without characters that cannot be printed, such as those that reverse what follows."""
    return "".join(ch if ch.isprintable() or ch in "\n\t" else "\N{REPLACEMENT CHARACTER}" for ch in text)


def short(text: object, most: int = 120) -> str:
    """Return the beginning of a long text."""
    shown = str(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def probability(p: float) -> str:
    """Return a p-value."""
    if p >= 0.9995:
        return "1"
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def signed(value: float, decimals: int) -> str:
    """Return a number with its sign; in scientific notation where it would be long."""
    scientific = decimals > _MOST_DECIMALS or abs(value) >= _LARGE
    shown = f"{value:+.2e}" if scientific else f"{value:+.{decimals}f}"
    return shown.replace("-", "\N{MINUS SIGN}")


def day(created: str) -> str:
    """Return an ISO 8601 date as people write it."""
    moment = datetime.fromisoformat(created)
    date = f"{moment.day} {moment:%B} {moment.year}"
    if "T" not in created:
        return date
    zone = "UTC" if moment.utcoffset() == timedelta(0) else f"{moment:%Z}"
    return f"{date}, {moment:%H:%M} {zone}".rstrip()


def capitalised(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]
