"""Stores of a release: whole, durable, private, and never replaced."""

from __future__ import annotations

import os
import pickle
import stat
import threading
from pathlib import Path

import pytest

from cofit.errors import InvalidInputError, ProtocolError
from cofit.roles import FileStore, MemoryStore
from cofit.secret import ReleaseStore

RECORD = bytes(range(256)) * 5


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ReleaseStore:
    return MemoryStore() if request.param == "memory" else FileStore(tmp_path / "release")


def test_a_record_is_kept(store: ReleaseStore) -> None:
    assert store.load() is None
    store.save(RECORD)
    assert store.load() == RECORD
    store.save(RECORD)
    assert store.load() == RECORD


@pytest.mark.parametrize("other", [b"", RECORD[:-1], RECORD + b"x"], ids=["empty", "shorter", "longer"])
def test_another_record_is_refused(store: ReleaseStore, other: bytes) -> None:
    store.save(RECORD)
    with pytest.raises(ProtocolError, match="never replaced"):
        store.save(other)
    assert store.load() == RECORD


def test_a_record_is_not_shown(tmp_path: Path) -> None:
    memory, file = MemoryStore(b"secret"), FileStore(tmp_path / "release")
    file.save(b"secret")
    assert "secret" not in repr(memory) + repr(file)


def test_the_file_is_private_and_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        FileStore(str(tmp_path / "release")).save(RECORD)
    finally:
        os.umask(before)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    found = (tmp_path / "release").stat()
    assert (stat.S_IMODE(found.st_mode), found.st_nlink) == (0o600, 1)


def test_an_existing_file_of_any_content_is_kept(tmp_path: Path) -> None:
    (tmp_path / "release").write_bytes(b"")
    with pytest.raises(ProtocolError):
        FileStore(tmp_path / "release").save(RECORD)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("release", b"")]


def test_content_then_name_then_directory_reach_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, link = os.fsync, os.link

    def watched_fsync(descriptor: int) -> None:
        target = Path(f"/proc/self/fd/{descriptor}").readlink()
        events.append("directory" if target == tmp_path else f"{target.stat().st_size} bytes")
        fsync(descriptor)

    def watched_link(source: str, target: Path) -> None:
        events.append("name")
        link(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "link", watched_link)
    FileStore(tmp_path / "release").save(RECORD)
    assert events == [f"{len(RECORD)} bytes", "name", "directory"]


def test_a_failed_save_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        FileStore(tmp_path / "release").save(RECORD)
    assert list(tmp_path.iterdir()) == []


def test_of_two_savers_one_wins(tmp_path: Path) -> None:
    refused: list[int] = []
    start = threading.Barrier(8)

    def save(number: int) -> None:
        start.wait()
        try:
            FileStore(tmp_path / "release").save(bytes([number]) * 1000)
        except ProtocolError:
            refused.append(number)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = set(range(8)) - set(refused)
    assert FileStore(tmp_path / "release").load() == bytes([winner]) * 1000


def test_a_missing_directory_is_found_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="must exist and be writable"):
        FileStore(tmp_path / "nowhere" / "release").load()


def test_a_file_store_travels_to_a_process(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "release")
    assert pickle.loads(pickle.dumps(store)) == store
