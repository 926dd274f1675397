"""Checkpoints of a job in a party's state directory.

After every step that is due each party stores its share of what the job goes on with, as one vector in a fresh sharing:
what is on disk then has nothing in common with the messages of the session. After an interruption the parties,
in a new session with new seeds, tell each other which steps *of which sessions* they hold (shares that were saved in
different sessions do not fit together) and go on from the last that all of them have. A checkpoint of another plan, as
another release of the software might make, is of no use and dropped. A party keeps the last two, so that one that was
killed while saving costs no more than one step back; a session begins with deleting those that not all have. A damaged
one is deleted and counts as missing.

Nobody learns anything; the steps are public. A checkpoint takes the rounds of a fresh sharing and of the checks that
the scheme has put off; to resume takes 2 rounds, and 1 more with an active scheme.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from cofit.errors import InvalidInputError
from cofit.roles.jobs.steps import MOST_CHECKPOINTS, agreed_checkpoint, told_checkpoints
from cofit.roles.party.checkpoint_files import Checkpoint
from cofit.roles.party.state import PartyState
from cofit.secret import Party, SecretArray, concatenate
from cofit.secret.checkpoints import CHECKPOINT, KeptState
from cofit.secret.stored import pack, unpack

_log = logging.getLogger(__name__)
_KIND, _NAME = b"cofitckp", "a checkpoint"


@dataclass(frozen=True)
class CheckpointFiles:
    """Implements ``cofit.secret.checkpoints.Checkpoints``. ``plan``: the hash of the job."""

    state: PartyState
    plan: str
    kept: KeptState

    def resume(self, party: Party) -> tuple[int, dict[str, SecretArray]] | None:
        found = self.state.checkpoints()[:MOST_CHECKPOINTS]
        kept = {one: values for one in found if (values := self._intact(party, one)) is not None}
        by_place = {(one.epoch, one.session): one for one in kept}
        place = agreed_checkpoint(party, told_checkpoints(by_place))
        chosen = None if place is None else by_place[place]
        for checkpoint in self.state.checkpoints():  # else one that is of no use would push out the common one
            if checkpoint != chosen:
                self.state.drop_checkpoint(checkpoint)
        if chosen is None:
            return None
        party.check_stored(list(kept[chosen].values()))
        return chosen.epoch, kept[chosen]

    def _intact(self, party: Party, checkpoint: Checkpoint) -> dict[str, SecretArray] | None:
        """Return the values; None, and the file is deleted, if it is of no use.

        The vector is stored in one piece, or in several of one length, as earlier releases of the software did.
        """
        try:
            header, body = unpack(_KIND, _NAME, ("plan", "epoch", "length"), self.state.checkpoint(checkpoint))
            if header["plan"] != self.plan or header["epoch"] != checkpoint.epoch:
                raise InvalidInputError("it belongs to another plan of this study")
            length = header["length"]
            if not isinstance(length, int) or length < 1 or not body or len(body) % length:
                raise InvalidInputError("it does not fit the plan of this study")
            pieces = [party.import_share(body[i : i + length]) for i in range(0, len(body), length)]
            if len({(piece.shape, piece.format) for piece in pieces}) != 1 or not pieces[0].ndim:
                raise InvalidInputError("it does not fit the plan of this study")
            return self.kept.separated(concatenate(pieces), checkpoint.epoch)
        except InvalidInputError as error:
            _log.warning("A checkpoint of step %d is of no use and deleted: %s", checkpoint.epoch, error)
            self.state.drop_checkpoint(checkpoint)
            return None

    def reached(self, party: Party, step: int, values: Mapping[str, SecretArray]) -> None:
        if step not in self.kept.due:
            return
        with party.label(CHECKPOINT):
            share = party.export_share(party.refreshed(self.kept.joined(values, step)))
        header = {"plan": self.plan, "epoch": step, "length": len(share)}
        self.state.save_checkpoint(Checkpoint(step, party.session.hex()), pack(_KIND, header, share))
