"""Where an owner keeps its ledger and its uploads if it does not say: beside its key.

A ledger adds up what all studies together have spent. It is lost when another one is begun elsewhere, and nothing would
show that. So its place must not depend on where a command happens to be run, or on where the study's file is, which is
another one for every study. The key is needed for every contribution, is private, and is kept for as long as the owner
takes part in anything.
"""

from __future__ import annotations

from pathlib import Path

from cofit.errors import InvalidInputError
from cofit.roles.owner.contribute import LEDGER

ENDING = ".state"


def owner_directory(owner: str, key: Path, *elsewhere: Path) -> Path:
    """Return OWNER.state beside the key, or, where the key is a link, beside the file that it leads to.

    elsewhere: directories where a ledger of this owner may be by mistake, such as the one where the command is run.
    InvalidInputError if one is there: whoever has two must say which one counts.
    """
    directory = key.resolve().parent / f"{owner}{ENDING}"
    for folder in elsewhere:
        other = folder.resolve() / f"{owner}{ENDING}"
        if other != directory and (other / LEDGER).exists():
            also = "too" if (directory / LEDGER).exists() else "and none beside the key yet"
            raise InvalidInputError(
                f"There is a ledger of '{owner}' in {other}, {also} ({directory}). Two ledgers do not add up: say with "
                f"--state which one counts, or move {other} to {directory} if there is none."
            )
    return directory
