"""The party program of a run on one machine: train (pi_LR) and perturb (pi_DP), or descend with noise; release once.

What is opened is the noisy weights, with what a score needs of how rows are prepared (a level, a centre; or the mean,
the stretch and the radius of clipped rows), and nothing else: no loss, no norm, no accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from cofit.learn.base_plan import Plan
from cofit.learn.inputs import Holders
from cofit.secret import Party, SecretArray
from cofit.secret.checkpoints import Checkpoints
from cofit.secret.common_coin import MemoryCoinStore, common_coin
from cofit.secret.release import release_once
from cofit.secret.stored import ReleaseStore


def private_training(
    party: Party,
    plan: Plan,
    holders: Holders,
    stores: Mapping[str, ReleaseStore],
    key: str,
    checkpoints: Checkpoints | None = None,
    noise: bool = True,
) -> npt.NDArray[np.float64]:
    """Return the noisy weights, opened to all parties; after the weights the intercept's, then the parts of ``opened``.

    ``stores``: each party's own, by name (a dealer has none). The noisy shares are in all of them before anything is
    opened, and a restart with the same ``key`` opens those, without training or drawing again.
    The coin of the check of rows is the run's own: owners deal anew in each run, before it is tossed.
    ``checkpoints``: None, but where somebody counts what they would cost. ``noise``: False where weights that stay
    shared have none.
    """

    toss = partial(common_coin, party, MemoryCoinStore(), plan.hash.encode())

    def draw() -> SecretArray:
        train = plan.noisy_release if noise else plan.exact_release
        released = train(party, holders, toss, checkpoints)
        party.progress("release", 0, 1)
        return released

    store = None if party.deals else stores[party.name]
    opened = release_once(party, draw, store, reason=plan.release_reason, key=f"{plan.hash} {key}", kept=plan.kept)
    party.progress("release", 1, 1)
    return plan.opened.in_units(opened, plan.kept)
