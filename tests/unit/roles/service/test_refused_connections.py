"""What the log of a party says of a connection that was refused: who, and why in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from cofit.transport import Refused
from cofit.transport.refusals import EXPLAINED
from unit.cli.contributing import Site, parties, write_site


def test_every_kind_of_refusal_is_explained_in_its_own_words() -> None:
    assert set(EXPLAINED) == set(Refused)
    assert len(set(EXPLAINED.values())) == len(EXPLAINED)


def test_the_log_says_that_an_owner_holds_another_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    write_site(tmp_path)
    agreed = (tmp_path / "study.toml").read_text()
    with parties(tmp_path, ("party-a",)):
        (tmp_path / "study.toml").write_text(agreed.replace('name = "', 'name = "other-', 1))
        code, _, err = Site(tmp_path, capsys).contribute("owner-a")
    assert code == 1
    assert "the two ends hold different studies" in err
    assert err.endswith("This time nothing was charged or sent.\n")
    (line,) = {record.getMessage() for record in caplog.records if "was refused" in record.getMessage()}
    assert line == (
        "a connection from 127.0.0.1 (owner-a) was refused (study): it holds another study: compare the hashes that "
        "`cofit check` prints"
    )
