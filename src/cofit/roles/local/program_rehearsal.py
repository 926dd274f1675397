"""A whole study of a program on one machine, as ``rehearsal`` does it for one that trains a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cofit.roles.files.program_files import load_program, program_folder
from cofit.roles.files.program_tables import read_inputs
from cofit.roles.local.rehearsal import Staged
from cofit.study.program import ProgramStudy


@dataclass(frozen=True)
class ProgramRehearsal(Staged[ProgramStudy]):
    """What it needs; program: the folder with the source, if it is neither beside the study nor installed.

    Whoever runs it agrees for all owners to what is not differentially private.
    """

    program: Path | None = None

    def check_tables(self) -> None:
        """Raise InvalidInputError unless every owner's data are as the study says, and the program can be loaded."""
        load_program(self.study.program, self.program or program_folder(self.study.program, self.path.parent))
        for owner in self.study.owners:
            read_inputs(owner, self.data[owner.name], self.layout)

    def party_command(self, name: str) -> list[str]:
        """The command of a computing party."""
        return [*super().party_command(name), *self._where]

    def dealer_command(self, name: str) -> list[str]:
        """The command of the dealer."""
        return [*super().dealer_command(name), *self._where]

    def owner_command(self, name: str) -> list[str]:
        """The command of an owner."""
        return [*super().owner_command(name), "--accept-not-private"]

    @property
    def _where(self) -> list[str]:
        return [] if self.program is None else ["--program", str(self.program)]
