"""The state directory of one party, at which processes begin and end."""

from __future__ import annotations

from pathlib import Path

from cofit.roles.files.audit import AuditFile
from cofit.roles.party.state import PartyState


class PartyDirectory:
    """``start`` is a process that begins there, after the one before has ended."""

    def __init__(self, folder: Path, study: str, party: str) -> None:
        self.folder, self._whose = folder / "state", (study, party)
        self.state: PartyState | None = None

    def start(self) -> tuple[PartyState, AuditFile]:
        self.stop()
        self.state = PartyState(self.folder, *self._whose)
        self.audit = AuditFile(self.folder / "audit.jsonl")
        return self.state, self.audit

    def stop(self) -> None:
        if self.state is not None:
            self.state.close()
            self.audit.close()
            self.state = None
