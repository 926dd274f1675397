"""The features of a study, from their tables: one column each, or a family of columns of one type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cofit.study.document import Feature, Value, value_text
from cofit.study.fields import Table, distinct, field_error, finite

FEATURE_FIELDS = ("name", "type", "lower", "upper", "clip", "values", "missing", "names", "prefix", "count")
TYPES = ("number", "boolean", "category")
MOST_COLUMNS = 1 << 20
_LONGEST_NAME = 256
_USED = {"number": ("lower", "upper", "clip"), "boolean": (), "category": ("values",)}


def parse_features(tables: Sequence[Table]) -> tuple[Feature, ...]:
    """Return all features in order, families expanded; their names and encoded names are distinct."""
    features: list[Feature] = []
    origins: list[str] = []
    columns = 0
    for table in tables:
        with table.entry_named():
            names = _names(table)
            shared = _shared(table)
        columns += len(names) * max(1, len(shared.get("values", ())))
        if columns > MOST_COLUMNS:
            raise field_error(table.path, f"within {MOST_COLUMNS} encoded columns for the whole study", columns)
        features += [Feature(name, **shared) for name in names]
        origins += [table.path] * len(names)
    distinct([feature.name for feature in features], lambda i: f"{origins[i]}.name", "name")
    encoded = [(name, i) for i, feature in enumerate(features) for name in feature.encoded_names]
    distinct([name for name, _ in encoded], lambda j: f"{origins[encoded[j][1]]}.name", "name of an encoded column")
    return tuple(features)


def column_name(path: str, name: object) -> str:
    """Return the name of a column, or raise: printable, no spaces around it, at most 256 characters."""
    must_be = f"the name of a column: printable text of 1 to {_LONGEST_NAME} characters, without spaces around it"
    if (
        not isinstance(name, str)
        or not name.isprintable()
        or name != name.strip()
        or not 0 < len(name) <= _LONGEST_NAME
    ):
        raise field_error(path, must_be, name)
    return name


def parse_values(table: Table, name: str, kinds: tuple[type, ...], most: int | None = None) -> tuple[Value, ...]:
    """Return distinct values of one of ``kinds``: at least two, and at most ``most`` of them."""
    words = {str: "texts", int: "whole numbers", bool: "booleans"}
    many = "at least two" if most is None else f"2 to {most}"
    of = f"{many} different values, all of them {' or all '.join(words[kind] for kind in kinds)}"
    values = table.items(name, of=of)
    if len({type(value) for value in values}) != 1 or type(values[0]) not in kinds:
        raise field_error(table.at(name), f"a list of {of}", values)
    if len(values) < 2 or (most is not None and len(values) > most):
        raise field_error(table.at(name), f"a list of {of}", values)
    for i, value in enumerate(values):
        if isinstance(value, str) and (not value or value != value.strip() or not value.isprintable()):
            must_be = "printable text without spaces around it (spaces around the values in a file are ignored)"
            raise field_error(f"{table.at(name)}[{i}]", must_be, value)
        if isinstance(value, int) and abs(value) > 1 << 53:
            raise field_error(f"{table.at(name)}[{i}]", "at most 2^53 in magnitude", value)
    distinct([value_text(value) for value in values], lambda i: f"{table.at(name)}[{i}]", "value")
    return tuple(values)


def _names(table: Table) -> list[str]:
    ways = [way for way in ("name", "names", "prefix") if way in table]
    if len(ways) != 1 or ("count" in table) != ("prefix" in table):
        must_be = "named in one way: by 'name', by 'names' (a list), or by 'prefix' and 'count'"
        raise field_error(table.path, must_be, [*ways, *(["count"] if "count" in table else [])])
    if ways == ["name"]:
        return [column_name(table.at("name"), table.raw("name"))]
    if ways == ["names"]:
        names = table.items("names", of="names of columns, at least one")
        if not names:
            raise field_error(table.at("names"), "a list of names of columns, at least one", names)
        return [column_name(f"{table.at('names')}[{i}]", name) for i, name in enumerate(names)]
    prefix = column_name(table.at("prefix"), table.raw("prefix"))
    count = table.integer("count", most=MOST_COLUMNS)
    return [column_name(table.at("prefix"), f"{prefix}{i}") for i in range(count)]


def _shared(table: Table) -> dict[str, Any]:
    """Return what all columns of the table have in common."""
    kind = table.text("type", choices=TYPES)
    unused = {name for names in _USED.values() for name in names} - set(_USED[kind])
    table.absent(sorted(unused), f"a feature of type '{kind}' has none")
    shared: dict[str, Any] = {"type": kind}
    if kind == "number":
        lower, upper = table.number("lower"), table.number("upper")
        if not lower < upper or not upper - lower < float("inf"):
            raise field_error(table.at("upper"), f"above lower ({lower:g}), at a finite distance", upper)
        shared |= {"lower": lower, "upper": upper, "clip": table.boolean("clip", False)}
    elif kind == "category":
        shared["values"] = parse_values(table, "values", (str, int))
    if "missing" in table:
        shared["missing"] = _missing(table, shared)
    return shared


def _missing(table: Table, shared: dict[str, Any]) -> Value | float:
    path, value = table.at("missing"), table.raw("missing")
    if shared["type"] == "number":
        lower, upper = shared["lower"], shared["upper"]
        return finite(path, value, f"a number from lower to upper ({lower:g} to {upper:g})", lower, upper)
    if shared["type"] == "boolean":
        return table.boolean("missing")
    values: tuple[Value, ...] = shared["values"]
    if not any(type(known) is type(value) and known == value for known in values):
        raise field_error(path, f"one of the values {list(values)}", value)
    return next(known for known in values if known == value)
