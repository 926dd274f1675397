"""Whose a state directory is: a party's goes with its study, an owner's stays, because its ledger counts all studies.

Somebody who is owner and party has two of them, and neither may lie in the other: who deletes a study's directory must
not delete the ledger with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cofit.errors import InvalidInputError, StateError

OWNER_LEDGER = "budget.sqlite"
"""In every owner's directory, and in no other."""
PARTY_FACTS = "state.sqlite"
"""In every party's directory, and every dealer's, beside ``PARTY_LOCK``."""
PARTY_LOCK = "lock"
_BELOW = ("*", "*/*")


def check_owner_directory(directory: Path) -> None:
    """Raise InvalidInputError if this is a party's or dealer's directory, or lies in one, or around one."""
    found = next((one for one in _places(directory, PARTY_FACTS) if (one / PARTY_LOCK).exists()), None)
    if found is not None:
        raise InvalidInputError(
            f"{_where(directory, found)} the state of a computing party or a dealer. That is deleted with its study, "
            f"and an owner's ledger counts all studies. Give the owner a directory of its own with --state, as in "
            f"--state {found.with_name(f'{found.stem}.owner')}. A ledger that is in there ({OWNER_LEDGER}, with "
            f"upload-*.json) must be moved to it first."
        )


def check_party_directory(directory: Path) -> None:
    """Raise StateError if this is an owner's directory, or lies in one, or around one."""
    found = next(_places(directory, OWNER_LEDGER), None)
    if found is not None:
        raise StateError(
            f"{_where(directory, found)} the private directory of an owner, with its ledger. The state of a party or a "
            f"dealer is deleted with its study, and the ledger must stay. Give the party a directory of its own with "
            f"--state, as in --state {found.with_name(f'{found.stem}.party')}. If a party's state is in there, move "
            f"the ledger ({OWNER_LEDGER}, with upload-*.json) to a directory of its own instead."
        )


def _places(directory: Path, mark: str) -> Iterator[Path]:
    """Yield the directories with a file of this name: this one, those around it, and those at most two levels below."""
    place = directory.resolve()
    yield from (one for one in (place, *place.parents) if (one / mark).exists())
    for below in _BELOW:
        yield from (path.parent for path in place.glob(f"{below}/{mark}"))


def _where(directory: Path, found: Path) -> str:
    if found == directory.resolve():
        return f"'{directory}' is"
    if found in directory.resolve().parents:
        return f"'{directory}' lies in '{found}', which is"
    return f"In '{directory}' lies '{found}', which is"
