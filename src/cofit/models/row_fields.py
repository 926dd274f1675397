"""The row map of a model, from its file, checked against the certificate. Reading is strict."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from cofit.errors import parameter_error
from cofit.learn.recipes.descent.pure import PLAIN_COLUMNS
from cofit.learn.recipes.descent.row_map import NORMS, RowMap
from cofit.privacy.certificate import Certificate

_CLIPPED = {"mean", "stretch", "radius"}
_NAMES = {"norm", "bound", "floor", "level", "centre", *_CLIPPED}
_MAPPED, _PLAIN = "mapped", "plain"
_STATED = {_MAPPED, _PLAIN}  # where they are so: files of earlier releases lack them
_LISTS = ("centre", "mean", "stretch")
_OWNER = "a LinearModel"


def read_rows(fields: Any) -> RowMap:
    """Return the row map that a file states, or raise InvalidInputError."""
    sound = isinstance(fields, dict) and set(fields) - _STATED == _NAMES
    if not sound or any(fields.get(name, True) is not True for name in _STATED):
        raise parameter_error("rows", _OWNER, f"null, or a mapping with the fields {sorted(_NAMES)}", fields)
    for name in _LISTS:
        if fields.get(name) is not None and not isinstance(fields[name], list):
            raise parameter_error(f"rows.{name}", _OWNER, "null or a list", fields[name])
    lists = {name: tuple(fields[name]) for name in _LISTS if fields.get(name) is not None}
    return RowMap(**{**fields, **lists})


def stated_rows(rows: RowMap) -> dict[str, Any]:
    """Return a row map in JSON's types, as ``read_rows`` reads it."""
    return {name: value for name, value in asdict(rows).items() if value or name not in _STATED}


def check_rows(rows: RowMap | None, cols: int, certificate: Certificate) -> None:
    """Raise InvalidInputError unless the map is one that the certificate's method has."""
    by_descent = certificate.method == "descent"
    if rows is None or not by_descent:
        if (rows is None) == by_descent:
            raise parameter_error("rows", _OWNER, "there for descent, and for nothing else", rows)
        return
    if rows.norm not in NORMS or certificate.descent is None or rows.norm != certificate.descent.norm:
        raise parameter_error("rows.norm", _OWNER, "the norm of the certificate", rows.norm)
    if rows.mapped != ("reference" in certificate.facts):
        raise parameter_error(
            "rows.mapped", _OWNER, "there if and only if the certificate has a reference", rows.mapped
        )
    plain = certificate.facts.get("pure_steps") is True and cols <= PLAIN_COLUMNS
    if rows.plain != plain:
        must_be = f"there if and only if noise is K-norm and there are at most {PLAIN_COLUMNS} columns"
        raise parameter_error("rows.plain", _OWNER, must_be, rows.plain)
    numbers = {"bound": rows.bound, "floor": rows.floor}
    numbers |= {name: value for name in ("level", "radius") if (value := getattr(rows, name)) is not None}
    for name in _LISTS:
        numbers |= {f"{name}[{i}]": value for i, value in enumerate(getattr(rows, name) or ())}
    for name, value in numbers.items():
        if not isinstance(value, float) or not math.isfinite(value):
            raise parameter_error(f"rows.{name}", _OWNER, "a finite float", value)
    if rows.bound <= 0 or rows.floor < 0:
        raise parameter_error("rows.bound", _OWNER, "positive, and rows.floor at least 0", (rows.bound, rows.floor))
    released = {release.name for release in certificate.releases}
    clipped = "mean" in released
    if clipped:
        if rows.floor != 0:
            raise parameter_error("rows.floor", _OWNER, "0 where rows are clipped", rows.floor)
    else:
        by_parties = certificate.normalised_by == "parties"
        if (rows.floor > 0) != by_parties or not (by_parties or rows.bound == 1):
            must_be = "1 and 0 where the owners scaled, and a floor above 0 where the parties did"
            raise parameter_error("rows.bound and rows.floor", _OWNER, must_be, (rows.bound, rows.floor))
    there = {"level": "level" in released, "centre": "centre" in released, **dict.fromkeys(_CLIPPED, clipped)}
    for name, wanted in there.items():
        if (getattr(rows, name) is not None) != wanted:
            raise parameter_error(f"rows.{name}", _OWNER, "there if and only if it was released", None)
    for name in _LISTS:
        given = getattr(rows, name)
        if given is not None and len(given) != cols:
            raise parameter_error(f"rows.{name}", _OWNER, f"as long as the weights, {cols}", len(given))
    if clipped and not (rows.radius and rows.radius > 0 and min(rows.stretch or (0.0,)) > 0):
        raise parameter_error("rows.radius", _OWNER, "positive, and so every rows.stretch", rows.radius)
