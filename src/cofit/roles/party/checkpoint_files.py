"""The checkpoints of a party's state directory: files, and a durable fact that says which of them count.

    DIR/checkpoints/STEP.SESSION        this party's fresh share of what the job goes on with after that step

What they hold, and when they are used: ``checkpoints.py``.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass

from cofit.roles.files.durable import sync_directory, write_durably
from cofit.roles.files.state_directory import StateDirectory

_CHECKPOINT = re.compile(r"[0-9]{1,9}\.[0-9a-f]{32}")


@dataclass(frozen=True)
class Checkpoint:
    """An epoch and the session (32 hexadecimal digits) that saved it: shares of different sessions do not fit."""

    epoch: int
    session: str

    @property
    def file(self) -> str:
        """Its file name."""
        return f"{self.epoch}.{self.session}"


class CheckpointFiles(StateDirectory):
    """A state directory with checkpoints."""

    def save_checkpoint(self, checkpoint: Checkpoint, record: bytes) -> None:
        """Keep this party's share of the state after an epoch; of the others, only the one before is kept too."""
        folder = self.directory / "checkpoints"
        folder.mkdir(mode=0o700, exist_ok=True)
        write_durably(folder / checkpoint.file, record)
        kept = [checkpoint, *(old for old in self.checkpoints() if old != checkpoint)][:2]
        self.record(checkpoints=" ".join(one.file for one in kept))
        for path in folder.iterdir():
            if path.name not in {one.file for one in kept}:
                path.unlink(missing_ok=True)

    def checkpoints(self) -> list[Checkpoint]:
        """Return the checkpoints that are here, the one saved last first; the clock does not count."""
        names = (self.fact("checkpoints") or "").split()
        return [
            Checkpoint(int(name.split(".")[0]), name.split(".")[1])
            for name in names
            if _CHECKPOINT.fullmatch(name) and (self.directory / "checkpoints" / name).exists()
        ]

    def checkpoint(self, checkpoint: Checkpoint) -> bytes:
        """Return the record of a checkpoint."""
        return (self.directory / "checkpoints" / checkpoint.file).read_bytes()

    def drop_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Delete one checkpoint, durably."""
        path = self.directory / "checkpoints" / checkpoint.file
        if path.exists():
            path.unlink()
            sync_directory(path.parent)

    @property
    def has_checkpoints(self) -> bool:
        """Whether anything of a checkpoint is here, whole or not."""
        return (self.directory / "checkpoints").exists()

    def drop_checkpoints(self) -> None:
        """Delete all checkpoints, durably, with what a killed process left of them; raise OSError if that fails."""
        if self.has_checkpoints:
            self.record(checkpoints="")
            shutil.rmtree(self.directory / "checkpoints")
            sync_directory(self.directory)
