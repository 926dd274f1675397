"""Checkpoints of a training run in a party's state directory.

Every ``every`` epochs each party stores its share of w_t and w_{t-1}, in a fresh sharing: what is on disk then has
nothing in common with the messages of the session. After an interruption the parties, in a new session with new seeds,
tell each other which epochs *of which sessions* they hold (shares that were saved in different sessions do not fit
together) and go on from the last that all of them have. A party keeps the last two, so that one that was killed while
saving costs no more than one step back; a session begins with deleting those that not all have. A damaged one is
deleted and counts as missing.

Nobody learns anything; the epochs are public.
"""

from __future__ import annotations

import logging
import struct
from dataclasses import dataclass

from cofit.errors import InvalidInputError
from cofit.roles.party_state import Checkpoint, PartyState
from cofit.secret import Party, SecretArray

_log = logging.getLogger(__name__)
_MOST = 2
_ENTRY = struct.Struct("!q8s")
_NONE = _ENTRY.pack(-1, bytes(8))
_LENGTH = struct.Struct("!q")


@dataclass(frozen=True)
class CheckpointFiles:
    """Implements ``cofit.learn.checkpoints.Checkpoints``."""

    state: PartyState
    every: int

    def resume(self, party: Party) -> tuple[int, SecretArray, SecretArray] | None:
        kept = {c: shares for c in self.state.checkpoints()[:_MOST] if (shares := self._intact(party, c)) is not None}
        mine = [_ENTRY.pack(c.epoch, bytes.fromhex(c.session)) for c in kept]
        told = party.announce("checkpoints", b"".join(mine) + _NONE * (_MOST - len(mine)))
        common = set.intersection(*(set(_ENTRY.iter_unpack(message)) for message in told))
        common = {entry for entry in common if entry[0] >= 0}
        chosen = max(
            (Checkpoint(epoch, session.hex()) for epoch, session in common),
            key=lambda one: (one.epoch, one.session),
            default=None,
        )
        for checkpoint in self.state.checkpoints():  # else one that is of no use would push out the common one
            if checkpoint != chosen:
                self.state.drop_checkpoint(checkpoint)
        return None if chosen is None else (chosen.epoch, *kept[chosen])

    def _intact(self, party: Party, checkpoint: Checkpoint) -> tuple[SecretArray, SecretArray] | None:
        """Return the shares of w_t and w_{t-1}; None, and the file is deleted, if it is damaged."""
        try:
            weights, before = _unpack(self.state.checkpoint(checkpoint))
            return party.import_share(weights), party.import_share(before)
        except InvalidInputError as error:
            _log.warning("A checkpoint of epoch %d is damaged and deleted: %s", checkpoint.epoch, error)
            self.state.drop_checkpoint(checkpoint)
            return None

    def reached(self, party: Party, epoch: int, weights: SecretArray, before: SecretArray) -> None:
        if epoch % self.every:
            return
        with party.label("checkpoint"):
            shares = [party.export_share(party.refreshed(value)) for value in (weights, before)]
        self.state.save_checkpoint(
            Checkpoint(epoch, party.session[:8].hex()), _LENGTH.pack(len(shares[0])) + shares[0] + shares[1]
        )


def _unpack(record: bytes) -> tuple[bytes, bytes]:
    if len(record) < _LENGTH.size:
        raise InvalidInputError("A checkpoint is too short.")
    (length,) = _LENGTH.unpack_from(record)
    rest = record[_LENGTH.size :]
    if not 0 < length < len(rest):
        raise InvalidInputError("A checkpoint is damaged.")
    return rest[:length], rest[length:]
