"""What the epochs of the paper's method cost, without running them one by one.

What an epoch costs depends on the plan and on the public bounds of the weights that it starts from. These grow from
epoch to epoch, up to the plan's radius, and protocols look at bounds only to see whether they exceed something. So an
epoch that costs what one from the largest bounds costs is followed by such epochs only, and they are counted together.
Mostly that is the first or the second one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofit.learn.recipes.minimiser.program import gather, initial, step
from cofit.secret import Party, SecretArray
from cofit.sharing.meter import Meter
from cofit.sharing.tally import Tally

if TYPE_CHECKING:
    from cofit.learn.inputs import Holders
    from cofit.learn.recipes.minimiser.plan import MinimiserPlan


def further_epochs(party: Party, meter: Meter, plan: MinimiserPlan, holders: Holders) -> tuple[Tally, Tally]:
    """Return what all epochs but the first cost together, and what one from the largest bounds costs."""

    def cost_of(weights: SecretArray, before: SecretArray) -> tuple[SecretArray, Tally]:
        start = meter.tally
        return step(data, plan, weights, before), meter.tally - start

    data = gather(party, plan, holders, bytes(32))
    weights = before = initial(party, plan)
    format = weights.format
    share = meter.constant(format.ring, format.ring.zeros(weights.shape))
    largest = SecretArray(meter, share, format, format.limit(plan.formats.radius))
    settled = cost_of(largest, largest)[1]
    total = Tally()
    for epoch in range(plan.epochs):
        (after, cost), before = cost_of(weights, before), weights
        if cost == settled:
            return total + settled * (plan.epochs - max(epoch, 1)), settled
        total += cost if epoch else Tally()
        weights = after
    return total, settled
