"""The row map of a model, from its file, checked against the certificate. Reading is strict."""

from __future__ import annotations

import math
from typing import Any

from cofit.errors import parameter_error
from cofit.learn.row_map import NORMS, RowMap
from cofit.privacy.certificate import Certificate

_NAMES = {"norm", "bound", "floor", "level", "centre"}
_OWNER = "a LinearModel"


def read_rows(fields: Any) -> RowMap:
    """Return the row map that a file states, or raise InvalidInputError."""
    if not isinstance(fields, dict) or set(fields) != _NAMES:
        raise parameter_error("rows", _OWNER, f"null, or a mapping with the fields {sorted(_NAMES)}", fields)
    centre = fields["centre"]
    if centre is not None and not isinstance(centre, list):
        raise parameter_error("rows.centre", _OWNER, "null or a list", centre)
    return RowMap(**{**fields, "centre": None if centre is None else tuple(centre)})


def check_rows(rows: RowMap | None, cols: int, certificate: Certificate) -> None:
    """Raise InvalidInputError unless the map is one that the certificate's method has."""
    by_descent = certificate.method == "descent"
    if rows is None or not by_descent:
        if (rows is None) == by_descent:
            raise parameter_error("rows", _OWNER, "there for descent, and for nothing else", rows)
        return
    if rows.norm not in NORMS or certificate.descent is None or rows.norm != certificate.descent.norm:
        raise parameter_error("rows.norm", _OWNER, "the norm of the certificate", rows.norm)
    numbers = {"bound": rows.bound, "floor": rows.floor}
    if rows.level is not None:
        numbers["level"] = rows.level
    numbers |= {f"centre[{i}]": value for i, value in enumerate(rows.centre or ())}
    for name, value in numbers.items():
        if not isinstance(value, float) or not math.isfinite(value):
            raise parameter_error(f"rows.{name}", _OWNER, "a finite float", value)
    if rows.bound <= 0 or rows.floor < 0:
        raise parameter_error("rows.bound", _OWNER, "positive, and rows.floor at least 0", (rows.bound, rows.floor))
    by_parties = certificate.normalised_by == "parties"
    if (rows.floor > 0) != by_parties or not (by_parties or rows.bound == 1):
        must_be = "1 and 0 where the owners scaled, and a floor above 0 where the parties did"
        raise parameter_error("rows.bound and rows.floor", _OWNER, must_be, (rows.bound, rows.floor))
    released = {release.name for release in certificate.releases}
    for name in ("level", "centre"):
        if (getattr(rows, name) is not None) != (name in released):
            raise parameter_error(f"rows.{name}", _OWNER, "there if and only if it was released", None)
    if rows.centre is not None and len(rows.centre) != cols:
        raise parameter_error("rows.centre", _OWNER, f"as long as the weights, {cols}", len(rows.centre))
