"""Typed fields to and from JSON, strictly: what certificates are written with.

A field is text, a flag, a number, a Fraction (as its exact text and the nearest float), or a tuple, mapping or
dataclass of such. Of several dataclasses the tag tells which: a field that can have one text only (Literal). Whatever
is not exactly of its type is an InvalidInputError with the path of the field.

A field of a dataclass that later releases added has the metadata ``LATER`` and a default, which is what held before: it
is stated only where it is something else.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from cofit.errors import InvalidInputError, parameter_error

_LATER = "later"
LATER = {_LATER: True}
LARGEST_BITS = 1000  # of a numerator or denominator: short enough to print, and a float can hold the quotient


def kinds_of(record: Any) -> Mapping[str, Any]:
    """Return the type of every field of a dataclass."""
    return _kinds_of(record)


@cache
def _kinds_of(record: type) -> Mapping[str, Any]:
    return get_type_hints(record)


def encode(value: object) -> Any:
    """Return the value in JSON's types: a Fraction becomes its exact text and the nearest float."""
    if isinstance(value, Fraction):
        if (bits := _bits(value)) > LARGEST_BITS:
            return f"one of {bits} bits"  # which ``decode`` refuses, and shows
        return {"exact": exact_text(value), "float": float(value)}
    if is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name) for one in stated_parts(value)}
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    return value


def stated_parts(value: Any) -> list[Field[Any]]:
    """Return the fields of a dataclass that are stated: all but later ones that have their default."""
    return [one for one in fields(value) if _LATER not in one.metadata or getattr(value, one.name) != one.default]


def decode(kind: Any, value: Any, path: str) -> Any:
    """Return the value of a field of type ``kind`` from JSON's types, or raise."""
    if kind is str and isinstance(value, str) and value.strip() and value.isprintable():
        return str(value)
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
        return int(value)
    if kind is float and isinstance(value, float) and math.isfinite(value):
        return float(value)
    if get_origin(kind) is Literal and value in get_args(kind) and isinstance(value, str):
        return str(value)
    if get_origin(kind) is UnionType:
        return _decode_one_of(get_args(kind), value, path)
    if kind is Fraction:
        return _decode_fraction(value, path)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(decode(get_args(kind)[0], item, f"{path}[{i}]") for i, item in enumerate(value))
    if get_origin(kind) is Mapping and isinstance(value, dict):
        item_kind = get_args(kind)[1]
        return {decode(str, key, path): decode(item_kind, item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(value, dict):
        kinds = kinds_of(kind)
        later = {one.name: one.default for one in fields(kind) if _LATER in one.metadata}
        check_names(value, {name for name in kinds if name not in later or name in value}, f"{path}.")
        made = {key: decode(kinds[key], item, f"{path}.{key}") for key, item in value.items()}
        for name in sorted(name for name in later if name in made and made[name] == later[name]):
            raise parameter_error(f"{path}.{name}", "a certificate", f"left out where it is {later[name]}", value[name])
        return kind(**made)
    raise parameter_error(path, "a certificate", _described(kind), value)


def _decode_one_of(kinds: tuple[Any, ...], value: Any, path: str) -> Any:
    """Return a value of one of several types: of those dataclasses that have it the one with its tag, or the first."""
    if value is None and type(None) in kinds:
        return None
    kinds = tuple(kind for kind in kinds if kind is not type(None))
    for tag in _tags(kinds[0]):
        tagged = {text: kind for kind in kinds for text in get_args(kinds_of(kind).get(tag))}
        found = value.get(tag) if isinstance(value, dict) else None
        if not isinstance(found, str) or found not in tagged:
            raise parameter_error(f"{path}.{tag}", "a certificate", f"one of {sorted(tagged)}", found)
        return decode(tagged[found], value, path)
    if len(kinds) == 1:
        return decode(kinds[0], value, path)
    for kind in kinds:
        try:
            return decode(kind, value, path)
        except InvalidInputError:
            continue
    raise parameter_error(path, "a certificate", " or ".join(_described(kind) for kind in kinds), value)


def _tags(kind: Any) -> list[str]:
    if not is_dataclass(kind):
        return []
    return [name for name, hint in kinds_of(kind).items() if get_origin(hint) is Literal]


def _decode_fraction(value: Any, path: str) -> Fraction:
    exact = value.get("exact") if isinstance(value, dict) and set(value) == {"exact", "float"} else None
    if isinstance(exact, str) and len(exact) <= LARGEST_BITS and re.fullmatch(r"-?[0-9]+/[1-9][0-9]*", exact):
        fraction = Fraction(exact)
        if (
            _bits(fraction) <= LARGEST_BITS
            and exact == exact_text(fraction)
            and isinstance(value["float"], float)
            and value["float"] == float(fraction)
        ):
            return fraction
    raise parameter_error(path, "a certificate", _described(Fraction), value)


def _bits(fraction: Fraction) -> int:
    return max(fraction.numerator.bit_length(), fraction.denominator.bit_length())


def _described(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return "a list"
    if get_origin(kind) is Mapping or is_dataclass(kind):
        return "a mapping"
    if get_origin(kind) is Literal:
        return f"one of {list(get_args(kind))}"
    return {
        str: "a line of printable text that is not empty",
        bool: "true or false",
        int: "an integer below 2^63",
        float: "a finite float",
        Fraction: f"a Fraction of at most {LARGEST_BITS} bits (in JSON: 'exact', in lowest terms, and its 'float')",
    }[kind]


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict, for ``json.loads``; raise where a name is there twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        name, count = Counter(name for name, _ in pairs).most_common(1)[0]
        raise parameter_error(name, "a certificate", "stated once", f"{count} times")
    return result


def check_names(found: Mapping[str, object], wanted: set[str], path: str) -> None:
    """Raise unless exactly the wanted names are there."""
    for name in sorted(wanted - set(found)):
        raise parameter_error(path + name, "a certificate", "stated", None)
    for name in sorted(set(found) - wanted):
        raise parameter_error(path + name, "a certificate", "left out, because this version lacks it", found[name])


def exact_text(fraction: Fraction) -> str:
    """Return numerator/denominator, in lowest terms."""
    return f"{fraction.numerator}/{fraction.denominator}"
