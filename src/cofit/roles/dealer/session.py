"""One session of a dealer: the party program, without values.

The dealer runs what the parties run (``party.session``), step by step, and hears what they announce: whether a release
is stored, which checkpoint the job goes on from. So it knows what to deal next, in a new session as in a resumed one.
It keeps nothing: every session has new seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cofit.arithmetic import FixedPoint
from cofit.roles.jobs.job import Job, Work
from cofit.roles.jobs.steps import (
    AGREED,
    NO_CHECKPOINTS,
    agreed_checkpoint,
    agreed_names,
    discard_stored,
    run_job,
)
from cofit.secret import Party, SecretArray
from cofit.secret.checkpoints import UnsavedCheckpoints
from cofit.secret.common_coin import MemoryCoinStore, common_coin
from cofit.sharing import Scheme
from cofit.sharing.known_inputs import assembled


@dataclass(frozen=True)
class HeardCheckpoints(UnsavedCheckpoints):
    """Implements ``cofit.secret.checkpoints.Checkpoints`` for a member that has none: it hears from which all go on."""

    def resume(self, party: Party) -> tuple[int, dict[str, SecretArray]] | None:
        place = agreed_checkpoint(party, NO_CHECKPOINTS)
        if place is None:
            return None
        step, _ = place
        blank = party.constant(np.zeros(self.kept.size(step)), FixedPoint(0, self.kept.ring))
        return step, self.kept.separated(blank, step)


def run_dealing(
    scheme: Scheme,
    job: Job,
    report: Callable[[str, int, int], None],
    spread: Callable[[Party], None] | None = None,
) -> None:
    """Deal for one session of the parties, on a scheme that is set up; the steps are those of ``run_session``.

    spread: meets the shards of the parties, where they have some.
    """
    party = Party(scheme, job.inputs, report=report)
    party.agree(AGREED, dict.fromkeys(agreed_names(job.inputs), b""))
    discard_stored(party, stored=False, confirmed=False)
    for owner, inputs in job.inputs.items():
        for name, facts in inputs.items() if spread is None else ():
            ring, holder = facts.format.ring, job.ranks.get(owner)
            dealt = assembled(type(scheme), scheme.spec, ring, facts.shape, scheme.rank, {}, holder)
            party.take(owner, name, dealt)
    checkpoints = None if job.state is None else HeardCheckpoints(job.state)
    coin = partial(common_coin, party, MemoryCoinStore(), job.hash.encode())
    run_job(job, Work(party, checkpoints, coin, spread=spread), None)
