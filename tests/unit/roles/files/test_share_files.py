"""Files of shares have no name, are private, and are gone with the session, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cofit.arithmetic import Z64
from cofit.errors import StateError
from cofit.roles.files.share_files import PREFIX, allot, check_space, engine_on, shares_on_disk
from cofit.roles.party.state import PartyState

SHAPE = (1000, 200)


def open_files(directory: Path) -> list[str]:
    """The files of this process that are in a directory, by mapping or descriptor."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return [line for line in maps if str(directory) in line]


def test_a_file_has_no_name_and_is_private_while_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []
    fallocate = os.posix_fallocate

    def watched(descriptor: int, offset: int, length: int) -> None:
        facts = os.fstat(descriptor)
        modes.append((facts.st_mode & 0o777, facts.st_nlink, facts.st_size))
        fallocate(descriptor, offset, length)

    monkeypatch.setattr(os, "posix_fallocate", watched)
    with shares_on_disk(tmp_path) as engine:
        matrix = engine.room(Z64, SHAPE)
        matrix[...] = 9
        assert list(tmp_path.iterdir()) == []
        assert open_files(tmp_path), "it is there, and has no name"
        assert modes == [(0o600, 0, 0)], "nothing is written before the name is gone"
    assert not matrix.any(), "whoever still has the array finds zeros"
    del matrix, engine
    assert not open_files(tmp_path)


def test_an_error_in_a_session_leaves_nothing_either(tmp_path: Path) -> None:
    kept = []
    with pytest.raises(RuntimeError), shares_on_disk(tmp_path) as engine:
        kept.append(engine.room(Z64, SHAPE))
        kept[0][...] = 9
        raise RuntimeError
    assert not kept[0].any()


def test_two_sessions_have_nothing_in_common(tmp_path: Path) -> None:
    with shares_on_disk(tmp_path) as first, shares_on_disk(tmp_path) as second:
        one, other = first.room(Z64, SHAPE), second.room(Z64, SHAPE)
        one[...] = 9
        assert not other.any()
        assert not first.room(Z64, SHAPE).any()


def test_without_a_directory_the_scheme_keeps_its_engine() -> None:
    with engine_on(None) as engine:
        assert engine is None


KILLED = """
import os, signal, sys
from pathlib import Path
from cofit.arithmetic import Z64
from cofit.roles.files.share_files import engine_on
with engine_on(Path(sys.argv[1])) as engine:
    matrix = engine.room(Z64, (1000, 200))
    matrix[...] = 9
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_kill_9_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_a_kill_left_is_deleted_at_the_next_start(tmp_path: Path) -> None:
    PartyState(tmp_path / "state", "0" * 64, "party-a").close()
    (tmp_path / "state" / f"{PREFIX}abc").write_bytes(b"shares")
    PartyState(tmp_path / "state", "0" * 64, "party-a").close()
    assert not list((tmp_path / "state").glob(f"{PREFIX}*"))


def test_a_disk_without_room_is_refused_before(tmp_path: Path) -> None:
    for refused in (lambda: check_space(tmp_path, 1 << 60), lambda: allot(tmp_path, 1 << 60)):
        with pytest.raises(
            StateError, match=r"need 1\.15e?.*EB|need 1,?15\d.* PB on the disk of .* are free. Make room"
        ):
            refused()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_is_an_error_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StateError, match=r"No file of 1\.6 MB can be made in .*: No space left on device\. Make room"):
        allot(tmp_path, np.prod(SHAPE).item() * 8)
    assert list(tmp_path.iterdir()) == []
