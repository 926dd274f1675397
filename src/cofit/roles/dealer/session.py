"""One session of a dealer: the party program, without values.

The dealer runs what the parties run (``session``), step by step, and hears what they announce: whether a release is
stored, which checkpoint training goes on from. So it knows what to deal next, in a new session as in a resumed one. It
keeps nothing: every session has new seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cofit.learn.inputs import Holders
from cofit.learn.plan import Plan
from cofit.learn.private_training import private_training
from cofit.learn.statement import TrainingState
from cofit.roles.party.checkpoints import NO_CHECKPOINTS, common_checkpoint
from cofit.roles.party.session import AGREED, agreed_names
from cofit.secret import InputFacts, Party, SecretArray
from cofit.sharing import Scheme
from cofit.sharing.known_inputs import assembled


@dataclass(frozen=True)
class HeardCheckpoints:
    """Implements ``cofit.learn.checkpoints.Checkpoints`` for a member that has none: it hears from which all go on."""

    training: TrainingState
    every: int

    def resume(self, party: Party) -> tuple[int, SecretArray, SecretArray] | None:
        chosen = common_checkpoint(party.announce("checkpoints", NO_CHECKPOINTS))
        party.agree("checkpoint", b"")
        if chosen is None:
            return None
        zeros = party.constant(np.zeros(self.training.cols), self.training.format)
        weights = zeros.loosened(self.training.limit)
        return chosen.epoch, weights, weights

    def reached(self, party: Party, epoch: int, weights: SecretArray, before: SecretArray) -> None:
        """Take the parties' steps: fresh sharings, verified before they are stored."""
        if epoch % self.every == 0:
            with party.label("checkpoint"):
                for value in (weights, before):
                    party.refreshed(value)
                party.verify()


def run_dealing(
    scheme: Scheme,
    study_hash: str,
    plan: Plan,
    holders: Holders,
    expected: Mapping[str, Mapping[str, InputFacts]],
    ranks: Mapping[str, int],
    report: Callable[[str, int, int], None],
    every: int,
) -> None:
    """Deal for one session of the parties, on a scheme that is set up; the steps are those of ``run_session``.

    ranks: those of the owners that are parties. every: how often the parties keep a checkpoint.
    """
    party = Party(scheme, expected, report=report)
    party.agree(AGREED, dict.fromkeys(agreed_names(expected), b""))
    party.announce("stored release", bytes(2))
    party.agree("stored release", b"")
    for owner, inputs in expected.items():
        for name, facts in inputs.items():
            ring, parties, holder = facts.format.ring, len(scheme.names), ranks.get(owner)
            party.take(owner, name, assembled(type(scheme), ring, facts.shape, scheme.rank, parties, {}, holder))
    checkpoints = None if plan.state is None else HeardCheckpoints(plan.state, every)
    private_training(party, plan, holders, {}, study_hash, checkpoints)
