"""Study documents to test with, and certificates for everybody in them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from cofit.study import Study, parse_study
from cofit.transport import generate_identity

NAMES = ("party-a", "party-b", "party-c", "owner-a", "owner-b", "analyst", "stranger")
IDENTITIES = {name: generate_identity(name) for name in NAMES}
CERTIFICATES = {f"{name}.pem": identity.certificate_pem for name, identity in IDENTITIES.items()}
LEFT_OUT = object()

HORIZONTAL: dict[str, Any] = {
    "format": 1,
    "name": "trial",
    "model": {"kind": "logistic_regression", "recipe": "paper", "l2": 0.5},
    "privacy": {"epsilon": 1.0, "delta": 1e-6},
    "data": {
        "partition": "horizontal",
        "label": "ill",
        "label_values": ["no", "yes"],
        "row_key": "id",
        "features": [
            {"name": "age", "type": "number", "lower": 0, "upper": 100},
            {"name": "dose", "type": "number", "lower": -1.5, "upper": 2.5, "clip": True, "missing": 0.5},
            {"names": ["smoker", "treated"], "type": "boolean"},
            {"name": "group", "type": "category", "values": ["x", "y", "z"], "missing": "z"},
            {"prefix": "w", "count": 3, "type": "number", "lower": -1, "upper": 1},
        ],
    },
    "compute": {"scheme": "rep3"},
    "parties": [
        {"name": f"party-{x}", "address": f"party-{x}.example:7100", "certificate": f"party-{x}.pem"} for x in "abc"
    ],
    "owners": [
        {"name": "owner-a", "certificate": "owner-a.pem", "rows": 600},
        {"name": "owner-b", "certificate": "owner-b.pem", "rows": 400},
    ],
    "analysts": [{"name": "analyst", "certificate": "analyst.pem"}],
}
VERTICAL: dict[str, Any] = {
    **HORIZONTAL,
    "data": {**HORIZONTAL["data"], "partition": "vertical", "rows": 1000},
    "owners": [
        {"name": "owner-a", "certificate": "owner-a.pem", "columns": ["w*", "group"]},
        {
            "name": "owner-b",
            "certificate": "owner-b.pem",
            "columns": ["treated", "age", "dose", "smoker"],
            "holds_label": True,
        },
    ],
}
CLIENTS: dict[str, Any] = {
    **HORIZONTAL,
    "release": {"model": "shared", "answers": ["scores", "classes"]},
    "clients": [{"name": "stranger", "certificate": "stranger.pem", "rows": 50}],
}
EXACT: dict[str, Any] = {
    **{name: value for name, value in CLIENTS.items() if name != "privacy"},
    "release": {"model": "shared", "noise": False, "answers": "classes"},
}


def changed(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy with fields replaced, given by their paths ('owners.0.rows'), or removed (``LEFT_OUT``)."""
    result: dict[str, Any] = copy.deepcopy(dict(document))
    for path, value in changes.items():
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        place: Any = result
        for step in steps:
            place = place[step]
        if value is LEFT_OUT:
            del place[last]
        elif isinstance(last, int) and last == len(place):
            place.append(value)
        else:
            place[last] = value
    return result


def study_of(document: Mapping[str, Any] = HORIZONTAL, **changes: Any) -> Study:
    """Return the study, with changes whose paths are written with __ for the dots."""
    paths = {path.replace("__", "."): value for path, value in changes.items()}
    return parse_study(changed(document, paths), CERTIFICATES)
