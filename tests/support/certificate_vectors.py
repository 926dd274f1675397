"""Test vectors of certificates: of several plans, and forgeries by one field (``vectors.py``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cofit.errors import InvalidInputError
from cofit.learn.rebuild import rebuilt_plan
from cofit.privacy.certificate import Certificate
from support.certified import certified

Document = dict[str, Any]
CERTIFIED = ("clipped", "level and centre", "pure", "paper", "paper, gaussian")
FORGED: list[tuple[str, tuple[str | int, ...], Any]] = [
    ("clipped", ("epsilon",), {"exact": "1/2", "float": 0.5}),
    ("clipped", ("delta_total",), {"exact": "1/1000000000", "float": 1e-9}),
    ("clipped", ("releases", 5, "scale"), {"exact": "1000000", "float": 1e6}),
    ("clipped", ("releases", 5, "sensitivity"), {"exact": "1", "float": 1.0}),
    ("clipped", ("n",), 3001),
    ("clipped", ("version",), 2),
    ("clipped", ("secret",), False),
    ("clipped", ("plan_hash",), "0" * 64),
    ("level and centre", ("owners", "clinic-a", "features"), [501, 12]),
    ("pure", ("delta",), {"exact": "1/1000000", "float": 1e-6}),
    ("paper", ("statement", "tau"), {"exact": "1/1000000000000", "float": 1e-12}),
    ("paper", ("sampler_distance",), {"exact": "0", "float": 0.0}),
    ("paper, gaussian", ("mechanism",), "laplace"),
    ("paper, gaussian", ("epsilon",), {"exact": "2/2", "float": 1.0}),
]
"""Changes of one field, by its place in the document."""


def certificates() -> Document:
    """Return certificates of several plans, as any run would state them."""
    return {"cases": [{"case": case, "certificate": _certificate(case)} for case in CERTIFIED]}


def _certificate(case: str) -> Document:
    stated = replace(certified(case), software={"python": "3.11.7", "numpy": "2.4.6"}, cofit_version="0.1.0")
    document: Document = json.loads(stated.to_json())
    return document


def bad_certificates() -> Document:
    """Return changes that must be refused, with the field that is named."""
    cases = []
    for case, place, value in FORGED:
        document = changed(_certificate(case), place, value)
        try:
            rebuilt_plan(Certificate.from_json(json.dumps(document)))
        except InvalidInputError as error:
            cases.append({"case": case, "place": list(place), "value": value, "refused": str(error).split("'")[1]})
    return {"cases": cases}


def changed(document: Document, place: Sequence[str | int], value: Any) -> Document:
    """Return a document in which one place holds something else."""
    inner: Any = document
    for step in place[:-1]:
        inner = inner[step]
    assert inner[place[-1]] != value
    inner[place[-1]] = value
    return document
