"""Checkpoints of a training run in a party's state directory.

Every ``every`` epochs each party stores its share of w_t and w_{t-1}, in a fresh sharing: what is on disk then has
nothing in common with the messages of the session, and nothing is stored that was not verified. After an interruption
the parties, in a new session with new seeds, tell each other which epochs *of which sessions* they hold (shares that
were saved in different sessions do not fit together) and go on from the last that all of them have. A checkpoint of
another plan, as another release of the software might make, is of no use and dropped. A party keeps the last two, so
that one that was killed while saving costs no more than one step back; a session begins with deleting those that not
all have. A damaged one is deleted and counts as missing.

Nobody learns anything; the epochs are public.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from cofit.errors import InvalidInputError
from cofit.learn.statement import TrainingState
from cofit.roles.party.state import Checkpoint, PartyState
from cofit.secret import Party, SecretArray
from cofit.secret.stored import pack, unpack

_log = logging.getLogger(__name__)
_MOST = 2
_ENTRY = struct.Struct("!q16s")
_NONE = _ENTRY.pack(-1, bytes(16))
NO_CHECKPOINTS = _NONE * _MOST
_KIND, _NAME = b"cofitckp", "a checkpoint"


@dataclass(frozen=True)
class CheckpointFiles:
    """Implements ``cofit.learn.checkpoints.Checkpoints``."""

    state: PartyState
    every: int
    training: TrainingState

    def resume(self, party: Party) -> tuple[int, SecretArray, SecretArray] | None:
        kept = {c: shares for c in self.state.checkpoints()[:_MOST] if (shares := self._intact(party, c)) is not None}
        mine = [_ENTRY.pack(c.epoch, bytes.fromhex(c.session)) for c in kept]
        chosen = common_checkpoint(party.announce("checkpoints", b"".join(mine) + _NONE * (_MOST - len(mine))))
        party.agree("checkpoint", b"" if chosen is None else chosen.file.encode())
        for checkpoint in self.state.checkpoints():  # else one that is of no use would push out the common one
            if checkpoint != chosen:
                self.state.drop_checkpoint(checkpoint)
        if chosen is None:
            return None
        party.check_stored(kept[chosen])
        return chosen.epoch, *kept[chosen]

    def _intact(self, party: Party, checkpoint: Checkpoint) -> tuple[SecretArray, SecretArray] | None:
        """Return the shares of w_t and w_{t-1}; None, and the file is deleted, if it is of no use."""
        try:
            header, body = unpack(_KIND, _NAME, ("plan", "epoch", "length"), self.state.checkpoint(checkpoint))
            if header["plan"] != self.training.plan or header["epoch"] != checkpoint.epoch:
                raise InvalidInputError("it belongs to another plan of this study")
            stored = [party.import_share(body[: header["length"]]), party.import_share(body[header["length"] :])]
            both = [value.loosened(self.training.limit) for value in stored]
            wanted = (self.training.cols,), self.training.format
            if any((value.shape, value.format) != wanted for value in both) or checkpoint.epoch > self.training.epochs:
                raise InvalidInputError("it does not fit the plan of this study")
            return both[0], both[1]
        except InvalidInputError as error:
            _log.warning("A checkpoint of epoch %d is of no use and deleted: %s", checkpoint.epoch, error)
            self.state.drop_checkpoint(checkpoint)
            return None

    def reached(self, party: Party, epoch: int, weights: SecretArray, before: SecretArray) -> None:
        if epoch % self.every:
            return
        with party.label("checkpoint"):
            fresh = [party.refreshed(value) for value in (weights, before)]
            shares = [party.export_share(value) for value in fresh]
        header = {"plan": self.training.plan, "epoch": epoch, "length": len(shares[0])}
        self.state.save_checkpoint(Checkpoint(epoch, party.session.hex()), pack(_KIND, header, shares[0] + shares[1]))


def common_checkpoint(told: Sequence[bytes]) -> Checkpoint | None:
    """Return the last checkpoint that every party has announced."""
    common = set.intersection(*(set(_ENTRY.iter_unpack(message)) for message in told))
    return max(
        (Checkpoint(epoch, session.hex()) for epoch, session in common if epoch >= 0),
        key=lambda one: (one.epoch, one.session),
        default=None,
    )
