"""Checkpoints of a job in a party's state directory.

Every ``every`` steps each party stores its share of what the job goes on with (training: w_t and w_{t-1}), in a fresh
sharing: what is on disk then has nothing in common with the messages of the session. After an interruption the parties,
in a new session with new seeds, tell each other which steps *of which sessions* they hold (shares that were saved in
different sessions do not fit together) and go on from the last that all of them have. A checkpoint of another plan, as
another release of the software might make, is of no use and dropped. A party keeps the last two, so that one that was
killed while saving costs no more than one step back; a session begins with deleting those that not all have. A damaged
one is deleted and counts as missing.

Nobody learns anything; the steps are public.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from cofit.errors import InvalidInputError
from cofit.roles.jobs.steps import MOST_CHECKPOINTS, agreed_checkpoint, told_checkpoints
from cofit.roles.party.state import Checkpoint, PartyState
from cofit.secret import Party, SecretArray
from cofit.secret.checkpoints import KeptState
from cofit.secret.stored import pack, unpack

_log = logging.getLogger(__name__)
_KIND, _NAME = b"cofitckp", "a checkpoint"


@dataclass(frozen=True)
class CheckpointFiles:
    """Implements ``cofit.secret.checkpoints.Checkpoints``. ``plan``: the hash of the job."""

    state: PartyState
    every: int
    plan: str
    kept: KeptState

    def resume(self, party: Party) -> tuple[int, Sequence[SecretArray]] | None:
        found = self.state.checkpoints()[:MOST_CHECKPOINTS]
        kept = {one: shares for one in found if (shares := self._intact(party, one)) is not None}
        by_place = {(one.epoch, one.session): one for one in kept}
        place = agreed_checkpoint(party, told_checkpoints(by_place))
        chosen = None if place is None else by_place[place]
        for checkpoint in self.state.checkpoints():  # else one that is of no use would push out the common one
            if checkpoint != chosen:
                self.state.drop_checkpoint(checkpoint)
        if chosen is None:
            return None
        party.check_stored(kept[chosen])
        return chosen.epoch, kept[chosen]

    def _intact(self, party: Party, checkpoint: Checkpoint) -> list[SecretArray] | None:
        """Return the shares of the values; None, and the file is deleted, if it is of no use."""
        try:
            header, body = unpack(_KIND, _NAME, ("plan", "epoch", "length"), self.state.checkpoint(checkpoint))
            if header["plan"] != self.plan or header["epoch"] != checkpoint.epoch:
                raise InvalidInputError("it belongs to another plan of this study")
            length, kept = header["length"], self.kept
            if not isinstance(length, int) or length < 1 or len(body) != kept.count * length:
                raise InvalidInputError("it does not fit the plan of this study")
            stored = [party.import_share(body[i : i + length]) for i in range(0, len(body), length)]
            values = [value.loosened(kept.limit) for value in stored]
            wanted = kept.shape, kept.format
            if any((value.shape, value.format) != wanted for value in values) or checkpoint.epoch > kept.steps:
                raise InvalidInputError("it does not fit the plan of this study")
            return values
        except InvalidInputError as error:
            _log.warning("A checkpoint of step %d is of no use and deleted: %s", checkpoint.epoch, error)
            self.state.drop_checkpoint(checkpoint)
            return None

    def reached(self, party: Party, step: int, values: Sequence[SecretArray]) -> None:
        if step % self.every:
            return
        with party.label("checkpoint"):
            fresh = [party.refreshed(value) for value in values]
            shares = [party.export_share(value) for value in fresh]
        header = {"plan": self.plan, "epoch": step, "length": len(shares[0])}
        self.state.save_checkpoint(Checkpoint(step, party.session.hex()), pack(_KIND, header, b"".join(shares)))
