"""Values for the blocks that are parts of a party program."""

from typing import Any

import numpy as np

import cofit

owners = {
    "owner": {
        "a": cofit.Contribution(np.array([0.5, 2.0, 1.5]), bound=4.0),
        "b": cofit.Contribution(np.array([1.0, 1.5, 2.0]), bound=4.0),
        "w": cofit.Contribution(np.array([0.5, -0.25, 0.125]), bound=1.0),
    }
}


def names(party: cofit.Party) -> dict[str, Any]:
    a, b, w = (party.input("owner", name) for name in "abw")
    return {"a": a, "b": b, "w": w, "x": a}
