"""What party 0 keeps of a held matrix stands for its two summands, and products read one array less."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from cofit.arithmetic import Generator, IntegerRing, PowerOfTwoRing, RingArray
from cofit.arithmetic.engine import LOCAL, Engine, Placed
from cofit.arithmetic.mapped import MappedEngine
from cofit.roles.files import share_files
from cofit.sharing import Scheme
from cofit.sharing.placed import PlacedShare
from cofit.sharing.rep3 import summed as tested
from cofit.sharing.rep3.summed import SummedShare, summed
from cofit.sharing.shares import Share
from support.runs import run_scheme

ROWS, COLS = 11, 5


def drawn(ring: IntegerRing, *shapes: tuple[int, ...], seed: int = 7) -> list[RingArray]:
    generator = Generator(bytes([seed]) * 32)
    return [generator.ring(ring, shape) for shape in shapes]


@pytest.fixture(params=["memory", "file"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    if request.param == "memory":
        return LOCAL
    return MappedEngine(lambda size: share_files.allot(tmp_path, size))


def kept_and_plain(engine: Engine, ring: IntegerRing) -> tuple[SummedShare, Share]:
    first, last = drawn(ring, (ROWS, COLS), (ROWS, COLS))
    share = summed(engine, Share(ring, (first.copy(), last.copy())), owned=True)
    assert isinstance(share, SummedShare)
    return share, Share(ring, (first, last))


def equal(got: Any, wanted: Any) -> None:
    got, wanted = (one if isinstance(one, tuple) else (one,) for one in (got, wanted))
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_products_and_sums_are_those_of_the_two_summands(
    engine: Engine, ring: IntegerRing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tested, "_BLOCK_BYTES", 3 * COLS * ring.element_bytes * 2)  # three rows at a time
    share, plain = kept_and_plain(engine, ring)
    v, w, x, y, table, third, fourth = drawn(
        ring, (COLS,), (COLS,), (ROWS,), (ROWS,), (COLS, 2), (ROWS, COLS), (ROWS, COLS), seed=8
    )
    chosen = np.arange(ROWS, dtype=np.uint64) * 3
    others = LOCAL.place(ring, (third, fourth))
    wholes: dict[str, Callable[[Placed], Any]] = {
        "arrays": lambda p: p.fetch(),
        "one of them": lambda p: p.only(0).fetch(),
        "the other one": lambda p: p.only(1).fetch(),
        "in another order": lambda p: p.only(1, 0).fetch(),
        "with two vectors": lambda p: p.matmul_sum((v, w)),
        "with one vector": lambda p: p.matmul_sum((v, v)),
        "with tables": lambda p: p.matmul_sum((table, table)),
        "pairs": lambda p: p.matvec_pairs((v, w, w, v)),
        "transposed": lambda p: p.transposed().matmul_sum((x, y)),
        "a block": lambda p: p.block((slice(2, 7), slice(1, 4))).matmul_sum((v[1:4], w[1:4])),
        "a block, transposed": lambda p: p.block((slice(2, 7), slice(1, 4))).transposed().matmul_sum((x[2:7], y[2:7])),
        "public": lambda p: p.matmul(v),
        "squares": lambda p: p.inner_sum((0, 0, 1), p, (0, 1, 0)),
        "with others": lambda p: p.inner_sum((0, 1, 1), others, (1, 0, 1)),
        "sums of columns": lambda p: p.sums(0),
        "sums of rows": lambda p: p.sums(1),
        "sum": lambda p: p.sums(None),
    }
    if isinstance(ring, PowerOfTwoRing):
        wholes |= {
            "chosen rows": lambda p: p.row_sums(chosen),
            "squares of high parts": lambda p: p.inner_sum((0, 0, 1), p, (0, 1, 0), 7),
            "those of no columns": lambda p: (none := p.block((slice(None), slice(0, 0)))).inner_sum(
                (0,), none, (1,), 7
            ),
            "high parts with others": lambda p: p.inner_sum((0, 1), others, (1, 0), 7),
        }
    for what, of in wholes.items():
        print(what)
        equal(of(share.placed), of(plain.placed))


def test_the_share_is_the_same_whatever_is_asked_of_it(engine: Engine, ring: IntegerRing) -> None:
    share, plain = kept_and_plain(engine, ring)
    assert (share.ring, share.shape) == (ring, plain.shape)
    equal(share.parts, plain.parts)
    equal(share.map(np.transpose).parts, plain.map(np.transpose).parts)
    assert isinstance(share.map(np.transpose), SummedShare)
    place = (slice(3, 9), slice(0, 2))
    assert isinstance(share.block(place), SummedShare)
    equal(share.block(place).parts, plain.block(place).parts)
    for local in (lambda part: part[2:5], lambda part: part.reshape(-1), ring.neg):
        assert not isinstance(share.map(local), SummedShare)
        equal(share.map(local).parts, plain.map(local).parts)


def test_the_sum_takes_the_place_of_the_first_summand_where_that_is_ours(ring: IntegerRing) -> None:
    first, last = (one.copy() for one in drawn(ring, (ROWS, COLS), (ROWS, COLS)))
    before = first.copy()
    theirs = summed(LOCAL, Share(ring, (first, last)), owned=False)
    equal(theirs.parts, (before, last))
    np.testing.assert_array_equal(first, before, "what others use stays")
    share = summed(LOCAL, Share(ring, (first, last)), owned=True)
    np.testing.assert_array_equal(first, ring.add(before, last))
    total, other = share.placed._kept.fetch()  # type: ignore[attr-defined]
    assert np.shares_memory(total, first)
    assert np.shares_memory(other, last)
    frozen = before.copy()
    frozen.flags.writeable = False
    equal(summed(LOCAL, Share(ring, (frozen, last)), owned=True).parts, (before, last))
    np.testing.assert_array_equal(frozen, before, "what nobody may write to stays")


def test_the_first_party_reads_one_array_for_a_product(ring: IntegerRing) -> None:
    values = np.arange(ROWS * COLS).reshape(ROWS, COLS) - 20

    def program(s: Scheme) -> tuple[list[list[int]], list[mock.Mock]]:
        x, wide, tall = (
            s.refresh(s.constant(ring, ring.from_int(one.astype(object))))
            for one in (values, np.arange(COLS), np.arange(ROWS))
        )
        held = s.hold(Share(ring, tuple(part.copy() for part in x.parts)), 2)
        assert isinstance(held, PlacedShare)
        found, spies = [], []
        for left, right in ((held, wide), (held.map(np.transpose), tall)):
            if s.rank == 0:
                spies.append(mock.Mock(wraps=left.placed._kept))  # type: ignore[attr-defined]
                left.placed._kept = spies[-1]  # type: ignore[attr-defined]
            opened = s.open(s.matmul(left, right))
            assert opened is not None
            found.append([int(v) for v in ring.to_int(opened)])
        return found, spies

    results = list(run_scheme("rep3", program).results)
    wanted = [(values @ np.arange(COLS)).tolist(), (values.T @ np.arange(ROWS)).tolist()]
    assert [found for found, _ in results] == [wanted] * 3
    for spy in results[0][1]:
        assert spy.only.mock_calls[0] == mock.call(0), "the sum of its summands"
        assert not spy.matmul_sum.called
        assert not spy.fetch.called


def test_high_parts_are_those_of_the_summands(ring: IntegerRing) -> None:
    if not isinstance(ring, PowerOfTwoRing):
        pytest.skip("high parts need a ring Z_2^k")

    def program(s: Scheme) -> None:
        x = Share(ring, tuple(part.copy() for part in s.refresh(s.constant(ring, ring.zeros((ROWS, COLS)))).parts))
        wanted = tuple(ring.sar(part, 7) for part in x.parts)
        equal(s.high_part(s.hold(x, 2), 7).parts, wanted)

    run_scheme("rep3", program)


def test_a_matrix_that_is_multiplied_once_is_left_as_it_is(ring: IntegerRing) -> None:
    values = np.arange(ROWS * COLS).reshape(ROWS, COLS) - 20

    def program(s: Scheme) -> list[int]:
        x, vector = (
            s.refresh(s.constant(ring, ring.from_int(one.astype(object)))) for one in (values, np.arange(COLS))
        )
        before = [part.copy() for part in x.parts]
        held = s.hold(x, 1, owned=True)
        assert not isinstance(held, SummedShare)
        equal(x.parts, tuple(before))
        opened = s.open(s.matmul(held, vector))
        assert opened is not None
        return [int(v) for v in ring.to_int(opened)]

    assert list(run_scheme("rep3", program).results) == [(values @ np.arange(COLS)).tolist()] * 3
