"""The whole party program: train (pi_LR), perturb (pi_DP), release once.

What is opened is the noisy weights, and nothing else: no loss, no norm, no accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cofit.learn.checkpoints import Checkpoints
from cofit.learn.plan import Plan
from cofit.learn.train import Holders, train
from cofit.secret import Party, SecretArray
from cofit.secret.release import release_once
from cofit.secret.stored import ReleaseStore

REASON = "the noisy weights: the one release of this study"


def private_training(
    party: Party,
    plan: Plan,
    holders: Holders,
    stores: Mapping[str, ReleaseStore],
    key: str,
    checkpoints: Checkpoints | None = None,
) -> npt.NDArray[np.float64]:
    """Return the noisy weights, opened to all parties; the intercept's weight, if any, is the last one.

    ``stores``: each party's own, by name (a dealer has none). The noisy shares are in all of them before anything is
    opened, and a restart with the same ``key`` opens those, without training or drawing again.
    """

    def draw() -> SecretArray:
        weights = train(party, plan, holders, checkpoints)
        party.progress("noise", 0, 1)
        with party.label("noise"):
            noisy = plan.mechanism.perturb(party, weights)
        party.progress("release", 0, 1)
        return noisy

    store = None if party.deals else stores[party.name]
    opened = release_once(party, draw, store, reason=REASON, key=f"{plan.hash} {key}")
    party.progress("release", 1, 1)
    return np.asarray(opened, dtype=np.float64) if plan.mechanism.grid_bits else opened.astype(np.float64)
