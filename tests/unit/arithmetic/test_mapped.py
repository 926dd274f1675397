"""Matrices in a file: every product is the local engine's, and hardly anything of them is resident."""

from __future__ import annotations

import errno
import mmap
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cofit.arithmetic import Z64, Generator, IntegerRing, RingArray
from cofit.arithmetic import mapped as module
from cofit.arithmetic.engine import LOCAL, Engine, Placed
from cofit.arithmetic.mapped import BLOCK_BYTES, MappedEngine, Pages, blocks_of_rows, give_back

ROWS, COLS = 23, 5
_AROUND = 4 << 20  # the system maps pages around those that are read
VIEWS = {
    "as it is": lambda placed: placed,
    "transposed": lambda placed: placed.transposed(),
    "a block": lambda placed: placed.block((slice(2, 19), slice(1, 4))),
    "a block of the transpose": lambda placed: placed.transposed().block((slice(1, 4), slice(2, 19))),
    "one part": lambda placed: placed.only(1, 0),
}


def allotted(directory: Path) -> MappedEngine:
    def allot(size: int) -> Pages:
        path = directory / f"matrix{len(list(directory.iterdir()))}"
        path.write_bytes(bytes(size))
        with path.open("r+b") as file:
            return Pages(file.fileno(), size)

    return MappedEngine(allot)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MappedEngine]:
    monkeypatch.setattr(module, "BLOCK_BYTES", 300)
    made = allotted(tmp_path)
    yield made
    made.close()


def placed_in(engine: Engine, ring: IntegerRing) -> Placed:
    generator = Generator(bytes(range(32)))
    parts = [engine.room(ring, (ROWS, COLS)) for _ in range(2)]
    for part in parts:
        generator.ring_into(ring, part)
    return engine.place(ring, parts)


def vectors(ring: IntegerRing, *shapes: tuple[int, ...]) -> list[RingArray]:
    generator = Generator(bytes(32))
    return [generator.ring(ring, shape) for shape in shapes]


@pytest.mark.parametrize("view", VIEWS)
def test_every_product_is_that_of_the_local_engine(engine: MappedEngine, ring: IntegerRing, view: str) -> None:
    found, wanted = (VIEWS[view](placed_in(one, ring)) for one in (engine, LOCAL))
    assert type(found) is not type(wanted)
    assert (found.shape, found.count) == (wanted.shape, wanted.count)
    rows, cols = wanted.shape
    a, b, c, d, right = vectors(ring, (cols,), (cols,), (cols,), (cols,), (cols, 3))
    for each in ((a, b), (right, right)):
        np.testing.assert_array_equal(found.matmul_sum(each), wanted.matmul_sum(each))
    np.testing.assert_array_equal(found.matvec_pairs((a, b, c, d)), wanted.matvec_pairs((a, b, c, d)))
    for got, one in zip(found.matmul(a), wanted.matmul(a), strict=True):
        np.testing.assert_array_equal(got, one)
    for axis in (0, 1, -1, None):
        for got, one in zip(found.sums(axis), wanted.sums(axis), strict=True):
            np.testing.assert_array_equal(got, one)
    other = LOCAL.place(ring, vectors(ring, (rows, cols), (rows, cols)))
    for theirs in (other, None):
        got = found.inner_sum((0, 0, 1), theirs or found, (0, 1, 0))
        np.testing.assert_array_equal(got, wanted.inner_sum((0, 0, 1), theirs or wanted, (0, 1, 0)))
    if ring.reduces:
        got = found.inner_sum((0, 1), found, (0, 1), 7)
        np.testing.assert_array_equal(got, wanted.inner_sum((0, 1), wanted, (0, 1), 7))
        chosen = np.arange(rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        for sums, one in zip(found.row_sums(chosen), wanted.row_sums(chosen), strict=True):
            np.testing.assert_array_equal(sums, one)
    for got, one in zip(found.fetch(), wanted.fetch(), strict=True):
        np.testing.assert_array_equal(got, one)


def test_a_matrix_in_memory_is_copied_and_anything_else_stays_there(engine: MappedEngine) -> None:
    (matrix, vector) = vectors(Z64, (ROWS, COLS), (COLS,))
    placed = engine.place(Z64, (matrix,))
    assert not np.shares_memory(placed.fetch()[0], matrix)
    np.testing.assert_array_equal(placed.fetch()[0], matrix)
    assert engine.place(Z64, (vector,)).fetch()[0] is vector


def resident(pages: Path) -> int:
    """How many bytes of the mappings of a file are resident."""
    text = Path("/proc/self/smaps").read_text()
    found = re.findall(rf"^\S+ .* {re.escape(str(pages))}\n(?:.*\n)*?Rss: +(\d+) kB", text, re.MULTILINE)
    return sum(map(int, found)) << 10


def test_no_more_is_resident_than_a_block(tmp_path: Path) -> None:
    rows, cols = 40_000, 100  # 32 MB
    engine, path = allotted(tmp_path), tmp_path / "matrix0"
    matrix = engine.room(Z64, (rows, cols))
    most = 0
    for block in blocks_of_rows([matrix]):
        matrix[block] = 3
        most = max(most, resident(path))
    assert BLOCK_BYTES // 2 < most <= BLOCK_BYTES + _AROUND
    placed = engine.place(Z64, (matrix,))
    for product in (
        lambda: placed.matmul_sum(vectors(Z64, (cols,))),
        lambda: placed.transposed().matmul_sum(vectors(Z64, (rows,))),
        lambda: placed.inner_sum((0,), placed, (0,)),
        lambda: placed.sums(1),
    ):
        product()
        assert resident(path) <= _AROUND
    half = placed.block((slice(0, rows // 2), slice(0, cols))).fetch()[0]
    assert half.sum() == 3 * rows * cols // 2
    assert resident(path) >= 15 << 20, "what was fetched is there as long as nobody asks for more"
    assert placed.block((slice(0, 1), slice(0, cols))).fetch()[0].sum() == 3 * cols
    assert resident(path) <= _AROUND
    engine.close()


def test_pages_of_nobody_elses_memory_are_given_back(tmp_path: Path) -> None:
    own = np.arange(1 << 16)
    give_back(own)
    give_back(own.data)
    private = np.memmap(tmp_path / "private", np.uint64, "w+", shape=(1 << 16,))
    private[:] = 7
    changed = np.memmap(tmp_path / "private", np.uint64, "c", shape=(1 << 16,))
    changed[:] = 8
    give_back(changed)
    assert (own == np.arange(1 << 16)).all()
    assert (changed == 8).all(), "a change that is in no file would be lost"


@pytest.mark.parametrize("forgets", [True, False])
def test_nothing_is_left_after_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgets: bool) -> None:
    """Also of the second matrix, and on a file system that cannot take pages back."""
    advise = Pages.madvise

    def refused(self: Pages, option: int, *where: int) -> None:
        if option == mmap.MADV_REMOVE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        advise(self, option, *where)

    if not forgets:
        monkeypatch.setattr(Pages, "madvise", refused)
    engine = allotted(tmp_path)
    matrices = [engine.room(Z64, (100, 100)) for _ in range(2)]
    for matrix in matrices:
        matrix[...] = 5
    engine.close()
    assert not any(matrix.any() for matrix in matrices)
    assert not any((tmp_path / "matrix0").read_bytes()) and not any((tmp_path / "matrix1").read_bytes())
