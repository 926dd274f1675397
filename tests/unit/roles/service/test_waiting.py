"""Who waits for a party is told of it, unless the party answers soon."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from cofit.errors import PeerSilentError
from cofit.roles.files.keys import load_key
from cofit.roles.files.studies import load_study
from cofit.roles.service import conversations
from cofit.roles.service.conversations import connector
from unit.cli.contributing import parties, write_site

_SOON = 1.0


@pytest.mark.parametrize(("there", "patience"), [(True, 30.0), (False, 3 * _SOON), (False, _SOON / 2)])
def test_only_a_wait_that_lasts_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool, patience: float
) -> None:
    monkeypatch.setattr(conversations, "_SOON", _SOON)
    write_site(tmp_path)
    study = load_study(tmp_path / "study.toml")
    told: list[tuple[str, float]] = []
    identity = load_key(study, tmp_path / "owner-a.key")
    connect = connector(study, identity, patience, lambda *one: told.append(one))
    with parties(tmp_path, ["party-b"] if there else []):
        if there:
            with connect("party-b"):
                told.clear()  # the party may have been slow to start
            with connect("party-b"):
                time.sleep(1.5 * _SOON)
        else:
            with pytest.raises(PeerSilentError):
                connect("party-b")
    assert told == ([("party-b", patience)] if not there and patience > _SOON else [])
