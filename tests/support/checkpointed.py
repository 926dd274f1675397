"""Noisy descent in several sessions, each a run of its own on one machine: interrupted, and taken up again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cofit import Party, SecretArray, run_local
from cofit.learn.recipes.descent import program
from cofit.learn.recipes.descent.plan import DescentPlan
from cofit.roles import LocalRun
from cofit.roles.dealer.session import HeardCheckpoints
from cofit.roles.local.run import party_names
from cofit.roles.party.checkpoints import CheckpointFiles
from cofit.roles.party.state import PartyState
from cofit.secret.checkpoints import Checkpoints
from support.descent import Integers, Table, contributed
from support.schemes import form, local
from support.training import COIN


class InterruptedRunError(Exception):
    """What ends a session."""


@dataclass
class Stopping:
    """Checkpoints after which a session ends."""

    inner: Checkpoints
    stop: int | None

    def resume(self, party: Party) -> tuple[int, dict[str, SecretArray]] | None:
        return self.inner.resume(party)

    def reached(self, party: Party, step: int, values: Mapping[str, SecretArray]) -> None:
        self.inner.reached(party, step, values)
        if step == self.stop:
            raise InterruptedRunError(party.name)


class Sessions:
    """The sessions of one training, with the state directories of its parties."""

    def __init__(self, root: Path, plan: DescentPlan, table: Table, scheme: str, due: Iterable[int]) -> None:
        self.plan, self.scheme = plan, "clear/1" if scheme == "clear" else scheme
        self._owners, self._holders = contributed(plan, table)
        self.kept = replace(plan.state, due=frozenset(due))
        names = party_names(form(self.scheme).spec.parties)
        self.states = {name: PartyState(root / name, "ab" * 32, name) for name in names}

    def run(self, stop: int | None = None) -> Integers:
        """One session: what it would release, as whole steps. It ends with an error after the step ``stop``."""
        return np.asarray(next(iter(self.counted(stop).results.values()))).astype(np.int64).astype(object)

    def counted(self, stop: int | None = None) -> LocalRun[Any]:
        """The same, with its traffic."""

        def whole(party: Party) -> Any:
            kept: Checkpoints = HeardCheckpoints(self.kept)
            if not party.deals:
                kept = CheckpointFiles(self.states[party.name], self.plan.hash, self.kept)
            released = program.descend(party, self.plan, self._holders, COIN, Stopping(kept, stop))
            return party.open(released, reason="a test of checkpoints")

        given = local(self.scheme) | {"parties": tuple(self.states)}
        return run_local(whole, **given, owners=self._owners, timeout=120)
