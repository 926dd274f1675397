"""What a worker stores: all of a piece, as it was sent, in order; nothing of it under a name on the disk."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from cofit.errors import StateError
from cofit.roles.files.share_files import allot
from cofit.roles.shards.stored_rows import StoredRows, Wanted, digest_of, piece_name

LARGE = os.urandom(200_000)
SMALL = os.urandom(40)
EMPTY = b""


def wanted(content: bytes) -> Wanted:
    return Wanted(len(content), hashlib.sha256(content).hexdigest())


def stored_in(directory: Path, **contents: bytes) -> StoredRows:
    stored = StoredRows(directory / "cofit")
    stored.missing({name: wanted(content) for name, content in contents.items()})
    for name, content in contents.items():
        send(stored, name, content)
    return stored


def send(stored: StoredRows, name: str, content: bytes, step: int = 70_000) -> None:
    for offset in range(0, max(1, len(content)), step):
        stored.write(name, wanted(content), offset, content[offset : offset + step])


def test_pieces_are_what_was_sent(tmp_path: Path) -> None:
    stored = stored_in(tmp_path, large=LARGE, small=SMALL, empty=EMPTY)
    assert bytes(stored.content("large")) == LARGE
    assert bytes(stored.content("small")) == SMALL
    assert bytes(stored.content("empty")) == EMPTY
    assert digest_of(memoryview(LARGE)) == hashlib.sha256(LARGE).hexdigest()


def test_only_what_is_missing_is_asked_for_again(tmp_path: Path) -> None:
    stored = stored_in(tmp_path, large=LARGE, small=SMALL)
    both = {"large": wanted(LARGE), "small": wanted(SMALL)}
    assert stored.missing(both) == []
    assert stored.missing({**both, "new": wanted(EMPTY)}) == ["new"]
    other = os.urandom(len(SMALL))
    assert stored.missing({**both, "small": wanted(other)}) == ["small"]
    assert bytes(stored.content("large")) == LARGE
    with pytest.raises(StateError, match="lacks a part"):
        stored.content("small")


def test_what_was_cut_off_is_sent_again_from_the_beginning(tmp_path: Path) -> None:
    stored = stored_in(tmp_path)
    stored.write("large", wanted(LARGE), 0, LARGE[:70_000])
    with pytest.raises(StateError, match="lacks a part"):
        stored.content("large")
    assert stored.missing({"large": wanted(LARGE)}) == ["large"]
    with pytest.raises(StateError, match="out of order"):
        stored.write("large", wanted(LARGE), 70_000, LARGE[70_000:])
    send(stored, "large", LARGE)
    assert bytes(stored.content("large")) == LARGE


def test_what_is_not_wanted_any_more_is_dropped(tmp_path: Path) -> None:
    stored = stored_in(tmp_path, large=LARGE, small=SMALL)
    assert stored.missing({"large": wanted(LARGE)}) == []
    with pytest.raises(StateError, match="lacks a part"):
        stored.content("small")
    stored.forget()
    assert stored.missing({"large": wanted(LARGE)}) == ["large"]


@pytest.mark.parametrize(
    ("offset", "data", "said"),
    [
        (70_000, LARGE[70_000:140_000], wanted(LARGE)),
        (40_000, LARGE[40_000:50_000], wanted(LARGE)),
        (50_000, LARGE[50_000:] + b"x", wanted(LARGE)),
        (50_000, LARGE[50_000:60_000], wanted(SMALL)),
        (-50_000, LARGE[-50_000:], wanted(LARGE)),
    ],
    ids=["a gap", "again", "too long", "another piece", "from the end"],
)
def test_chunks_out_of_order_are_refused(tmp_path: Path, offset: int, data: bytes, said: Wanted) -> None:
    stored = stored_in(tmp_path)
    stored.write("large", wanted(LARGE), 0, LARGE[:50_000])
    with pytest.raises(StateError, match="out of order"):
        stored.write("large", said, offset, data)
    with pytest.raises(StateError, match="out of order"):
        stored.write("other", wanted(LARGE), 50_000, LARGE[50_000:])
    stored.write("large", wanted(LARGE), 50_000, LARGE[50_000:])
    assert bytes(stored.content("large")) == LARGE


def test_the_first_chunk_may_not_be_too_long(tmp_path: Path) -> None:
    stored = stored_in(tmp_path)
    with pytest.raises(StateError, match="out of order"):
        stored.write("small", wanted(SMALL), 0, SMALL + b"x")


@pytest.mark.parametrize("content", [LARGE, SMALL], ids=["on disk", "in memory"])
def test_one_bit_that_differs_is_noticed(tmp_path: Path, content: bytes) -> None:
    stored = stored_in(tmp_path)
    damaged = bytearray(content)
    damaged[-1] ^= 1
    with pytest.raises(StateError, match="damaged"):
        stored.write("x", wanted(content), 0, bytes(damaged))
    with pytest.raises(StateError, match="lacks a part"):
        stored.content("x")
    send(stored, "x", content)
    assert bytes(stored.content("x")) == content


def test_rows_on_the_disk_have_no_name_and_are_private(tmp_path: Path) -> None:
    seen: list[tuple[Path, int]] = []

    def watched(directory: Path, size: int) -> Any:
        seen.append((directory, directory.stat().st_mode & 0o777))
        return allot(directory, size)

    directory = tmp_path / "made" / "cofit"
    stored = StoredRows(directory, watched)
    stored.missing({"large": wanted(LARGE), "small": wanted(SMALL)})
    stored.write("large", wanted(LARGE), 0, LARGE[:100])
    assert list(directory.iterdir()) == []
    stored.write("large", wanted(LARGE), 100, LARGE[100:])
    send(stored, "small", SMALL)
    assert seen == [(directory, 0o700)], "small pieces, which may be seeds, stay in memory"
    assert list(directory.iterdir()) == []


def test_names_of_pieces_differ() -> None:
    names = {piece_name(*one) for one in [("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""), ("", "a", "bc")]}
    assert len(names) == 4
