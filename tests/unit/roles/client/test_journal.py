"""What a client keeps while it asks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cofit.errors import InvalidInputError, StateError
from cofit.roles.client.journal import Journal

ASKED = {"study": "a" * 64, "answers": "scores", "table": "b" * 64}


def test_a_seed_stays_until_it_is_renewed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "asking", ASKED)
    journal.open()
    first = journal.seed(0)
    assert journal.seed(0) == first != journal.seed(1)
    assert Journal(tmp_path / "asking", ASKED).seed(0) == first
    assert journal.renewed(0) != first


def test_answers_are_there_once_they_are_kept(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "asking", ASKED)
    journal.open()
    assert journal.answers(3) is None
    journal.keep(3, np.array([[1.5], [2.0]]))
    found = journal.answers(3)
    assert found is not None and found.tolist() == [[1.5], [2.0]]
    journal.delete()
    assert not (tmp_path / "asking").exists()


def test_only_its_user_reads_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "asking", ASKED)
    journal.open()
    journal.seed(0)
    assert (tmp_path / "asking").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "asking").iterdir())


def test_another_question_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path / "asking", ASKED).open()
    with pytest.raises(StateError, match="another question"):
        Journal(tmp_path / "asking", {**ASKED, "answers": "classes"}).open()
    (tmp_path / "asking" / "asking.json").write_text("{")
    with pytest.raises(StateError, match="damaged"):
        Journal(tmp_path / "asking", ASKED).open()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(StateError, match="something else"):
        Journal(tmp_path / "full", ASKED).open()
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInputError, match="cannot be used"):
        Journal(tmp_path / "file" / "asking", ASKED).open()
