"""Strict reading of a document of tables and lists: every error names the field by its path and says the remedy.

The documents are those of TOML: mappings, lists, texts, integers, floats and booleans. ``Table`` hands out the fields
of one mapping and refuses, at the end, what nobody asked for.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from cofit.errors import InvalidInputError, parameter_error

OWNER = "the study"
_REQUIRED = object()
_LONGEST_SHOWN = 200
_LONGEST_NAME = 60


def field_error(path: str, must_be: str, got: object) -> InvalidInputError:
    """Build the error of one field: its path, what it must be, and what it is."""
    shown = got
    if isinstance(got, Mapping):
        shown = f"a table of {len(got)}"
    elif len(repr(got)) > _LONGEST_SHOWN:
        shown = repr(got)[:_LONGEST_SHOWN] + "..."
    return parameter_error(path, OWNER, must_be, shown)


class Table:
    """One mapping of a document, at ``path`` ('' for the whole document), with no other keys than ``fields``."""

    def __init__(self, value: object, path: str, fields: Sequence[str]) -> None:
        if not isinstance(value, Mapping):
            raise field_error(path or "document", "a table of named fields", value)
        self.path = path
        self._values = value
        for name in value:
            if name not in fields:
                likely = suggestion(str(name), [field for field in fields if field not in value])
                remedy = likely or f"; here there are {', '.join(fields)}. Remove it"
                raise field_error(self.at(str(name)), f"a field that format 1 knows{remedy}", value[name])

    def at(self, name: str) -> str:
        """Return the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def entry_named(self) -> AbstractContextManager[None]:
        """Errors say whose entry this table is."""
        return entry_named(self._values)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def raw(self, name: str, default: Any = _REQUIRED, must_be: str = "stated") -> Any:
        """Return the field as it stands, or ``default``."""
        if name not in self._values and default is _REQUIRED:
            raise InvalidInputError(
                f"The '{self.at(name)}' parameter of {OWNER} is missing: it must be {must_be}; add it."
            )
        return self._values.get(name, default)

    def text(self, name: str, default: Any = _REQUIRED, choices: Iterable[str] | None = None) -> str:
        """Return a text of at least one printable character, one of ``choices`` if there are any."""
        known = None if choices is None else list(choices)
        must_be = "printable text, not empty" if known is None else f"one of {known}"
        value = self.raw(name, default, must_be=must_be)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            raise field_error(self.at(name), must_be, value)
        if known is not None and value not in known:
            raise field_error(self.at(name), must_be + suggestion(value, known), value)
        return value

    def boolean(self, name: str, default: Any = _REQUIRED) -> bool:
        """Return true or false."""
        value = self.raw(name, default, must_be="true or false")
        if not isinstance(value, bool):
            raise field_error(self.at(name), "true or false, without quotation marks", value)
        return value

    def number(self, name: str, default: Any = _REQUIRED, least: float = -math.inf, most: float = math.inf) -> float:
        """Return a finite number from ``least`` to ``most`` as a float, whether written 1 or 1.0."""
        must_be = "a finite number, without quotation marks" + _span(least, most)
        return finite(self.at(name), self.raw(name, default, must_be=must_be), must_be, least, most)

    def integer(self, name: str, default: Any = _REQUIRED, least: int = 1, most: int = 1 << 40) -> int:
        """Return a whole number from ``least`` to ``most``."""
        must_be = f"a whole number from {least} to {most}"
        value = self.raw(name, default, must_be=must_be)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise field_error(self.at(name), must_be, value)
        return value

    def items(self, name: str, default: Any = _REQUIRED, *, of: str) -> list[Any]:
        """Return a list; ``of`` says what is in it."""
        value = self.raw(name, default, must_be=f"a list of {of}")
        if not isinstance(value, list | tuple):
            raise field_error(self.at(name), f"a list of {of}", value)
        return list(value)

    def tables(self, name: str, fields: Sequence[str]) -> list[Table]:
        """Return a list of tables, at least one ([[name]] in TOML)."""
        must_be = f"a list of tables, at least one ([[{self.at(name)}]] in TOML)"
        value = self.raw(name, must_be=must_be)
        if not isinstance(value, list | tuple) or not value:
            raise field_error(self.at(name), must_be, value)
        found = []
        for i, item in enumerate(value):
            with entry_named(item):
                found.append(Table(item, f"{self.at(name)}[{i}]", fields))
        return found

    def table(self, name: str, fields: Sequence[str]) -> Table:
        """Return the table under that name ([name] in TOML)."""
        return Table(self.raw(name, must_be=f"a table [{self.at(name)}]"), self.at(name), fields)

    def absent(self, names: Iterable[str], why: str) -> None:
        """Refuse fields that exist but have no place here, with the reason."""
        for name in names:
            if name in self._values:
                raise field_error(self.at(name), f"left out: {why}", self._values[name])


def finite(path: str, value: object, must_be: str, least: float = -math.inf, most: float = math.inf) -> float:
    """Return a number as a float (0.0 for -0.0), or raise the error of that field."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise field_error(path, must_be, value)
    try:
        number = float(value)
    except OverflowError:
        raise field_error(path, must_be, "an integer beyond every float") from None
    if not math.isfinite(number) or not least <= number <= most:
        raise field_error(path, must_be, value)
    return number + 0.0


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the likeliest of the known words, or None where none is like it."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return near[0] if near else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ' (did you mean ...?)' for the likeliest of the known words, or nothing."""
    near = nearest(word, known)
    return "" if near is None else f" (did you mean '{near}'?)"


@contextmanager
def entry_named(value: object) -> Iterator[None]:
    """An error about one of a list of tables says whose entry it is: a path counts entries, and from 0."""
    try:
        yield
    except InvalidInputError as error:
        whose = _whose(value)
        raise InvalidInputError(f"{error}{whose and f' That is the entry of {whose}.'}") from None


def _whose(value: object) -> str:
    """Return what the table is about, by its name or names, or nothing."""
    if not isinstance(value, Mapping):
        return ""
    names = value.get("names")
    listed = names if isinstance(names, list | tuple) else []
    given = [name for name in (value.get("name"), *listed) if isinstance(name, str) and name.isprintable()]
    if not given:
        prefix = value.get("prefix")
        return f"'{_short(prefix)}0' and so on" if isinstance(prefix, str) and prefix.isprintable() else ""
    more = f" and {len(given) - 1:,} more" if len(given) > 1 else ""
    return f"'{_short(given[0])}'{more}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


def distinct(names: Sequence[Any], path: Callable[[int], str], what: str) -> None:
    """Refuse the first of ``names`` that was there before."""
    seen: dict[Any, int] = {}
    for i, name in enumerate(names):
        if name in seen:
            raise field_error(path(i), f"another {what} than {path(seen[name])}: each may occur once", name)
        seen[name] = i


def _span(least: float, most: float) -> str:
    if math.isinf(most):
        return "" if math.isinf(least) else f", at least {least:g}"
    return f" from {least:g} to {most:g}"
