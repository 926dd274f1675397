"""Matrices of two parties that take part in many products: results, and exactly what is sent for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cofit.arithmetic import Z64, Z128, PowerOfTwoRing, RingArray
from cofit.arithmetic.power_of_two import shifting
from cofit.sharing import Scheme, Share
from cofit.sharing.pair import held as held_module
from cofit.sharing.pair import rules
from cofit.sharing.pair.held import Ahead, KeptSquares, PairHeld, square_steps
from cofit.sharing.pair.meter import PairMeter
from cofit.sharing.pair.party import Pair
from cofit.sharing.pair.rlwe.client import key_bytes
from cofit.sharing.pair.rlwe.packing import MatrixPacking, RowsPacking
from cofit.sharing.pair.rlwe.parameters import parameters_for
from cofit.sharing.regions import Region, whole
from cofit.sharing.tally import Tally
from support.runs import Run
from support.schemes import also_slow
from unit.sharing.pair.pair_runs import Integers, elements, given, numbers, run_pair, some

RNG = np.random.default_rng(404)
SMALL = parameters_for(64)
Steps = Callable[[Scheme, Share], object]


@pytest.fixture(autouse=True)
def always_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of a few elements are multiplied under encryption."""
    monkeypatch.setattr(rules, "_FEWEST", 16)


def summands(ring: PowerOfTwoRing, *shape: int) -> tuple[Integers, list[RingArray]]:
    own = some(RNG, ring, 2, *shape)
    return (own[0] + own[1]) % (1 << ring.bits), [elements(ring, each) for each in own]


def run_and_meter(steps: Steps, shape: tuple[int, int], products: int = 1) -> tuple[Run[Any], Tally]:
    """What steps with a held matrix cost two parties, and what the meter says."""
    _, x = summands(Z64, *shape)
    run = run_pair(lambda s: steps(s, s.hold(given(s, Z64, *x), products)) and None)
    meter = PairMeter(Pair)
    before = meter.tally
    steps(meter, meter.hold(meter.constant(Z64, Z64.zeros(shape)), products))
    return run, meter.tally - before


def sent(steps: Steps, shape: tuple[int, int], products: int = 1) -> int:
    """Bytes of all of it, which the meter must know, as it must know the rounds."""
    run, counted = run_and_meter(steps, shape, products)
    assert counted.bytes == run.everything().bytes_sent
    assert counted.rounds == max(counts.total.rounds for counts in run.traffic)
    return counted.bytes


def vector(s: Scheme, length: int) -> Share:
    return s.constant(Z64, Z64.zeros((length,)))


# --- results ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ring", also_slow([Z64], Z128), ids=str)
def test_products_with_a_held_matrix(ring: PowerOfTwoRing) -> None:
    x, x_ = summands(ring, 6, 5)
    w, w_ = summands(ring, 5)
    v, v_ = summands(ring, 6)
    m, m_ = summands(ring, 5, 3)

    def program(s: Pair) -> dict[str, Any]:
        matrix = s.hold(given(s, ring, *x_), 2)
        back = matrix.map(np.transpose)
        assert isinstance(matrix, PairHeld) and isinstance(back, PairHeld)
        row, column, wide = given(s, ring, *w_), given(s, ring, *v_), given(s, ring, *m_)
        block = matrix.block((slice(1, 4), slice(2, 5)))
        assert isinstance(block, PairHeld)
        shares = {
            "vector": s.matmul(matrix, row),
            "again": s.matmul(matrix, row, plus=column),
            "beyond what was foreseen": s.matmul(matrix, row),
            "a matrix": s.matmul(matrix, wide),
            "transposed": s.matmul(back, column),
            "and back": s.matmul(back.map(np.transpose), row),
            "on the right": s.matmul(column, matrix),
            "squares": s.inner(matrix, matrix),
            "squares again": s.inner(matrix, matrix),
            "squares of columns": s.inner(back, back),
            "block": s.matmul(block, s.select(row, slice(2, 5))),
            "squares of a block": s.inner(block, block),
            "block of the transpose": s.matmul(back.block((slice(2, 5), slice(1, 4))), s.select(column, slice(1, 4))),
            "rows": s.matmul(s.hold(matrix.map(lambda part: part[1:3])), row),
            "held": matrix,
        }
        return {name: numbers(ring, opened) for name, share in shares.items() if (opened := s.open(share)) is not None}

    wanted = {
        "vector": x.dot(w),
        "again": x.dot(w) + v,
        "beyond what was foreseen": x.dot(w),
        "a matrix": x.dot(m),
        "transposed": x.T.dot(v),
        "and back": x.dot(w),
        "on the right": v.dot(x),
        "squares": (x * x).sum(axis=1),
        "squares again": (x * x).sum(axis=1),
        "squares of columns": (x * x).sum(axis=0),
        "block": x[1:4, 2:].dot(w[2:]),
        "squares of a block": (x[1:4, 2:] ** 2).sum(axis=1),
        "block of the transpose": x[1:4, 2:].T.dot(v[1:4]),
        "rows": x[1:3].dot(w),
        "held": x,
    }
    for result in run_pair(program).results:
        assert list(result) == list(wanted)
        for name, values in wanted.items():
            np.testing.assert_array_equal(result[name], values % (1 << ring.bits), name)


def test_high_parts_are_squared() -> None:
    _, x_ = summands(Z64, 7, 4)
    high = sum(numbers(Z64, shifting(Z64, 3)(each)) for each in x_)
    for got in run_pair(lambda s: s.open(s.high_squares(given(s, Z64, *x_), 3))).results:
        np.testing.assert_array_equal(numbers(Z64, got), np.sum(high * high, axis=1) % 2**64)


# --- what is sent ----------------------------------------------------------------------------------------


def both_ways(packing: MatrixPacking | RowsPacking) -> int:
    return packing.request_bytes + packing.reply_bytes


def test_masks_of_what_is_foreseen_are_made_together_and_of_more_one_by_one() -> None:
    keys = 2 * key_bytes(SMALL)
    online = 2 * 5 * 8
    three, one = (2 * both_ways(MatrixPacking(6, 5, columns, SMALL)) for columns in (3, 1))

    def times(count: int) -> Steps:
        return lambda s, x: [s.matmul(x, vector(s, 5)) for _ in range(count)]

    assert sent(times(1), (6, 5), 3) == keys + three + online
    assert sent(times(3), (6, 5), 3) == keys + three + 3 * online
    assert sent(times(5), (6, 5), 3) == keys + three + 2 * one + 5 * online


def test_masks_are_made_so_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_module, "MOST_PRODUCTS", 4)
    keys, online = 2 * key_bytes(SMALL), 2 * 5 * 8
    four, two = (2 * both_ways(MatrixPacking(6, 5, columns, SMALL)) for columns in (4, 2))
    steps: Steps = lambda s, x: [s.matmul(x, vector(s, 5)) for _ in range(10)]  # noqa: E731
    assert sent(steps, (6, 5), 10) == keys + 2 * four + two + 10 * online


@pytest.mark.parametrize("foreseen", [0, 1, 3, 300])
def test_how_many_masks_are_due(foreseen: int) -> None:
    ahead = Ahead.of(foreseen)
    due = ahead.due(False, 2)
    assert due == max(2, min(foreseen, 128))
    assert ahead.foreseen == [max(0, foreseen - due), foreseen]
    ahead.made[0].extend([None] * due)  # type: ignore[list-item]
    assert ahead.due(False, 2) == 0
    assert ahead.due(False, due + 1) == max(due + 1, min(foreseen - due, 128))


def test_squares_are_kept() -> None:
    """Asked for twice they cost nothing; after some of the rows, the whole costs the rest only."""
    keys = 2 * key_bytes(SMALL)

    def rows(*sizes: int) -> int:
        return sum(both_ways(RowsPacking(size, 5, SMALL)) for size in sizes)

    whole_: Steps = lambda s, x: s.inner(x, x)  # noqa: E731
    twice: Steps = lambda s, x: (s.inner(x, x), s.inner(x, x))  # noqa: E731

    def blocks(s: Scheme, x: Share) -> None:
        first, second = (x.block((part, slice(None))) for part in (slice(2, 6), slice(4, 8)))
        s.inner(first, first)
        s.inner(second, second)
        s.inner(x, x)
        s.inner(first, first)

    assert sent(whole_, (10, 5)) == sent(twice, (10, 5)) == keys + rows(5, 5)
    assert sent(blocks, (10, 5)) == keys + rows(2, 2) + rows(1, 1) + rows(1, 1, 1, 1)


def test_squares_of_other_columns_are_others() -> None:
    x, x_ = summands(Z64, 6, 5)

    def program(s: Pair) -> list[Any]:
        matrix = s.hold(given(s, Z64, *x_))
        parts = [matrix, matrix.block((slice(0, 6), slice(0, 3))), matrix.block((slice(0, 6), slice(2, 5)))]
        return [s.open(s.inner(part, part)) for part in parts]

    for results in run_pair(program).results:
        for got, part in zip(results, (x, x[:, :3], x[:, 2:]), strict=True):
            np.testing.assert_array_equal(numbers(Z64, got), (part * part).sum(axis=1) % 2**64)


def test_what_is_missing_of_kept_squares() -> None:
    kept = KeptSquares(Z64, 9)
    everything = (slice(0, 9), slice(0, 4))
    assert kept.missing(everything) == [slice(0, 9)]
    for rows in (slice(1, 3), slice(5, 6)):
        kept.keep((rows, slice(0, 4)), Z64.from_int(np.arange(rows.start, rows.stop)))
    assert kept.missing(everything) == [slice(0, 1), slice(3, 5), slice(6, 9)]
    assert kept.missing((slice(2, 6), slice(0, 4))) == [slice(3, 5)]
    assert kept.missing((slice(1, 3), slice(0, 4))) == []
    assert kept.missing((slice(0, 9), slice(0, 3))) == [slice(0, 9)], "of other columns nothing is there"
    np.testing.assert_array_equal(kept.squares((slice(0, 3), slice(0, 4))), [0, 1, 2])


@pytest.mark.parametrize("rows", [1, 2, 255, 256, 257, 700])
def test_each_party_serves_for_half_of_the_rows(rows: int) -> None:
    steps = square_steps([Region(whole((rows, 3)), None)])
    served: dict[int, list[int]] = {0: [], 1: []}
    for step in steps:
        assert len({block.server for block in step}) == len(step) <= 2
        for block in step:
            assert 0 < block.sizes[0] <= 128
            served[block.server] += range(block.place[0].start, block.place[0].stop)
    assert sorted(served[0] + served[1]) == list(range(rows))
    assert 0 <= len(served[0]) - len(served[1]) <= 1
    assert len(steps) == -(-((rows + 1) // 2) // 128)


@pytest.mark.parametrize(
    ("label", "steps"),
    [
        ("small matrix by transfers", lambda s, x: s.matmul(x.linear(lambda p: p[:2, :2]), vector(s, 2))),
        ("large one by encryption", lambda s, x: s.matmul(x.linear(lambda p: p), vector(s, 5))),
        ("long inner product", lambda s, x: s.inner(vector(s, 20), vector(s, 20).linear(lambda p: p), 3)),
        ("short inner product", lambda s, x: s.inner(vector(s, 5), vector(s, 5).linear(lambda p: p))),
        ("rows that are not held", lambda s, x: s.inner(y := x.linear(lambda p: p), y)),
        ("high squares", lambda s, x: s.high_squares(x, 3)),
        ("transposed", lambda s, x: s.inner(y := x.map(np.transpose), y)),
    ],
)  # fmt: skip
def test_the_meter_knows_which_way_is_taken(label: str, steps: Steps) -> None:
    assert sent(steps, (6, 5)) > 0
