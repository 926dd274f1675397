"""The cleartext twin of recipe "paper": train once, draw many releases, to measure accuracy hundreds of times.

The twin is the same party program on the same plan, formats and samplers, with the scheme ``clear``, whose operations
have the same results as those of the secret schemes but for truncation: there a secret scheme may be one unit in the
last place higher, which the plan's tau counts. So a draw of the twin has the distribution of a real release, up to
2 tau in the weights (a thousandth of what one record can move them); tests/statistical/experiments shows it for every
scheme. Drawing several times from one training is only for data that are no secret: each draw is a release. The twin of
recipe "best" is ``learn.recipes.descent.twin``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.prg import SEED_BYTES
from cofit.errors import parameter_error
from cofit.learn.inputs import Holders
from cofit.learn.recipes.minimiser.plan import MinimiserPlan
from cofit.learn.recipes.minimiser.program import train
from cofit.roles import run_local
from cofit.roles.local.tables import OwnerTable, contributions_of, holders_of
from cofit.secret import Party

TWIN = "clear"
_TIMEOUT = 3600.0
_AT_ONCE = 20_000  # weights in one draw of noise: what the samplers hold stays small
Reals = npt.NDArray[np.float64]


def twin_draws(plan: MinimiserPlan, owners: Mapping[str, OwnerTable], draws: int) -> Reals:
    """Return ``draws`` releases of one training run, shape (draws, weights). As in a real run, noise has no seed."""
    if plan.facts.scheme != TWIN:
        raise parameter_error(
            "plan", "twin_draws", f"one with scheme '{TWIN}': other schemes release once", plan.facts.scheme
        )
    if draws < 1:
        raise parameter_error("draws", "twin_draws", "at least 1", draws)
    contributions = {name: contributions_of(plan, name, table) for name, table in owners.items()}
    program = partial(_program, plan=plan, holders=holders_of(plan, owners), draws=draws)
    run = run_local(program, scheme=TWIN, parties=1, owners=contributions, timeout=_TIMEOUT)
    (released,) = run.results.values()
    return released


def _program(party: Party, plan: MinimiserPlan, holders: Holders, draws: int) -> Reals:
    weights = train(party, plan, holders, bytes(SEED_BYTES))
    at_once = max(1, _AT_ONCE // plan.geometry.cols)
    reason = "draws of the cleartext twin, from data that are no secret"
    opened = []
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        rows = party.constant(np.zeros((count, plan.geometry.cols)), weights.format) + weights
        opened.append(party.open(plan.mechanism.perturb_each(party, rows), reason=reason))
    return np.concatenate(opened).astype(np.float64)
