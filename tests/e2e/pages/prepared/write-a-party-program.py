"""Values for the blocks that are parts of a party program. The page has the same owners further down."""

from typing import Any

import numpy as np

import cofit

owners = {
    "owner": {
        "x": cofit.Contribution(np.array([0.6, -0.3, 0.1]), bound=1.0),
        "y": cofit.Contribution(np.array([0.5, 0.25, 0.5]), bound=1.0),
        "visits": cofit.Contribution(np.array([3, 0, 7]), bound=100, format=cofit.FixedPoint(0)),
    }
}


def names(party: cofit.Party) -> dict[str, Any]:
    x, y, n = (party.input("owner", name) for name in ("x", "y", "visits"))
    return {"x": x, "y": y, "n": n, "w": y, "rows": x.reshape(1, 3), "weights": y}
