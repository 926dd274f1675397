"""What a client keeps while it asks, so that a command that was stopped goes on where it was and is counted once.

    DIR/asking.json         what is asked, of which table: another one is refused
    DIR/batch-N.seed        the secret of the query of batch N, written before anything of it leaves
    DIR/batch-N.npy         its answers, on disk before the parties are told that they may forget it

The directory is the client's own: a seed and the parties' masked answers together are the answers. It is deleted when
the answers are where they belong.
"""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cofit.arithmetic.prg import SEED_BYTES
from cofit.errors import InvalidInputError, StateError
from cofit.roles.files.durable import write_durably
from cofit.roles.files.manifest import fresh_upload_seed

_ASKED = "asking.json"


@dataclass(frozen=True)
class Journal:
    """One directory. asked: public facts of what is asked, and the digest of the table."""

    directory: Path
    asked: dict[str, Any]

    def open(self) -> None:
        """Make the directory, or take it up where it is of the same question; StateError where it is not."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self.directory / _ASKED
            if not path.exists():
                if any(self.directory.iterdir()):
                    raise StateError(f"'{self.directory}' holds something else. Give an empty directory.")
                write_durably(path, json.dumps(self.asked).encode())
            elif json.loads(path.read_bytes()) != self.asked:
                raise StateError(
                    f"'{self.directory}' belongs to another question: another table, study or kind of answers. Repeat "
                    "that one, or delete the directory; what the parties have answered for it stays counted."
                )
        except OSError as error:
            raise InvalidInputError(f"The directory '{self.directory}' cannot be used: {error.strerror}.") from None
        except ValueError:
            raise StateError(f"'{self.directory / _ASKED}' is damaged. Delete the directory, and ask again.") from None

    def seed(self, batch: int) -> bytes:
        """Return the secret of a batch's query, the same until it is renewed."""
        path = self._path(batch, "seed")
        if path.exists() and len(found := path.read_bytes()) == SEED_BYTES:
            return found
        return self.renewed(batch)

    def renewed(self, batch: int) -> bytes:
        """Put another secret in its place: a new query, with a new mask."""
        seed = fresh_upload_seed()
        write_durably(self._path(batch, "seed"), seed)
        return seed

    def answers(self, batch: int) -> npt.NDArray[Any] | None:
        """Return the answers to a batch, if they are here."""
        path = self._path(batch, "npy")
        return np.load(path, allow_pickle=False) if path.exists() else None

    def keep(self, batch: int, answers: npt.NDArray[np.float64]) -> None:
        """Store the answers to a batch, durably."""
        file = io.BytesIO()
        np.save(file, answers, allow_pickle=False)
        write_durably(self._path(batch, "npy"), file.getvalue())

    def delete(self) -> None:
        """Delete everything."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _path(self, batch: int, ending: str) -> Path:
        return self.directory / f"batch-{batch}.{ending}"
