"""The exact form of a plan, which its hash is of: every number in full, in JSON's types.

Plans are hashed by the names and fields of their dataclasses. Where a later release needs one field more, its metadata
are ``ADDED``, and its default is what held before: then all plans that do not use it keep their hashes, and their
certificates can be made again for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from fractions import Fraction
from typing import Any

from cofit.arithmetic import IntegerRing

_ADDED = "added"
ADDED = {_ADDED: True}
"""Metadata of a dataclass field that earlier releases lacked: stated, and hashed, only where it is not the default."""


def stated_fields(value: Any) -> list[Field[Any]]:
    """Return the fields of a dataclass that hashes state: what is compared, less added fields with their default."""
    return [
        one
        for one in fields(value)
        if one.compare and (_ADDED not in one.metadata or getattr(value, one.name) != one.default)
    ]


def added_defaults(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a dataclass that earlier versions lacked, with what held before."""
    return {one.name: one.default for one in fields(kind) if _ADDED in one.metadata}


def exact(value: object) -> object:
    """Return a value in JSON's types, with fractions in full."""
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, IntegerRing):
        return value.name
    if is_dataclass(value):
        return [type(value).__name__, {one.name: exact(getattr(value, one.name)) for one in stated_fields(value)}]
    if isinstance(value, Mapping):
        return {key: exact(item) for key, item in value.items()}
    return [exact(item) for item in value] if isinstance(value, tuple) else value
