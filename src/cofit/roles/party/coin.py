"""The study's coin at a computing party: its record in the state directory, and the line in the audit log.

The record (``secret.common_coin``) is one file, for this party alone: until all have revealed, its nonce is a secret.
The database notes that there is one. So if only the file is lost, the party stops and says what to put back; without
the note it would draw another nonce, and all other parties would end the study.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from cofit.errors import StateError
from cofit.roles.files.audit import AuditFile
from cofit.roles.files.durable import write_durably
from cofit.roles.party.state import COIN, PartyState
from cofit.secret import Party
from cofit.secret.common_coin import common_coin

_FACT = "coin"
_BEGUN, _DRAWN = "begun", "drawn"


@dataclass(frozen=True)
class CoinFile:
    """Implements ``cofit.secret.common_coin.CoinStore``."""

    state: PartyState

    def load(self) -> bytes | None:
        """Return the record; StateError if it was here and is lost."""
        try:
            record = (self.state.directory / COIN).read_bytes()
        except FileNotFoundError:
            if self.state.fact(_FACT) is not None:
                raise StateError(
                    f"The record of the study's coin is missing: '{COIN}' in the state directory. It is never drawn "
                    f"again. Put back a backup of this file; if there is none, agree on a new study."
                ) from None
            return None
        self._note()
        return record

    def save(self, record: bytes) -> None:
        """Replace the record."""
        write_durably(self.state.directory / COIN, record)
        self._note()

    def _note(self) -> None:
        if self.state.fact(_FACT) is None:
            self.state.record(**{_FACT: _BEGUN})


def study_coin(party: Party, state: PartyState, audit: AuditFile, basis: bytes) -> bytes:
    """Return the coin of the study, and note in the audit log when it is there for the first time."""
    coin = common_coin(party, CoinFile(state), basis)
    if state.fact(_FACT) != _DRAWN:
        state.record(**{_FACT: _DRAWN})
        audit.write("coin drawn", sha256=hashlib.sha256(coin).hexdigest())
    return coin
