"""Values for the block that is a part of a party program."""

from typing import Any

import numpy as np

import cofit
from cofit.protocols import less, select

owners = {"owner": {"x": cofit.Contribution(np.array([50.0, -100.0, 99.5]), bound=100.0)}}


def names(party: cofit.Party) -> dict[str, Any]:
    return {"x": party.input("owner", "x"), "less": less, "select": select}
