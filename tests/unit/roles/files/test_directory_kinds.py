"""Directories of owners, parties and dealers are told apart by what is in them, and kept apart."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from cofit.errors import InvalidInputError, StateError
from cofit.roles.files.state_directory import StateDirectory, holder_of
from cofit.roles.owner.contribute import LEDGER, open_ledger
from cofit.roles.party.state import PartyState


@pytest.mark.parametrize("kind", [PartyState, StateDirectory], ids=["party", "dealer"])
@pytest.mark.parametrize("place", ["state", "state/ledger", "."])
def test_no_ledger_is_begun_with_a_partys_or_dealers_state(
    tmp_path: Path, kind: type[StateDirectory], place: str
) -> None:
    with closing(kind(tmp_path / "state", "ab" * 32, "party-a")):
        pass
    with pytest.raises(InvalidInputError, match=r"state.* the state of a computing party.*--state .*state\.owner"):
        open_ledger(tmp_path / place)
    assert not list(tmp_path.rglob(LEDGER))
    open_ledger(tmp_path / "apart")
    assert holder_of(tmp_path / "state") == "party-a"


@pytest.mark.parametrize("kind", [PartyState, StateDirectory], ids=["party", "dealer"])
@pytest.mark.parametrize("place", ["owner", "owner/party", "."])
def test_no_state_is_begun_with_an_owners_ledger(tmp_path: Path, kind: type[StateDirectory], place: str) -> None:
    open_ledger(tmp_path / "owner")
    with pytest.raises(StateError, match=r"owner.* the private directory of an owner.*--state .*owner\.party"):
        kind(tmp_path / place, "ab" * 32, "party-a")
    with closing(kind(tmp_path / "apart", "ab" * 32, "party-a")):
        pass
    assert not (tmp_path / "owner" / "state.sqlite").exists()


def test_another_programs_file_makes_no_party(tmp_path: Path) -> None:
    (tmp_path / "state.sqlite").write_bytes(b"of somebody else")
    open_ledger(tmp_path / "owner")


def test_links_are_followed(tmp_path: Path) -> None:
    with closing(PartyState(tmp_path / "state", "ab" * 32, "party-a")):
        pass
    (tmp_path / "elsewhere").symlink_to(tmp_path / "state")
    with pytest.raises(InvalidInputError, match="the state of a computing party"):
        open_ledger(tmp_path / "elsewhere" / "ledger")
